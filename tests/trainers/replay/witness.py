"""What a replay is to hold, written down step by step and looked up by walking: no row, ring or index in it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from warpworld.environment.spaces import observation_names
from warpworld.policies import ObservationRows
from warpworld.trainers.collecting.collector import Collector
from warpworld.trainers.collecting.recorder import Recorder
from warpworld.trainers.replay import ReplaySizes

Place = tuple[int, int]  # env, and agent of the policy


@dataclass
class Moment:
    """One agent's step, and the moment that followed it in the same env, of whichever episode."""

    seen: np.ndarray
    action: np.ndarray
    allowed: np.ndarray | None
    begins: bool  # an episode or a life begins with it
    before: Moment | None
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    last_seen: np.ndarray | None = None  # before the reset
    last_allowed: np.ndarray | None = None
    life_over: bool = False
    cut: bool = False  # alone: the next moment is the last that is seen of this life
    counts: bool = True
    after: Moment | None = None

    @property
    def out_of_time(self) -> bool:
        return self.truncated and not self.terminated

    @property
    def ends(self) -> bool:
        return self.terminated or self.truncated or self.life_over


@dataclass
class Expected:
    """A transition as it is to be drawn."""

    seen: np.ndarray
    action: np.ndarray
    total: float
    discount: float
    next_seen: np.ndarray
    next_allowed: np.ndarray | None
    is_final: bool = False  # what follows was seen last in an episode, and no action was chosen on it


class Witness(Recorder):
    """Writes down every step of every agent of some groups. Steps must not be captured."""

    def __init__(self, collector: Collector, groups: list[str]) -> None:
        self._collector, self._world, self._groups = collector, collector.world, groups
        self.steps: list[dict[Place, Moment]] = []
        collector.world.request("final_observations")
        collector.add(self)

    def acted(self) -> None:
        seen = [self._collector.actors[name].observations().cpu().numpy().copy() for name in self._groups]
        actions = [self._actions(name) for name in self._groups]
        allowed = self._of_agents("action_mask")
        now: dict[Place, Moment] = {}
        for (env, agent), view in self._each(np.concatenate(seen, 1)):
            before = self.steps[-1][env, agent] if self.steps else None
            was_cut = before is not None and before.before is not None and before.before.cut
            begins = before is None or before.ends or was_cut
            mask = None if allowed is None else allowed[env, agent]
            now[env, agent] = Moment(view, np.concatenate(actions, 1)[env, agent], mask, begins, before)
            if before is not None:
                before.after = now[env, agent]
        self.steps.append(now)

    def stepped(self) -> None:
        world = self._world
        rewards, lives = self._of_agents("rewards"), self._of_agents("agent_terminated")
        cuts = self._of_agents("agent_truncated")
        counts, allowed, last = self._of_agents("agent_mask"), self._of_agents("mask_then"), self._last_seen()
        terminated, truncated = (world.data.numpy(name).copy() for name in ("terminated", "truncated"))
        for (env, agent), moment in self.steps[-1].items():
            moment.reward = float(rewards[env, agent])
            moment.terminated, moment.truncated = bool(terminated[env]), bool(truncated[env])
            moment.life_over = lives is not None and bool(lives[env, agent])
            moment.cut = cuts is not None and bool(cuts[env, agent]) and not moment.ends
            moment.counts = counts is None or bool(counts[env, agent])
            moment.last_seen = last[env, agent]
            moment.last_allowed = None if allowed is None else allowed[env, agent]

    # ---- reading the world -------------------------------------------------------------------------------------------
    @staticmethod
    def _each(values: np.ndarray) -> list[tuple[Place, np.ndarray]]:
        return [((env, agent), view) for env, agents in enumerate(values) for agent, view in enumerate(agents)]

    def _of_agents(self, name: str) -> Any:
        """An array per agent, the policy's agents in their order; None if the world has none of that name."""
        if name not in self._world.data:
            return None
        whole = self._world.data.numpy(name)
        return np.concatenate([whole[:, self._world.groups[group].slice] for group in self._groups], 1).copy()

    def _actions(self, name: str) -> np.ndarray:
        array, first = self._world.action_array(name)
        return self._world.data.numpy(array)[:, first : first + self._world.groups[name].size].copy()

    def _last_seen(self) -> np.ndarray:
        world, found = self._world, []
        for name in self._groups:
            group = world.groups[name]
            parts = [world[f"final_{each}"] for each in observation_names(world.groups, group).values()]
            own = [part if part.shape[1] == group.size else part[:, group.slice] for part in parts]
            found.append(ObservationRows(group.observation).join([part.flatten(2) for part in own]).cpu().numpy())
        return np.concatenate(found, 1)

    # ---- what is to be drawn -----------------------------------------------------------------------------------------
    def expected(self, first: Moment, sizes: ReplaySizes) -> Expected | None:
        """The transition that begins with a moment; None if it is not to be drawn."""
        n_step, finals, stack = sizes.n_step, sizes.final_observations, sizes.frame_stack
        clip = sizes.reward_clip or np.inf
        if not first.counts or (first.out_of_time and not finals) or not self._followed(first, n_step):
            return None
        total, discount, now = np.float64(0), np.float64(1), first
        for taken in range(n_step):
            if now.out_of_time and not finals and taken:
                return self._made(first, total, discount, self.stack(now, stack), now.allowed, stack)
            reward = sizes.reward_scale * np.float64(now.reward) if now.counts else 0.0
            total += discount * np.clip(reward, -clip, clip)
            discount *= sizes.gamma
            if now.terminated or now.life_over:
                return self._made(first, total, 0.0, np.zeros(0), None, stack)
            if now.out_of_time:
                seen = np.concatenate([*self._frames(now, stack - 1), now.last_seen])  # type: ignore[list-item]
                made = self._made(first, total, discount, seen, now.last_allowed, stack)
                return dataclasses.replace(made, is_final=True)
            assert now.after is not None
            was_cut, now = now.cut, now.after
            if was_cut:
                break
        return self._made(first, total, discount, self.stack(now, stack), now.allowed, stack)

    @staticmethod
    def _followed(moment: Moment, steps: int) -> bool:
        """Whether so many steps were taken since."""
        now: Moment | None = moment
        for _ in range(steps):
            now = None if now is None else now.after
        return now is not None

    def _made(
        self, first: Moment, total: Any, discount: Any, following: np.ndarray, allowed: np.ndarray | None, stack: int
    ) -> Expected:
        return Expected(self.stack(first, stack), first.action, float(total), float(discount), following, allowed)

    def stack(self, moment: Moment, count: int) -> np.ndarray:
        return np.concatenate(self._frames(moment, count))

    @staticmethod
    def _frames(moment: Moment, count: int) -> list[np.ndarray]:
        """What was seen up to a moment, the oldest first, with zeros for what lies before its episode or life."""
        frames: list[np.ndarray] = []
        now: Moment | None = moment
        for _ in range(count):
            frames.insert(0, np.zeros_like(moment.seen) if now is None else now.seen)
            now = None if now is None or now.begins else now.before
        return frames
