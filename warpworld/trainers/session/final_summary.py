"""Summary of a finished run, for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpworld.errors import WarpworldError
from warpworld.text import duration, print_columns, shown

if TYPE_CHECKING:
    from warpworld.runs import Run
    from warpworld.trainers.evaluations import Evaluations
    from warpworld.trainers.session.progress import TrainingProgress


def print_summary(run: Run, progress: TrainingProgress, evaluations: Evaluations, ending: str) -> None:
    """Draw the learning curve, and print where everything is and how the session went.

    Args:
        run: that is finished.
        progress: of this session.
        evaluations: of the run.
        ending: why the run ended before its budget was used up; "" if it was.
    """
    # numbers of this session
    env_steps, agent_steps, seconds = progress.session
    parts = f"{progress.rollout_seconds:,.1f} s in rollouts, {progress.update_seconds:,.1f} s in updates"
    if progress.timed < progress.iterations:
        parts += f", in the {progress.timed:,} of {progress.iterations:,} iterations that were logged or saved"
    done = f"{env_steps:,} in {duration(seconds)} ({env_steps / seconds:,.0f} per second)"
    # rows that every run has
    rows = [
        ("run folder", str(run.path)),
        ("learning curve", drawn_curve(run)),
        ("env steps", done),
        ("agent steps", f"{agent_steps:,} ({agent_steps / seconds:,.0f} per second)"),
        ("time", parts),
    ]
    # rows of evaluations and policies
    if ending:
        rows.insert(0, ("ended early", ending))
    for name, last in progress.last.items():
        returns = f"mean return {shown(progress.first[name])} {progress.beginning}, {shown(last)} at last"
        rows.append((name, f"{returns}, in {progress.of_envs[name]}" if name in progress.of_envs else returns))
    for name, best in evaluations.state.best.items():
        rows.append((f"{name}, best", f"evaluation score {shown(best.score)} after {best.env_steps:,} env steps"))
    if evaluations.state.best:
        rows.append(("best weights", str(run.best_path)))
    print()
    print_columns(rows)


def drawn_curve(run: Run) -> str:
    """Draw the learning curve; say where it is, or why it is not: the run itself does not fail for a picture."""
    from warpworld.runs.curve import draw_curves

    if not run.metrics_path.is_file():
        return "not drawn: no metrics were logged"
    try:
        return str(draw_curves(run.metrics_path, run.curve_path, title=run.path.name))
    except (WarpworldError, ImportError) as error:
        return f"not drawn: {error}"
