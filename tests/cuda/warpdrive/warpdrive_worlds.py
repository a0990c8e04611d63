"""Environments whose kernels are written in WarpDrive's words, as somebody would declare them who moves them over."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, MultiDiscrete

from warpworld import Array, Environment, Group, Kernel

MOVES = [(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)]  # of each action, along x and y


def state(name: str, dtype: str, initial: Any, **settings: Any) -> Array:
    """An array that WarpDrive would save and apply at reset."""
    return Array(name, dtype, initial=initial, on_reset="initial", **settings)


def table(name: str, dtype: str, values: Any) -> Array:
    """An array that all envs share and nobody changes."""
    return Array(name, dtype, np.shape(values), per="world", initial=values, read_only=True)


class WarpDriveEnvironment(Environment):
    """What all of them have."""

    includes = ("warpdrive.cuh",)

    def ends(self) -> list[Array]:
        """Ends and time, as WarpDrive keeps them."""
        return [state("done", "int32", 0, per="env"), state("env_timestep", "int32", 0, per="env")]

    def first_observations(self) -> np.ndarray:
        """(agents, features): what agents see when an episode starts."""
        raise NotImplementedError

    def seen_first(self) -> Array:
        """The array of them."""
        return table("first_observations", "float32", self.first_observations().astype(np.float32))

    def resets(self) -> Sequence[Kernel]:
        size = self.first_observations().size
        return [Kernel("warpdrive_first_observations", arguments=("first_observations", "observations", size))]


class Gridworld(WarpDriveEnvironment):
    """Tag on a grid."""

    source = "gridworld.cu"

    @dataclass(frozen=True)
    class Params:
        num_taggers: int = 4
        grid_length: int = 4
        episode_length: int = 16
        wall_hit_penalty: float = 0.1
        tag_reward_for_tagger: float = 10.0
        tag_penalty_for_runner: float = 2.0
        step_cost_for_tagger: float = 0.01
        use_full_observation: bool = True
        starting_location_x: tuple[int, ...] = (2, 2, 2, 2, 0)
        starting_location_y: tuple[int, ...] = (2, 2, 2, 2, 0)

    def groups(self) -> list[Group]:
        size = 4 * (self.params.num_taggers + 1) + 1 if self.params.use_full_observation else 6
        seen, moves = Box(0.0, 1.0, (size,)), Discrete(len(MOVES))
        return [Group("tagger", self.params.num_taggers, seen, moves), Group("runner", 1, seen, moves)]

    def arrays(self) -> list[Array]:
        last = self.params.grid_length
        return [
            state("loc_x", "int32", self.params.starting_location_x, bounds=(0, last)),
            state("loc_y", "int32", self.params.starting_location_y, bounds=(0, last)),
            *self.ends(),
            self.seen_first(),
        ]

    def constants(self) -> dict[str, Any]:
        return {"kIndexToActionArr": np.array(MOVES).flatten()}

    def phases(self) -> list[str | Kernel]:
        arguments = (
            *("loc_x", "loc_y", "actions", "done", "rewards", "observations", "wall_hit_penalty"),
            *("tag_reward_for_tagger", "tag_penalty_for_runner", "step_cost_for_tagger", "use_full_observation"),
            *("grid_length", "env_timestep", "episode_length"),
        )
        return [Kernel("CudaTagGridWorldStep", arguments=arguments), "warpdrive_end_episodes"]

    def first_observations(self) -> np.ndarray:
        p, agents = self.params, self.params.num_taggers + 1
        x, y = (np.array(cells) / p.grid_length for cells in (p.starting_location_x, p.starting_location_y))
        types = np.arange(agents) == p.num_taggers
        if p.use_full_observation:
            rows = [np.concatenate([x, y, types, np.arange(agents) == i, [0.0]]) for i in range(agents)]
            return np.array(rows)
        squared = (x[:-1] - x[-1]) ** 2 + (y[:-1] - y[-1]) ** 2
        others = [agents - 1] * p.num_taggers + [int(np.argmin(squared))]
        return np.stack([x, y, x[others], y[others], types, np.zeros(agents)], axis=1)


class Continuous(WarpDriveEnvironment):
    """Tag in a square."""

    source = "continuous.cu"
    compile_time = ("lost_updates",)

    @dataclass(frozen=True)
    class Params:
        num_taggers: int = 2
        num_runners: int = 4
        grid_length: float = 10.0
        episode_length: int = 30
        max_speed: float = 1.0
        use_full_observation: bool = True
        num_other_agents_observed: int = 3
        tagging_distance: float = 0.1
        tag_reward_for_tagger: float = 10.0
        tag_penalty_for_runner: float = -10.0
        end_of_game_reward_for_runner: float = 1.0
        edge_hit_penalty: float = -0.5
        runner_exits_game_after_tagged: bool = True
        start_seed: int = 3
        lost_updates: bool = False

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        p = self.params
        drawn = np.random.RandomState(p.start_seed)
        self.num_agents = p.num_taggers + p.num_runners
        is_tagger = np.isin(np.arange(self.num_agents), drawn.choice(self.num_agents, p.num_taggers, replace=False))
        # Groups are contiguous: taggers first. Everything that the host gives out by agent is put in this order, once.
        self.order = np.argsort(~is_tagger, kind="stable")
        self.x, self.y = (self.ordered(p.grid_length * drawn.rand(self.num_agents)) for _ in range(2))
        self.heading = self.ordered(drawn.choice([0.0, math.pi / 2, math.pi, math.pi * 3 / 2], self.num_agents))
        self.types = is_tagger[self.order].astype(np.int32)

    def ordered(self, values: np.ndarray) -> np.ndarray:
        """Values by WarpDrive's ids, by ours."""
        return values[self.order].astype(np.float32)

    @property
    def shown(self) -> int:
        """How many others an agent sees."""
        p = self.params
        return self.num_agents - 1 if p.use_full_observation else p.num_other_agents_observed

    def groups(self) -> list[Group]:
        seen, action = Box(-np.inf, np.inf, (7 * self.shown + 1,)), MultiDiscrete([5, 5])
        return [Group(name, getattr(self.params, f"num_{name}s"), seen, action) for name in ("tagger", "runner")]

    def arrays(self) -> list[Array]:
        others, zeros = self.num_agents - 1, np.zeros(self.num_agents, np.float32)
        return [
            state("loc_x", "float32", self.x, bounds=(0, self.params.grid_length)),
            state("loc_y", "float32", self.y, bounds=(0, self.params.grid_length)),
            state("speed", "float32", 0),
            state("direction", "float32", self.heading),
            state("acceleration", "float32", 0),
            state("edge_hit_reward_penalty", "float32", 0),
            state("still_in_the_game", "int32", 1),
            state("num_runners", "int32", self.params.num_runners, per="env"),
            Array("neighbor_distances", "float32", (others,), on_reset="keep"),
            Array("neighbor_ids_sorted", "int32", (others,), on_reset="keep"),
            Array("nearest_neighbor_ids", "int32", (self.shown,), on_reset="keep"),
            table("agent_types", "int32", self.types),
            table("skill_levels", "float32", zeros + 1),
            table("step_rewards", "float32", zeros),
            table("acceleration_actions", "float32", [0, *np.linspace(-0.45, 0.4, 4)]),
            table("turn_actions", "float32", [0, *np.linspace(-1.2, 1.3, 4)]),
            *self.ends(),
            self.seen_first(),
        ]

    def phases(self) -> list[str | Kernel]:
        p = self.params
        arguments = {
            "distance_margin": p.tagging_distance * p.grid_length,
            "tag_reward": "tag_reward_for_tagger",
            "tag_penalty": "tag_penalty_for_runner",
            "end_of_game_reward": "end_of_game_reward_for_runner",
        }
        return [Kernel("CudaTagContinuousStep", arguments=arguments), "warpdrive_end_episodes"]

    def first_observations(self) -> np.ndarray:
        return np.zeros((self.num_agents, 7 * self.shown + 1))


class Votes(WarpDriveEnvironment):
    """A kernel that writes no observations."""

    source = "votes.cu"

    @dataclass(frozen=True)
    class Params:
        step: int = 1
        last_step: int = 2

    def groups(self) -> list[Group]:
        return [Group("agent", 5, Box(-1.0, 1.0, (1,)), Discrete(3))]

    def arrays(self) -> list[Array]:
        kept = {"initial": 0, "on_reset": "keep"}
        return [
            Array("votes", "int32", **kept),
            Array("share", "float32", **kept),
            Array("done", "int32", per="env", **kept),
        ]

    def phases(self) -> list[Kernel]:
        arguments = ("votes", "share", "actions", "done", 2.0, 4, "step", "last_step")
        return [Kernel("CudaVoteStep", arguments=arguments)]

    def resets(self) -> list[Kernel]:
        return []
