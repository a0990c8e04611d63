"""The commands `watch` and `report` of the command line."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from warpworld.config import RunConfig, load_config, packaged_configs
from warpworld.errors import RunError, WarpworldError
from warpworld.report.pages import make_folder
from warpworld.runs import Run

if TYPE_CHECKING:
    from warpworld.report.recording import Recording


def watch(arguments: argparse.Namespace) -> int:
    """Record episodes of a run, or of a config with random actions, and write replay.html and pictures."""
    from warpworld.report.pictures import write_gif, write_mp4
    from warpworld.report.replay import write_replay

    folder, recording = _watched(arguments)
    folder = make_folder(Path(arguments.output)) if arguments.output else folder
    print(f"{recording.title}, {recording.about}: {_length(recording)}")
    if not recording.drawn:
        print(f"{recording.title} has no draw(): its arrays' values are shown")
    print(write_replay(recording, folder / "replay.html"))
    if arguments.gif:
        print(write_gif(recording, folder / "replay.gif"), flush=True)
    if arguments.mp4:
        print(write_mp4(recording, folder / "replay.mp4"))
    return 0


def report(arguments: argparse.Namespace) -> int:
    """Write one page about one or several runs."""
    from warpworld.report.report import write_report

    runs = [Run.open(path) for path in arguments.runs]
    if arguments.output is None and len(runs) > 1:
        raise RunError("a report of several runs belongs to none of their folders: name a file with --output FILE")
    path = Path(arguments.output) if arguments.output else runs[0].path / "report.html"
    make_folder(path.parent)
    recordings = {} if arguments.no_replay else _first_recording(runs, arguments.seed)
    print(write_report(runs, path, recordings))
    return 0


def _watched(arguments: argparse.Namespace) -> tuple[Path, Recording]:
    """What `watch` shows, and the folder that it belongs to: the run's, or the working folder for a config."""
    name = arguments.run
    if Path(name).is_dir() or not (name in packaged_configs() or Path(name).is_file()):
        run = Run.open(name)
        how = arguments.episodes, arguments.seed, arguments.greedy, arguments.checkpoint
        return run.path, record_run(run, arguments.overrides, *how)
    if arguments.checkpoint is not None or arguments.greedy:
        raise RunError(f"'{name}' is a config, which is played at random: --checkpoint and --greedy need a run folder")
    config = load_config(name, arguments.overrides)
    return Path(), record_random(config, arguments.episodes, arguments.seed)


def record_run(
    run: Run,
    overrides: Sequence[str] = (),
    episodes: int = 1,
    seed: int = 0,
    greedy: bool = False,
    checkpoint: int | None = None,
) -> Recording:
    """Record a run's policies, on the device that works best here; with random actions if it has no checkpoint.

    Args:
        run: an open run folder.
        overrides: of its configuration, such as "env.num_runners=20".
        episodes: episodes to play.
        seed: of the env and of the actions drawn.
        greedy: take the likeliest actions instead of drawing them.
        checkpoint: iteration of the checkpoint; None takes the latest.

    Raises:
        WarpworldError: the checkpoint cannot be read or does not fit, an override is wrong, or ``draw`` is.
    """
    from warpworld.report.recording import record
    from warpworld.trainers.evaluate import load_policies

    config = load_config(run.path / "config.yaml", ["trainer.device=auto", *overrides])
    iterations = run.checkpoints()
    if not iterations and checkpoint is None:
        return record_random(config, episodes, seed, "no checkpoint yet, random actions")
    policies = load_policies(Run(run.path, config), checkpoint)
    how = "likeliest actions" if greedy else "actions drawn"
    iteration = iterations[-1] if checkpoint is None else checkpoint
    return record(config, policies, episodes, seed, greedy, f"iteration {iteration:,}, {how}, seed {seed}")


def record_random(config: RunConfig, episodes: int = 1, seed: int = 0, why: str = "random actions") -> Recording:
    """Record random actions in the env of a config."""
    from warpworld.report.recording import record

    return record(config, dict.fromkeys(config.policy), episodes, seed, about=f"{why}, seed {seed}")


def _first_recording(runs: Sequence[Run], seed: int) -> dict[Path, Recording]:
    """Of the first run that has a checkpoint; none, said so, if it cannot be played any more."""
    for run in runs:
        if run.checkpoints():
            try:
                return {run.path: record_run(run, seed=seed)}
            except WarpworldError as error:  # a report is worth having without it
                print(f"no replay: {error}")
                return {}
    return {}


def _length(recording: Recording) -> str:
    episodes, steps = recording.episodes, len(recording.frames) - recording.episodes
    return f"{episodes} episode{'s' * (episodes != 1)} of {steps:,} steps" + (" in all" if episodes > 1 else "")
