"""Binds a kernel's parameters to arrays and numbers: by name, by a mapping of names, or in the order of a list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path

import numpy as np

from warpworld.environment import Array
from warpworld.errors import BindError, suggest
from warpworld.managers.c_types import C_NAMES, C_TYPES
from warpworld.managers.data_manager import DataManager
from warpworld.managers.numbers import Number, Scalar, fits, remedy, scalar_of, why_not
from warpworld.managers.program import Argument
from warpworld.managers.refused_parameters import Refused, refusal
from warpworld.managers.signature import Parameter, ParameterLeaf, Signature
from warpworld.managers.spellings import matches, stem
from warpworld.near_names import nearest

# The world or the caller writes these; kernels may only read them.
READ_ONLY = ("timestep", "clock", "active")


class Binding:
    """Finds the array or the number for each parameter of a kernel, and for each field of structs among them.

    Args:
        data: the store.
        scalars: numbers that parameters passed by value may name.
        aliases: parameter name -> array name, where they differ.
        writable: arrays that are read-only for other kernels, but not for these.
        ported: whether the file is WarpDrive's and stays as it is: its spellings are read, and a pointer without const
            may be a read-only array, as in a list of arguments.
    """

    def __init__(
        self,
        data: DataManager,
        scalars: Mapping[str, Scalar],
        aliases: Mapping[str, str],
        writable: Set[str],
        ported: bool = False,
    ) -> None:
        self._data, self._scalars, self._aliases, self._writable = data, scalars, aliases, writable
        self._ported = ported

    def by_name(self, signature: Signature, given: Mapping[str, str | Number] | None = None) -> tuple[Argument, ...]:
        """Bind each leaf to its entry in ``given``, or else to what it is called.

        Raises:
            BindError: parameters name nothing, or something of another type; all of them, with what was expected. Or
                ``given`` has a name that no parameter has.
        """
        entries = given or {}
        self._check_names(signature, entries)
        return _all_or_none(signature, [self._named(leaf, entries) for leaf in signature.leaves], self._ported, entries)

    def by_position(self, signature: Signature, given: Sequence[str | Number]) -> tuple[Argument, ...]:
        """Bind each leaf to the entry at its place; an entry is the name of an array or a number, or a number.

        Raises:
            BindError: there are more or fewer entries than leaves, or some do not fit their leaves.
        """
        leaves = signature.leaves
        if len(given) != len(leaves):
            counted = ", with the fields of structs" if any(leaf.struct for leaf in leaves) else ""
            listed = ", ".join(f"{leaf.parameter.declaration} {leaf.parameter.name}{leaf.owner}" for leaf in leaves)
            raise BindError(
                f"{_place(signature.path, signature.line, signature)} has {len(leaves)} parameters{counted}, its list "
                f"of arguments has {len(given)} entries; expected one each for: {listed}"
            )
        bound = [
            self._entry(leaf, entry, f"argument {i + 1}, {entry!r} for {_written(leaf)}{leaf.owner}")
            for i, (leaf, entry) in enumerate(zip(leaves, given, strict=True))
        ]
        return _all_or_none(signature, bound, False, {})

    def readings(self, signature: Signature, given: Mapping[str, str | Number]) -> dict[str, str]:
        """Array or number for each parameter of a WarpDrive kernel that is bound to a similar name, not to its own.

        Args:
            signature: of a kernel that can be bound.
            given: entries of its arguments, whose parameters are left out.
        """
        found = {}
        for leaf in signature.leaves if self._ported else ():
            name = leaf.parameter.name
            if name not in given:
                (found[name],) = matches(name, self._known(leaf.parameter))
        return {name: meant for name, meant in found.items() if meant != name}

    # ---- by name -----------------------------------------------------------------------------------------------------
    def _check_names(self, signature: Signature, given: Mapping[str, str | Number]) -> None:
        names = [leaf.parameter.name for leaf in signature.leaves]
        for name in given:
            if name not in names:
                raise BindError(
                    f"{_place(signature.path, signature.line, signature)}: arguments has '{name}', which is none of "
                    f"its {len(names)} parameters.{_nearest(name, names)}"
                )

    def _named(self, leaf: ParameterLeaf, given: Mapping[str, str | Number]) -> Argument | Refused:
        parameter = leaf.parameter
        # arguments of the declaration
        if parameter.name in given:
            entry = given[parameter.name]
            return self._entry(leaf, entry, f"{leaf}, given {entry!r}")
        # spellings of a ported file
        if self._ported and parameter.type in C_TYPES:
            return self._spelled(leaf)
        # an array or a number of its own name
        known = C_TYPES.get(parameter.type)
        if known is None:
            bound: Argument | str = _unknown_type(parameter)
        elif parameter.pointer:
            bound = self._array(parameter, *known)
        else:
            bound = self._number(parameter, *known)
        return bound if isinstance(bound, Argument) else Refused(leaf, str(leaf), *_parted(bound))

    def _spelled(self, leaf: ParameterLeaf) -> Argument | Refused:
        """Bind a parameter of WarpDrive's to what its name stands for."""
        parameter = leaf.parameter
        known = self._known(parameter)
        found = matches(parameter.name, known)
        if len(found) == 1:
            return self._entry(leaf, found[0], str(leaf) + ("" if found[0] == parameter.name else f", '{found[0]}'"))
        if found:
            return Refused(leaf, str(leaf), f"it may be {' or '.join(map(repr, found))}.", unnamed=True)
        near = self._near(parameter, known)
        hint = f" Did you mean '{near}'?" if near else ""
        return Refused(leaf, str(leaf), self._unnamed(parameter), hint, near, unnamed=True)

    def _near(self, parameter: Parameter, known: Sequence[str]) -> str | None:
        """The nearest known name, of the parameter's own type if one of that type is near."""
        dtype, _ = C_TYPES[parameter.type]
        of_type = [name for name in known if parameter.pointer and self._data.array(name).dtype == dtype]
        return nearest(stem(parameter.name), of_type) or nearest(stem(parameter.name), known)

    def _known(self, parameter: Parameter) -> list[str]:
        """Numbers, or for a pointer all arrays but initial values, and those that only the world may write."""
        if not parameter.pointer:
            return list(self._scalars)
        kept = {} if parameter.const else set(READ_ONLY) - self._writable
        return [name for name in self._data.names("state", "scratch", "history") if name not in kept]

    def _unnamed(self, parameter: Parameter) -> str:
        """The reason why no array or number has the name of a WarpDrive parameter, and what to declare."""
        dtype, _ = C_TYPES[parameter.type]
        own = stem(parameter.name) or parameter.name
        if not parameter.pointer:
            found = matches(parameter.name, self._data)
            kind = {"b": "bool", "f": "float"}.get(np.dtype(dtype).kind, "int")
            missing = f"no number of that name: declare `{own}: {kind}` in Params."
            return f"{found[0]!r} is an array, not a number." if found else missing
        if not parameter.const and own in READ_ONLY:
            return f"{self._kept_by_world(own)}."
        found = matches(parameter.name, self._scalars)
        missing = f"no array of that name: declare Array('{own}', '{dtype}', ...)."
        return f"{found[0]!r} is a number, not an array." if found else missing

    def _array(self, parameter: Parameter, dtype: str, components: int) -> Argument | str:
        """Bind a pointer, or say why it cannot be bound."""
        name = self._aliases.get(parameter.name, parameter.name)
        # an array of that name
        if name not in self._data:
            if name in self._scalars:
                return f"'{name}' is a number, not an array: write `{parameter.type} {name}`"
            return f"no array of that name.{_nearest(name, [*self._data, *self._aliases])}"
        array = self._data.array(name)
        # its dtype and last dimension
        if dtype != array.dtype:
            return f"the array is {array.dtype}: write `{self._pointer_to(array, parameter)}`{_header_of(array)}"
        if _splits_wrongly(array, components):
            return (
                f"the array's last dimension is {_last_dimension(array)}, not {components}: "
                f"write `{self._pointer_to(array, parameter)}`"
            )
        # whether the kernel may write it
        if not parameter.const and self._is_read_only(array):
            return f"the array is read-only for kernels: write `const {parameter.type}* {parameter.name}`"
        return Argument(array=name, value=0, dtype=dtype)

    def _is_read_only(self, array: Array) -> bool:
        return (array.read_only or array.name in READ_ONLY) and array.name not in self._writable

    def _pointer_to(self, array: Array, parameter: Parameter) -> str:
        const = "const " if parameter.const or self._is_read_only(array) else ""
        return f"{const}{C_NAMES[array.dtype]}* {parameter.name}"

    def _number(self, parameter: Parameter, dtype: str, components: int) -> Argument | str:
        """Bind a parameter that is passed by value, or say why it cannot be bound."""
        name = parameter.name
        # a number of that name
        if name not in self._scalars:
            array = self._aliases.get(name, name)
            if array in self._data:
                of_name = self._data.array(array)
                expected = f"`{self._pointer_to(of_name, parameter)}`{_header_of(of_name)}"
                return f"'{name}' is an array, not a number: write {expected}"
            return f"no parameter or world constant of that name.{_nearest(name, self._scalars, self._data)}"
        # its value in the parameter's type
        number = self._scalars[name]
        if number.kind is None:
            return f"its value is {number.value!r}; only numbers and bools reach a kernel, so leave it to Python"
        if components > 1:
            return f"its value is {number.value!r}: {remedy(number, name)}"
        if not fits(number, dtype):
            return f"{why_not(number, dtype)}: {remedy(number, name)}"
        return Argument(array=None, value=number.value, dtype=dtype)

    # ---- to an entry -------------------------------------------------------------------------------------------------
    def _entry(self, leaf: ParameterLeaf, entry: str | Number, subject: str) -> Argument | Refused:
        """Bind a leaf to the name of an array or a number, or to a number; ``subject`` names both in an error."""
        parameter = leaf.parameter
        known = C_TYPES.get(parameter.type)
        bound: Argument | str
        if known is None:
            bound = _unknown_type(parameter)
        elif parameter.pointer:
            bound = self._array_at(parameter, entry, *known)
        else:
            bound = self._number_at(parameter, entry, *known)
        return bound if isinstance(bound, Argument) else Refused(leaf, subject, *_parted(bound))

    def _array_at(self, parameter: Parameter, entry: str | Number, dtype: str, components: int) -> Argument | str:
        """Bind a pointer, or say why it cannot be bound. The file stays as it is, so the array must fit."""
        expected = f"expected the name of an array of {dtype}"
        # the array that is named
        if not isinstance(entry, str):
            return f"that is a number; {expected}"
        if entry not in self._data:
            kind = "a number among the parameters" if entry in self._scalars else "no array"
            return f"that is {kind}; {expected}.{_nearest(entry, self._data)}"
        # its dtype and last dimension
        array = self._data.array(entry)
        if array.dtype != dtype:
            return f"the array is {array.dtype}; {expected}: declare it as {dtype}"
        if _splits_wrongly(array, components):
            return f"the array's last dimension is {_last_dimension(array)}; expected {components}"
        # whether the kernel may write it
        if not parameter.const and entry in READ_ONLY and entry not in self._writable:
            return self._kept_by_world(entry)
        return Argument(array=entry, value=0, dtype=dtype)

    def _kept_by_world(self, name: str) -> str:
        array = self._data.array(name)
        return (
            f"the world keeps '{name}' itself; give the kernel an array of the environment's own, for instance "
            f"Array('env_{name}', '{array.dtype}', per='{array.per}', initial=0, on_reset='initial')"
        )

    def _number_at(self, parameter: Parameter, entry: str | Number, dtype: str, components: int) -> Argument | str:
        """Bind a parameter that is passed by value, or say why it cannot be bound."""
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


def _all_or_none(
    signature: Signature, bound: Sequence[Argument | Refused], ported: bool, given: Mapping[str, str | Number]
) -> tuple[Argument, ...]:
    refused = [each for each in bound if isinstance(each, Refused)]
    if refused:
        raise refusal(signature, refused, ported, given)
    return tuple(each for each in bound if isinstance(each, Argument))


def _written(leaf: ParameterLeaf) -> str:
    return f"`{leaf.parameter.declaration} {leaf.parameter.name}`"


def _parted(said: str) -> tuple[str, str]:
    """A reason, and the sentence with names behind it."""
    place = max(said.rfind(" Did you mean"), said.rfind(" Known: "))
    return (said, "") if place < 0 else (said[:place], said[place:])


def _place(path: Path, line: int, signature: Signature) -> str:
    return f"{path}:{line}: kernel '{signature.name}'"


def _unknown_type(parameter: Parameter) -> str:
    known = "write it out as one such as float, int, bool or float2"
    own = "" if parameter.pointer else ", or define a struct of that name in the file or in what it includes"
    return f"type `{parameter.type}` is not known; {known}{own}"


def _header_of(array: Array) -> str:
    """The header that an array's type comes from, for the end of a message; empty where none is needed."""
    return ", and `#include <half.cuh>` above" if array.dtype == "float16" else ""


def _splits_wrongly(array: Array, components: int) -> bool:
    """Whether a pointer to vectors of so many components does not fit the array's last dimension."""
    return components > 1 and array.shape[-1:] != (components,)


def _last_dimension(array: Array) -> str:
    return str(array.shape[-1]) if array.shape else "that of agents or envs"


def _nearest(name: str, names: Iterable[str], others: Iterable[str] = ()) -> str:
    """The nearest name, or else all that there are."""
    known = list(names)
    return suggest(name, [*known, *others]) or f" Known: {', '.join(known)}"
