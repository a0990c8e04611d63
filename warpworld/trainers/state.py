"""Parts of a checkpoint besides the store, and checks of them: weights, torch's generators, torch's threads."""

from __future__ import annotations

import logging
import math
import reprlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from warpworld.errors import RunError, TrainingError
from warpworld.policies import Policy

if TYPE_CHECKING:
    from warpworld.trainers.algorithms import Algorithm
    from warpworld.world import World

logger = logging.getLogger(__name__)


def check_state(
    saved: Mapping[str, Any],
    own: Mapping[str, Any],
    policies: Mapping[str, Policy | None],
    algorithms: Mapping[str, Algorithm],
) -> None:
    """Check whatever a checkpoint holds, before anything of it is taken up; only the store checks its part itself.

    Args:
        saved: the checkpoint.
        own: what the trainer that is to take it would save now.
        policies: the trainer's, by name.
        algorithms: the trainer's, by name of the policy.

    Raises:
        RunError: something is missing, is not what it should be, or does not fit.
    """
    # all keys, with values of their kinds
    missing = [key for key in own if key not in saved]
    if missing:
        raise RunError(f"the saved state lacks {', '.join(missing)}: another version of warpworld wrote it")
    for key, value in own.items():
        _check_kind(key, saved[key], value)
    # the store's layout
    for entry in saved["layout"]:
        if not isinstance(entry, (list, tuple)) or [type(part) for part in entry] != [str, str, list]:
            raise _unexpected("layout", saved["layout"], "lists of an array's name, dtype and shape")
    # policies and algorithms
    check_weights(policies, saved["policies"])
    for name, algorithm in algorithms.items():
        _check_learner(name, algorithm, saved["learners"].get(name))
    # random states
    _check_generator("generator", saved["generator"], "cpu")
    for device in own["random"]:
        if device == "cpu" or device in saved["random"]:  # a run may have begun without the other
            _check_generator(f"random state of {device}", saved["random"].get(device), device)


def _check_learner(name: str, algorithm: Algorithm, saved: Any) -> None:
    """Whether an algorithm takes its part of a checkpoint."""
    if not isinstance(saved, Mapping):
        raise _unexpected(f"learner of policy '{name}'", saved, "a dict")
    try:
        algorithm.check_state(saved)
    except RunError as error:
        raise RunError(f"policy '{name}': {error}") from error


def _check_kind(key: str, saved: Any, own: Any) -> None:
    """Whether a part of a checkpoint is of the kind that the trainer's own part is."""
    if isinstance(own, (int, float)):
        kinds = (int, float) if isinstance(own, float) else (int,)
        lowest = 1 if key == "torch_threads" else 0
        if type(saved) not in kinds or not math.isfinite(saved) or saved < lowest:
            raise _unexpected(key, saved, f"a {'' if isinstance(own, float) else 'whole '}number of at least {lowest}")
    elif isinstance(own, torch.Tensor):
        if not isinstance(saved, torch.Tensor):
            raise _unexpected(key, saved, "a tensor")
    elif not isinstance(saved, type(own)):
        raise _unexpected(key, saved, f"a {type(own).__name__}")


def _check_generator(key: str, state: Any, device: str) -> None:
    """Whether torch takes the state of a generator, tried with an unused one."""
    try:
        torch.Generator(device).set_state(state)
    except (RuntimeError, TypeError, AttributeError) as error:
        raise _unexpected(key, state, "the state of one of torch's generators") from error


def _unexpected(key: str, saved: Any, expected: str) -> RunError:
    shown = f"a tensor {tuple(saved.shape)}" if isinstance(saved, torch.Tensor) else reprlib.repr(saved)
    return RunError(
        f"the saved {key} is {shown}, expected {expected}: something other than warpworld wrote or changed it; "
        "remove that checkpoint to continue from an older one"
    )


def check_weights(policies: Mapping[str, Policy | None], saved: Mapping[str, Any]) -> None:
    """Compare names and shapes of saved weights with the policies that are to take them; None takes none.

    Raises:
        RunError: they do not fit: which policy, which weight, and both shapes.
    """
    for name, policy in policies.items():
        if policy is None:
            continue
        if name not in saved:
            raise RunError(f"the checkpoint has no policy '{name}', only {', '.join(map(repr, saved)) or 'none'}")
        weights = saved[name]
        if not isinstance(weights, Mapping) or not all(isinstance(weight, torch.Tensor) for weight in weights.values()):
            raise _unexpected(f"policy '{name}'", weights, "a dict of tensors")
        own = {key: tuple(weight.shape) for key, weight in policy.state_dict().items()}
        theirs = {key: tuple(weight.shape) for key, weight in weights.items()}
        for key in own | theirs:
            if own.get(key) != theirs.get(key):
                raise RunError(
                    f"policy '{name}': {key} has shape {theirs.get(key, 'none')} in the checkpoint, "
                    f"{own.get(key, 'none')} in the policy that config.yaml describes"
                )


def check_finite_weights(policies: Mapping[str, Policy | None]) -> None:
    """Stop before weights that are lost are saved over good ones.

    Raises:
        TrainingError: a weight is NaN or infinite.
    """
    for name, policy in policies.items():
        for key, weight in policy.named_parameters() if policy is not None else ():
            if not bool(weight.isfinite().all()):
                raise TrainingError(
                    f"policy '{name}': {key} holds numbers that are not finite; the run's latest checkpoint is from "
                    "before. A lower learning_rate or max_grad_norm may keep them finite"
                )


def random_state(world: World) -> dict[str, torch.Tensor]:
    """State of torch's own generators, by type of device: the library draws nothing from them, but a model may."""
    return {"cpu": torch.get_rng_state(), world.device.type: world.random_state()}


def set_random_state(world: World, states: Mapping[str, torch.Tensor]) -> None:
    """Write back what ``random_state`` returned; a run that began on another device has none of this one's."""
    torch.set_rng_state(states["cpu"])
    if world.device.type in states:
        world.set_random_state(states[world.device.type])


@contextmanager
def generators_kept(world: World) -> Iterator[None]:
    """Restore torch's own generators afterwards, so that a model's draws within do not change later ones."""
    states = random_state(world)
    try:
        yield
    finally:
        set_random_state(world, states)


def set_threads(wanted: int | None, saved: int | None = None) -> None:
    """Give torch ``wanted`` threads, None leaving it its own; warn where a run had ``saved`` and now has others."""
    if wanted is not None:
        torch.set_num_threads(wanted)
    if saved is not None and torch.get_num_threads() != saved:
        logger.warning(
            "the run had %d threads of torch and continues with %d, so not bit for bit as it would have; "
            "see trainer.torch_threads",
            saved,
            torch.get_num_threads(),
        )
