"""`warpworld sweep`: search settings of a config, each trial a run."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpworld.cli.argument_types import at_least
from warpworld.text import print_columns, printable

if TYPE_CHECKING:
    import optuna

    from warpworld.cli.sweep.sweep_file import SweepFile


def add_parsers(commands: Any) -> None:
    """Add the command to the command line."""
    sweep = commands.add_parser(
        "sweep",
        help="search settings of a config, each trial a run",
        description="Train runs of a config whose settings Optuna chooses, end those early that others have left "
        "behind, and show which settings matter. The same command again continues a sweep, also on several machines "
        "at once. Needs pip install 'warpworld[sweep]'.",
    )
    sweep.add_argument("file", metavar="FILE", help="YAML: config, search, and what is sought")
    sweep.add_argument("--jobs", type=at_least(1, 1024), default=1, help="trials that train at a time (default: 1)")
    sweep.add_argument("--show", action="store_true", help="print and draw what there is, and train nothing")
    sweep.set_defaults(command=_sweep)


def _sweep(arguments: argparse.Namespace) -> int:
    from warpworld.cli.sweep.study import open_study, storage_url
    from warpworld.cli.sweep.sweep_file import SweepFile
    from warpworld.cli.sweep.trials import Trials
    from warpworld.cli.sweep.worker_processes import Workers
    from warpworld.trainers.session import StopOnSignal

    # the study as it is
    file = SweepFile(arguments.file)
    study = open_study(file)
    if arguments.show:
        _show(file, study)
        return 0
    # further trials
    print(f"sweep {file.name}: {file.sweep.trials} trials in {storage_url(file)}", flush=True)
    with StopOnSignal(quiet=True) as signals:
        for trial in Trials(file, study, Workers(arguments.jobs, quiet=True)).run(signals):
            print(printable(_line(trial)), flush=True)
    # results, also of a sweep that was stopped
    _show(file, study)
    if signals():
        print(f"stopped; continue: warpworld sweep {arguments.file}", file=sys.stderr)
        return signals.exit_status
    return 0


def _line(trial: optuna.trial.FrozenTrial) -> str:
    from warpworld.cli.sweep.trials import RUN, WHY

    settings = ", ".join(f"{key.rpartition('.')[2]} {_short(value)}" for key, value in trial.params.items())
    parts = [f"trial {trial.number} {_outcome(trial)} ({settings})"]
    if RUN in trial.user_attrs:
        parts.append(f"run folder: {trial.user_attrs[RUN]}")
    return "; ".join([*parts, *([trial.user_attrs[WHY]] if WHY in trial.user_attrs else [])])


def _show(file: SweepFile, study: optuna.Study) -> None:
    """Print a table of the trials, the best first, and draw them."""
    from warpworld.cli.sweep.picture import draw_study, importances
    from warpworld.cli.sweep.trials import RUN, WHY

    # trials, the best first
    trials = study.get_trials(deepcopy=False)
    trials = [trial for trial in trials if trial.state.name != "FAIL" or WHY in trial.user_attrs]
    sign = -1 if study.direction.name == "MAXIMIZE" else 1
    trials.sort(key=lambda trial: (trial.state.name != "COMPLETE", sign * _value(trial)))
    # the table
    keys = list(file.sweep.search)
    rows = [["trial", file.objective, *(key.rpartition(".")[2] for key in keys), "run"]]
    for trial in trials:
        values = (_short(trial.params.get(key, "-")) for key in keys)
        rows.append([str(trial.number), _outcome(trial), *values, Path(trial.user_attrs.get(RUN, "-")).name])
    print()
    print_columns(rows)
    # the picture, once a trial is complete
    if any(trial.state.name == "COMPLETE" for trial in trials):
        shares = ", ".join(f"{key.rpartition('.')[2]} {share:.0%}" for key, share in importances(study).items())
        print(f"\nwhat matters: {shares or 'too few trials to say'}")
        print(draw_study(study, file.objective, Path(file.base.saving.directory) / f"{file.name}.png"))


def _value(trial: optuna.trial.FrozenTrial) -> float:
    return trial.value if trial.value is not None else 0.0


def _outcome(trial: optuna.trial.FrozenTrial) -> str:
    """The objective's value and how the trial has ended, if it was not by itself."""
    from warpworld.text import shown_metric

    value = "" if trial.value is None else shown_metric(trial.value)
    state = {"COMPLETE": "", "PRUNED": "pruned", "FAIL": "failed", "RUNNING": "training", "WAITING": "waiting"}
    return f"{value} {state[trial.state.name]}".strip()


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
