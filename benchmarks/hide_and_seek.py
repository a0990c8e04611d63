"""Speed of hide and seek on one core, with 2, 4 and 10 agents, beside Deathmatch with as many and figures of others.

``python -m benchmarks.hide_and_seek [--envs N] [--seconds S]`` prints a table of env steps and agent steps a second.
All worlds are stepped in turn, by one thread each, with actions that were drawn before. The fastest of their windows
count, in processor time, which other programs change least. The figures of others are those that they have published,
divided by their number of cores; they were not measured here.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import warpworld
from warpworld import World

from .worlds import DRAWS, random_actions

WINDOWS = 7


@dataclass(frozen=True)
class Game:
    """A world that is stepped.

    Attributes:
        label: of its row.
        environment: packaged name.
        params: its parameters.
    """

    label: str
    environment: str
    params: dict[str, Any]


@dataclass(frozen=True)
class Published:
    """Figures that others have published.

    Attributes:
        label: of its row.
        agents: in an env.
        env_steps_per_s: of all cores.
        cores: that took them.
        note: what was measured, and the source.
    """

    label: str
    agents: int
    env_steps_per_s: float
    cores: int
    note: str


def hide_and_seek(agents: int, label: str, **params: Any) -> Game:
    """The game with half of the agents on each side."""
    return Game(f"hide_and_seek, {label}", "hide_and_seek", {"hiders": agents // 2, "seekers": agents // 2, **params})


def deathmatch(agents: int) -> Game:
    """Deathmatch with half of the agents on each side, 512 rays an agent."""
    return Game("deathmatch", "deathmatch", {"players": agents // 2, "rivals": agents // 2})


GAMES = (
    *(hide_and_seek(agents, "1 box") for agents in (2, 4, 10)),
    *(hide_and_seek(agents, "2 boxes, 2 doors", boxes=2, doors=2) for agents in (2, 4, 10)),
    hide_and_seek(10, "4 rooms, 5 boxes, 2 ramps", rooms=4, boxes=3, long_boxes=2, ramps=2),
    hide_and_seek(10, "the same, 30 rays", rooms=4, boxes=3, long_boxes=2, ramps=2, lidar_rays=30),
    *(deathmatch(agents) for agents in (2, 4, 10)),
)
HASE = "a search game without bodies that push; a third of its time draws actions (arXiv 2604.27162, AMD Ryzen 9950X)"
PUBLISHED = (Published("HASE", 1, 33e6, 16, HASE), Published("HASE", 10, 7e6, 16, HASE))


class Stepped:
    """A world, sets of actions, and the fastest window so far."""

    def __init__(self, game: Game, num_envs: int) -> None:
        self.game, self.num_envs, self.best = game, num_envs, float("inf")
        self.world: World = warpworld.make(
            game.environment, num_envs, device="cpu", seed=1, num_workers=1, **game.params
        )
        self.world.reset()
        generator = np.random.default_rng(0)
        self._sets = [random_actions(self.world, generator) for _ in range(DRAWS)]

    def steps(self) -> None:
        """Take a step with each set of actions."""
        for chosen in self._sets:
            for name, values in chosen.items():
                self.world[name] = values
            self.world.step()

    def window(self, seconds: float, clock: Callable[[], float] = time.process_time) -> None:
        """Step for some seconds, and remember the time of an env step if it is the best."""
        began, calls = clock(), 0
        while calls == 0 or clock() - began < seconds:
            self.steps()
            calls += 1
        self.best = min(self.best, (clock() - began) / (calls * DRAWS * self.num_envs))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--envs", type=int, default=1024, help="of each world (default: 1024)")
    parser.add_argument("--seconds", type=float, default=0.2, help="of a window (default: 0.2)")
    given = parser.parse_args(arguments)
    worlds = [Stepped(game, given.envs) for game in GAMES]
    for _ in range(WINDOWS):
        for world in worlds:
            world.window(given.seconds)
    print(f"{'on one core':<42} agents  env steps/s  agent steps/s")
    for world in worlds:
        _print(world.game.label, world.world.num_agents, 1.0 / world.best)
    for row in PUBLISHED:
        _print(f"{row.label}, published, of {row.cores} cores", row.agents, row.env_steps_per_s / row.cores)
    for note in dict.fromkeys(f"{row.label}: {row.note}" for row in PUBLISHED):
        print(note)


def _print(label: str, agents: int, env_steps_per_s: float) -> None:
    print(f"{label:<42} {agents:6} {env_steps_per_s:12,.0f} {env_steps_per_s * agents:14,.0f}")


if __name__ == "__main__":
    main()
