"""What tests of configs share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from warpworld.config import RunConfig, load_config


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., RunConfig]:
    """Load a config from its text."""

    def call(text: str | bytes, *overrides: str) -> RunConfig:
        path = tmp_path / "run.yaml"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return load_config(path, overrides)

    return call
