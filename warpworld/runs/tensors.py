"""Files of tensors, read without running any code that they hold."""

from __future__ import annotations

import pickle
import re
import struct
import sys
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any, BinaryIO

from warpworld.files import reason

_PYTHON_OBJECT = re.compile(r"GLOBAL ([\w.]+)")  # in torch's messages
_DAMAGE = (  # what reading a file with wrong bytes ends in
    ArithmeticError, AttributeError, EOFError, LookupError, NotImplementedError, OSError, RuntimeError, TypeError,
    ValueError, struct.error, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def load_tensors(file: BinaryIO, old: bool = False) -> Any:
    """Load what ``torch.save`` wrote: tensors, on the CPU, numbers, texts, lists and dicts.

    Torch's own words are not repeated: they advise to load with ``weights_only=False``, which runs the file's code.

    Args:
        file: at its beginning.
        old: whether it may be in the format of old versions of torch, which has no checksums.

    Raises:
        ValueError: it holds something else, or is damaged; in one line.
    """
    import torch

    try:
        if zipfile.is_zipfile(file):
            _check_sums(file)
        elif not old:
            raise ValueError("it is cut off, or was not written by torch")
        file.seek(0)
        return torch.load(file, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        found = _PYTHON_OBJECT.search(str(error))
        what = f"the Python object {found[1]}" if found else "something else"
        raise ValueError(f"it holds {what}, expected tensors, numbers, texts, lists and dicts") from error
    except _DAMAGE as error:
        raise ValueError(reason(error)) from error


def save_tensors(state: dict[str, Any], file: BinaryIO) -> None:
    """Write what ``load_tensors`` reads; equal contents give the same bytes.

    Pickling writes a text once and then refers to it, wherever the very same object comes again: so equal texts are
    made the same object first.
    """
    import torch

    torch.save(_with_shared_texts(state), file)


def _with_shared_texts(value: Any) -> Any:
    if isinstance(value, str):
        return sys.intern(value)
    if isinstance(value, Mapping):
        return {_with_shared_texts(key): _with_shared_texts(entry) for key, entry in value.items()}
    return [_with_shared_texts(entry) for entry in value] if isinstance(value, (list, tuple)) else value


def _check_sums(file: BinaryIO) -> None:
    """Compare the checksums of an archive, which torch itself leaves aside."""
    with zipfile.ZipFile(file) as archive:
        damaged = archive.testzip()
    if damaged is not None:
        raise ValueError(f"its checksum is wrong, at '{damaged}'")
