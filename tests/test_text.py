"""Numbers as people read them."""

from __future__ import annotations

import pytest

from warpworld.text import shown


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        *((0.0, "0.00"), (1234.567, "1,234.57"), (0.14159, "0.14"), (-0.01, "-0.01"), (float("nan"), "nan")),
        *((0.00123456, "0.00123"), (-0.0000123456, "-1.23e-05"), (1e-9, "0.00")),
    ],
)
def test_mean_returns(value: float | None, text: str) -> None:
    assert shown(value) == text
