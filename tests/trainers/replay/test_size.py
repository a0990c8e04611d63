"""What a replay takes is reported, and a ring that does not fit is refused."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from warpworld.config import config_from_dict
from warpworld.errors import ConfigError
from warpworld.managers.cpu.free_memory import available_memory
from warpworld.trainers.trainer import Trainer

pytestmark = pytest.mark.cpu_backend


def trainer(**policy: Any) -> Trainer:
    sizes = {"num_envs": 8, "num_steps": 4, "total_env_steps": 320}
    entry = {"algorithm": "dqn", "learning_starts": 128, **policy}
    return Trainer(config_from_dict({"name": "cartpole", "trainer": sizes, "policy": {"agent": entry}}))


def test_bytes_of_a_transition_are_reported(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        world = trainer(replay_size=8192, final_observations=False, priority_alpha=0).world
    # 16 observed, 4 of the action, 4 of the reward, 1 who takes part, 2 ends, 4 of the leaf, nearly 1 of sums and rows
    assert "replay of group 'agent': 8,192 transitions of 32 bytes, 254.1 KB" in caplog.text
    assert world["replay_ring_observations_agent"].shape == (1024, 8, 1, 4)


def test_rows_are_rounded_up() -> None:
    assert trainer(replay_size=1001).world["replay_ring_rewards_agent"].shape == (126, 8, 1)


def test_a_ring_beyond_the_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warpworld.managers.cpu.backend.available_memory", lambda: 2**30)
    message = (
        r"^policy of group 'agent': replay_size asks for 80,000,000 transitions of 32 bytes, 2.4 GB, and 1.0 GB are "
        r"free; 33,\d\d\d,\d\d\d would fit$"
    )
    with pytest.raises(ConfigError, match=message):
        trainer(replay_size=80_000_000, final_observations=False)


# ---- what the system has ---------------------------------------------------------------------------------------------
MEMINFO = "MemTotal:       24576000 kB\nMemFree:         1000000 kB\nMemAvailable:   20000000 kB\n"


@pytest.mark.parametrize(
    ("meminfo", "limits", "expected"),
    [
        (MEMINFO, None, 20_480_000_000),
        (MEMINFO, ("max", "5"), 20_480_000_000),
        (MEMINFO, ("8000000000", "3000000000"), 5_000_000_000),
        (MEMINFO, ("8000000000", "9000000000"), 0),
        ("MemTotal: 5 kB\n", None, None),
        ("MemTotal: 5 kB\n", ("100", "40"), 60),
        (None, None, None),
    ],
)
def test_of_the_available_memory(
    tmp_path: Path, meminfo: str | None, limits: tuple[str, str] | None, expected: int | None
) -> None:
    if meminfo is not None:
        (tmp_path / "meminfo").write_text(meminfo)
    for name, text in zip(("memory.max", "memory.current"), limits or (), strict=False):
        (tmp_path / name).write_text(f"{text}\n")
    assert available_memory(tmp_path / "meminfo", tmp_path) == expected


def test_files_that_the_system_gives_up_are_available(tmp_path: Path) -> None:
    for name, text in (("memory.max", "100"), ("memory.current", "90"), ("memory.stat", "file 60\ninactive_file 50\n")):
        (tmp_path / name).write_text(text)
    (tmp_path / "meminfo").write_text("MemTotal: 5 kB\n")
    assert available_memory(tmp_path / "meminfo", tmp_path) == 60
