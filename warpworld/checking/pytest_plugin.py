"""The pytest plugin: a fixture with which a project's tests check its environments."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from warpworld.checking.findings import Report


@pytest.fixture(scope="session")
def check_environment() -> Callable[..., Report]:
    """``check_environment("walk", steps=50)``: the test fails if ``warpworld.check`` finds anything.

    The fixture is a function that takes what ``warpworld.check`` takes and returns the report, which may hold notes.
    """

    def check(*arguments: Any, **settings: Any) -> Report:
        from warpworld.checking.check import check as check_kernels  # only where a test asks: pytest starts quickly

        __tracebackhide__ = True
        report = check_kernels(*arguments, **settings)
        if not report.clean:
            pytest.fail(str(report), pytrace=False)
        return report

    return check
