"""Worlds of toy environments, made in a line."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.toys import HEADER, IDLE, environment
from tests.world.walks import NUM_ENVS, WALK, WALK_ARRAYS, Toy
from warpworld import Array, World


@pytest.fixture(scope="session")
def write() -> Callable[[str], Path]:
    """Writes a kernel file. The same text has the same path in every run, so that it is compiled once."""
    folder = Path(tempfile.gettempdir()) / f"warpworld-tests-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)

    def write(text: str) -> Path:
        path = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.cu"
        if not path.exists() or path.read_text() != text:
            draft = path.with_suffix(f".{os.getpid()}")
            draft.write_text(text)
            draft.replace(path)  # whole at once: tests may run in parallel
        return path

    return write


@pytest.fixture
def toy(write: Callable[[str], Path]) -> Toy:
    """A world of a toy environment with this kernel text, or of Python phases alone (None)."""

    def toy(text: str | None, *arrays: Array, num_envs: int = NUM_ENVS, **options: Any) -> World:
        names = ("seed", "num_workers", "first_env", "envs_per_warp", "autoreset", "check_actions")
        of_world = {"device": "cpu", **{name: options.pop(name) for name in names if name in options}}
        source = None if text is None else write(text if text is IDLE else HEADER + text)
        return World(environment(source, arrays, **options), num_envs, **of_world)

    return toy


@pytest.fixture
def walk(toy: Toy) -> Toy:
    """A world of two agents that walk to a goal."""

    def walk(goal: int = 1000, episode_length: int = 1000, **options: Any) -> World:
        return toy(WALK, *WALK_ARRAYS, params={"goal": goal, "episode_length": episode_length}, **options)

    return walk
