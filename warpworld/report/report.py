"""Report: one page about one or several runs, with nothing to load from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from warpworld.drawing import escaped, write_whole
from warpworld.report import replay, report_sections
from warpworld.report.pages import fill, script, style
from warpworld.runs import RunData, RunFolder, is_training, read_runs

STYLES = ("page.css", "replay.css", "report.css")
REFRESH = '<meta http-equiv="refresh" content="30">'
STILL = " It still trains: this page reloads by itself, and `warpworld report --watch` keeps it up to date."
SCRIPTS = (*replay.SCRIPTS, "charts.js")


def write_report(
    runs: Sequence[RunFolder],
    path: str | Path,
    replays: Mapping[Path, str] | None = None,
    random_returns: Mapping[str, float] | None = None,
) -> Path:
    """Write a page about runs: key figures, curves, replays, speed, settings, machine and files.

    No code that the runs name is imported.

    Args:
        runs: one or several, whose curves are then overlaid.
        path: the page; it appears complete or not at all.
        replays: by the path of the run that is shown, as ``replay_text`` or ``read_replay`` returns them.
        random_returns: by policy, the mean return of random actions, which charts show as a dashed line.

    Returns:
        ``path``.

    Raises:
        RunError: a run's files cannot be read, or the page cannot be written.
        ConfigError: a ``config.yaml`` is no configuration of a run.
    """
    path = Path(path)
    # sections; those with nothing to show are empty
    data = read_runs(runs)
    parts = [
        report_sections.damage(data),
        report_sections.unrewarded(data),
        report_sections.legend(data),
        report_sections.key_figures(data),
        report_sections.over_seeds(data),
        report_sections.curves(data, random_returns or {}),
        report_sections.replays(data, replays or {}),
        report_sections.evaluation(data),
        report_sections.learning(data),
        report_sections.self_play(data),
        report_sections.speed(data),
        report_sections.settings(data),
        report_sections.machine(data),
        report_sections.files(data, path.parent),
    ]
    # the page
    page = fill(
        "report.html",
        refresh=REFRESH if any(is_training(run) for run in runs) else "",
        title=escaped(_title(data)),
        lead=escaped(_lead(data)),
        style=style(*STYLES),
        sections="\n".join(part for part in parts if part),
        footer="Written by <code>warpworld report</code>.",
        script=script(*SCRIPTS),
    )
    return write_whole(path, page + "\n")


def _title(data: Sequence[RunData]) -> str:
    if len(data) == 1:
        return data[0].label
    names = list(dict.fromkeys(run.config.title for run in data))
    return f"{len(data)} runs of {', '.join(names)}"


def _lead(data: Sequence[RunData]) -> str:
    """Summary of what was run, in a sentence or two."""
    if len(data) > 1:
        return f"{', '.join(run.label for run in data)}: their curves overlaid, their settings side by side."
    config, run = data[0].config, data[0]
    trained = [f"{name} ({entry['algorithm']})" for name, entry in config.policy.items() if _is_trained(entry)]
    learnt = f"trained {', '.join(trained)}" if trained else "trained nothing"
    done = int(run.last("env_steps") or 0)
    trainer = config.trainer
    return (
        f"A run of {config.title} that {learnt} in {trainer['num_envs']:,} envs, seed {trainer['seed']}: "
        f"{done:,} of {trainer['total_env_steps']:,} env steps.{STILL if is_training(RunFolder(run.path)) else ''}"
    )


def _is_trained(entry: Mapping[str, Any]) -> bool:
    return bool(entry.get("train", True)) and entry.get("algorithm", "random") not in ("random", "script")
