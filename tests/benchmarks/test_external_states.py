"""The table of what states of other libraries' envs cost."""

from __future__ import annotations

import pytest

from benchmarks import external_states

pytestmark = [pytest.mark.cpu_backend, pytest.mark.long]


def test_the_table(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = {name: external_states.ENVS[name] for name in ("CartPole-v1",)}
    monkeypatch.setattr(external_states, "ENVS", {**chosen, "none": {**chosen["CartPole-v1"], "options": OWN}})
    external_states.main(["--games", "2", "--times", "1"])
    rows = [row.split(" ", 1)[0] for row in capsys.readouterr().out.splitlines()]
    assert rows == ["processor", "CartPole-v1", "none"]


OWN = {"vectorization_mode": "vector_entry_point"}  # which has no states
