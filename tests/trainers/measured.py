"""An environment with metrics of its own, and what they come to, episode by episode."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from tests.toys import agents
from warpworld import Array, Environment, Group, World


class Measured(Environment):
    """All numbers are drawn; agents leave one after the other, and agent 1 misses every second episode."""

    source = Path(__file__).with_suffix(".cu")

    def groups(self) -> list[Group]:
        """Two groups."""
        return [agents(2, "left"), agents(1, "right")]

    def arrays(self) -> list[Array]:
        """One metric of each kind and dtype, and whether agent 1 is away."""
        return [
            Array("height", "float32", metric="mean"),
            Array("leaps", "int32", metric="sum"),
            Array("score", "int32", per="env", metric="last"),
            Array("lucky", "bool", per="env", metric="mean"),
            Array("absent", "bool", per="env"),
        ]


AGENTS = {"left": [0, 1], "right": [2]}
Episode = list[dict[str, np.ndarray]]  # what the arrays of an env hold, step by step; and which env it is


class MeasuredEpisodes:
    """The episodes of a world of Measured, in a world that resets when it is asked to."""

    def __init__(self, num_envs: int, seed: int = 0) -> None:
        self._world = World(Measured(), num_envs, "cpu", seed, num_workers=1, autoreset="disabled")
        self._world.reset()
        self._running: list[Episode] = [[] for _ in range(num_envs)]

    def steps(self, count: int) -> list[Episode]:
        """Take steps; the episodes that end in them."""
        world, finished = self._world, []
        names = ("height", "leaps", "score", "lucky", "agent_mask")
        for _ in range(count):
            world.step()
            now = {name: world.data.numpy(name).copy() for name in names}
            over = (world["terminated"] | world["truncated"]).cpu().numpy()
            for env, episode in enumerate(self._running):
                episode.append({"env": np.array(env), **{name: values[env] for name, values in now.items()}})
            finished += [self._running[env] for env in np.flatnonzero(over)]
            self._running = [[] if over[env] else episode for env, episode in enumerate(self._running)]
            world.reset(torch.from_numpy(over))
        return finished


def expected(episodes: list[Episode]) -> dict[str, float]:
    """The metrics of these episodes, in float64."""
    found: dict[str, list[float]] = {}
    for episode in episodes:
        found.setdefault("env/score", []).append(float(episode[-1]["score"]))
        found.setdefault("env/lucky", []).append(float(np.mean([step["lucky"] for step in episode])))
        for group, members in AGENTS.items():
            for agent in members:
                rows: list[dict[str, Any]] = [step for step in episode if step["agent_mask"][agent]]
                if rows:
                    heights = [float(row["height"][agent]) for row in rows]
                    found.setdefault(f"env/{group}/height", []).append(sum(heights) / len(heights))
                    found.setdefault(f"env/{group}/leaps", []).append(sum(float(row["leaps"][agent]) for row in rows))
    return {name: sum(values) / len(values) for name, values in found.items()}
