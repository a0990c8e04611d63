"""A sweep whose trials train on the device, each in a process of its own, as ``warpworld sweep`` runs them."""

from __future__ import annotations

import importlib.util
import shutil
import sys

import yaml

from .part import Context, SkippedError, UnfinishedError
from .process import run_limited

TRIALS = 2


def search(context: Context) -> None:
    """Trials of CartPole by Optuna; each ends with a value."""
    if importlib.util.find_spec("optuna") is None:
        raise SkippedError("Optuna is not installed")
    folder = context.path.with_name("sweep")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    steps = context.size(1_000_000, 20_000)
    overrides = {
        "trainer.device": context.device,
        "trainer.total_env_steps": steps,
        "saving.directory": folder / "runs",
    }
    plan = {
        "config": "cartpole",
        "overrides": [f"{key}={value}" for key, value in overrides.items()],
        "search": {"learning_rate": {"log_range": [1e-4, 1e-2]}},
        "trials": TRIALS,
    }
    file = folder / "rates.yaml"
    file.write_text(yaml.safe_dump(plan))
    command = [sys.executable, "-m", "warpworld", "sweep", str(file)]
    code, output = run_limited(command, context.left(), folder / "output.txt")
    if code is None:
        raise UnfinishedError(f"{TRIALS} trials of {steps} env steps were not done in time")
    ended = len(list((folder / "runs").glob("rates-trial-*")))
    context.report(trials=ended, env_steps=steps)
    if code or ended != TRIALS:
        context.wrong(f"{ended} of {TRIALS} trials, exit status {code}: {output[-600:]}")
    context.holds(f"{ended} trials of {steps} env steps")
