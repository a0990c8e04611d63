"""Kinds of values that an object's attributes hold, besides plain data: what is kept as it is, and what has a state."""

from __future__ import annotations

import enum
import functools
import inspect
import logging
import types
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np
from gymnasium.spaces import Space

# Code and its parts, and what shows envs: a state names them, and the object that takes it keeps its own.
T = TypeVar("T")
_KEPT: tuple[type, ...] = (
    type, types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType, types.MethodWrapperType,
    types.GenericAlias, functools.partial, type(functools.lru_cache(len)), np.ufunc, np.dtype, logging.Logger,
    logging.LoggerAdapter, staticmethod, classmethod, property, range, slice, type(Ellipsis), type(NotImplemented),
)  # fmt: skip
_HEAP_TYPE = 1 << 9  # a flag of classes that were made while Python runs
_POINTER = tuple.__itemsize__  # bytes
_SHOWS = ("pygame", "pyglet", "matplotlib", "PIL", "moviepy")  # packages whose objects show envs and change none
BIT_GENERATORS = {kind.__name__: kind for kind in (
    np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64,
)}  # fmt: skip
DICTS = {kind.__name__: kind for kind in (dict, OrderedDict, defaultdict, Counter)}


def _kept_by_class(of: Callable[[Any], T]) -> Callable[[Any], T]:
    """Let a function of classes compute once what it says of one."""
    return functools.cache(of)


def package_of(cls: type) -> str:
    """The top of the module that a class is defined in."""
    return str(getattr(cls, "__module__", "")).partition(".")[0]


def name_of(cls: type) -> str:
    """Module and name of a class, by which a state names it."""
    return f"{cls.__module__}:{cls.__qualname__}"


@_kept_by_class
def is_written_in_python(cls: Any) -> bool:
    """Whether a class and its bases are, so that their objects hold nothing but attributes."""
    return all(base is object or (base.__flags__ & _HEAP_TYPE and _adds_attributes_only(base)) for base in cls.__mro__)


def _adds_attributes_only(cls: type) -> bool:
    """Whether objects of a class are no larger than those of its base, but for attributes; in C they may hold more."""
    own = [name for name, member in vars(cls).items() if isinstance(member, types.MemberDescriptorType)]
    places = len(own) + sum(name in vars(cls) for name in ("__dict__", "__weakref__"))
    by_c = isinstance(vars(cls).get("__new__"), types.BuiltinFunctionType)
    return not by_c and cls.__basicsize__ - (cls.__base__ or object).__basicsize__ <= _POINTER * places


def kept(value: Any) -> str | None:
    """The name of something that a state leaves as it is; None of what it holds."""
    cls = type(value)
    if package_of(cls) in _SHOWS:
        return f"shown {name_of(cls)}"
    if not isinstance(value, _KEPT):
        return None
    if isinstance(value, functools.partial):
        return f"partial {kept(value.func)}"
    named = getattr(value, "__qualname__", None) or getattr(value, "__name__", None) or repr(value)
    return f"{cls.__name__} {getattr(value, '__module__', '')} {named}"


@_kept_by_class
def slots_of(cls: Any) -> tuple[tuple[str, Any], ...]:
    """The attributes that a class and its bases keep beside ``__dict__``, with what reads and writes them."""
    return tuple(
        (name, member)
        for base in cls.__mro__
        for name, member in vars(base).items()
        if isinstance(member, types.MemberDescriptorType)
    )


def attributes_of(value: Any) -> dict[str, Any] | None:
    """Attributes of an object of a class written in Python, by names in order; None of another object.

    No property, ``__getattr__`` or ``__getstate__`` of the class is called.
    """
    cls = type(value)
    if not is_written_in_python(cls):
        return None
    try:
        found = dict(object.__getattribute__(value, "__dict__"))
    except AttributeError:
        found = {}
    for name, member in slots_of(cls):
        try:
            found[f"{name}{_SLOT}"] = member.__get__(value)
        except AttributeError:
            continue  # it has no value
    return {name: found[name] for name in sorted(found, key=str)}


_SLOT = " slot"  # behind the names of attributes that are not in __dict__


def set_attributes(value: Any, found: dict[str, Any]) -> None:
    """Give an object exactly these attributes; no code of its class is called."""
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        own = {}
    plain = {name: entry for name, entry in found.items() if not name.endswith(_SLOT)}
    own.clear()
    own.update(plain)
    for name, member in slots_of(type(value)):
        if f"{name}{_SLOT}" in found:
            member.__set__(value, found[f"{name}{_SLOT}"])
        else:
            with suppress(AttributeError):  # it has no value
                member.__delete__(value)


def is_one_of_ale(cls: type) -> bool:
    """Whether objects of a class are ALE's core, whose states are bytes that ALE makes and reads."""
    return package_of(cls) == "ale_py" and cls.__name__ == "ALEInterface"


def random_parts(space: Any) -> dict[str, Any]:
    """Parts of a space of Gymnasium that may change: its generator, and those of the spaces in it."""
    return {
        name: entry
        for name, entry in vars(space).items()
        if name in ("_np_random", "spaces") or isinstance(entry, Space)
    }


def is_shared(value: Any) -> bool:
    """Whether it matters that two attributes hold this very object: where it can change."""
    return not isinstance(value, (tuple, frozenset, np.generic, enum.Enum))


def states_itself(cls: Any, arguments: int = 0) -> bool:
    """Whether objects of a class have ``get_state()`` and ``set_state(state)``, each behind so many other arguments."""
    get, put = getattr(cls, "get_state", None), getattr(cls, "set_state", None)
    return _takes(get, arguments + 1) and _takes(put, arguments + 2)


def _takes(method: Any, count: int) -> bool:
    """Whether a method can be called with so many arguments, the object included."""
    if not callable(method):
        return False
    try:
        inspect.signature(method).bind(*[None] * count)
    except TypeError:
        return False
    except ValueError:  # of C code, which does not say
        return True
    return True
