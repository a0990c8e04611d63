"""Ray Tune searches settings of cartpole: each trial is a run, and those that fall behind end early.

pip install "ray[tune]"
python examples/ray_tune.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import warpworld

RETURN = "charts/agent/episodic_return"


def train(settings: dict[str, Any], directory: str) -> None:
    """A trial: a run with these settings in ``directory``, which reports its returns."""
    from ray import tune

    def report(metrics: dict[str, Any]) -> None:
        if RETURN in metrics:
            tune.report({"episodic_return": metrics[RETURN], "env_steps": metrics["env_steps"]})

    overrides = [f"{key}={value}" for key, value in settings.items()]
    warpworld.train("cartpole", overrides, on_iteration=report, directory=directory)


def search(trials: int = 8, total_env_steps: int = 200_000, folder: str | Path = "ray_tune") -> Any:
    """Search; returns the result of the best trial, with its settings as ``config``. Runs go into ``folder/runs``."""
    from ray import tune
    from ray.tune.schedulers import ASHAScheduler

    folder = Path(folder).absolute()  # since each trial works in a folder of its own
    trial = tune.with_resources(tune.with_parameters(train, directory=str(folder / "runs")), {"cpu": 1})
    searched = {
        "total_env_steps": total_env_steps,
        "learning_rate": tune.loguniform(1e-4, 1e-2),
        "gamma": tune.uniform(0.9, 0.999),
    }
    early = ASHAScheduler("env_steps", max_t=total_env_steps, grace_period=total_env_steps // 10)
    how = tune.TuneConfig(metric="episodic_return", mode="max", num_samples=trials, scheduler=early)
    where = tune.RunConfig(storage_path=str(folder))
    return tune.Tuner(trial, param_space=searched, tune_config=how, run_config=where).fit().get_best_result()


if __name__ == "__main__":
    best = search()
    print(f"mean return: {best.metrics['episodic_return']:.0f} of 500, with {best.config}")
