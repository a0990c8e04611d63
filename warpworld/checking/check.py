"""A check: a world watched at each access, beside replicas that must give the same results."""

from __future__ import annotations

import contextlib
import copy
import time
from typing import Any

import numpy as np

from warpworld.checking.barriers import joined
from warpworld.checking.findings import Report, distinct
from warpworld.checking.side_by_side import CheckRun, MakeActions
from warpworld.environment import Environment, get_environment
from warpworld.errors import DeclarationError
from warpworld.world import RandomActions, World

NUM_ENVS = 5
FEWEST_STEPS, MOST_STEPS = 120, 500  # of a check by default
ENVS, STEPS = (2, 1000), (1, 100_000)  # fewest and most: the check runtime counts barriers in 32 bits


def check(
    environment: str | type[Environment] | Environment | World,
    num_envs: int = NUM_ENVS,
    steps: int | None = None,
    seed: int = 0,
    **params: Any,
) -> Report:
    """Look for races, accesses out of bounds and other faults in an environment's kernels, on a CPU.

    Args:
        environment: a registered name, ``module:Class``, ``file.py:Class``, a class, an Environment, or a World, whose
            environment is checked in worlds of the check's own.
        num_envs: envs to step, 2 to 1000.
        steps: how many, 1 to 100,000, with random actions; some envs are reset in between. None takes one more than the
            ``episode_length`` of the environment's Params, if there is one; at least 120 and at most 500.
        seed: of the world and of the actions.
        **params: the environment's Params, if it is given by name or class.

    Raises:
        WarpworldError: the environment cannot be built.
    """
    if isinstance(environment, World):
        environment = environment.environment
    if isinstance(environment, str):
        environment = get_environment(environment)
    if isinstance(environment, type):
        environment = environment(**params)
    elif params:
        raise DeclarationError(f"{environment.name} has its parameters already; {', '.join(params)} cannot be given")
    return check_with(environment, num_envs, steps, seed, RandomActions)


def check_with(
    environment: Environment,
    num_envs: int,
    steps: int | None,
    seed: int,
    make_actions: MakeActions,
    policies: str = "",
) -> Report:
    """Look for faults while agents act as an object says; arguments and errors otherwise as of ``check``.

    Args:
        environment: whose kernels are checked.
        num_envs: see ``check``.
        steps: see ``check``.
        seed: see ``check``.
        make_actions: makes the actions of an unsealed world, from it and the seed.
        policies: the run whose policies act, for the report; empty if actions are random.
    """
    if environment.per_env_values:  # one for each env of another world
        environment = copy.copy(environment)
        environment.per_env_values = {}
    # arguments
    if environment.source_path() is None:
        raise DeclarationError(f"{environment.name}: there is nothing to check, since `source` names no kernel file")
    steps = default_steps(environment) if steps is None else steps
    for name, value, (least, most) in (("num_envs", num_envs, ENVS), ("steps", steps, STEPS)):
        if not isinstance(value, (int, np.integer)) or not least <= value <= most:
            raise DeclarationError(f"{name}={value!r}: a check takes a whole number from {least} to {most}")
    # the check, whose worlds end with it
    start = time.perf_counter()
    with contextlib.ExitStack() as stack:
        run = CheckRun(environment, num_envs, seed, make_actions, stack)
        done = run.run(steps)
        findings = tuple(joined(distinct(run.findings()), run.sources))
        coverage, not_followed = run.coverage(), run.not_followed
    return Report(
        environment=environment.name,
        num_envs=num_envs,
        steps=steps,
        seed=seed,
        findings=findings,
        stopped="" if done == steps else f"the check ended in step {done} of {steps}, because a kernel was ended",
        seconds=time.perf_counter() - start,
        coverage=coverage,
        not_followed=not_followed,
        policies=policies,
    )


def default_steps(environment: Environment) -> int:
    """Number of steps that a check takes by default: an episode and one more step, within limits."""
    length = getattr(environment.params, "episode_length", 0)
    return min(max(length + 1, FEWEST_STEPS), MOST_STEPS) if isinstance(length, int) else FEWEST_STEPS
