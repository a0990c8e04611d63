"""The part "sweep" trains trials on the device."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.gpu import sweep
from benchmarks.gpu.part import CheckError, Context, UnfinishedError


@pytest.mark.parametrize(
    ("end", "error", "said"),
    [
        ((None, ""), UnfinishedError, "2 trials of 20000 env steps were not done in time"),
        ((1, "trial 0 failed"), CheckError, "0 of 2 trials, exit status 1: trial 0 failed"),
        ((0, ""), CheckError, "0 of 2 trials, exit status 0: "),
    ],
)
def test_a_sweep_that_does_not_end_well(
    end: Any, error: type[Exception], said: str, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "run_limited", lambda *_: end)
    with pytest.raises(error, match=said):
        sweep.search(context)


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
