"""Results of trained runs: each is judged once, and kept in its folder for as long as it is judged in the same way."""

from __future__ import annotations

import math
from collections.abc import Sequence

from warpworld.cli.bench.conditions import conditions
from warpworld.cli.reproduce.results import SeedResult, keep_result, kept_result
from warpworld.cli.reproduce.sections import Judged
from warpworld.runs import Point, Run, RunFolder, read_runs
from warpworld.version import __version__

KEPT = "judged.json"
POINTS = 100  # of a curve that is kept, at most


def judged(folder: RunFolder, how: Judged) -> SeedResult:
    """The result of a finished run.

    Args:
        folder: of the run.
        how: it is judged.

    Raises:
        RunError: it cannot be played, or the metric is no number.
    """
    path, about = folder.path / KEPT, {"how": how.model_dump(), "iteration": folder.checkpoints()[-1]}
    found = kept_result(path, about)
    if found is None:
        found = _judge(Run.open(folder.path), how)
        keep_result(path, about, found)
    return found


def _judge(run: Run, how: Judged) -> SeedResult:
    from warpworld.cli.reproduce.playing import agents_in, scores_of  # with torch

    (data,) = read_runs([run])
    of_return = how.metric in run.config.policy
    curve = data.curve(f"charts/{how.metric}/episodic_return" if of_return else how.metric)
    agents = agents_in(run, how)
    return SeedResult(
        seed=run.config.trainer.seed,
        env_steps=int(data.rows[-1]["env_steps"]),
        cpu_seconds=sum(row.get("perf/cpu_s", 0.0) for row in data.rows),
        seconds=float(data.rows[-1]["time"]),
        curve=tuple((x, float(f"{agents * y:.4g}")) for x, y in _thinned(curve)),
        conditions={**conditions(), "version": __version__},
        **scores_of(run, how),
    )


def _thinned(curve: Sequence[Point]) -> list[Point]:
    """At most ``POINTS`` points of a curve, evenly spread, the last among them; gaps are left out."""
    known = [point for point in curve if not math.isnan(point[1])]
    return known[:: -(-(-len(known) // POINTS) or 1)][::-1]
