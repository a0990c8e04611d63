"""Checks of what only holds between sections."""

from __future__ import annotations

import math
import re

from warpworld.config.documents import Document, dotted, known
from warpworld.config.population import population_faults
from warpworld.config.run_config import RunConfig
from warpworld.config.sections import (
    LearnerConfig,
    Sizes,
)
from warpworld.environment import Array, Environment, Group
from warpworld.errors import ConfigError, suggest

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*\Z")


def check_schedules(environment: Environment, config: RunConfig, document: Document) -> None:
    """Check that each schedule sets a floating-point array that all envs share, within its bounds.

    Raises:
        ConfigError: it sets another array, or a value beyond the bounds.
    """
    if not config.schedules:
        return
    declared = {array.name: array for array in environment.arrays()}
    shared = [name for name, array in declared.items() if _can_be_set(array)]
    for name, schedule in config.schedules.items():
        where = f"{document.where(('schedules', name), ('schedules',))}: schedules.{name}"
        if name not in shared:
            why = f"is not a floating-point array of {config.title} that all envs share"
            raise ConfigError(f"{where}: {why}.{suggest(name, shared)} {known(shared) if shared else 'It has none'}")
        low, high = declared[name].bounds or (-math.inf, math.inf)
        for value in [schedule] if isinstance(schedule, float) else [value for _, value in schedule]:
            if not low <= value <= high:
                raise ConfigError(f"{where} gives {value:g}, expected {low:g} to {high:g}, the array's bounds")


def _can_be_set(array: Array) -> bool:
    return array.per == "world" and array.dtype.startswith("float") and not array.read_only


def check_policies(config: RunConfig, groups: dict[str, Group], document: Document) -> None:
    """Check that exactly one policy plays each group, and that a policy's groups have the same spaces.

    Raises:
        ConfigError: names the policy and the group.
    """
    served: dict[str, str] = {}
    for name, policy in config.policy.items():
        key = ("policy", name, "groups")
        where = document.where(key, key[:2])
        if not _NAME.match(name):
            raise ConfigError(f"{where}: policy name '{name}': expected letters, digits, - and _, a letter first")
        if not policy.groups:
            raise ConfigError(f"{where}: {dotted(key)} is empty, expected at least one of {', '.join(groups)}")
        for group in policy.groups:
            if group not in groups:
                hint = suggest(group, groups)
                raise ConfigError(
                    f"{where}: {dotted(key)}: {config.title} has no group '{group}'.{hint} {known(groups)}"
                )
            if group in served:
                by = f"policies '{served[group]}' and '{name}'" if served[group] != name else f"policy '{name}' twice"
                raise ConfigError(
                    f"{where}: {dotted(key)}: group '{group}' is played by {by}, expected exactly one policy"
                )
            served[group] = name
        _check_spaces(name, [groups[group] for group in policy.groups], where)
    for group in groups:
        if group not in served:
            raise ConfigError(
                f"{document.where(('policy',))}: no policy plays group '{group}' of {config.title}: "
                f"add an entry policy.{group}, or name it in the groups of another policy"
            )


def _check_spaces(name: str, groups: list[Group], where: str) -> None:
    first = groups[0]
    for other in groups[1:]:
        for kind in ("observation", "action"):
            spaces = getattr(first, kind), getattr(other, kind)
            if spaces[0] != spaces[1]:
                raise ConfigError(
                    f"{where}: policy '{name}' plays groups '{first.name}' and '{other.name}', whose {kind} spaces "
                    f"differ ({spaces[0]} and {spaces[1]}): give each a policy of its own"
                )


def check_populations(config: RunConfig, groups: dict[str, Group], document: Document) -> None:
    """Check that the members of a population can learn, and that their settings can change.

    Raises:
        ConfigError: names the key, what was given and what was expected.
    """
    for path, text in population_faults(config, groups):
        where = document.where(path, *(path[:length] for length in range(len(path) - 1, 1, -1)))
        raise ConfigError(f"{where}: {dotted(path)}{text}")


def check_sizes(config: RunConfig, groups: dict[str, Group], document: Document) -> None:
    """Check that a run holds at least one iteration, and that each algorithm's settings go with its sizes.

    Raises:
        ConfigError: names the settings.
    """
    trainer = config.trainer
    per_rollout = trainer.num_envs * trainer.num_steps
    rollout = f"num_envs {trainer.num_envs} x num_steps {trainer.num_steps}"
    sizes = [("trainer", key) for key in ("total_env_steps", "num_envs", "num_steps")]
    if trainer.total_env_steps < per_rollout:
        raise ConfigError(
            f"{document.where(*sizes)}: trainer.total_env_steps is {trainer.total_env_steps}, "
            f"expected at least one rollout: {rollout} = {per_rollout}"
        )
    for name, policy in config.policy.items():
        if not isinstance(policy, LearnerConfig):
            continue
        for fault in policy.misfits(groups[policy.groups[0]]):
            where = document.where(*(("policy", name, *key.split(".")) for key in fault.keys), ("policy", name))
            raise ConfigError(f"{where}: policy.{name}.{fault.text}")
        if not policy.train:
            continue
        agents = sum(groups[group].size for group in policy.groups)
        members = 1 if policy.population is None else policy.population.members
        for fault in policy.faults(Sizes(trainer.num_envs // members, trainer.num_steps, agents)):
            first, *others = [("policy", name, *key.split(".")) for key in fault.keys]
            where = document.where(first, *others, *(sizes[1:] if fault.of_sizes else ()), ("policy", name))
            whose = f" (num_envs of each of {members} members)" if fault.of_sizes and members > 1 else ""
            raise ConfigError(f"{where}: policy.{name}.{fault.text}{whose}")
