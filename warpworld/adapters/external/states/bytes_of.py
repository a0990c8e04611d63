"""Numbers, texts and arrays as bytes, and back: plain data alone, so that reading them runs no code of others."""

from __future__ import annotations

import math
import re
import struct

import numpy as np

_KINDS = "biufcmMSU"  # of dtypes whose values are plain bytes
_DTYPE = re.compile(rf"[<>|=][{_KINDS}]\d{{1,5}}(\[\w{{1,10}}\])?")
_FLOAT = struct.Struct("<d")


class StateError(ValueError):
    """A state cannot be taken, read or put back; the message says why, in one line without a full stop."""


class ByteWriter:
    """Appends numbers, texts and arrays to a state."""

    def __init__(self) -> None:
        self.written = bytearray()

    def tag(self, tag: str) -> None:
        """Append a letter."""
        self.written += tag.encode("ascii")

    def count(self, number: int) -> None:
        """Append a whole number that is not negative: seven bits a byte, the lowest first."""
        while number > 127:
            self.written.append(number & 127 | 128)
            number >>= 7
        self.written.append(number)

    def blob(self, data: bytes | bytearray) -> None:
        """Append bytes with their number in front."""
        self.count(len(data))
        self.written += data

    def text(self, text: str) -> None:
        """Append a text."""
        self.blob(text.encode("utf-8", "surrogatepass"))

    def whole(self, number: int) -> None:
        """Append a whole number of any size."""
        self.blob(number.to_bytes(number.bit_length() // 8 + 1, "little", signed=True))

    def real(self, number: float) -> None:
        """Append a number of double precision."""
        self.written += _FLOAT.pack(number)

    def shape(self, shape: tuple[int, ...]) -> None:
        """Append the lengths of an array's dimensions."""
        self.count(len(shape))
        for length in shape:
            self.count(length)

    def array(self, array: np.ndarray) -> None:
        """Append an array that owns its memory: dtype, shape, order of its dimensions in memory, and contents."""
        if array.dtype.kind not in _KINDS:
            raise StateError(f"an array of {array.dtype}")
        self.text(array.dtype.str)
        self.shape(array.shape)
        order = sorted(range(array.ndim), key=lambda axis: -array.strides[axis])
        self.shape(tuple(order))
        self.blob(array.transpose(order).tobytes())


class ByteReader:
    """Reads what a ``ByteWriter`` wrote.

    Args:
        data: as it was written; another may hold anything.

    Raises:
        StateError: by all methods, if the data do not have what is asked for.
    """

    def __init__(self, data: bytes) -> None:
        self._data, self._at = memoryview(data), 0

    @property
    def is_read(self) -> bool:
        """Whether nothing is left."""
        return self._at == len(self._data)

    def _take(self, count: int) -> memoryview:
        first, self._at = self._at, self._at + count
        if self._at > len(self._data):
            raise StateError("it is cut off")
        return self._data[first : self._at]

    def tag(self) -> str:
        """Read a letter."""
        return chr(self._take(1)[0])

    def count(self) -> int:
        """Read a whole number that is not negative."""
        number = shift = 0
        while shift < 63:
            byte = self._take(1)[0]
            number |= (byte & 127) << shift
            if byte < 128:
                return number
            shift += 7
        raise StateError("it has a number of too many digits")

    def blob(self) -> bytes:
        """Read bytes."""
        return bytes(self._take(self.count()))

    def text(self) -> str:
        """Read a text."""
        try:
            return self.blob().decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise StateError("it has a text that is none") from error

    def whole(self) -> int:
        """Read a whole number of any size."""
        return int.from_bytes(self.blob(), "little", signed=True)

    def real(self) -> float:
        """Read a number of double precision."""
        return float(_FLOAT.unpack(self._take(_FLOAT.size))[0])

    def shape(self) -> tuple[int, ...]:
        """Read the lengths of an array's dimensions."""
        return tuple(self.count() for _ in range(self._at_most(self.count(), 64)))

    def length(self) -> int:
        """Read how many entries follow, each of at least one byte."""
        return self._at_most(self.count(), len(self._data) - self._at)

    @staticmethod
    def _at_most(number: int, most: int) -> int:
        if number > most:
            raise StateError(f"it says that {number} entries follow, of which there is no room for more than {most}")
        return number

    def dtype(self) -> np.dtype:
        """Read a dtype of plain values."""
        text = self.text()
        try:
            if _DTYPE.fullmatch(text):
                return np.dtype(text)
        except (TypeError, ValueError) as error:
            raise StateError(f"it names a dtype {text!r}") from error
        raise StateError(f"it names a dtype {text[:20]!r}")

    def array(self) -> np.ndarray:
        """Read an array."""
        dtype, shape, order, data = self.dtype(), self.shape(), self.shape(), self.blob()
        if sorted(order) != list(range(len(shape))) or math.prod(shape) * dtype.itemsize != len(data):
            raise StateError(f"it has an array {shape} of {dtype} with {len(data)} bytes")
        back = np.argsort(order)
        packed = np.frombuffer(data, dtype) if dtype.itemsize else np.empty(shape, dtype)
        return packed.reshape([shape[axis] for axis in order]).transpose(back).copy(order="K")
