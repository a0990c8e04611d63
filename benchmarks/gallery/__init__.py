"""The packaged environments beside their originals: a step with random actions on one core, in one run.

A module for each family holds its cases, and how each original or peer that is installed is stepped.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator

from warpworld import World
from warpworld.environment import get_environment

from ..clock import measure
from ..rows import Row
from ..worlds import measured
from . import (
    battle,
    board,
    classic_control,
    diagnostics,
    epidemic,
    foraging,
    minatar,
    overcooked,
    particles,
    skirmish,
    warehouse,
)
from .case import Case

NAME = "gallery"
FAMILIES = {
    "battle": battle.CASES,
    "board": board.CASES,
    "classic control": classic_control.CASES,
    "diagnostics": diagnostics.CASES,
    "epidemic": epidemic.CASES,
    "foraging": foraging.CASES,
    "minatar": minatar.CASES,
    "overcooked": overcooked.CASES,
    "particles": particles.CASES,
    "skirmish": skirmish.CASES,
    "warehouse": warehouse.CASES,
}


def rows(seconds: float, only: str = NAME) -> Iterator[Row]:
    """Measure every case, or those of the families whose name contains the word after "gallery:" in ``only``."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})  # before JAX starts its threads, which are then held by it
    try:
        for family, cases in FAMILIES.items():
            if only.removeprefix(NAME).lstrip(":") in family:
                for case in cases:
                    yield from _rows(case, seconds)
    finally:
        os.sched_setaffinity(0, cores)


def _rows(case: Case, seconds: float) -> Iterator[Row]:
    world = World(get_environment(case.name)(**case.params), case.num_envs, device="cpu", num_workers=1)
    timing = measured(world, seconds)
    yield Row(case.label, "warpworld", case.num_envs, world.num_agents, 1, timing.median, timing.spread)
    for peer, make in case.peers.items():
        if importlib.util.find_spec(peer) is None:
            continue
        call, num_envs = make(case.num_envs)
        timing = measure(call, None, seconds, calls=1)
        yield Row(case.label, peer, num_envs, world.num_agents, 1, timing.median, timing.spread)
