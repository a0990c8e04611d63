"""``warpworld check`` finds nothing in the kernels of a replay of teams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Discrete

from tests.toys import box
from tests.trainers.replay.test_kernels import AGENTS, BATCH, CHOICES, ENVS, ROWS, SLOTS, ring_arrays
from warpworld.checking import Report, check
from warpworld.environment import Array, Environment, Group, Kernel
from warpworld.trainers.replay.priorities import KERNELS

pytestmark = pytest.mark.cpu_backend

STATE_SIZE = 5


class TeamKernels(Environment):
    """Steps whose phases are these kernels, behind one that ends episodes."""

    source = "team_kernels.cu"
    includes = tuple(KERNELS / name for name in ("teams.cu", "team_states.cu"))
    compile_time = (
        *("batch", "rows", "agents", "num_steps", "leaving", "cutting", "masked", "mean"),
        *("state_size", "slots", "finals"),
    )

    @dataclass(frozen=True)
    class Params:
        batch: int = BATCH
        rows: int = ROWS
        agents: int = AGENTS
        num_steps: int = 2
        leaving: bool = True
        cutting: bool = True
        masked: bool = True
        masking: bool = True
        mean: int = 1
        state_size: int = STATE_SIZE
        slots: int = SLOTS
        finals: int = 1

    def groups(self) -> Sequence[Group]:
        return [Group("agent", AGENTS, box(1), Discrete(CHOICES))]

    def arrays(self) -> Sequence[Array]:
        draws = np.random.default_rng(2)
        items = draws.integers(0, ROWS * ENVS, BATCH).astype(np.int32)
        follows = draws.integers(-ROWS, ROWS, BATCH).astype(np.int32)
        return [
            *ring_arrays(),
            Array("team_rewards", "float32", (ROWS, ENVS), "world"),
            Array("team_takes_part", "uint8", (ROWS, ENVS), "world"),
            Array("ring_state", "float32", (ROWS, ENVS, STATE_SIZE), "world", initial=1.0),
            Array("last_state", "float32", (STATE_SIZE,), "env", initial=2.0, on_reset="keep"),
            Array("finals_state", "float32", (SLOTS, STATE_SIZE), "env", initial=3.0, on_reset="keep"),
            Array("batch_items", "int32", (BATCH,), "world", initial=items),
            Array("batch_next", "int32", (BATCH,), "world", initial=follows),
            Array("batch_shares", "float32", (BATCH,), "world", initial=0.5),
            *(Array(f"batch_{name}", "bool", (BATCH, AGENTS), "world") for name in ("takes_part", "next_takes_part")),
            *(Array(f"batch_{name}", "float32", (BATCH, STATE_SIZE), "world") for name in ("states", "next_states")),
        ]

    def phases(self) -> Sequence[Any]:
        names = ("note_teams", "keep_final_states", "gather_members", "gather_states")
        return ["end", *(Kernel(name, 4, own_env_only=False) for name in names)]

    def resets(self) -> Sequence[Any]:
        return []


@pytest.mark.heavy
def test_nothing_is_found() -> None:
    report: Report = check(TeamKernels(), ENVS, 10)
    expected = {"neighbours"}  # a ring is of all envs together
    assert not [str(finding) for finding in report.findings if not finding.note and finding.kind not in expected]
    assert not report.stopped
