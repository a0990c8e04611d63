"""Values that an adapter keeps beside a library's env, as part of the env's state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from warpworld.adapters.external.states.bytes_of import StateError


def check_lists(rows: Sequence[Any], kinds: tuple[type, ...]) -> None:
    """Check that states hold what an adapter has written into them.

    Args:
        rows: one for each env.
        kinds: of the entries of each.

    Raises:
        StateError: one holds something else.
    """
    for row in rows:
        if not isinstance(row, list) or len(row) != len(kinds) or not all(map(isinstance, row, kinds)):
            raise StateError("it lacks what the envs' adapter keeps")


def fill(arrays: Mapping[Any, np.ndarray], env: int, rows: Mapping[Any, Any]) -> None:
    """Write an env's rows into arrays of all envs; there are none of an env that has not been reset.

    Raises:
        StateError: there are other rows, or rows of another shape or dtype.
    """
    for key, array in arrays.items() if rows else ():
        row = rows.get(key)
        if not isinstance(row, np.ndarray) or row.shape != array.shape[1:] or row.dtype != array.dtype:
            raise StateError("what its env showed has another shape or dtype")
        array[env] = row


@contextmanager
def of_an_env(env: int) -> Iterator[None]:
    """Name the env in what is said of its state."""
    try:
        yield
    except StateError as error:
        raise StateError(f"env {env}: {error}") from error
