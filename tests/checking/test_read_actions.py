"""Actions outside of their space are told of where a kernel reads them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from tests.checking.planted_worlds import ARRAYS, NUM_AGENTS, PLANTED, line_of
from tests.toys import agents, box, environment
from warpworld import Group
from warpworld.checking import Report, check

pytestmark = pytest.mark.cpu_backend

TWO = [Group("cat", 1, box(), Discrete(2)), Group("dog", NUM_AGENTS - 1, box(), Discrete(3))]


def checked(kernel: str, action: float, agent: int, groups: list[Group]) -> Report:
    """The report on a world where a phase has put an action in the place of one agent's."""

    def act(arrays: Any, active: Any) -> None:
        arrays["actions"][:, agent, -1] = action

    declared = environment(PLANTED / "read_only.cu", ARRAYS, groups, phases=[act, kernel], resets=())
    return check(declared, num_envs=3, steps=4)


@pytest.mark.parametrize(("action", "agent", "group"), [(3, 2, "dog"), (-1, 1, "dog"), (2, 0, "cat")])
def test_an_action_that_is_no_choice_is_found_where_it_is_read(action: int, agent: int, group: str) -> None:
    (finding,) = checked("reader", action, agent, TWO).findings
    assert (finding.kind, finding.array, finding.index) == ("action", "actions", (0, agent, 0))
    assert (finding.kernel, finding.step, finding.place.line) == ("reader", 1, line_of("read_only.cu", "reader"))
    choices = 2 if group == "cat" else 3
    assert finding.message == (
        f"kernel 'reader' reads actions[env 0, agent {agent}, 0], which is {action}: outside the action space of "
        f"group '{group}', Discrete({choices})"
    )


@pytest.mark.parametrize("shape", [(2,), (2, 1)])
@pytest.mark.parametrize("action", [1.5, -1.5, float("nan")])
def test_a_continuous_action_is_held_against_its_box(action: float, shape: tuple[int, ...]) -> None:
    steering = Group("agent", NUM_AGENTS, box(), Box(-1.0, 1.0, shape, np.float32))
    (finding,) = checked("steered", action, 1, [steering]).findings
    assert (finding.kind, finding.index) == ("action", (0, 1, 1))
    assert finding.place.line == line_of("read_only.cu", "steered")


def test_an_action_that_nobody_reads_is_left_alone() -> None:
    assert checked("not_a_reader", 3, 2, [agents(NUM_AGENTS)]).findings == ()


def test_an_action_at_the_edge_is_in_its_space() -> None:
    assert checked("reader", 2, 2, [agents(NUM_AGENTS, choices=3)]).findings == ()


def test_an_action_that_went_wrong_after_it_was_read_is_left_alone() -> None:
    """The kernel behind the phase reads none, though the one before it has read all."""

    def act(arrays: Any, active: Any) -> None:
        arrays["actions"][:, 2, -1] = 3

    phases = ["reader", act, "not_a_reader"]
    declared = environment(PLANTED / "read_only.cu", ARRAYS, [agents(NUM_AGENTS)], phases=phases, resets=())
    assert check(declared, num_envs=3, steps=4).findings == ()
