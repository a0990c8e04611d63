"""The table of a C++ class beside a kernel: both play the same game."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from benchmarks import residents
from warpworld import World

pytestmark = pytest.mark.cpu_backend


@pytest.mark.long
def test_the_worlds_play_the_same_game(tmp_path: Path) -> None:
    worlds = [
        World(each, 32, "cpu", seed=4) for each in (residents.scalar_cartpole(tmp_path), residents.ResidentCartPole())
    ]
    for world in worlds:
        world.reset()
    choices = torch.Generator().manual_seed(3)
    for _ in range(60):
        actions = torch.randint(0, 2, (32, 1, 1), generator=choices, dtype=torch.int32)
        for world in worlds:
            world["actions"] = actions
            world.step()
        for name in ("observations", "rewards", "terminated", "truncated"):
            assert torch.allclose(*(world[name].float() for world in worlds), atol=1e-5), name


@pytest.mark.long
def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    residents.main(["--envs", "6"])
    rows = capsys.readouterr().out.splitlines()
    assert [row.split("  ")[0] for row in rows] == [
        *("kernel, in vectors: step", "kernel: step", "class: step", "class: fork(0, all others)"),
    ]
