"""The files of a replay, as a checkpoint names them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from warpworld.errors import RunError
from warpworld.runs import Seal, check_seal

_NAME = re.compile(r"(rows_\d+-\d+|whole_\d+)(_\d+_of_\d+)?\.npz\Z")
_WRONG = (TypeError, ValueError, KeyError, AttributeError)


@dataclass(frozen=True)
class Part:
    """File of one process and its envs.

    Attributes:
        file: its name in the folder.
        seal: what it is recognised by.
        envs: whose rows it holds.
        ends: first and last row of each ring by its name, the last not included.
    """

    file: str
    seal: Seal
    envs: range
    ends: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def check(self, folder: Path) -> None:
        """Whether the file is what it was; raises RunError."""
        check_seal(folder / self.file, self.seal)

    def saved(self) -> dict[str, Any]:
        """Entry of this file in a checkpoint."""
        ends = {name: list(pair) for name, pair in self.ends.items()}
        envs = [self.envs.start, self.envs.stop]
        return {"file": self.file, "bytes": self.seal.nbytes, "crc": self.seal.crc, "envs": envs, "ends": ends}

    @classmethod
    def read(cls, saved: Any) -> Part:
        """Read what ``saved`` returned; raises one of ``_WRONG`` if it is something else."""
        ends = {str(name): (int(first), int(end)) for name, (first, end) in saved["ends"].items()}
        start, stop = map(int, saved["envs"])
        part = cls(str(saved["file"]), Seal(int(saved["bytes"]), int(saved["crc"])), range(start, stop), ends)
        if not _NAME.match(part.file):
            raise ValueError(part.file)
        return part


@dataclass(frozen=True)
class Parts:
    """Files that a checkpoint needs.

    Attributes:
        rows: what grew, the oldest first.
        whole: what is written in full each time.
    """

    rows: Sequence[Part] = ()
    whole: Sequence[Part] = ()

    @property
    def names(self) -> set[str]:
        """The files' names."""
        return {part.file for part in (*self.rows, *self.whole)}

    def check(self, folder: Path) -> None:
        """Whether every file is what it was; raises RunError."""
        for part in (*self.whole, *self.rows):
            part.check(folder)

    def saved(self) -> dict[str, Any]:
        """Entry of these files in a checkpoint."""
        return {"rows": [part.saved() for part in self.rows], "whole": [part.saved() for part in self.whole]}

    @classmethod
    def read(cls, state: Mapping[str, Any]) -> Parts | None:
        """Read the files' entry of a checkpoint; None if it has none.

        Raises:
            RunError: its entry is something else.
        """
        if "replay" not in state:
            return None
        try:
            saved = state["replay"]
            return cls(*([Part.read(part) for part in saved[key]] for key in ("rows", "whole")))
        except _WRONG as error:
            raise RunError(
                "the saved replay is not a list of files: something other than warpworld wrote or changed it; "
                "remove that checkpoint to continue from an older one"
            ) from error
