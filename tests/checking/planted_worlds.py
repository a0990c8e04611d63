"""Checks of the kernels in planted/, each of which has one fault."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete

from tests.toys import environment
from warpworld import Array, Environment, Group
from warpworld.checking import Report, check

PLANTED = Path(__file__).parent / "planted"
NUM_AGENTS, NUM_ENVS = 4, 3

ARRAYS = [
    Array("x", "float32", initial=0.5, on_reset="keep"),
    Array("y", "float32", initial=0, on_reset="keep"),
    Array("points", "float32", (2,), initial=0, on_reset="keep"),
    Array("side", "float32", initial=0.25, bounds=(0, 1), on_reset="keep"),
    Array("empty", "float32", on_reset="keep"),
    Array("kept", "float32", initial=0),
    Array("flags", "bool", initial=False, on_reset="keep"),
    Array("fixed", "float32", initial=1, read_only=True, on_reset="keep"),
    Array("hits", "int32", per="env", initial=0, on_reset="keep"),
    Array("owner", "int32", per="env", initial=-1, on_reset="keep"),
    Array("sum", "float32", per="env", initial=0, on_reset="keep"),
    Array("total", "int32", per="world", initial=0, on_reset="keep"),
]


def planted(source: str | Path, kernel: str, reset: str | None = None, num_agents: int = NUM_AGENTS) -> Environment:
    """An environment whose step is one kernel of a file of planted/."""
    seen = Box(0.0, 1.0, (1,), np.float32)
    group = Group("agent", num_agents, observation=seen, action=Discrete(3))
    resets = () if reset is None else (reset,)
    return environment(PLANTED / source, ARRAYS, [group], phases=[kernel], resets=resets)


def checked(source: str | Path, kernel: str, reset: str | None = None, **settings: Any) -> Report:
    """The report of a short check."""
    return check(planted(source, kernel, reset), num_envs=NUM_ENVS, steps=8, **settings)


def line_of(source: str, marker: str) -> int:
    """The line of a file of planted/ that ends in a comment."""
    lines = (PLANTED / source).read_text().splitlines()
    (found,) = [number for number, line in enumerate(lines, 1) if line.endswith(f"// {marker}")]
    return found
