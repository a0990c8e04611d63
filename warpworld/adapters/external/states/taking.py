"""An env's state as bytes: what its attributes hold, and those of the objects and containers in them."""

from __future__ import annotations

import enum
import importlib.metadata
import random
import sys
from collections import deque
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
from gymnasium.spaces import Space

from warpworld.adapters.external.states.bytes_of import ByteWriter, StateError
from warpworld.adapters.external.states.kinds import (
    BIT_GENERATORS,
    DICTS,
    attributes_of,
    is_one_of_ale,
    is_shared,
    kept,
    name_of,
    package_of,
    random_parts,
    states_itself,
)

FORMAT = 1  # of states
_OURS = ("warpworld", "numpy", "builtins")  # packages whose versions a state does not name
_DEEPEST = 100  # containers within containers


def taken(value: Any) -> bytes:
    """The state of a library's env, or of a list of plain data and one.

    What an attribute holds is written as it is: plain data, arrays, generators of NumPy and Python, containers of such,
    and objects of classes written in Python, whose attributes are written likewise. Functions, classes, modules and
    what shows envs are named alone. An object that has ``get_state()`` and ``set_state(state)`` is asked for its state.

    Raises:
        StateError: something else is held; names it.
    """
    return _Taking().all_of(value)


class _Taking(ByteWriter):
    """Writes one state."""

    def __init__(self) -> None:
        super().__init__()
        self._places: dict[int, int] = {}  # of what may be held twice, in the order in which it was written
        self._alive: list[Any] = []  # so that no id is used again
        self._packages: set[str] = set()
        self._path: list[str] = []  # to what is being written

    def all_of(self, value: Any) -> bytes:
        self.value(value)
        body, self.written = self.written, bytearray()
        self.count(FORMAT)
        self.text(versions(self._packages))
        return bytes(self.written + body)

    def value(self, value: Any) -> None:
        """Append anything that a state may hold."""
        write = _PLAIN.get(type(value))
        if write is not None:
            write(self, value)
            return
        place = self._places.get(id(value))
        if place is not None:
            self.tag("m")
            self.count(place)
            return
        if not self._is_kept(value):
            if is_shared(value):
                self._places[id(value)] = len(self._places)
                self._alive.append(value)
            _HELD.get(type(value), _Taking.other)(self, value)

    def _is_kept(self, value: Any) -> bool:
        name = None if type(value) in _HELD else kept(value)
        if name is not None:
            self.tag("k")
            self.text(name)
        return name is not None

    def under(self, name: str, value: Any) -> None:
        """Append what is held under a name."""
        if len(self._path) >= _DEEPEST:
            raise StateError(f"{self._where()} holds more than {_DEEPEST} values within each other")
        self._path.append(name)
        self.value(value)
        self._path.pop()

    def _where(self) -> str:
        return "".join(self._path).lstrip(".") or "it"

    # ---- containers --------------------------------------------------------------------------------------------------
    def items(self, tag: str, items: Iterable[Any]) -> None:
        entries = list(items)
        self.tag(tag)
        self.count(len(entries))
        for number, entry in enumerate(entries):
            self.under(f"[{number}]", entry)

    def queue(self, entries: deque[Any]) -> None:
        self.tag("q")
        self.value(entries.maxlen)
        self.items("l", entries)

    def mapping(self, entries: dict[Any, Any]) -> None:
        self.tag("d")
        self.text(type(entries).__name__)
        self.under(".default_factory", getattr(entries, "default_factory", None))
        self.count(len(entries))
        for key, entry in entries.items():
            self.under(f" key {key!r}", key)
            self.under(f"[{key!r}]", entry)

    # ---- arrays and generators ---------------------------------------------------------------------------------------
    def numbers(self, array: np.ndarray) -> None:
        """Append an array: one that owns its memory, or a view of another."""
        root = array
        while type(root.base) is np.ndarray:
            root = root.base
        if array.dtype.kind == "O":
            self.tag("O")
            self.shape(array.shape)
            self.items("l", array.ravel().tolist())
        elif root is array or root.dtype.kind == "O":
            self._checked(array.dtype)
            self.tag("a")
            self.tag("w" if array.flags.writeable else "r")
            self.array(array)
        else:
            self._checked(array.dtype)
            self.tag("v")
            self.tag("w" if array.flags.writeable else "r")
            self.value(root)
            self.text(array.dtype.str)
            self.shape(array.shape)
            self.items("t", array.strides)
            self.count(array.__array_interface__["data"][0] - _first_byte(root))

    def _checked(self, dtype: np.dtype) -> None:
        if dtype.kind not in "biufcmMSU":
            raise self.refused(f"an array of {dtype}")

    def number(self, number: np.generic) -> None:
        self.tag("n")
        self._checked(number.dtype)
        self.text(number.dtype.str)
        self.blob(number.tobytes())

    def generator(self, generator: np.random.Generator | np.random.RandomState) -> None:
        if isinstance(generator, np.random.Generator):
            self.tag("g")
            self.value(generator.bit_generator)
            return
        state: Any = generator.get_state(legacy=False)
        self.tag("r")
        self.value((state["has_gauss"], state["gauss"]))
        self.value(generator._bit_generator)

    def bits(self, bits: np.random.BitGenerator) -> None:
        self.tag("G")
        self.text(type(bits).__name__)
        self._own(bits.state)

    def _own(self, state: Any) -> None:
        """Append a state that was made for this, and is held by nothing else."""
        self._alive.append(state)
        self.value(state)

    def python_random(self, generator: random.Random) -> None:
        self.tag("R")
        self._own(generator.getstate())

    # ---- objects -----------------------------------------------------------------------------------------------------
    def other(self, value: Any) -> None:
        """Append an object of a class that is none of Python's own."""
        cls = type(value)
        if isinstance(value, np.generic):
            self.number(value)
            return
        if isinstance(value, enum.Enum):
            self.tag("E")
            self.text(name_of(cls))
            self.text(value.name)
            return
        self._packages.add(package_of(cls))
        if isinstance(value, tuple) and hasattr(cls, "_fields"):
            self.tag("T")
            self.text(name_of(cls))
            self.items("l", value)
        elif is_one_of_ale(cls):
            self._game(value)
        elif isinstance(value, Space):
            self.tag("S")
            self.text(name_of(cls))
            self._entries(random_parts(value))
        elif states_itself(cls):
            self.tag("p")
            self.text(name_of(cls))
            self._itself(value)
        else:
            self._object(value)

    def _object(self, value: Any) -> None:
        found = attributes_of(value)
        if found is None:
            raise self.refused(f"a {name_of(type(value)).replace(':', '.')}")
        self.tag("o")
        self.text(name_of(type(value)))
        self._packages.update(package_of(base) for base in type(value).__mro__)
        self._entries(found)

    def _entries(self, found: dict[str, Any]) -> None:
        self.count(len(found))
        for name, entry in found.items():
            self.text(name)
            self.under(f".{name}", entry)

    def _game(self, ale: Any) -> None:
        """Append what ALE's core holds, its random numbers too."""
        if ale.getFloat("repeat_action_probability") > 0.0:
            raise StateError("ALE's states lack the action that sticky actions repeat; set repeat_action_probability=0")
        self.tag("A")
        self.blob(ale.cloneSystemState().serialize())

    def _itself(self, value: Any) -> None:
        try:
            state = value.get_state()
        except Exception as error:
            raise self.refused(f"a {type(value).__name__} whose get_state() raised {error!r}") from error
        self._path.append(".get_state()")
        self._own(state)
        self._path.pop()

    def refused(self, what: str) -> StateError:
        """The error that something is held which no state can."""
        return StateError(f"{self._where()} holds {what}, of which no state can be taken")


def versions(packages: Iterable[str]) -> str:
    """The versions of packages, in one text; of those that have none the name is left out."""
    return ", ".join(f"{name} {found}" for name in sorted(packages) if (found := _version(name)))


@cache
def _version(package: str) -> str:
    if package in _OURS or package in sys.stdlib_module_names:
        return ""
    own = getattr(sys.modules.get(package), "__version__", None)
    if isinstance(own, str):
        return own
    for distribution in _distributions().get(package, ()):
        return importlib.metadata.version(distribution)
    return ""


@cache
def _distributions() -> dict[str, list[str]]:
    return dict(importlib.metadata.packages_distributions())


def _first_byte(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


def _flag(writer: _Taking, value: bool) -> None:
    writer.tag("1" if value else "0")


def _simple(tag: str, write: str) -> Any:
    """A function that writes a letter, and a value by a method."""

    def run(writer: _Taking, value: Any) -> None:
        writer.tag(tag)
        getattr(writer, write)(value)

    return run


def _complex(writer: _Taking, value: complex) -> None:
    writer.tag("c")
    writer.real(value.real)
    writer.real(value.imag)


_PLAIN: dict[Any, Any] = {
    type(None): lambda writer, _: writer.tag("N"),
    bool: _flag,
    int: _simple("i", "whole"),
    float: _simple("f", "real"),
    complex: _complex,
    str: _simple("s", "text"),
    bytes: _simple("b", "blob"),
}
_HELD: dict[Any, Any] = {
    bytearray: _simple("B", "blob"),
    list: lambda writer, value: writer.items("l", value),
    tuple: lambda writer, value: writer.items("t", value),
    set: lambda writer, value: writer.items("e", value),
    frozenset: lambda writer, value: writer.items("z", value),
    deque: _Taking.queue,
    **dict.fromkeys(DICTS.values(), _Taking.mapping),
    np.ndarray: _Taking.numbers,
    np.random.Generator: _Taking.generator,
    np.random.RandomState: _Taking.generator,
    **dict.fromkeys(BIT_GENERATORS.values(), _Taking.bits),
    random.Random: _Taking.python_random,
}
