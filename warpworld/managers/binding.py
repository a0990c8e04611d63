"""What a kernel's parameters are bound to: arrays and numbers, by name or in the order of a list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path

from warpworld.environment import Array
from warpworld.errors import BindError, suggest
from warpworld.managers.c_types import C_NAMES, C_TYPES
from warpworld.managers.data_manager import DataManager
from warpworld.managers.numbers import Number, Scalar, fits, remedy, scalar_of, why_not
from warpworld.managers.program import Argument
from warpworld.managers.signature import Parameter, Signature, Slot

# The world or the caller writes these; kernels may only read them.
READ_ONLY = ("timestep", "clock", "active")


class Binding:
    """Finds the array or the number for each parameter of a kernel, and for each field of structs among them.

    Args:
        data: the store.
        scalars: numbers that parameters passed by value may name.
        aliases: parameter name -> array name, where they differ.
        writable: arrays that are read-only for other kernels, but not for these.
    """

    def __init__(
        self, data: DataManager, scalars: Mapping[str, Scalar], aliases: Mapping[str, str], writable: Set[str]
    ) -> None:
        self._data, self._scalars, self._aliases, self._writable = data, scalars, aliases, writable

    def by_name(self, signature: Signature) -> tuple[Argument, ...]:
        """Each slot to what it is called.

        Raises:
            BindError: a parameter names nothing, or something of another type; with what was expected.
        """
        return tuple(self._by_name(signature, slot) for slot in signature.slots)

    def by_position(self, signature: Signature, given: Sequence[str | Number]) -> tuple[Argument, ...]:
        """Each slot to the entry at its place; an entry is the name of an array or a number, or a number.

        Raises:
            BindError: there are more or fewer entries than slots, or one does not fit its slot.
        """
        slots = signature.slots
        if len(given) != len(slots):
            counted = ", with the fields of structs" if any(slot.struct for slot in slots) else ""
            listed = ", ".join(f"{slot.parameter.declaration} {slot.parameter.name}{slot.owner}" for slot in slots)
            raise BindError(
                f"{_place(signature.path, signature.line, signature)} has {len(slots)} parameters{counted}, its list "
                f"of arguments has {len(given)} entries; expected one each for: {listed}"
            )
        return tuple(self._at(signature, i, entry) for i, entry in enumerate(given))

    # ---- by name -----------------------------------------------------------------------------------------------------
    def _by_name(self, signature: Signature, slot: Slot) -> Argument:
        parameter = slot.parameter
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
        raise BindError(f"{_place(slot.path, parameter.line, signature)}, {slot}: {bound}")

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
        number = self._scalars[name]
        if number.kind is None:
            return f"its value is {number.value!r}; only numbers and bools reach a kernel, so leave it to Python"
        if components > 1:
            return f"its value is {number.value!r}: {remedy(number, name)}"
        if not fits(number, dtype):
            return f"{why_not(number, dtype)}: {remedy(number, name)}"
        return Argument(array=None, value=number.value, dtype=dtype)

    # ---- by position -------------------------------------------------------------------------------------------------
    def _at(self, signature: Signature, i: int, entry: str | Number) -> Argument:
        slot = signature.slots[i]
        parameter = slot.parameter
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
        given = f"{entry!r} for `{parameter.declaration} {parameter.name}`{slot.owner}"
        raise BindError(f"{_place(slot.path, parameter.line, signature)}, argument {i + 1}, {given}: {bound}")

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
        if isinstance(entry, str) and entry not in self._scalars:
            kind = "an array" if entry in self._data else "no parameter or world constant"
            return f"that is {kind}; {expected}.{_nearest(entry, self._scalars)}"
        number = self._scalars[entry] if isinstance(entry, str) else scalar_of(entry)
        if dtype == "bool" and number.kind is int and number.value in (0, 1):
            return Argument(array=None, value=bool(number.value), dtype=dtype)
        if not fits(number, dtype):
            return f"{why_not(number, dtype)}; {expected}" if isinstance(entry, str) else expected
        return Argument(array=None, value=number.value, dtype=dtype)


def _place(path: Path, line: int, signature: Signature) -> str:
    return f"{path}:{line}: kernel '{signature.name}'"


def _unknown_type(parameter: Parameter) -> str:
    known = "write it out as one such as float, int, bool or float2"
    own = "" if parameter.pointer else ", or define a struct of that name in the file or in what it includes"
    return f"type `{parameter.type}` is not known; {known}{own}"


def _splits_wrongly(array: Array, components: int) -> bool:
    """Whether a pointer to vectors of so many components does not fit the array's last dimension."""
    return components > 1 and array.shape[-1:] != (components,)


def _last_dimension(array: Array) -> str:
    return str(array.shape[-1]) if array.shape else "that of agents or envs"


def _nearest(name: str, names: Iterable[str], others: Iterable[str] = ()) -> str:
    """The nearest name, or else all that there are."""
    known = list(names)
    return suggest(name, [*known, *others]) or f" Known: {', '.join(known)}"
