"""The table of the gallery: cases name environments that can be made; a peer that is missing is left out."""

from __future__ import annotations

import pytest

from benchmarks import gallery
from benchmarks.gallery.case import Case
from warpworld.environment import get_environment

CASES = [case for cases in gallery.FAMILIES.values() for case in cases]


@pytest.mark.parametrize("case", CASES, ids=[case.label for case in CASES])
def test_every_case_names_an_environment(case: Case) -> None:
    assert get_environment(case.name)(**case.params).groups()


def test_a_row_for_us_and_for_each_peer_that_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[int] = []

    def peer(num_envs: int) -> tuple[object, int]:
        return lambda: steps.append(num_envs), 1

    case = Case("small", "cartpole", 8, peers={"json": peer, "no_such_library": peer})  # type: ignore[dict-item]
    monkeypatch.setattr(gallery, "FAMILIES", {"ours": [case], "others": [Case("other", "pendulum", 8)]})
    rows = list(gallery.rows(1e-4, "gallery:ours"))
    assert [(row.world, row.system, row.num_envs, row.agents) for row in rows] == [
        ("small", "warpworld", 8, 1),
        ("small", "json", 1, 1),
    ]
    assert steps
