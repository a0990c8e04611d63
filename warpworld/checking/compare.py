"""Kernels beside a reference: both make each step from the same state, and must come to the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from warpworld.checking.accesses import element_name
from warpworld.checking.references import Arrays, Load, Reference, reference_of
from warpworld.environment import Environment, get_environment
from warpworld.errors import DeclarationError, suggest
from warpworld.world import BOOKKEEPING, RandomActions, World, whole_number


@dataclass(frozen=True)
class Difference:
    """The first element in which kernel and reference differ.

    Attributes:
        element: the element in words, such as "rewards[env 3, agent 0]".
        array: its array.
        index: of the element in the world's array: (env, agent, component ...).
        step: of the world, from 1.
        kernel: the value after the kernel.
        reference: the value after the reference.
        before: the env's arrays before the step, its actions among them.
    """

    element: str
    array: str
    index: tuple[int, ...]
    step: int
    kernel: float
    reference: float
    before: Arrays = field(repr=False)


@dataclass(frozen=True)
class Comparison:
    """Result of a comparison.

    Attributes:
        environment: its name.
        num_envs: envs that were stepped.
        steps: that were compared, up to the first difference.
        worst: for each array that was compared, the largest absolute difference.
        ends: episodes that ended in these steps.
        difference: the first difference that is more than rounding, or None.
    """

    environment: str
    num_envs: int
    steps: int
    worst: dict[str, float]
    ends: int
    difference: Difference | None

    @property
    def agrees(self) -> bool:
        """Whether no difference was found."""
        return self.difference is None

    def __str__(self) -> str:
        played = f"{self.steps} steps of {self.num_envs} envs, {self.ends} episodes ended"
        worst = ", ".join(f"{name} {value:.3g}" for name, value in self.worst.items())
        if self.difference is None:
            return f"{self.environment}: kernel and reference agree ({played}; largest differences: {worst})"
        found = self.difference
        return (
            f"{self.environment}: step {found.step}: {found.element} is {found.kernel:.9g} after the kernel, "
            f"{found.reference:.9g} after the reference"
        )


def compare(
    environment: str | type[Environment] | Environment,
    reference: Reference,
    load: Load | None = None,
    *,
    num_envs: int = 5,
    steps: int = 200,
    seed: int = 0,
    rtol: float = 1e-5,
    atol: float = 1e-5,
    device: str = "cpu",
    **params: Any,
) -> Comparison:
    """Step an environment's kernels beside a reference in Python, each step from the state that the kernels are in.

    Args:
        environment: a registered name, ``module:Class``, ``file.py:Class``, a class, or an Environment.
        reference: a function of an env's arrays before a step, by name, its actions among them: each (agents, *shape)
            per agent or (*shape) per env. It returns those that it computes as they are after the step, before a reset.
            Or an env of Gymnasium, for environments of one agent: its observation, reward and ends are compared.
        load: for an env of Gymnasium, ``load(env, arrays)``: puts it into the state that the arrays are in.
        num_envs: envs to step.
        steps: how many, with random actions; envs that ended are reset.
        seed: of the world and of the actions.
        rtol: relative difference of floats that counts as rounding.
        atol: absolute difference of floats that does; whole numbers and ends must be equal.
        device: "cpu", "cuda", or "auto".
        **params: the environment's Params, if it is given by name or class.

    Raises:
        DeclarationError: the reference has other spaces than the environment, or returns anything but arrays of the
            environment; an argument is wrong.
    """
    count, world = whole_number("steps", steps, 1), _world(environment, num_envs, device, seed, params)
    world.reset()
    predict, actions = reference_of(world, reference, load), RandomActions(world, seed)
    worst, ends = dict[str, float](), 0
    for step in range(1, count + 1):
        # a step of the kernels
        actions.draw()
        actions.put(world, slice(0, world.num_envs))
        before = _arrays(world)
        world.step()
        after = _arrays(world)
        # the reference's step, from the same state
        for env in range(world.num_envs):
            state = {name: array[env].copy() for name, array in before.items()}
            found = _checked(world, predict(state))
            for name, expected in found.items():
                gap, index = _largest_gap(after[name][env], expected, rtol, atol)
                worst[name] = max(worst.get(name, 0.0), gap)
                if index is not None:
                    place = (env, *index)
                    own = {each: array[env].copy() for each, array in before.items()}
                    values = float(after[name][place]), float(expected[index])
                    element = element_name(world.data, name, place)
                    difference = Difference(element, name, place, step, *values, own)
                    return Comparison(world.environment.name, world.num_envs, step, worst, ends, difference)
        # ends, and the next episodes
        ended = world["terminated"] | world["truncated"]
        ends += int(ended.sum())
        if bool(ended.any()):
            world.reset(ended)
    return Comparison(world.environment.name, world.num_envs, count, worst, ends, None)


def _world(
    environment: str | type[Environment] | Environment, num_envs: int, device: str, seed: int, params: dict[str, Any]
) -> World:
    made = get_environment(environment) if isinstance(environment, str) else environment
    if isinstance(made, type):
        made = made(**params)
    elif params:
        raise DeclarationError(f"{made.name} has its parameters already; {', '.join(params)} cannot be given")
    return World(made, num_envs, device, seed, autoreset="disabled")


def _arrays(world: World) -> dict[str, np.ndarray]:
    """A copy of each array that has a part for each env, and that means something between steps."""
    names = [name for name in world.data if world.data.array(name).per != "world" and name not in _left_out(world)]
    return {name: np.array(world.data.numpy(name)) for name in names}


def _left_out(world: World) -> set[str]:
    """Names of the arrays that a reference neither gets nor returns."""
    return {*BOOKKEEPING, *(name for name in world.data if world.data.array(name).scratch)}


def _checked(world: World, found: Any) -> dict[str, np.ndarray]:
    """Results of a reference, in the shapes of the world's arrays."""
    if not isinstance(found, Mapping):
        raise DeclarationError(f"compare: the reference returned {type(found).__name__}, expected arrays by name")
    arrays = {}
    for name, value in found.items():
        if name not in world.data or world.data.array(name).scratch:
            known = [each for each in world.data if each not in _left_out(world)]
            raise DeclarationError(
                f"compare: the reference returned '{name}', which is not an array.{suggest(name, known)}"
            )
        shape, given = tuple(world[name].shape[1:]), np.asarray(value)
        if given.shape != shape:
            raise DeclarationError(f"compare: the reference returned '{name}' of shape {given.shape}, expected {shape}")
        arrays[name] = given
    return arrays


def _largest_gap(
    own: np.ndarray, expected: np.ndarray, rtol: float, atol: float
) -> tuple[float, tuple[int, ...] | None]:
    """The largest absolute difference, and the index of the first element that differs by more than rounding."""
    first, second = own.astype(np.float64), expected.astype(np.float64)
    with np.errstate(invalid="ignore"):
        gaps = np.where(first == second, 0.0, np.abs(first - second))
    gaps = np.where(np.isnan(first) & np.isnan(second), 0.0, np.where(np.isnan(gaps), np.inf, gaps))
    allowed = atol + rtol * np.abs(np.nan_to_num(second)) if own.dtype.kind == "f" else np.zeros_like(gaps)
    wrong = gaps > allowed
    index = tuple(int(i) for i in np.unravel_index(int(wrong.argmax()), wrong.shape)) if wrong.any() else None
    return float(gaps.max(initial=0.0)), index
