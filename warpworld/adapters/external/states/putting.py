"""A state put back into an env of the same class.

Bytes of a state may come from anywhere, as a checkpoint may. Reading them makes plain data, arrays and generators, and
sets attributes of objects that the env has, or of empty ones whose classes its modules define. No constructor, property
or method of a class is called, but for ``set_state`` of an object that has it, and ALE's own reader.
"""

from __future__ import annotations

import enum
import random
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium.spaces import Space

from warpworld.adapters.external.states.bytes_of import ByteReader, StateError
from warpworld.adapters.external.states.kinds import (
    BIT_GENERATORS,
    attributes_of,
    is_one_of_ale,
    is_written_in_python,
    kept,
    name_of,
    package_of,
    random_parts,
    set_attributes,
    states_itself,
)
from warpworld.adapters.external.states.taking import FORMAT, versions

_DAMAGE = (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError)
_MAKERS = {kept(kind): kind for kind in (bool, int, float, str, list, tuple, dict, set, frozenset, deque, Counter)}
_NONE = object()  # in place of what a target does not have
_DEEPEST = 110  # values within each other


def put(target: Any, state: bytes) -> Any:
    """Put a state back.

    Args:
        target: the library's env, or a list with one at the place that it had; objects in it are changed.
        state: what ``taken`` returned, of an env of the same class.

    Returns:
        What the state holds, with the target's objects in it.

    Raises:
        StateError: it is of other versions, of another env, or is damaged.
    """
    reader = _Putting(state)
    try:
        reader.check_versions()
        value = reader.value(target)
    except StateError as error:
        raise StateError(" ".join(str(error).split())) from error  # names may hold anything
    except _DAMAGE as error:
        raise StateError(f"it is damaged: {' '.join(str(error).split())}") from error
    if not reader.is_read:
        raise StateError("it has bytes behind its end")
    for finish in reader.unfinished:
        finish()
    return value


class _Putting(ByteReader):
    """Reads one state."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self._held: list[Any] = []  # in the order in which they were written
        self._used: set[int] = set()  # objects of the target that have a place already
        self._modules: set[str] = set()  # of the target's classes
        self._packages: set[str] = set()  # of these, that are no libraries of many environments
        self._depth = 0
        self.unfinished: list[Callable[[], None]] = []  # what is done when all is read

    def check_versions(self) -> None:
        form, named = self.count(), self.text()
        if form != FORMAT:
            raise StateError(f"it is in format {form}, expected {FORMAT}: another version of warpworld took it")
        packages = [entry.rpartition(" ")[0] for entry in named.split(", ")]
        own = versions(name for name in packages if name in sys.modules)
        if named != own:
            raise StateError(f"it was taken with {named}, and these envs are of {own or 'others'}")

    def value(self, target: Any = _NONE) -> Any:
        """Read anything that a state holds; of the target is used what fits."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise StateError(f"it holds more than {_DEEPEST} values within each other")
        tag = self.tag()
        read = _READ.get(tag)
        if read is None:
            raise StateError(f"it has an unknown kind of value, {tag!r}")
        value = read(self, target)
        self._depth -= 1
        return value

    def _plain(self, kind: type) -> Any:
        value = self.value()
        if type(value) is not kind:
            raise StateError(f"it has a {type(value).__name__} in place of a {kind.__name__}")
        return value

    def _place(self, value: Any = _NONE) -> int:
        self._held.append(value)
        return len(self._held) - 1

    # ---- containers --------------------------------------------------------------------------------------------------
    def held(self, _: Any) -> Any:
        place = self.count()
        if place >= len(self._held) or self._held[place] is _NONE:
            raise StateError("it refers to a value that it lacks")
        return self._held[place]

    def kept(self, target: Any) -> Any:
        name, own = self.text(), None if target is _NONE else kept(target)
        if name.startswith("shown "):
            return None if target is _NONE else target
        if own != name and name in _MAKERS:  # of a defaultdict; to call one does no harm
            return _MAKERS[name]
        if own != name:
            raise StateError(f"it has {name!r} where these envs have {_short(target)}")
        return target

    def entries(self, target: Any) -> list[Any]:
        """Read entries of a container whose target is a sequence."""
        old = list(target) if isinstance(target, (list, tuple, deque)) else []
        return [self.value(old[number] if number < len(old) else _NONE) for number in range(self.length())]

    def _listed(self, target: Any) -> list[Any]:
        """Read a list that was written for another value."""
        if self.tag() != "l":
            raise StateError("it lacks the entries of a value")
        return self.entries(target)

    def list_(self, target: Any) -> Any:
        found: list[Any] = []
        self._place(found)
        found += self.entries(target)
        return found

    def tuple_(self, target: Any) -> Any:
        return tuple(self.entries(target))

    def named_tuple(self, target: Any) -> Any:
        cls = self._class(self.text(), target)
        if not issubclass(cls, tuple) or not hasattr(cls, "_fields"):
            raise StateError(f"it has a tuple of {cls.__name__}, which is none")
        return tuple.__new__(cls, self._listed(target))

    def set_(self, _: Any) -> Any:
        found: set[Any] = set()
        self._place(found)
        for entry in self.entries(None):
            found.add(_hashable(entry))
        return found

    def frozen_set(self, _: Any) -> Any:
        return frozenset(_hashable(entry) for entry in self.entries(None))

    def queue(self, target: Any) -> Any:
        place, most = self._place(), self.value()
        if most is not None and (type(most) is not int or most < 0):
            raise StateError("it has a queue of no length")
        found: deque[Any] = deque(maxlen=most)
        self._held[place] = found
        found.extend(self._listed(target))
        return found

    def mapping(self, target: Any) -> Any:
        kind, place = self.text(), self._place()
        old = target if isinstance(target, dict) else {}
        own = getattr(target, "default_factory", None)
        factory = self.value(own)
        if factory is not own and not any(factory is kind for kind in (None, *_MAKERS.values())):
            raise StateError("it has a mapping that calls what these envs do not have there")
        makers = {"dict": dict, "OrderedDict": OrderedDict, "Counter": Counter}
        if kind != "defaultdict" and kind not in makers:
            raise StateError(f"it has a mapping of the kind '{kind}'")
        found: dict[Any, Any] = defaultdict(factory) if kind == "defaultdict" else makers[kind]()
        self._held[place] = found
        for _ in range(self.length()):
            key = _hashable(self.value())
            found[key] = self.value(old.get(key, _NONE))
        return found

    def byte_array(self, _: Any) -> Any:
        found = bytearray(self.blob())
        self._place(found)
        return found

    # ---- arrays and generators ---------------------------------------------------------------------------------------
    def numbers(self, _: Any) -> Any:
        place, is_read_only = self._place(), self.tag() == "r"
        found = self.array()
        found.flags.writeable = not is_read_only
        self._held[place] = found
        return found

    def objects(self, _: Any) -> Any:
        place, shape = self._place(), self.shape()
        entries = self._listed(None)
        if len(entries) != int(np.prod(shape)):
            raise StateError("it has an array with another number of objects")
        found = np.empty(len(entries), object)
        found[:] = entries
        self._held[place] = found.reshape(shape).copy()
        return self._held[place]

    def view(self, _: Any) -> Any:
        place, is_read_only, root = self._place(), self.tag() == "r", self.value()
        dtype, shape = self.dtype(), self.shape()
        strides, first = self._plain(tuple), self.count()
        if type(root) is not np.ndarray or not all(type(stride) is int for stride in strides):
            raise StateError("it has a view of what is no array")
        found = _accepted("a view", lambda: np.ndarray(shape, dtype, root, first, strides))  # NumPy checks its ends
        found.flags.writeable = not is_read_only and root.flags.writeable
        self._held[place] = found
        return found

    def number(self, _: Any) -> Any:
        dtype, data = self.dtype(), self.blob()
        if len(data) != dtype.itemsize:
            raise StateError(f"it has a number of {dtype} with {len(data)} bytes")
        return np.frombuffer(data, dtype)[0]

    def generator(self, target: Any) -> Any:
        place = self._place()
        own = target if type(target) is np.random.Generator else None
        bits = self.value(None if own is None else own.bit_generator)
        if not isinstance(bits, np.random.BitGenerator):
            raise StateError("it has a generator of no random numbers")
        is_own = own is not None and bits is own.bit_generator
        self._held[place] = own if is_own else np.random.Generator(bits)
        return self._held[place]

    def old_generator(self, target: Any) -> Any:
        place, rest = self._place(), self._plain(tuple)
        own = target if type(target) is np.random.RandomState else None
        bits = self.value(None if own is None else own._bit_generator)
        if not isinstance(bits, np.random.BitGenerator) or len(rest) != 2:
            raise StateError("it has a generator of no random numbers")
        is_own = own is not None and bits is own._bit_generator
        found = own if own is not None and is_own else np.random.RandomState(bits)
        state = {**bits.state, "has_gauss": rest[0], "gauss": rest[1]}
        _accepted("a generator", lambda: found.set_state(state))
        self._held[place] = found
        return found

    def bits(self, target: Any) -> Any:
        place, name, state = self._place(), self.text(), self.value()
        if name not in BIT_GENERATORS or type(state) is not dict:
            raise StateError(f"it has a generator of the kind '{name}'")
        is_own = type(target) is BIT_GENERATORS[name] and id(target) not in self._used
        found: Any = target if is_own else BIT_GENERATORS[name](0)
        self._used.add(id(found))
        _accepted(name, lambda: setattr(found, "state", state))
        self._held[place] = found
        return found

    def python_random(self, target: Any) -> Any:
        place, state = self._place(), self.value()
        found = target if type(target) is random.Random and id(target) not in self._used else random.Random(0)
        self._used.add(id(found))
        _accepted("random.Random", lambda: found.setstate(state))
        self._held[place] = found
        return found

    # ---- objects -----------------------------------------------------------------------------------------------------
    def _class(self, name: str, target: Any) -> type:
        """A class that the target has at this place, or that a module of one of the target's classes defines."""
        if target is not _NONE and name_of(type(target)) == name:
            return type(target)
        module, _, path = name.partition(":")
        is_own = module in self._modules or module.partition(".")[0] in self._packages
        found: Any = sys.modules.get(module) if is_own else None
        for part in path.split("."):
            found = vars(found).get(part) if isinstance(found, type) or type(found) is type(sys) else None
        if not isinstance(found, type) or name_of(found) != name:
            raise StateError(f"it has a {name.replace(':', '.')}, which these envs do not have there")
        return found

    def _learn(self, cls: type) -> None:
        """Take note of modules whose classes a state may ask for."""
        own = [base for base in cls.__mro__ if package_of(base) not in sys.stdlib_module_names]
        self._modules.update(base.__module__ for base in own)
        self._packages.update(package_of(base) for base in own if package_of(base) not in _LIBRARIES)

    def object_(self, target: Any) -> Any:
        place, cls = self._place(), self._class(self.text(), target)
        if not is_written_in_python(cls) or issubclass(cls, (enum.Enum, type)):
            raise StateError(f"it has a {cls.__name__} in place of attributes")
        is_own = type(target) is cls and id(target) not in self._used
        found = target if is_own else _accepted(cls.__name__, lambda: object.__new__(cls))
        self._used.add(id(found))
        self._learn(cls)
        self._held[place] = found
        set_attributes(found, self._entries((attributes_of(found) if is_own else None) or {}))
        return found

    def _entries(self, own: dict[str, Any]) -> dict[str, Any]:
        found = {}
        for _ in range(self.length()):
            name = self.text()
            found[name] = self.value(own.get(name, _NONE))
        return found

    def space(self, target: Any) -> Any:
        self._place(target)
        name = self.text()
        if not isinstance(target, Space) or name_of(type(target)) != name:
            raise StateError(f"it has a space {name.replace(':', '.')} where these envs have {_short(target)}")
        parts = random_parts(target)
        found = self._entries(parts)
        vars(target).update({name: found[name] for name in found if name in parts})
        return target

    def member(self, target: Any) -> Any:
        cls, name = self._class(self.text(), target), self.text()
        if not issubclass(cls, enum.Enum) or name not in cls.__members__:
            raise StateError(f"it has a member '{name}' of {cls.__name__}, which is none")
        return cls.__members__[name]

    def game(self, target: Any) -> Any:
        self._place(target)
        data = self.blob()
        if not is_one_of_ale(type(target)):
            raise StateError("it has a game of ALE where these envs have none")
        from ale_py import ALEState

        _accepted("ALE's state", lambda: target.restoreSystemState(ALEState(data)))
        return target

    def itself(self, target: Any) -> Any:
        place, name, state = self._place(target), self.text(), None
        state = self.value()
        if target is _NONE or name_of(type(target)) != name or not states_itself(type(target)):
            raise StateError(f"it has a {name.replace(':', '.')}, which these envs do not have there")
        self._held[place] = target
        what = f"set_state() of {type(target).__name__}"
        self.unfinished.append(lambda: _accepted(what, lambda: target.set_state(state)))
        return target


# Packages of which a state may ask for classes of those modules alone that the env's own classes are in.
_LIBRARIES = ("gymnasium", "gym", "pettingzoo", "numpy", "torch", "warpworld")


def _accepted(what: str, take: Callable[[], Any]) -> Any:
    """Let a library take what a state says, which it may refuse by any exception."""
    try:
        return take()
    except Exception as error:
        raise StateError(f"{what} was refused: {type(error).__name__}: {' '.join(str(error).split())}") from error


def _hashable(value: Any) -> Any:
    try:
        hash(value)
    except TypeError as error:
        raise StateError(f"it has a {type(value).__name__} as a key") from error
    return value


def _short(value: Any) -> str:
    return "nothing" if value is _NONE else f"a {type(value).__name__}"


def _complex(reader: _Putting, _: Any) -> complex:
    real = reader.real()
    return complex(real, reader.real())


_READ: dict[str, Callable[[_Putting, Any], Any]] = {
    "N": lambda *_: None,
    "1": lambda *_: True,
    "0": lambda *_: False,
    "i": lambda reader, _: reader.whole(),
    "f": lambda reader, _: reader.real(),
    "c": _complex,
    "s": lambda reader, _: reader.text(),
    "b": lambda reader, _: reader.blob(),
    "B": _Putting.byte_array,
    "l": _Putting.list_,
    "t": _Putting.tuple_,
    "T": _Putting.named_tuple,
    "e": _Putting.set_,
    "z": _Putting.frozen_set,
    "q": _Putting.queue,
    "d": _Putting.mapping,
    "m": _Putting.held,
    "k": _Putting.kept,
    "a": _Putting.numbers,
    "O": _Putting.objects,
    "v": _Putting.view,
    "n": _Putting.number,
    "g": _Putting.generator,
    "r": _Putting.old_generator,
    "G": _Putting.bits,
    "R": _Putting.python_random,
    "o": _Putting.object_,
    "E": _Putting.member,
    "A": _Putting.game,
    "S": _Putting.space,
    "p": _Putting.itself,
}
