"""Whole episodes of a run's policies as arrays, group by group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

import numpy as np

from warpworld.config import RunConfig
from warpworld.environment import mapped
from warpworld.errors import RunError
from warpworld.trainers import PATIENCE, build_actors, played_world
from warpworld.trainers.collecting import Player
from warpworld.trainers.from_python.step_recorder import StepRecorder, stacked


@dataclass(frozen=True, eq=False)
class Episode:
    """One episode of one env, T steps: arrays by group, with a dict in place of an array for a Dict space.

    Attributes:
        observations: (T + 1, size, *shape of the space), the last one after the last step.
        actions: (T, size, *shape of the space); a tuple of such for a Tuple space.
        rewards: (T, size) float32, 0 in rows that do not count.
        terminated: (T, size) bool, where an agent's part or its env's episode ended by itself.
        truncated: (T, size) bool, where it was cut.
        agent_mask: (T, size) bool, which rows count; empty where all do.
        action_mask: (T, size, choices) bool, what was allowed; empty where all was.
        env: number of the env that played it.
    """

    observations: Mapping[str, Any]
    actions: Mapping[str, Any]
    rewards: Mapping[str, np.ndarray]
    terminated: Mapping[str, np.ndarray]
    truncated: Mapping[str, np.ndarray]
    agent_mask: Mapping[str, np.ndarray] = field(default_factory=dict)
    action_mask: Mapping[str, np.ndarray] = field(default_factory=dict)
    env: int = 0

    def __len__(self) -> int:
        """T, its steps."""
        return len(next(iter(self.rewards.values())))


def played_episodes(
    config: RunConfig, policies: Mapping[str, Player], episodes: int, seed: int = 0, greedy: bool = False
) -> list[Episode]:
    """Play a run's environment, and keep every step of whole episodes.

    Every env plays the same number of episodes from its start, so that short episodes are not more frequent.

    Args:
        config: the run's settings.
        policies: a player for each policy of the configuration, by the policy's name; None plays by the script of the
            policy's entry, or acts at random.
        episodes: how many, rounded up to whole rounds of the envs.
        seed: of the episodes and of the actions drawn.
        greedy: take the likeliest actions instead of drawing.

    Returns:
        Episodes, those of one env one after the other.

    Raises:
        RunError: episodes do not end.
    """
    world, rounds = played_world(config, episodes, seed)
    actors = build_actors(world, config, policies, greedy)
    world.request("final_observations")
    recorder = StepRecorder(world, ())
    world.reset()
    # steps of all envs, and where episodes end
    steps, ends, waited = list[dict[str, Any]](), [list[tuple[int, Any]]() for _ in range(world.num_envs)], 0
    while min(map(len, ends)) < rounds:
        seen = recorder.before()
        for actor in actors:
            actor.act()
        done = recorder.actions()
        world.step()
        steps.append({**seen, **done, **recorder.after()})
        ended = (world["terminated"] | world["truncated"]).nonzero().flatten().tolist()
        finals = recorder.final() if ended else {}
        for env in ended:
            ends[env].append((len(steps), mapped(itemgetter(env), finals)))
        waited = 0 if ended else waited + 1
        if waited == PATIENCE:
            raise RunError(f"no episode of {config.title} ended in {PATIENCE:,} steps; give it a time limit")
    # episode by episode
    recorded = stacked(steps)
    return [episode for env, of_env in enumerate(ends) for episode in _split(recorded, env, of_env[:rounds])]


def _split(recorded: dict[str, Any], env: int, ends: Sequence[tuple[int, Any]]) -> list[Episode]:
    """The episodes of an env: its part of all steps between one end and the next."""
    found, first = [], 0
    for end, final in ends:
        part = {kind: mapped(itemgetter((slice(first, end), env)), kept) for kind, kept in recorded.items()}
        part["observations"] = _joined(part["observations"], final)
        for group, mask in part.get("agent_mask", {}).items():
            part["rewards"][group] = np.where(mask, part["rewards"][group], np.float32(0.0))
        found.append(Episode(**part, env=env))
        first = end
    return found


def _joined(steps: Any, final: Any) -> Any:
    """Arrays (T, ...) with one entry more at their end, in dicts of one shape."""
    if isinstance(steps, Mapping):
        return {key: _joined(part, final[key]) for key, part in steps.items()}
    return np.concatenate([steps, final[np.newaxis]])
