"""What an agent step costs as agents grow: CPU time of one core, so that other work counts less.

``python -m benchmarks.crowds [WORD]`` prints a table of the environments whose line has the word; ``--save
FILE`` keeps it as JSON, ``--draw FILE`` draws it. The best of several windows counts. Worlds grow with their agents
where the originals' do, so that crowds are as dense. Behind the times stand the bytes of the store for each agent.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import warpworld
from warpworld.cli.bench.conditions import conditions
from warpworld.drawing.figures import figure
from warpworld.drawing.palette import SERIES
from warpworld.environment import get_environment
from warpworld.files import replace_text

from .gallery.battle import MAPS
from .gallery.foraging import CROWD as ONE_FIELD
from .worlds import random_actions

Costs = dict[str, dict[int, tuple[float, float]]]  # by line and number of agents: ns of a step, bytes of the store

LINES = ("-", "--")
ALL_AGENTS = 4096  # of all envs
WINDOWS, STEPS = 20, 20
GRIDWORLD = {agents: {"num_taggers": agents - 1, "grid_length": 100} for agents in (5, 20, 100, 500, 1000)}
# As dense as 1,000 agents. On 100 cells a side, 10,000 tag the runner in every other step: that would measure resets.
SIDES = {2000: 141, 5000: 224, 10_000: 316}
THOUSANDS = {agents: {"num_taggers": agents - 1, "grid_length": side} for agents, side in SIDES.items()}
LARGE_MAPS = {1000: 158, 2500: 250, 5000: 354}  # as dense as MAPS


def _plane(agents: int) -> dict[str, Any]:
    """Parameters of tag_continuous: a runner for each tagger, and a square with 4 units of area for each agent."""
    half, side = agents // 2, 2.0 * math.sqrt(agents)
    return {"num_taggers": half, "num_runners": agents - half, "grid_length": side, "use_full_observation": False}


def _field(players: int) -> dict[str, Any]:
    """Parameters of foraging: 32 cells and a piece of food for each player."""
    side = round(math.sqrt(32 * players))
    return {"rows": side, "cols": side, "players": players, "max_num_food": players, "sight": 2}


# What stands in the table: an environment, and its parameters by the number of agents.
CROWDS: dict[str, tuple[str, dict[int, dict[str, Any]]]] = {
    "tag_gridworld, partial": (
        "tag_gridworld",
        {agents: params | {"use_full_observation": False} for agents, params in (GRIDWORLD | THOUSANDS).items()},
    ),
    "tag_gridworld, full": (
        "tag_gridworld",
        {agents: params | {"use_full_observation": True} for agents, params in GRIDWORLD.items()},
    ),
    "tag_continuous, nearest": (
        "tag_continuous",
        {agents: _plane(agents) for agents in (10, 30, 100, 300, 1000, 2000, 5000, 10_000)},
    ),
    "battle": (
        "battle",
        {2 * army: {"army_size": army, "map_size": side} for army, side in (MAPS | LARGE_MAPS).items()},
    ),
    "foraging, grid": (
        "foraging",
        {players: _field(players) | {"grid_observation": True} for players in (2, 4, 8, 16, 32)},
    ),
    "foraging, list": ("foraging", {players: _field(players) for players in (2, 4, 8, 16, 32)}),
    "foraging, all seen": (
        "foraging",
        {players: ONE_FIELD | {"players": players} for players in (2, 4, 8, 16, 32)},
    ),
    "warehouse, large": (
        "warehouse",
        {agents: {"layout": "large", "agents": agents, "request_queue_size": agents} for agents in (2, 4, 8, 16, 32)},
    ),
    "particles_spread": ("particles_spread", {agents: {"agents": agents} for agents in (3, 6, 12, 24, 48)}),
    "skirmish": (
        "skirmish",
        {
            10: {"scenario": "2s3z"},
            11: {"scenario": "5m_vs_6m"},
            21: {"scenario": "10m_vs_11m"},
            57: {"scenario": "27m_vs_30m"},
        },
    ),
    "epidemic": ("epidemic", {regions + 1: {"regions": regions} for regions in (3, 12, 25, 51)}),
}


def cost_of_agents(name: str, params: dict[str, Any]) -> tuple[float, float]:
    """What an agent costs under random actions, which are the same in all steps; resets included.

    Returns:
        ns of CPU time of a step, and bytes of the store.
    """
    environment = get_environment(name)(**params)
    num_envs = max(1, ALL_AGENTS // sum(group.size for group in environment.groups()))
    world = warpworld.World(environment, num_envs, device="cpu", num_workers=1)
    world.reset()
    for array, values in random_actions(world, np.random.default_rng(0)).items():
        world[array].copy_(values)
    seconds = min(_window(world) for _ in range(WINDOWS))
    nbytes = sum(world[array].nbytes for array in world.data)
    agents = num_envs * world.num_agents
    return seconds * 1e9 / agents, nbytes / agents


def _window(world: warpworld.World) -> float:
    start = time.process_time()
    for _ in range(STEPS):
        world.step()
    return (time.process_time() - start) / STEPS


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, or load what was measured; print the table, and draw it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.crowds", description=__doc__)
    parser.add_argument("words", nargs="*", metavar="WORD", help="lines that have them all (default: all lines)")
    parser.add_argument("--save", type=Path, metavar="FILE", help="the table as JSON, with machine and commit")
    parser.add_argument("--load", type=Path, metavar="FILE", help="show what was saved; measure nothing")
    parser.add_argument("--draw", type=Path, metavar="FILE", help="the times as a PNG")
    arguments = parser.parse_args(argv)
    print("| environment | ns per agent step, by the number of agents | bytes per agent |")
    print("|---|---|---|")
    costs: Costs = {}
    for label, found in _loaded(arguments.load) if arguments.load else _measured(arguments.words):
        costs[label] = found
        times = ", ".join(f"{agents}: {ns:.3g}" for agents, (ns, _) in found.items())
        memory = ", ".join(f"{agents}: {nbytes:.0f}" for agents, (_, nbytes) in found.items())
        print(f"| {label} | {times} | {memory} |", flush=True)
        if arguments.save:
            replace_text(arguments.save, json.dumps({**conditions(), "costs": costs}) + "\n")
    if arguments.draw:
        draw(costs, arguments.draw)


def _measured(words: Sequence[str]) -> Iterator[tuple[str, dict[int, tuple[float, float]]]]:
    for label, (name, crowds) in CROWDS.items():
        if all(word in label for word in words):
            yield label, {agents: cost_of_agents(name, params) for agents, params in crowds.items()}


def _loaded(file: Path) -> Iterator[tuple[str, dict[int, tuple[float, float]]]]:
    for label, found in json.loads(file.read_text(encoding="utf-8"))["costs"].items():
        yield label, {int(agents): (ns, nbytes) for agents, (ns, nbytes) in found.items()}


def draw(costs: Costs, path: Path) -> None:
    """Draw ns per agent step over the number of agents in an env, both on logarithmic axes."""
    with figure(path, 7.0, 4.2, dpi=140) as drawn:
        axes = drawn.subplots()
        for number, (label, found) in enumerate(costs.items()):
            times = [ns for ns, _ in found.values()]
            colour, style = SERIES[number % len(SERIES)], LINES[number // len(SERIES) % len(LINES)]
            axes.plot(list(found), times, style, color=colour, marker="o", markersize=3.5, linewidth=1.3, label=label)
        axes.set(xscale="log", yscale="log", xlabel="agents in an env", ylabel="ns per agent step")
        drawn.legend(loc="outside right upper")


if __name__ == "__main__":
    main()
