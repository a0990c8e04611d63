"""Replays of policies that still learn: a page and a small moving picture, drawn from copies of their weights."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from warpworld.config import RunConfig
from warpworld.drawing import make_folder, write_whole
from warpworld.report.pictures import write_gif
from warpworld.report.recording import record
from warpworld.report.replay import replay_page_of, replay_text
from warpworld.trainers import policies_with

SEED = 0  # of every recording, so that an episode begins as it did in the recording before
STEPS = 300  # of a recording, at most
ARRAYS = 200_000  # characters of the page for the arrays of agents: a run may have many pages
SIZE, FRAMES = 240, 100  # of the picture: longer side in pixels, and about how many are shown


def record_policies(
    config: RunConfig, state: Mapping[str, Any], iteration: int, page: Path, picture: Path | None
) -> None:
    """Record an episode of a run's policies as they are now, actions drawn.

    Args:
        config: the run's settings.
        state: ``policies``, weights by name, and ``layout``, as a checkpoint holds them.
        iteration: iterations done.
        page: where the replay is written, in a folder that is made.
        picture: where it is written as a GIF; None writes none.

    Raises:
        WarpworldError: the environment's ``draw`` is wrong, or a file cannot be written.
    """
    make_folder(page.parent)
    about = f"iteration {iteration:,}, actions drawn, seed {SEED}"
    recording = record(config, policies_with(config, state), seed=SEED, about=about, steps=STEPS)
    write_whole(page, replay_page_of(recording.title, replay_text(recording, ARRAYS)) + "\n")
    if picture is not None:
        write_gif(recording, picture, SIZE, FRAMES)
