"""What a kernel's parameters are bound to: arrays and numbers, by name or in the order of a list."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

import numpy as np

from warpworld.environment import Array
from warpworld.errors import BindError, suggest
from warpworld.managers.backend import Argument
from warpworld.managers.data_manager import DataManager
from warpworld.managers.signature import C_NAMES, C_TYPES, Parameter, Signature

Number = int | float | bool

# The world or the caller writes these; kernels may only read them.
READ_ONLY = ("timestep", "clock", "active")


class Binding:
    """Finds the array or the number for each parameter of a kernel.

    Args:
        data: the store.
        scalars: numbers that parameters passed by value may name.
        aliases: parameter name -> array name, where they differ.
        writable: arrays that are read-only for other kernels, but not for these.
    """

    def __init__(
        self, data: DataManager, scalars: Mapping[str, Any], aliases: Mapping[str, str], writable: Set[str]
    ) -> None:
        self._data, self._scalars, self._aliases, self._writable = data, scalars, aliases, writable

    def by_name(self, signature: Signature) -> tuple[Argument, ...]:
        """Each parameter to what it is called.

        Raises:
            BindError: a parameter names nothing, or something of another type; says what was expected.
        """
        return tuple(self._by_name(signature, parameter) for parameter in signature.parameters)

    def by_position(self, signature: Signature, given: Sequence[str | Number]) -> tuple[Argument, ...]:
        """Each parameter to the entry at its place; an entry is the name of an array or a number, or a number.

        Raises:
            BindError: there are more or fewer entries than parameters, or one does not fit its parameter.
        """
        parameters = signature.parameters
        if len(given) != len(parameters):
            listed = ", ".join(f"{parameter.declaration} {parameter.name}" for parameter in parameters)
            raise BindError(
                f"{_place(signature.path, signature.line, signature)} has {len(parameters)} parameters, its list of "
                f"arguments has {len(given)} entries; expected one each for: {listed}"
            )
        return tuple(self._at(signature, i, entry) for i, entry in enumerate(given))

    # ---- by name -----------------------------------------------------------------------------------------------------
    def _by_name(self, signature: Signature, parameter: Parameter) -> Argument:
        known = C_TYPES.get(parameter.type)
        bound: Argument | str
        if known is None:
            bound = _unknown_type(parameter)
        elif parameter.pointer:
            bound = self._array(parameter, *known)
        else:
            bound = self._number(parameter, *known)
        if isinstance(bound, Argument):
            return bound
        given = f"`{parameter.declaration} {parameter.name}`"
        raise BindError(f"{_place(signature.path, parameter.line, signature)}, parameter {given}: {bound}")

    def _array(self, parameter: Parameter, dtype: str, components: int) -> Argument | str:
        """What a pointer is bound to, or why it is not."""
        name = self._aliases.get(parameter.name, parameter.name)
        if name not in self._data:
            if name in self._scalars:
                return f"'{name}' is a number, not an array: write `{parameter.type} {name}`"
            return f"no array of that name.{_nearest(name, [*self._data, *self._aliases])}"
        array = self._data.array(name)
        if dtype != array.dtype:
            header = ", and `#include <half.cuh>` above" if array.dtype == "float16" else ""
            return f"the array is {array.dtype}: write `{self._pointer_to(array, parameter)}`{header}"
        if _splits_wrongly(array, components):
            return (
                f"the array's last dimension is {_last_dimension(array)}, not {components}: "
                f"write `{self._pointer_to(array, parameter)}`"
            )
        if not parameter.const and self._is_read_only(array):
            return f"the array is read-only for kernels: write `const {parameter.type}* {parameter.name}`"
        return Argument(array=name, value=0, dtype=dtype)

    def _is_read_only(self, array: Array) -> bool:
        return (array.read_only or array.name in READ_ONLY) and array.name not in self._writable

    def _pointer_to(self, array: Array, parameter: Parameter) -> str:
        const = "const " if parameter.const or self._is_read_only(array) else ""
        return f"{const}{C_NAMES[array.dtype]}* {parameter.name}"

    def _number(self, parameter: Parameter, dtype: str, components: int) -> Argument | str:
        """What a parameter that is passed by value is bound to, or why it is not."""
        name = parameter.name
        if name not in self._scalars:
            array = self._aliases.get(name, name)
            if array in self._data:
                expected = self._pointer_to(self._data.array(array), parameter)
                return f"'{name}' is an array, not a number: write `{expected}`"
            return f"no parameter or world constant of that name.{_nearest(name, self._scalars, self._data)}"
        value = self._scalars[name]
        if not isinstance(value, (bool, int, float)):
            return f"its value is {value!r}; only numbers and bools reach a kernel, so leave it to Python"
        if components > 1 or not fits(value, dtype):
            return f"its value is {value!r}: write `{_type_for(value)} {name}`"
        return Argument(array=None, value=value, dtype=dtype)

    # ---- by position -------------------------------------------------------------------------------------------------
    def _at(self, signature: Signature, i: int, entry: str | Number) -> Argument:
        parameter = signature.parameters[i]
        known = C_TYPES.get(parameter.type)
        bound: Argument | str
        if known is None:
            bound = _unknown_type(parameter)
        elif parameter.pointer:
            bound = self._array_at(parameter, entry, *known)
        else:
            bound = self._number_at(parameter, entry, *known)
        if isinstance(bound, Argument):
            return bound
        given = f"{entry!r} for `{parameter.declaration} {parameter.name}`"
        raise BindError(f"{_place(signature.path, parameter.line, signature)}, argument {i + 1}, {given}: {bound}")

    def _array_at(self, parameter: Parameter, entry: str | Number, dtype: str, components: int) -> Argument | str:
        """What a pointer is bound to, or why it is not. The file stays as it is, so the array must fit."""
        expected = f"expected the name of an array of {dtype}"
        if not isinstance(entry, str):
            return f"that is a number; {expected}"
        if entry not in self._data:
            kind = "a number among the parameters" if entry in self._scalars else "no array"
            return f"that is {kind}; {expected}.{_nearest(entry, self._data)}"
        array = self._data.array(entry)
        if array.dtype != dtype:
            return f"the array is {array.dtype}; {expected}: declare it as {dtype}"
        if _splits_wrongly(array, components):
            return f"the array's last dimension is {_last_dimension(array)}; expected {components}"
        if not parameter.const and entry in READ_ONLY and entry not in self._writable:
            return (
                f"the world keeps '{entry}' itself; give the kernel an array of the environment's own, for instance "
                f"Array('env_{entry}', '{dtype}', per='{array.per}', initial=0, on_reset='initial')"
            )
        return Argument(array=entry, value=0, dtype=dtype)

    def _number_at(self, parameter: Parameter, entry: str | Number, dtype: str, components: int) -> Argument | str:
        """What a parameter that is passed by value is bound to, or why it is not."""
        expected = "expected a bool, 0 or 1" if dtype == "bool" else f"expected a number that {dtype} holds"
        if components > 1:
            return f"vectors cannot be passed by value; {parameter.type} is one"
        value: Any = entry
        if isinstance(entry, str):
            if entry not in self._scalars:
                kind = "an array" if entry in self._data else "no parameter or world constant"
                return f"that is {kind}; {expected}.{_nearest(entry, self._scalars)}"
            value = self._scalars[entry]
        whose = f"its value is {value!r}; " if isinstance(entry, str) else ""
        if dtype == "bool" and isinstance(value, int) and value in (0, 1):
            return Argument(array=None, value=bool(value), dtype=dtype)
        if not isinstance(value, (bool, int, float)) or not fits(value, dtype):
            return f"{whose}{expected}"
        return Argument(array=None, value=value, dtype=dtype)


def _place(path: Path, line: int, signature: Signature) -> str:
    return f"{path}:{line}: kernel '{signature.name}'"


def _unknown_type(parameter: Parameter) -> str:
    return f"type `{parameter.type}` is not known; write it out as one such as float, int, bool or float2"


def _splits_wrongly(array: Array, components: int) -> bool:
    """Whether a pointer to vectors of so many components does not fit the array's last dimension."""
    return components > 1 and array.shape[-1:] != (components,)


def _last_dimension(array: Array) -> str:
    return str(array.shape[-1]) if array.shape else "that of agents or envs"


def _nearest(name: str, names: Iterable[str], others: Iterable[str] = ()) -> str:
    """The nearest name, or else all that there are."""
    known = list(names)
    return suggest(name, [*known, *others]) or f" Known: {', '.join(known)}"


def fits(value: Number, dtype: str) -> bool:
    """Whether a Python number can be passed as ``dtype`` without losing its meaning."""
    kind = np.dtype(dtype).kind
    if isinstance(value, bool):
        return kind in "biu"
    if kind == "f":
        return abs(value) <= float(np.finfo(dtype).max) or value != value or abs(value) == math.inf
    return isinstance(value, int) and kind in "iu" and np.iinfo(dtype).min <= value <= np.iinfo(dtype).max


def _type_for(value: Number) -> str:
    """The C type that an author would take for a number."""
    if isinstance(value, bool):
        return "bool"
    candidates = ("int32", "int64", "uint64") if isinstance(value, int) else ("float32", "float64")
    return next((C_NAMES[dtype] for dtype in candidates if fits(value, dtype)), "double")
