"""examples/ray_tune.py: each trial of Ray Tune is a run, and the best of them is found."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from warpworld.runs import Run

pytestmark = [pytest.mark.cpu_backend, pytest.mark.slow, pytest.mark.exhaustive]


def test_trials_are_runs(tmp_path: Path) -> None:
    ray = pytest.importorskip("ray")
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "ray_tune.py"))
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        best = example["search"](trials=2, total_env_steps=20_000, folder=tmp_path)
    finally:
        ray.shutdown()
    runs = [Run.open(folder) for folder in sorted((tmp_path / "runs").iterdir())]
    assert len(runs) == 2
    trained = {run.config.policy["agent"].learning_rate: run for run in runs}
    assert best.metrics["env_steps"] <= 20_000
    assert trained[best.config["learning_rate"]].config.policy["agent"].gamma == best.config["gamma"]
