"""`warpworld check` on kernels in WarpDrive's words: sound ones are clean, lost updates are found where they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from gymnasium.spaces import Box, Discrete

from tests.cuda.warpdrive.warpdrive_worlds import Continuous, Gridworld, Votes
from warpworld import Environment, Group, Kernel, check

pytestmark = pytest.mark.cpu_backend
HERE = Path(__file__).parent
CROWDED: dict[str, Any] = dict(num_runners=6, grid_length=4.0, tagging_distance=0.3)


def line_of(source: str, marker: str) -> int:
    (found,) = [
        i for i, line in enumerate((HERE / source).read_text().splitlines(), 1) if line.endswith(f"// {marker}")
    ]
    return found


@pytest.mark.parametrize("full", [True, False])
def test_the_gridworld_is_clean(full: bool) -> None:
    report = check(Gridworld(use_full_observation=full, num_taggers=4))
    assert not report.findings and not report.stopped, str(report)


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.long
def test_the_mended_continuous_tag_is_clean(full: bool) -> None:
    report = check(Continuous(use_full_observation=full, **CROWDED))
    assert not report.findings and not report.stopped, str(report)


def test_both_lost_updates_are_found() -> None:
    report = check(Continuous(lost_updates=True, **CROWDED))
    found = {(f.kind, f.array, f.place.line, f.kernel) for f in report.findings}
    assert found == {
        ("race", "rewards", line_of("continuous.cu", "lost reward"), "CudaTagContinuousStep"),
        ("race", "num_runners", line_of("continuous.cu", "lost count"), "CudaTagContinuousStep"),
    }
    assert {Path(f.place.file).name for f in report.findings} == {"continuous.cu"}


def test_a_kernel_without_observations_or_ends_is_clean() -> None:
    report = check(Votes(), steps=3)
    assert not report.findings, str(report)


class WritesActions(Environment):
    source = "planted.cu"
    includes = ("warpdrive.cuh",)

    def groups(self) -> list[Group]:
        return [Group("agent", 3, Box(0.0, 1.0, (1,)), Discrete(3))]

    def phases(self) -> list[Kernel]:
        return [Kernel("write_actions", arguments=("actions", "rewards", "observations"))]

    def resets(self) -> list[Kernel]:
        return []


def test_a_write_to_actions_is_found() -> None:
    findings = check(WritesActions(), steps=4).findings
    (finding,) = [finding for finding in findings if finding.kind == "read-only"]
    assert (finding.array, finding.index, finding.agents) == ("actions", (0, 1, 0), (1,))
    assert finding.place.line == line_of("planted.cu", "planted")
    assert finding.message.startswith("kernel 'write_actions', env 0: agent 1 writes actions[env 0, agent 1, 0]")
    assert finding.message.endswith("which is read-only for kernels")
