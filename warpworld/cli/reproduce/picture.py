"""The curves of a table: a panel for each task, a line for each seed, and what others report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from warpworld.cli.reproduce.results import Results, TaskResult
from warpworld.cli.reproduce.sections import Judged, Table, Task
from warpworld.drawing import INK, SERIES, figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PER_ROW = 2  # panels, so that they can be read on a phone


def draw_table(table: Table, results: Results, title: str, path: Path) -> Path:
    """Draw the scores of drawn actions while the runs trained.

    Args:
        table: its keys.
        results: of at least one task.
        title: above all panels.
        path: the PNG; it appears complete or not at all.

    Returns:
        ``path``.

    Raises:
        RunError: it cannot be written.
    """
    names = [name for name in table.tasks if name in results.tasks]
    across = min(PER_ROW, len(names))
    down = -(-len(names) // across)
    measured = _measured(table.judged)
    with figure(path, 3.2 * across, 2.6 * down, title) as drawn:
        axes = drawn.subplots(down, across, squeeze=False).flat
        for name in names:
            axis = next(axes)
            axis.set(title=name, xlabel="million env steps", ylabel=measured)
            _draw_task(axis, table.tasks[name], results.tasks[name])
            if table.judged.lower_is_better:  # scores that fall towards 0
                axis.set_yscale("log")
        for axis in axes:
            axis.set_visible(False)
    return path


def _measured(judged: Judged) -> str:
    """Label of the axis of scores: a metric of the environment or of the policies, or the return of a policy."""
    kind, _, name = judged.metric.rpartition("/")
    how = "sum of agents" if judged.agents == "sum" else "mean of agents"
    return name.replace("_", " ") if kind else f"return, {how}"


def _draw_task(axis: Axes, task: Task, result: TaskResult) -> None:
    for number, seed in enumerate(result.seeds):
        steps, scores = [step / 1e6 for step, _ in seed.curve], [score for _, score in seed.curve]
        axis.plot(steps, scores, color=SERIES[0], linewidth=1.0, alpha=0.7, label="" if number else "each seed")
    for number, (source, published) in enumerate(task.published.items(), 1):
        colour = SERIES[number % len(SERIES)]
        axis.axhline(published.middle, color=colour, linestyle="--", linewidth=1.2, label=source)
        if len(published.score) > 1:
            axis.axhspan(*published.score, color=colour, alpha=0.12, linewidth=0)
    if task.wanted is not None:
        axis.axhline(task.wanted, color=INK, linestyle=":", linewidth=1.0, label="wanted")
    axis.legend()
