"""Replays that were recorded while a run trained: a page for each, and a picture where a logger takes one."""

from __future__ import annotations

import re
from pathlib import Path

from warpworld.files import remove_unfinished

PAGE, PICTURE = ".html", ".gif"
_NAME = re.compile(r"iteration_(\d+)\.html\Z")


class Recorded:
    """The folder of these replays.

    Args:
        folder: where they lie; it need not be there.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def page(self, iteration: int) -> Path:
        """Path of the page of an iteration."""
        return self.folder / f"iteration_{iteration:06d}{PAGE}"

    def picture(self, iteration: int) -> Path:
        """Path of the picture of an iteration."""
        return self.page(iteration).with_suffix(PICTURE)

    def iterations(self) -> list[int]:
        """Iterations that have a page, ascending."""
        found = (_NAME.match(entry.name) for entry in self.folder.glob(f"iteration_*{PAGE}"))
        return sorted(int(match[1]) for match in found if match)

    def remove_after(self, iteration: int) -> None:
        """Remove those of later iterations, which come again, and what killed processes left unfinished.

        Raises:
            OSError: one cannot be removed.
        """
        remove_unfinished(self.folder)
        for later in self.iterations():
            if later > iteration:
                self.page(later).unlink(missing_ok=True)
                self.picture(later).unlink(missing_ok=True)
