"""Checks of the ``population`` sections."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gymnasium.spaces import Box

from warpworld.config.named_classes import algorithm_class, algorithms_with
from warpworld.config.population_settings import Found, settings_faults
from warpworld.config.run_config import RunConfig
from warpworld.config.sections import LearnerConfig, PopulationConfig, Sizes
from warpworld.environment import Group


def population_entries(config: RunConfig) -> dict[str, PopulationConfig]:
    """The ``population`` sections by policy."""
    entries = {name: entry for name, entry in config.policy.items() if isinstance(entry, LearnerConfig)}
    return {name: entry.population for name, entry in entries.items() if entry.population is not None}


def population_faults(config: RunConfig, groups: Mapping[str, Group]) -> Iterator[Found]:
    """Faults of ``population`` sections whose members cannot learn, or whose settings cannot change; keys in full."""
    for name in population_entries(config):
        for below, text in _faults(config, name, groups):
            yield ("policy", name, "population", *below), text


def _faults(config: RunConfig, name: str, groups: Mapping[str, Group]) -> Iterator[Found]:
    """Faults of a policy's section, by key below it."""
    entry: Any = config.policy[name]
    yield from _of_run(config, name)
    if not entry.train:
        yield (), f": policy '{name}' is not trained (train is false), so that its members would stay as they are"
    if not algorithm_class(entry.algorithm).learns_from_share:
        able = algorithms_with("learns_from_share")
        text = f": {entry.algorithm} cannot learn from a share of the envs, as a member does"
        yield (), f"{text}; expected algorithm {', '.join(able[:-1])} or {able[-1]}"
    for group in entry.groups:
        if isinstance(groups[group].action, Box):
            text = f": group '{group}' acts in a Box, expected Discrete or MultiDiscrete: members with deviations of"
            yield (), f"{text} their own cannot share a group"
    yield from _of_sizes(config, entry.population)
    agents = sum(groups[group].size for group in entry.groups)
    sizes = Sizes(config.trainer.num_envs // entry.population.members, config.trainer.num_steps, agents)
    yield from settings_faults(entry, sizes)


def _of_run(config: RunConfig, name: str) -> Iterator[Found]:
    """Faults of the section beside others of the run."""
    first = next(iter(population_entries(config)))
    if name != first:
        text = f": policy '{first}' has a population, too, expected one in a run: a member of one would only ever meet"
        yield (), f"{text} the same member of the other"
    for other, entry in config.policy.items():
        if isinstance(entry, LearnerConfig) and entry.self_play is not None:
            text = f": policy '{other}' has self_play, expected one of the two in a run: opponents and members would"
            yield (), f"{text} play the same envs"
    if config.trainer.overlap:
        yield (), ": trainer.overlap is true, expected false: members copy each other between an update and a rollout"


def _of_sizes(config: RunConfig, population: PopulationConfig) -> Iterator[Found]:
    """Faults of its numbers of members and iterations."""
    trainer, members = config.trainer, population.members
    if members > trainer.num_envs:
        text = f" is {members}, expected at most trainer.num_envs, {trainer.num_envs}"
        yield ("members",), f"{text}: each member plays envs of its own"
    elif trainer.num_envs % members:
        nearest = [n for n in range(2, trainer.num_envs + 1) if trainer.num_envs % n == 0]
        best = min(nearest, key=lambda n: abs(n - members))
        text = f" is {members}, expected a divisor of trainer.num_envs, {trainer.num_envs}, such as {best}"
        yield ("members",), f"{text}: members play equally many envs"
    iterations = trainer.total_env_steps // (trainer.num_envs * trainer.num_steps)
    if population.interval > iterations >= 1:
        text = f" is {population.interval}, expected at most the run's {iterations} iterations"
        yield ("interval",), f"{text} (trainer.total_env_steps): no member would be ranked"
