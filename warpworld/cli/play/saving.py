"""Games as files: a page that plays one again, and its arrays."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from warpworld.cli.play.game_data import data_of
from warpworld.drawing import make_folder, write_whole
from warpworld.report import replay_page_of, replay_text

if TYPE_CHECKING:
    from warpworld.cli.play.game import Game


def replay_of(game: Game) -> str:
    """The page that plays the episode so far, as ``warpworld watch`` writes such pages."""
    recording = game.recording()
    return replay_page_of(recording.title, replay_text(recording)) + "\n"


def file_name(game: Game) -> str:
    """Name of a game's files, without their ending."""
    title = "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in game.title)
    return f"{title}-{game.episode}"


class Folder:
    """Folder in which each game is saved when it ends; no file there is written over.

    Args:
        path: of the folder, which is made where there is none.

    Raises:
        RunError: it cannot be made.
    """

    def __init__(self, path: Path) -> None:
        self._path = make_folder(path)

    def save(self, game: Game) -> list[Path]:
        """Write ``<title>-<number>.html`` and ``.npz`` of an episode that has ended, with the next free number.

        Raises:
            RunError: a file cannot be written.
        """
        title, number = file_name(game).rpartition("-")[0], 1
        while any(self._path.glob(f"{title}-{number}.*")):
            number += 1
        name = f"{title}-{number}"
        return [
            write_whole(self._path / f"{name}.html", replay_of(game)),
            write_whole(self._path / f"{name}.npz", data_of(game)),
        ]
