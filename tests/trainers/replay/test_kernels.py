"""``warpworld check`` finds nothing in the replay's kernels, and finds what is planted in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Discrete

from tests.toys import box
from warpworld.checking import Report, check
from warpworld.environment import Array, Environment, Group, Kernel
from warpworld.trainers.replay.priorities import KERNELS

pytestmark = [pytest.mark.cpu_backend, pytest.mark.long]

ENVS, AGENTS, ROWS, BATCH, ENTRIES, CHOICES, SLOTS = 3, 2, 11, 16, 5, 3, 4
ITEMS, BLOCK = 1024, ENVS * AGENTS
SETTLING = (
    *("keep_final_observations", "advance", "count_rows", "note_rows", "set_first_leaves"),
    *("add_up_blocks_1", "add_up_blocks_2", "add_up_3", "add_up_prefix"),
)
LEARNING = (
    *("draw_blocks", "draw_items", "count_update", "gather", "gather_observations", "gather_choices", "gather_masks"),
    *("find_smallest", "weigh", "miss", "set_leaves", "find_largest"),
    *("add_up_batch_1", "add_up_batch_2", "add_up_3", "add_up_prefix"),
)


def ring_arrays() -> list[Array]:
    """As ``Ring`` and ``Finals`` have them, full of something."""
    draws, ring = np.random.default_rng(0), (ROWS, ENVS, AGENTS)

    def numbers(name: str, *shape: int) -> Array:
        return Array(name, "float32", shape, "world", initial=draws.random(shape).astype(np.float32))

    def flags(name: str, share: float, *shape: int) -> Array:
        return Array(name, "bool", shape, "world", initial=draws.random(shape) < share)

    return [
        Array("row", "int32", (), "world", initial=7),
        Array("written", "int64", (1,), "world", initial=40),
        *(numbers(f"ring_{name}", *ring) for name in ("rewards", "taken_values", "best_values")),
        numbers("ring_observations", *ring, ENTRIES),
        Array("ring_actions", "int32", ring, "world", initial=1),
        flags("ring_action_mask", 0.8, *ring, CHOICES),
        *(flags(f"ring_{name}", 0.2, *ring[:2]) for name in ("terminated", "truncated")),
        *(flags(f"ring_{name}", 0.1, *ring) for name in ("agent_terminated", "agent_truncated")),
        flags("ring_agent_mask", 0.9, *ring),
        Array("takes_part", "uint8", ring, "world", initial=3),
        Array("played", "bool", (ENVS, AGENTS), "world", initial=True),
        Array("last", "float32", (AGENTS, ENTRIES), "env", initial=0, on_reset="keep"),
        Array("last_mask", "bool", (AGENTS, CHOICES), "env", initial=True, on_reset="keep"),
        Array("finals", "float32", (SLOTS, AGENTS, ENTRIES), "env", initial=0, on_reset="keep"),
        Array("finals_mask", "bool", (SLOTS, AGENTS, CHOICES), "env", initial=True, on_reset="keep"),
        Array("finals_kept", "int32", per="env", initial=3, on_reset="keep"),
        Array("finals_before", "int32", ring[:2], "world", initial=2),
    ]


def batch_arrays() -> list[Array]:
    """As ``Priorities`` and ``TransitionReplay`` have them; most items can be drawn."""
    leaves = np.zeros(ITEMS, np.float32)
    leaves[: ROWS * BLOCK] = np.random.default_rng(1).random(ROWS * BLOCK) - 0.2
    leaves = leaves.clip(0)
    sums = leaves.astype(np.float64).reshape(-1, 32).sum(1)
    shapes = {"items": (), "generation": (), "next": (), "shares": (), "weights": (), "errors": (), "leaves": ()}
    shapes |= {"returns": (), "discounts": (), "actions": (1,), "next_mask": (CHOICES,)}  # type: ignore[dict-item]
    shapes |= {"observations": (2 * ENTRIES,), "next_observations": (2 * ENTRIES,)}  # type: ignore[dict-item]
    dtypes = dict.fromkeys(("items", "generation", "next", "actions"), "int32") | {"next_mask": "bool"}
    return [
        Array("leaves", "float32", (ITEMS,), "world", initial=leaves),
        Array("sums_1", "float64", (32,), "world", initial=sums),
        *(Array(name, "float64", (1,), "world", initial=sums.sum()) for name in ("sums_2", "sums_3", "prefix")),
        Array("generation", "int32", (ROWS,), "world", initial=3),
        Array("touched", "int32", (2,), "world", initial=1),
        Array("update", "uint64", (1,), "world", initial=0),
        Array("key", "uint64", (1,), "world", initial=5),
        Array("largest_leaf", "float32", (1,), "world", initial=1.0),
        Array("smallest_share", "float32", (1,), "world", initial=1.0),
        Array("beta", "float32", (1,), "world", initial=0.5),
        Array("batch_rests", "float64", (BATCH,), "world", initial=0.0),
        *(
            Array(f"batch_{name}", dtypes.get(name, "float32"), (BATCH, *shape), "world")
            for name, shape in shapes.items()
        ),
    ]


class ReplayKernels(Environment):
    """Steps whose phases are the replay's kernels: those after an iteration, or those of an update."""

    source = "kernels.cu"
    includes = tuple(KERNELS / name for name in ("ring.cu", "priorities.cu", "transitions.cu"))
    compile_time = (
        *(
            "items",
            "blocks",
            "block",
            "batch",
            "rows",
            "agents",
            "num_steps",
            "leaving",
            "cutting",
            "masked",
            "n_step",
            "stack",
        ),
        *("entries", "action_size", "choices", "slots", "finals", "action_masked", "actors_priority"),
        *("value_rescale", "reward_scale", "reward_clip", "smallest_priority", "touched"),
    )

    @dataclass(frozen=True)
    class Params:
        learning: bool = False
        items: int = ITEMS
        blocks: int = ROWS
        block: int = BLOCK
        batch: int = BATCH
        rows: int = ROWS
        agents: int = AGENTS
        num_steps: int = 1
        leaving: bool = True
        cutting: bool = True
        masked: bool = True
        masking: bool = True
        n_step: int = 3
        stack: int = 2
        touched: int = 5
        entries: int = ENTRIES
        action_size: int = 1
        choices: int = CHOICES
        slots: int = SLOTS
        finals: int = 1
        action_masked: int = 1
        actors_priority: int = 1
        value_rescale: int = 1
        reward_scale: float = 1.5
        reward_clip: float = 0.7
        smallest_priority: float = 1e-6
        gamma: float = 0.9
        alpha: float = 0.6

    params: Params

    def groups(self) -> Sequence[Group]:
        return [Group("agent", AGENTS, box(1), Discrete(CHOICES))]

    def arrays(self) -> Sequence[Array]:
        return [*ring_arrays(), *batch_arrays()]

    def phases(self) -> Sequence[Any]:
        names = LEARNING if self.params.learning else SETTLING
        copies = ("gather_observations",)  # whose lanes would each write the same, where they take turns
        kernels = [Kernel(name, 1 if name in copies else 4, own_env_only=False) for name in names]
        return kernels if self.params.learning else [Kernel("play", own_env_only=False), *kernels]

    def resets(self) -> Sequence[Any]:
        return []


@pytest.mark.heavy
@pytest.mark.parametrize("learning", [False, True])
def test_nothing_is_found(learning: bool) -> None:
    report: Report = check(ReplayKernels(learning=learning), ENVS, 30)
    expected = {"neighbours"}  # a ring is of all envs together
    assert not [str(finding) for finding in report.findings if not finding.note and finding.kind not in expected]
    assert not report.stopped
