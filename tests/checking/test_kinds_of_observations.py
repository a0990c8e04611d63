"""The check reads observations of bytes, choices and flags as it reads floats."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from gymnasium.spaces import Discrete, MultiDiscrete

from tests.trainers.collecting.seen_in_kinds import SeenAs
from warpworld import Group
from warpworld.checking import check

pytestmark = pytest.mark.cpu_backend


class Beyond(SeenAs):
    """Declares fewer choices of the first agent's place than there are."""

    def groups(self) -> Sequence[Group]:
        return [Group("walker", 2, MultiDiscrete([3, 8], start=[-2, -2]), Discrete(3))]


@pytest.mark.parametrize("kind", ["bytes", "choices", "flags", "mixed"])
def test_it_has_nothing_against_them(kind: str) -> None:
    assert not check(SeenAs(kind=kind), num_envs=2, steps=12).findings


def test_a_choice_outside_of_its_space_is_found() -> None:
    (finding,) = check(Beyond(kind="choices"), num_envs=4, steps=12).findings
    assert (finding.kind, finding.array, finding.kernel) == ("observation", "observations", "see_choices")
    assert finding.message == (
        "kernel 'see_choices': observations[env 0, agent 0, 0] became 3, outside the declared observation space"
    )
