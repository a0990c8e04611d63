"""The part "sweep" trains trials on the device."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.gpu import child, sweep
from benchmarks.gpu.part import Context


@pytest.mark.parametrize(
    ("end", "status", "reason"),
    [
        ((None, ""), "not finished", "2 trials of 20000 env steps were not done in time"),
        ((1, "trial 0 failed"), "failed", "0 of 2 trials, exit status 1: trial 0 failed"),
        ((0, ""), "failed", "0 of 2 trials, exit status 0: "),
    ],
)
def test_a_sweep_that_does_not_end_well(
    end: Any, status: str, reason: str, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "run_limited", lambda *_: end)
    assert child.run("benchmarks.gpu.sweep:search", context) == {"status": status, "reason": reason}


def test_the_trials_of_a_sweep_train_on_the_device(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def ended(command: list[str], limit: float, log: Path) -> tuple[int, str]:
        asked.extend(Path(command[-1]).read_text().splitlines())
        for number in range(sweep.TRIALS):
            (log.parent / "runs" / f"rates-trial-{number}-20260101-120000").mkdir(parents=True)
        return 0, ""

    monkeypatch.setattr(sweep, "run_limited", ended)
    sweep.search(context)
    assert "- trainer.device=cpu" in asked and context.figures["trials"] == sweep.TRIALS
