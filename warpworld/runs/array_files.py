"""Archives of arrays that may be larger than memory has room for: written and read in pieces, as .npz files."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO

import numpy as np

from warpworld.errors import RunError
from warpworld.files import check_file, reason, replacing

PIECE = 2**23  # bytes that are held at a time
LEVEL = 1  # of deflate: frames shrink nearly as far as with more, several times as fast
_DAMAGE = (EOFError, KeyError, NotImplementedError, OSError, ValueError, zipfile.BadZipFile, zlib.error)


@dataclass(frozen=True)
class Seal:
    """Marks by which a file is recognised.

    Attributes:
        nbytes: its length.
        crc: CRC-32 of its bytes.
    """

    nbytes: int
    crc: int


class _Sealing:
    """Passes bytes on to a file and sums them up. It cannot seek, so each byte is seen once."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self.nbytes, self.crc = file, 0, 0

    def write(self, data: bytes) -> int:
        self.nbytes += len(data)
        self.crc = zlib.crc32(data, self.crc)
        return self._file.write(data)

    def flush(self) -> None:
        self._file.flush()


class Writing:
    """An archive that is being written, which ``numpy.load`` reads too; ``seal`` is right once it is done."""

    def __init__(self, archive: zipfile.ZipFile, sealing: _Sealing) -> None:
        self._archive, self._sealing = archive, sealing

    def add(self, name: str, dtype: np.dtype, shape: tuple[int, ...], pieces: Iterable[np.ndarray]) -> None:
        """Add an array.

        Args:
            name: unique in the archive.
            dtype: its numbers' type.
            shape: of the whole.
            pieces: successive parts of it along its first dimension.
        """
        member = zipfile.ZipInfo(f"{name}.npy")  # its date is fixed: the same arrays make the same file
        member.compress_type, member._compresslevel = zipfile.ZIP_DEFLATED, LEVEL  # type: ignore[attr-defined]
        member.file_size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        with self._archive.open(member, "w") as file:
            header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(file, header)
            for piece in pieces:
                file.write(np.ascontiguousarray(piece).data.cast("B") if piece.size else b"")

    @property
    def seal(self) -> Seal:
        """Seal of all bytes that were written."""
        return Seal(self._sealing.nbytes, self._sealing.crc)


@contextmanager
def writing(path: Path) -> Iterator[Writing]:
    """Write an archive, whole or not at all; it is on the disk when the block is left.

    Raises:
        OSError: it cannot be written.
    """
    with replacing(path) as file:
        sealing = _Sealing(file)
        with zipfile.ZipFile(sealing, "w") as archive:  # type: ignore[call-overload]
            yield Writing(archive, sealing)


def check_seal(path: Path, seal: Seal) -> None:
    """Compare a file with what it was when it was written.

    Raises:
        RunError: it is missing, cannot be read, or is another.
    """
    crc = nbytes = 0
    try:
        check_file(path)
        with path.open("rb") as file:
            while data := file.read(PIECE):
                crc, nbytes = zlib.crc32(data, crc), nbytes + len(data)
    except OSError as error:
        raise unreadable(path, error) from error
    if nbytes != seal.nbytes:
        raise unreadable(path, ValueError(f"it has {nbytes:,} bytes, expected {seal.nbytes:,}"))
    if crc != seal.crc:
        raise unreadable(path, ValueError("its checksum is wrong"))


class ArrayReader:
    """Reads arrays of an archive in pieces."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive

    def pieces(self, name: str, dtype: np.dtype, shape: tuple[int, ...]) -> Iterator[tuple[int, np.ndarray]]:
        """Successive parts of an array along its first dimension, each with its first place.

        Raises:
            ValueError: the array has another dtype or shape.
        """
        with self._archive.open(f"{name}.npy") as file:
            found, found_shape = _header(file)
            if (found, found_shape) != (dtype, shape):
                raise ValueError(f"array '{name}' is {found} {found_shape}, expected {dtype} {shape}")
            row, first = int(np.prod(shape[1:], dtype=np.int64)) * dtype.itemsize, 0
            for count in piece_lengths(shape[0], row):
                data = bytearray(file.read(count * row))
                yield first, np.frombuffer(data, dtype).reshape(count, *shape[1:])
                first += count

    def whole(self, name: str, dtype: np.dtype) -> np.ndarray:
        """An array that is small, of any shape.

        Raises:
            ValueError: the array has another dtype.
        """
        with self._archive.open(f"{name}.npy") as file:
            found, shape = _header(file)
            if found != dtype:
                raise ValueError(f"array '{name}' is {found}, expected {dtype}")
            return np.frombuffer(bytearray(file.read()), dtype).reshape(shape)


def _header(file: IO[bytes]) -> tuple[np.dtype, tuple[int, ...]]:
    """Dtype and shape of the array that follows."""
    np.lib.format.read_magic(file)
    shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    return dtype, shape


@contextmanager
def reading(path: Path) -> Iterator[ArrayReader]:
    """Read an archive.

    Raises:
        RunError: it cannot be read, or holds something else.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            yield ArrayReader(archive)
    except _DAMAGE as error:
        raise unreadable(path, error) from error


def piece_lengths(count: int, nbytes: int) -> Iterator[int]:
    """Lengths of the parts of ``count`` rows of ``nbytes`` each."""
    most = max(1, PIECE // max(1, nbytes))
    for first in range(0, count, most):
        yield min(most, count - first)


def unreadable(path: Path, error: Exception) -> RunError:
    """Error for a file of a replay that cannot be read."""
    return RunError(f"replay '{path}' cannot be read: {reason(error)}")
