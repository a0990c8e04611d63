"""Ends of PettingZoo's agents: terminations and truncations of each are kept apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("pettingzoo")

from tests.adapters.external.odd import Odd
from warpworld.adapters.external.parallel_envs import ParallelEnvs

pytestmark = pytest.mark.cpu_backend


class Cut(Odd):
    """Of two agents the first is cut in step 2, and the second ends as the flags say in step 3."""

    def __init__(self, last: tuple[bool, bool], keeps: bool) -> None:
        super().__init__(keeps=keeps)
        self._last = last

    def step(self, actions: dict[Any, Any]) -> Any:
        seen, paid, ends, cuts, infos = super().step(actions)
        for agent in ends:
            over = ends[agent]
            ended, cut = (False, True) if agent == "a_0" else self._last
            ends[agent], cuts[agent] = over and ended, over and cut
        return seen, paid, ends, cuts, infos


@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize(
    ("last", "terminated", "truncated"),
    [((True, False), True, False), ((False, True), False, True), ((True, True), True, False)],
)
def test_each_agent_has_its_own_end(last: Any, terminated: bool, truncated: bool, keeps: bool) -> None:
    envs = ParallelEnvs(lambda: Cut(last, keeps), 1)
    envs.reset(0)
    outcomes = [envs.step({"a": np.zeros((1, 2, 1), np.int32)}) for _ in range(3)]
    assert [outcome.agent_terminated[0].tolist() for outcome in outcomes] == [  # type: ignore[index]
        [False, False],
        [False, False],
        [False, terminated],
    ]
    assert [outcome.agent_truncated[0].tolist() for outcome in outcomes] == [  # type: ignore[index]
        [False, False],
        [True, False],
        [False, truncated],
    ]
    assert [bool(outcome.terminated[0]) for outcome in outcomes] == [False, False, terminated]
    assert [bool(outcome.truncated[0]) for outcome in outcomes] == [False, False, truncated]
