"""Updates that would be lost if agents met are found, even if they never meet in a step of the check."""

from __future__ import annotations

import re

import pytest

from tests.checking.planted_worlds import PLANTED, checked, line_of

pytestmark = pytest.mark.cpu_backend

SOURCE = "lost_updates.cu"
KERNELS = re.findall(r"__global__ void (\w+)\(", (PLANTED / SOURCE).read_text())
RIGHT = [kernel for kernel in KERNELS if kernel.startswith("right_")]
NOT_CLEAR = ["passed_on", "never_at_one_place"]  # one agent alone, as only data say
LOST = [kernel for kernel in KERNELS if kernel not in [*RIGHT, *NOT_CLEAR]]


@pytest.mark.parametrize("kernel", LOST)
def test_a_plain_update_by_several_agents_is_found(kernel: str) -> None:
    report = checked(SOURCE, kernel)
    (finding,) = report.findings
    assert (finding.kind, finding.note, finding.kernel) == ("race", False, kernel)
    assert finding.place.line == line_of(SOURCE, kernel)
    assert len(set(finding.agents)) == 2 and finding.writes == (True, True)
    assert not report.clean


@pytest.mark.parametrize("kernel", RIGHT)
def test_nothing_is_found_where_the_text_lets_one_agent_in_or_nothing_is_lost(kernel: str) -> None:
    assert checked(SOURCE, kernel).findings == ()


@pytest.mark.parametrize("kernel", NOT_CLEAR)
def test_it_is_a_note_where_data_may_choose_one_agent(kernel: str) -> None:
    report = checked(SOURCE, kernel)
    (finding,) = report.findings
    assert (finding.kind, finding.note, finding.place.line) == ("race", True, line_of(SOURCE, kernel))
    assert finding.advice == (
        "if one agent at most comes here in a launch, make that explicit: compare agent_id() with the chosen agent's; "
        "otherwise use an atomic operation such as atomicAdd"
    )
    assert report.clean


def test_the_message_names_both_agents_and_their_steps() -> None:
    (finding,) = checked(SOURCE, "counted").findings
    assert finding.message == (
        "kernel 'counted', env 0: agent 2 updates hits[env 0] in step 3 without an atomic operation, as agent 3 did in "
        "step 2: where two agents come here in one launch, an update is lost"
    )
    assert finding.advice == "use an atomic operation such as atomicAdd, or let one agent do it"
    assert (finding.index, finding.env, finding.agents, finding.step) == ((0,), 0, (2, 3), 3)


def test_envs_that_share_an_array_compete_too() -> None:
    (finding,) = checked(SOURCE, "of_all_envs").findings
    assert "agent 2 updates total in step 3 without an atomic operation, as agent 3 of env 0 did" in finding.message
