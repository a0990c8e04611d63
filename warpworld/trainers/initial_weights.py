"""Weights that policies begin with: newly drawn, or those of another run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpworld.config import read_saved
from warpworld.environment import Environment, placed_groups
from warpworld.errors import ConfigError, RunError, suggest
from warpworld.policies import Policy
from warpworld.runs import RunFolder
from warpworld.trainers.algorithms import get_algorithm

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch

    from warpworld.config import LearnerConfig, RunConfig


def fresh_policy(
    entry: LearnerConfig, environment: Environment, generator: torch.Generator, device: torch.device | str
) -> Policy:
    """A fresh policy of a section.

    Args:
        entry: the section.
        environment: that the policy plays.
        generator: on the CPU, what weights are drawn from.
        device: where the policy is put.
    """
    group, algorithm = placed_groups(environment)[entry.groups[0]], get_algorithm(entry.algorithm)
    read = algorithm.critic_space(environment, group)
    policy = algorithm.build_policy(entry, group, generator, read).to(device)
    return policy.acting(greedily=algorithm.acts_greedily)


def load_initial_weights(config: RunConfig, policies: Mapping[str, Policy | None]) -> None:
    """Copy into each policy with ``initial_weights`` what the run named there has in its latest checkpoint.

    ``RUN`` takes the policy of the same name, or the run's only one; ``RUN#NAME`` the policy called NAME. The whole
    text is RUN if there is such a folder.

    Raises:
        RunError: the run has no checkpoint or no such policy, or its weights have other shapes.
    """
    for name, entry in config.policy.items():
        policy, source = policies[name], getattr(entry, "initial_weights", None)
        if policy is None or source is None:
            continue
        load_named_weights(policy, name, source, f"policy.{name}.initial_weights is '{source}'")


def load_named_weights(policy: Policy, name: str, source: str, where: str) -> None:
    """Copy into a policy the weights that a text names, as ``load_initial_weights`` reads it.

    Args:
        policy: takes them.
        name: of the policy.
        source: ``RUN`` or ``RUN#NAME``; a RUN may be ``pretrained:NAME``.
        where: the text stands, for messages.

    Raises:
        RunError: there is no such run, checkpoint or policy, or its weights have other shapes.
    """
    # a folder may have a '#' in its own name
    folder, other = (source, "") if "#" not in source or Path(source).is_dir() else source.rsplit("#", 1)
    # the other run, and its latest checkpoint
    try:
        run = RunFolder.open(folder)
        state = run.load_checkpoint()
    except RunError as error:
        raise RunError(f"{where}: {error}") from error
    # the weights, if they fit
    try:
        policy.load_state_dict(_named_weights(state.get("policies"), other, name, folder, where))
    except (RuntimeError, TypeError) as error:
        reason = " ".join(str(error).split("\n\t")[:2])
        raise RunError(
            f"{where}, whose weights do not fit policy '{name}': {reason}; they need the model settings and the env's "
            f"that they were learnt with{_environment_of(run)}"
        ) from error


def _environment_of(run: RunFolder) -> str:
    """The environment that a run has learnt in, for a message; nothing where its configuration cannot be read."""
    try:
        return f", in the environment '{read_saved(run.config_path).title}'"
    except ConfigError:
        return ""


def _named_weights(saved: Any, other: str, name: str, folder: str, where: str) -> dict[str, Any]:
    """The weights of a policy among those of a checkpoint: the one called ``other``, or else ``name``."""
    if not isinstance(saved, dict) or not saved or not all(isinstance(weights, dict) for weights in saved.values()):
        raise RunError(f"{where}, whose checkpoint holds no policies")
    # the one that is named, or has this policy's name, or is the only one
    wanted = other or (name if name in saved else next(iter(saved)) if len(saved) == 1 else name)
    if wanted not in saved:
        raise RunError(
            f"{where}, a run without policy '{wanted}'.{suggest(wanted, saved)} It has {', '.join(saved)}: "
            f"write {folder}#NAME"
        )
    return dict(saved[wanted])
