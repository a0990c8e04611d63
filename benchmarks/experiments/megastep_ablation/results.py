"""The results of all arms in one JSON file, to which each arm is added when it is done."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from warpworld.errors import RunError
from warpworld.files import replace_text

from .arms import ARMS

Results = dict[str, dict[str, Any]]  # by arm


def read(path: Path, minutes: float, seed: int) -> Results:
    """The arms that a file holds, in their order; none where there is no file.

    Raises:
        RunError: the file cannot be read, or its arms were trained for another time or from another seed.
    """
    if not path.exists():
        return {}
    try:
        held: Results = json.loads(path.read_text(encoding="utf-8"))["arms"]
        settings = {(arm["minutes"], arm["seed"]) for arm in held.values()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise RunError(f"{path} cannot be read as results of this ablation ({error}); name another file") from error
    for its_minutes, its_seed in settings - {(minutes, seed)}:
        raise RunError(
            f"{path} holds arms of {its_minutes:g} minutes and seed {its_seed}, expected {minutes:g} and {seed}: "
            "arms of different lengths or seeds cannot be compared; name another file"
        )
    return {name: held[name] for name in ARMS if name in held}


def merge(path: Path, name: str, arm: dict[str, Any]) -> Results:
    """Put one arm into a file, beside or in the place of what it holds; another process may do so at the same time.

    Returns:
        All arms that the file holds now.

    Raises:
        RunError: as ``read``.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with _locked(path.parent):
        held = read(path, arm["minutes"], arm["seed"]) | {name: arm}
        held = {known: held[known] for known in ARMS if known in held}
        replace_text(path, json.dumps({"arms": held}, indent=1) + "\n")
    return held


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
