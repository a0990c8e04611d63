"""The formats that policies are exported in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from torch.export import ExportedProgram

from warpworld.errors import ExportError, suggest
from warpworld.policies.exporting import onnx_format, pt2_format
from warpworld.policies.exporting.interface import Interface

Run = Callable[[dict[str, np.ndarray]], dict[str, np.ndarray]]


@dataclass(frozen=True)
class Format:
    """A kind of file.

    Attributes:
        check_packages: raises ExportError where a package is missing.
        write: makes the file's contents.
        open: makes what runs them: from inputs by name to outputs by name.
    """

    check_packages: Callable[[], None]
    write: Callable[[ExportedProgram, Interface], bytes]
    open: Callable[[bytes], Run]


FORMATS = {
    "onnx": Format(onnx_format.check_packages, onnx_format.write, onnx_format.Runner),
    "pt2": Format(pt2_format.check_packages, pt2_format.write, pt2_format.Runner),
}


def format_of(path: Path) -> str:
    """The name of the format that a file's ending stands for.

    Raises:
        ExportError: it stands for none; the nearest is named.
    """
    ending = path.suffix.removeprefix(".")
    if ending not in FORMATS:
        known = " or ".join(FORMATS)
        raise ExportError(f"'{path}': format '{ending}', expected {known}.{suggest(ending, FORMATS)}")
    return ending
