"""Every transition that a replay draws is the one that was played, and nothing else can be drawn."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases import often
from tests.trainers.replay.filled import Filled
from warpworld.trainers.collecting.players import Slot

pytestmark = pytest.mark.long

ENDS = {"terminating": 0.15, "truncating": 0.15}
ALL = {**ENDS, "dying": 0.15, "cutting": 0.15, "resting": 0.15, "forbidding": 0.3}
CASES: dict[str, dict[str, Any]] = {
    "one step": {},
    "three steps": {"sizes": {"n_step": 3}},
    "finals": {"sizes": {"n_step": 3, "final_observations": True}},
    "everything": {"sizes": {"n_step": 5, "final_observations": True}, **ALL},
    "everything, no finals": {"sizes": {"n_step": 4}, **ALL},
    "own arrays": {"apart": True, "sizes": {"n_step": 2, "final_observations": True}, **ALL},
    "own arrays, a Dict": {
        **{"seen": "mixed", "apart": True, "actions": "several"},
        **{"sizes": {"n_step": 2, "final_observations": True}, **ALL},
    },
    "groups side by side": {"groups": ["left", "middle"], "sizes": {"n_step": 2, "final_observations": True}},
    "a step an iteration": {"num_steps": 1, "sizes": {"n_step": 3, "final_observations": True}},
    "a long iteration": {
        **{"num_steps": 7, "groups": ["middle"], "actions": "box"},
        **{"sizes": {"n_step": 2, "rows": 17, "final_observations": True, "reward_scale": 1.7, "reward_clip": 0.5}},
    },
    "the smallest ring": {"num_steps": 3, "sizes": {"n_step": 2, "rows": 6}},
    "stacks of bytes": {"seen": "bytes", "sizes": {"n_step": 3, "frame_stack": 4, "final_observations": True}, **ALL},
    "stacks, no finals": {"seen": "bytes", "sizes": {"n_step": 2, "frame_stack": 3}, **ALL},
    "stacks in the smallest ring": {
        "seen": "bytes",
        "num_steps": 2,
        "sizes": {"rows": 8, "n_step": 2, "frame_stack": 4},
    },
    "rows ahead": {"overlaps": True, "sizes": {"n_step": 3, "rows": 15, "final_observations": True}, **ALL},
    "stacks and rows ahead": {
        **{"seen": "bytes", "overlaps": True, "num_steps": 3, "sizes": {"n_step": 2, "rows": 14, "frame_stack": 3}},
        **ALL,
    },
    "stacks of floats": {"sizes": {"frame_stack": 2, "n_step": 2, "final_observations": True}, **ALL},
    "a Dict": {"seen": "mixed", "sizes": {"n_step": 2, "final_observations": True}, **ALL},
    "several choices": {"actions": "several", "sizes": {"n_step": 2, "final_observations": True}, **ALL},
    "opponents": {
        "slots": [Slot(("left",), slice(0, 1)), Slot(("left", "right"), slice(1, 2))],
        "sizes": {"n_step": 2},
    },
}


# Those that have all between them; each has kernels of its own to compile.
FEW = (
    *("everything", "everything, no finals", "own arrays, a Dict", "a long iteration"),
    *("stacks of bytes", "stacks, no finals", "opponents", "rows ahead", "stacks and rows ahead"),
)
# The one that is also played for long, which takes a minute.
FOR_LONG = ("everything, no finals",)


@pytest.mark.heavy
@pytest.mark.parametrize("name", often(("everything", "own arrays, a Dict", "stacks of bytes", "opponents"), FEW))
def test_transitions_are_those_that_were_played(name: str) -> None:
    assert Filled(**{**ENDS, **CASES[name]}).run(14) > 200


def test_rows_that_were_never_written_are_not_drawn() -> None:
    filled = Filled(**{**ENDS, **CASES["everything, no finals"]})
    filled.array("takes_part").fill_(3)  # as a ring is that was emptied
    assert filled.run(3) > 10


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.parametrize("name", often(FOR_LONG, CASES))
def test_transitions_are_those_that_were_played_for_long(name: str) -> None:
    case = {**ENDS, **CASES[name]}
    sizes = {"batch_size": 2048, **case.pop("sizes", {})}
    compared = Filled(**case, sizes=sizes, num_envs=9, world={"seed": 3}).run(60)
    assert compared > 4000 or "smallest" in name
