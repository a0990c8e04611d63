"""The pytest fixture ``check_environment``."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.checking.planted_worlds import line_of, planted
from warpworld.checking import Report
from warpworld.checking.pytest_plugin import check_environment  # noqa: F401  the installed plugin offers the same

pytestmark = pytest.mark.cpu_backend


def test_a_clean_environment_passes(check_environment: Callable[..., Report]) -> None:  # noqa: F811
    report = check_environment(planted("races.cu", "same_value"), num_envs=2, steps=3)
    assert [finding.note for finding in report.findings] == [True]


def test_a_finding_fails_the_test_and_is_told(check_environment: Callable[..., Report]) -> None:  # noqa: F811
    with pytest.raises(pytest.fail.Exception) as failure:
        check_environment(planted("races.cu", "lost_update"), num_envs=2, steps=3)
    assert f"races.cu:{line_of('races.cu', 'lost_update')}: race: " in str(failure.value)
    assert "1 finding (2 envs, 3 steps, seed 0" in str(failure.value)
