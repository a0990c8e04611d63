"""YAML text to plain values and back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpworld.config.documents.document import Document
from warpworld.config.documents.yaml_dialect import dump_yaml


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 1e-3), ("1E5", 100_000), ("2e6", 2_000_000), ("2.0", 2.0), ("-1.5e1", -15), ("1.", 1.0), (".5", 0.5),
        ("2_000_000", 2_000_000), ("1_0.5", 10.5), ("010", 10), ("0x1F", 31), ("0o17", 15), ("0b11", 3), ("+3", 3),
        (".inf", float("inf")), ("-.inf", float("-inf")), ("1e400", float("inf")), ("1:30", "1:30"), ("inf", "inf"),
        ("yes", "yes"), ("no", "no"), ("on", "on"), ("off", "off"), ("true", True), ("False", False), ("null", None),
        ("~", None), ("2024-01-01", "2024-01-01"), ("'3'", "3"), ("e3", "e3"), ("=", "="), ("[1, [2]]", [1, [2]]),
    ],
)  # fmt: skip
def test_scalars_are_what_people_mean(text: str, value: object) -> None:
    found = Document.parse(f"key: {text}\n".encode(), "run.yaml").data["key"]
    assert found == value
    assert type(found) is type(value)


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(min_size=1), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.long
@given(st.dictionaries(st.text(min_size=1), PLAIN, min_size=1, max_size=4))
def test_dumped_yaml_reads_back_equal(data: dict[str, Any]) -> None:
    assert Document.parse(dump_yaml(data).encode(), "run.yaml").data == data
