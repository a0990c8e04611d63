"""The common part of ``warpworld train`` and ``warpworld.train``."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from warpworld.config import RunConfig, whose_envs
from warpworld.runs import Unrewarded, describe_machine
from warpworld.trainers.processes import ALONE, ProcessGroup
from warpworld.trainers.session.collapse import CollapseDetector
from warpworld.trainers.session.final_summary import drawn_curve, print_summary
from warpworld.trainers.session.progress import TrainingProgress
from warpworld.trainers.session.signals import StopOnSignal

if TYPE_CHECKING:
    from warpworld.config import TrainerConfig
    from warpworld.runs import Run
    from warpworld.trainers.trainer import Trainer


def make_trainer(config: RunConfig, processes: ProcessGroup = ALONE, initial_weights: bool = True) -> Trainer:
    """Seed torch, make the trainer, and take the settings that make torch quicker; arguments as ``Trainer``'s."""
    from warpworld.trainers.cpu_tuning import tune_for_cpu
    from warpworld.trainers.trainer import Trainer

    torch.manual_seed(config.trainer.seed)  # the library draws nothing from it, but a user's model may
    trainer = Trainer(config, initial_weights, processes)
    tune_for_cpu(trainer.world.device)
    return trainer


def begin_run(trainer: Trainer, directory: str | Path | None = None, path: Path | None = None) -> Run | None:
    """Make the folder of a new run, and say where it is; arguments, errors and result as ``Trainer.create_run``'s."""
    run, config = trainer.create_run(directory, path), trainer.config
    if run is not None:
        print(f"training {config.title} with {config.trainer.num_envs:,} envs; run folder: {run.path}", flush=True)
        _print_rounding(config.trainer)
        of_envs = whose_envs(config)
        if of_envs:
            print("mean returns: " + "; ".join(f"{name} in {text}" for name, text in of_envs.items()), flush=True)
    return run


def _print_rounding(trainer: TrainerConfig) -> None:
    """Say where the budget is no whole number of iterations."""
    per_iteration = trainer.num_envs * trainer.num_steps
    iterations, rest = divmod(trainer.total_env_steps, per_iteration)
    if rest:
        print(
            f"{iterations * per_iteration:,} env steps: the budget of {trainer.total_env_steps:,} rounded down to "
            f"{iterations:,} iterations of {per_iteration:,}",
            flush=True,
        )


def run_session(
    trainer: Trainer,
    run: Run,
    stop_at: int | None = None,
    losses: bool = False,
    on_iteration: Callable[[dict[str, Any]], Any] | None = None,
) -> int:
    """Train to the end of the budget or to a signal, with progress on the way and a summary in the end.

    Args:
        trainer: at the start of the run, or resumed.
        run: its folder, open and locked.
        stop_at: env steps; the session ends at the first checkpoint from there on.
        losses: show losses and entropies, too.
        on_iteration: called with each iteration's metrics, see ``Trainer.train``.

    Returns:
        The exit status: 0, or 128 and the number of the signal that ended it.
    """
    environment = trainer.world.environment
    if not environment.resumable:
        why = environment.why_not_resumable and f", since {environment.why_not_resumable}"
        text = f"{environment.name}: checkpoints do not hold its envs{why}; a resumed run begins new episodes"
        print(text, flush=True)
    # the session's start and machine, in the run folder
    machine = describe_machine(str(trainer.world.device))
    run.add_session({"from_env_steps": trainer.env_steps, "processes": trainer.processes.size, **machine})
    # listeners to the metrics
    progress = TrainingProgress(run.config, env_steps=trainer.env_steps, losses=losses)
    collapse, unrewarded = CollapseDetector(run.config), Unrewarded(run.config.policy)

    def follow(metrics: dict[str, Any]) -> None:
        progress.update(metrics)
        collapse.update(metrics)
        unrewarded.take(metrics)
        if on_iteration is not None:
            on_iteration(metrics)

    # training, to its end or a signal
    try:
        with StopOnSignal() as signals, progress:
            trainer.train(run, on_iteration=follow, stop=lambda: signals() or is_reached(stop_at, trainer))
    except KeyboardInterrupt:
        drawn_curve(run)
        print(f"interrupted after {progress.env_steps:,} env steps; run folder: {run.path}", file=sys.stderr)
        print(f"continue from its last checkpoint: {resume_command(run)}", file=sys.stderr)
        if trainer.processes.several:
            raise SystemExit(signals.exit_status) from None  # the others learn of it
        return signals.exit_status
    # a finished run
    if trainer.is_finished:
        print_summary(run, progress, trainer.evaluations, trainer.ending)
        _print_unrewarded(unrewarded)
        return 0
    # an early end, to be continued
    drawn_curve(run)
    out = sys.stderr if signals() else sys.stdout
    how = f"ended by {signals.received.name}" if signals.received else "stopped"
    print(f"{how} after {trainer.env_steps:,} env steps, with a checkpoint; run folder: {run.path}", file=out)
    _print_unrewarded(unrewarded)
    print(f"continue: {resume_command(run)}", file=out)
    return signals.exit_status if signals() else 0


def _print_unrewarded(found: Unrewarded) -> None:
    if found.message:
        print(found.message)


def run_along(trainer: Trainer, stop_at: int | None) -> int:
    """Train as one of several processes, of which another writes and speaks; the exit status."""
    with StopOnSignal(quiet=True) as signals:
        trainer.train(None, stop=lambda: signals() or is_reached(stop_at, trainer))
    return signals.exit_status if signals() and not trainer.is_finished else 0


def is_reached(stop_at: int | None, trainer: Trainer) -> bool:
    """Whether the session has come to where it is to end."""
    return stop_at is not None and trainer.env_steps >= stop_at


def resume_command(run: Run) -> str:
    """The command that continues a run."""
    return f"warpworld train --resume {shlex.quote(str(run.path))}"
