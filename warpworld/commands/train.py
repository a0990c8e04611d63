"""`warpworld train`: train the policies of a config."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from warpworld.commands.columns import print_columns
from warpworld.config import load_config
from warpworld.errors import WarpworldError

if TYPE_CHECKING:
    from warpworld.progress import TrainingProgress
    from warpworld.runs import Run

INTERRUPTED = 130


def add_parsers(commands: Any) -> None:
    """Add the command to the command line."""
    train = commands.add_parser(
        "train", help="train the policies of a config", description="Train a config's policies."
    )
    train.add_argument("config", metavar="CONFIG", help="a YAML file, or a packaged config (see `warpworld list`)")
    train.add_argument("overrides", metavar="key=value", nargs="*", help="overrides, such as trainer.num_envs=64")
    train.set_defaults(command=_train)


def _train(arguments: argparse.Namespace) -> int:
    config = load_config(arguments.config, arguments.overrides)
    from warpworld.progress import TrainingProgress
    from warpworld.runs import Run
    from warpworld.trainers.cpu_tuning import tune_for_cpu
    from warpworld.trainers.trainer import Trainer

    trainer = Trainer(config)
    if trainer.world.device.type == "cpu":
        tune_for_cpu()
    run = Run.create(config)  # only now, so that a mistake leaves no folder behind
    print(f"training {config.name} with {config.trainer.num_envs:,} envs; run folder: {run.path}", flush=True)
    progress = TrainingProgress(config)
    try:
        with progress:
            trainer.train(run, on_iteration=progress.update)
    except KeyboardInterrupt:
        _draw(run)
        print(f"interrupted after {progress.env_steps:,} env steps; run folder: {run.path}", file=sys.stderr)
        return INTERRUPTED
    finally:
        run.close()
    _print_summary(run, progress)
    return 0


def _print_summary(run: Run, progress: TrainingProgress) -> None:
    from warpworld.progress import duration, shown

    seconds = max(progress.elapsed, 1e-9)
    rows = [
        ("run folder", str(run.path)),
        ("learning curve", _draw(run)),
        (
            "env steps",
            f"{progress.env_steps:,} in {duration(seconds)} ({progress.env_steps / seconds:,.0f} per second)",
        ),
        ("agent steps", f"{progress.agent_steps:,} ({progress.agent_steps / seconds:,.0f} per second)"),
    ]
    for name, last in progress.last.items():
        rows.append((f"{name}", f"mean return {shown(progress.first[name])} at first, {shown(last)} at last"))
    print()
    print_columns(rows)


def _draw(run: Run) -> str:
    """Draw the learning curve; say where it is, or why it is not: the run itself does not fail for a picture."""
    from warpworld.report.plots import draw_curves

    if not run.metrics_path.is_file():
        return "not drawn: no metrics were logged"
    try:
        return str(draw_curves(run.metrics_path, run.curve_path, title=run.path.name))
    except (WarpworldError, ImportError) as error:
        return f"not drawn: {error}"
