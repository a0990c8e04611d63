"""Results of trained runs: each is judged once, and kept in its folder for as long as it is judged in the same way."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from warpworld.cli.bench.conditions import conditions
from warpworld.cli.reproduce.results import SeedResult, keep_value, kept_value
from warpworld.cli.reproduce.sections import Judged
from warpworld.runs import Point, Run, RunFolder, read_runs

KEPT = "judged.json"
Matrix = tuple[tuple[float, ...], ...]
POINTS = 100  # of a curve that is kept, at most


def judged(folder: RunFolder, how: Judged) -> SeedResult:
    """The result of a finished run.

    Args:
        folder: of the run.
        how: it is judged.

    Raises:
        RunError: it cannot be played, or the metric is no number.
    """
    path, about = folder.path / KEPT, {"how": how.model_dump(mode="json"), "iteration": folder.checkpoints()[-1]}
    try:
        return SeedResult.model_validate_json(json.dumps(kept_value(path, about)))
    except ValidationError:  # none, or of another form
        found = _judge(Run.open(folder.path), how)
    keep_value(path, about, found.model_dump())
    return found


def crossed(folders: Sequence[RunFolder], how: Judged, path: Path) -> Matrix:
    """Scores of finished runs of a task, each run's policy beside every other's.

    Args:
        folders: of runs that differ in their seed alone.
        how: they are judged.
        path: file in which the scores are kept, for as long as the same runs are judged in the same way.

    Raises:
        RunError: a run cannot be played, or the file cannot be written.
    """
    runs = [[str(folder.path.resolve()), folder.checkpoints()[-1]] for folder in folders]
    about = {"how": how.model_dump(mode="json"), "runs": runs}
    found = kept_value(path, about)
    if found is None:
        from warpworld.cli.reproduce.cross_play import cross_play  # with torch

        found = cross_play([Run.open(folder.path) for folder in folders], how)
        keep_value(path, about, found)
    return tuple(map(tuple, found))


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
        conditions=conditions(),
        **scores_of(run, how),
    )


def _thinned(curve: Sequence[Point]) -> list[Point]:
    """At most ``POINTS`` points of a curve, evenly spread, the last among them; gaps are left out."""
    known = [point for point in curve if not math.isnan(point[1])]
    return known[:: -(-(-len(known) // POINTS) or 1)][::-1]
