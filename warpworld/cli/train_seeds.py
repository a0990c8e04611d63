"""Output of `warpworld train --seeds`: each run as it ends, and all of them side by side."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from warpworld.text import print_columns

if TYPE_CHECKING:
    from warpworld.cli.sweep import Training
    from warpworld.runs import RunData


def train_and_compare(source: str, overrides: Sequence[str], count: int, jobs: int) -> int:
    """Train a run for each seed, and compare them.

    Args:
        source: a YAML file or a packaged config.
        overrides: ``key=value`` each.
        count: seeds.
        jobs: runs that train at a time.

    Returns:
        The exit status: 0, or 128 and the number of the signal that ended it.

    Raises:
        ConfigError: the configuration is wrong.
        RunError: a run has failed.
    """
    from warpworld.cli.sweep import Workers, seeded_configs, train_seeds
    from warpworld.runs import FEWEST_SEEDS, HEADING, read_runs
    from warpworld.trainers.session import StopOnSignal

    # a run for each seed
    orders = list(seeded_configs(source, overrides, count))
    print(f"training {orders[0][0].title} with {count} seeds, {jobs} at a time", flush=True)
    runs = []
    with StopOnSignal(quiet=True) as signals:
        for training in train_seeds(orders, Workers(jobs, quiet=jobs > 1), signals):
            print(_line(training), flush=True)
            if training.run is not None:
                runs.append(training.run)
    # an end by a signal
    if signals():
        print("stopped, with a checkpoint of each run; the same command continues them", file=sys.stderr)
        return signals.exit_status
    # comparison of the runs
    data = sorted(read_runs(runs), key=lambda run: run.config.trainer["seed"])
    print()
    print_columns(_rows(data))
    print(f"over the last tenth of the env steps; {HEADING}" if len(data) >= FEWEST_SEEDS else "over the last tenth")
    print(f"\ncurves: warpworld report {' '.join(shlex.quote(str(run.path)) for run in data)}")
    return 0


def _line(training: Training) -> str:
    how = "was finished already" if training.was_finished else "finished"
    where = f"; run folder: {training.run.path}" if training.run is not None else ""
    return f"seed {training.config.trainer.seed} {how}{where}"


def _rows(data: Sequence[RunData]) -> list[list[str]]:
    """A line for each run, and below them what they say together."""
    from warpworld.runs import STATISTICS, final_returns, statistics_of
    from warpworld.text import shown

    policies = list(data[0].config.policy)
    returns = {name: final_returns(data, name) for name in policies}
    rows = [["seed", *(f"{name}: mean return" for name in policies)]]
    for i, run in enumerate(data):
        rows.append([str(run.config.trainer["seed"]), *(shown(returns[name][i]) for name in policies)])
    together = {name: statistics_of(returns[name]) for name in policies}
    return rows + [[what, *(together[name][what] for name in policies)] for what in STATISTICS]
