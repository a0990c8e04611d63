"""`warpworld watch`: a run, or a config at random, as a page that plays it and as pictures."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpworld.cli.argument_types import CHECKPOINT, MOST_EPISODES, SIMULATIONS, at_least
from warpworld.cli.named_run import add_run, take_run
from warpworld.cli.override_options import add_device
from warpworld.errors import RunError
from warpworld.packaged import packaged_configs

if TYPE_CHECKING:
    from warpworld.report import Recording


def add_parsers(commands: Any) -> None:
    """Add the command to the command line."""
    watch = commands.add_parser(
        "watch",
        help="play a run as a web page and a GIF",
        description="Record episodes and write replay.html and replay.gif into the run folder.",
    )
    add_run(watch, "a run folder; or a config, which is played with random actions")
    watch.add_argument(
        "overrides", metavar="key=value", nargs="*", default=[], help="overrides, such as env.num_taggers=8"
    )
    watch.add_argument("--episodes", type=at_least(1, MOST_EPISODES), default=1, help="episodes to record (default: 1)")
    watch.add_argument("--steps", type=at_least(1), help="stop after these steps, also within an episode")
    watch.add_argument("--seed", type=at_least(0), default=0, help="seed of the episodes (default: 0)")
    watch.add_argument("--greedy", action="store_true", help="take the likeliest actions instead of drawing them")
    watch.add_argument("--simulations", **SIMULATIONS)
    watch.add_argument("--checkpoint", **CHECKPOINT)
    watch.add_argument("--gif", action=argparse.BooleanOptionalAction, default=True, help="also a GIF (default)")
    watch.add_argument("--mp4", action="store_true", help="also a video; needs pip install 'warpworld[video]'")
    watch.add_argument("--output", metavar="DIR", help="write into this folder (default: the run's; else here)")
    add_device(watch, "play")
    watch.set_defaults(command=_watch, settings="overrides")


def _watch(arguments: argparse.Namespace) -> int:
    """Record episodes of a run, or of a config with random actions, and write replay.html and pictures."""
    from warpworld.drawing import make_folder
    from warpworld.report import write_gif, write_mp4, write_replay

    # where it is written, which is checked before anything is played
    folder, record = _watched(arguments)
    folder = make_folder(Path(arguments.output) if arguments.output else folder)
    recording = record()
    # facts about the recording
    print(f"{recording.title}, {recording.about}: {_length(recording)}")
    if not recording.drawn:
        print(f"{recording.title} has no draw(): its arrays' values are shown")
    # the page, and pictures
    print(write_replay(recording, folder / "replay.html"))
    if arguments.gif:
        print(write_gif(recording, folder / "replay.gif"), flush=True)
    if arguments.mp4:
        print(write_mp4(recording, folder / "replay.mp4"))
    return 0


def _watched(arguments: argparse.Namespace) -> tuple[Path, Callable[[], Recording]]:
    """Folder of what `watch` shows, the run's or the working folder for a config; and the function that records it."""
    from warpworld.report import record_random, record_run
    from warpworld.runs import Run, found_folder

    # one run or config
    take_run(arguments)
    name = arguments.run
    runs = [name, *(word for word in arguments.overrides if Path(word).is_dir())]
    if len(runs) > 1:  # of a pattern such as runs/walk-*
        raise RunError(f"{len(runs)} run folders are named, expected one; the last of them: {max(runs)}")
    overrides = arguments.overrides + ([f"trainer.device={arguments.device}"] if arguments.device else [])
    # a run, by its policies
    if Path(name).is_dir() or not (name in packaged_configs() or Path(name).is_file()):
        run = Run.open(found_folder(name, packaged_configs()))
        how = arguments.episodes, arguments.seed, arguments.greedy, arguments.checkpoint
        limits = {"steps": arguments.steps, "simulations": arguments.simulations}
        return run.output_folder, partial(record_run, run, overrides, *how, **limits)
    # a config, with random actions
    if arguments.checkpoint is not None or arguments.greedy or arguments.simulations is not None:
        options = "--checkpoint, --greedy and --simulations"
        raise RunError(f"'{name}' is a config, which is played at random: {options} need a run folder")
    from warpworld.config import load_config

    config = load_config(name, overrides)
    return Path(), partial(record_random, config, arguments.episodes, arguments.seed, steps=arguments.steps)


def _length(recording: Recording) -> str:
    episodes, steps = recording.episodes, len(recording.frames) - recording.episodes
    return f"{episodes} episode{'s' * (episodes != 1)} of {steps:,} steps" + (
        (" in all" if episodes > 1 else "") + ("" if recording.frames[-1].end else "; the last is unfinished")
    )
