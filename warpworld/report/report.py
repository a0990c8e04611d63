"""One page about one or several runs, with nothing to load from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from warpworld.report import sections
from warpworld.report.pages import asset, escaped, fill, style, write_whole
from warpworld.report.run_data import RunData, read_run
from warpworld.runs import Run

if TYPE_CHECKING:
    from warpworld.report.recording import Recording

STYLES = ("page.css", "replay.css", "report.css")
SCRIPTS = ("replay.js", "charts.js")


def write_report(runs: Sequence[Run], path: str | Path, recordings: Mapping[Path, Recording] | None = None) -> Path:
    """Write a page about runs: key figures, curves, replays, speed, settings, machine and files.

    Args:
        runs: one or several, whose curves are then overlaid.
        path: the page; it appears complete or not at all.
        recordings: what replays show, by the path of the run that is recorded.

    Returns:
        ``path``.

    Raises:
        RunError: a run's files cannot be read, or the page cannot be written.
    """
    path = Path(path)
    data = [read_run(run) for run in runs]
    parts = [
        sections.key_figures(data),
        sections.curves(data),
        sections.replays(data, recordings or {}),
        sections.learning(data),
        sections.self_play(data),
        sections.speed(data),
        sections.settings(data),
        sections.machine(data),
        sections.files(data, path.parent),
    ]
    page = fill(
        "report.html",
        title=escaped(_title(data)),
        lead=escaped(_lead(data)),
        style=style(*STYLES),
        sections="\n".join(part for part in parts if part),
        footer="Written by <code>warpworld report</code>.",
        script="\n".join(asset(name) for name in SCRIPTS),
    )
    return write_whole(path, page + "\n")


def _title(data: Sequence[RunData]) -> str:
    if len(data) == 1:
        return data[0].name
    names = list(dict.fromkeys(run.config.title for run in data))
    return f"{len(data)} runs of {', '.join(names)}"


def _lead(data: Sequence[RunData]) -> str:
    """What was run, in a sentence or two."""
    if len(data) > 1:
        return f"{', '.join(run.name for run in data)}: their curves overlaid, their settings side by side."
    config, run = data[0].config, data[0]
    learners = {name: entry for name, entry in config.policy.items() if entry.train and entry.algorithm != "random"}
    trained = [f"{name} ({entry.algorithm})" for name, entry in learners.items()]
    learnt = f"trained {', '.join(trained)}" if trained else "trained nothing"
    done = int(run.last("env_steps") or 0)
    budget = config.trainer.total_env_steps
    return (
        f"A run of {config.title} that {learnt} in {config.trainer.num_envs:,} envs, seed {config.trainer.seed}: "
        f"{done:,} of {budget:,} env steps."
    )
