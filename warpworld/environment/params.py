"""An environment's parameters: what is given, checked against what its Params class declares."""

from __future__ import annotations

import dataclasses
import functools
import math
import types
import typing
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Union

import numpy as np

from warpworld.environment.ranges import Choice, Range
from warpworld.errors import DeclarationError, said, suggest


def made_params(environment: str, declared: type, given: Mapping[str, Any]) -> Any:
    """An object of a Params class.

    Values of plain types are checked here, and defaults too where there is a range or a choice; a configuration's,
    whose errors name its lines, are checked by ``warpworld.config`` against the whole of their annotations before.

    Args:
        environment: its name.
        declared: its Params.
        given: values by the names of fields.

    Raises:
        DeclarationError: Params is not a dataclass, or a parameter is unknown, missing, of another type or outside its
            range.
    """
    if not dataclasses.is_dataclass(declared):
        raise DeclarationError(f"{environment}: Params is not a dataclass; write @dataclass(frozen=True) above it")
    # names of fields
    fields = {field.name: field for field in dataclasses.fields(declared) if field.init}
    plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in given.items()}
    for name in plain:
        if name not in fields:
            raise DeclarationError(
                f"{environment}: no parameter '{name}'.{suggest(name, fields)} Known: {', '.join(fields) or 'none'}"
            )
    # values and defaults
    for name, field in fields.items():
        if name not in plain and field.default is field.default_factory is dataclasses.MISSING:
            raise DeclarationError(f"{environment}: parameter '{name}' has no default and was not given")
        kind = plain_types(declared)[name]
        if name in plain and not _may_be(plain[name], kind):
            raise DeclarationError(f"{environment}: {name}={plain[name]!r}, expected {kind.__name__}")
        value = plain.get(name, field.default)
        if value is not dataclasses.MISSING and (expected := expected_instead(declared, name, value)):
            raise DeclarationError(f"{environment}: {name}={value!r}: expected {expected}")
    return declared(**plain)


def expected_instead(declared: type, name: str, value: Any) -> str | None:
    """Text of what a parameter may be, for a value outside its range or choice; None for others, and for None."""
    limits = limits_of(declared).get(name)
    if limits is None or value is None or value in limits:
        return None
    near = suggest(str(value), map(str, limits.options)) if isinstance(limits, Choice) else ""
    return f"{limits}.{near}" if near else str(limits)


@functools.lru_cache(maxsize=256)
def plain_types(declared: type) -> dict[str, Any]:
    """The types of a Params class's fields by name, without what ``Annotated`` adds."""
    return {name: _unannotated(hint)[0] for name, hint in _hints(declared).items()}


@functools.lru_cache(maxsize=256)
def limits_of(declared: type) -> dict[str, Range | Choice]:
    """The ranges and choices that a Params class declares, by the names of fields.

    A subclass that gives a field another default keeps the range of its base.
    """
    found: dict[str, Range | Choice] = {}
    for base in reversed(declared.__mro__):
        for name, hint in _hints(base).items():
            limits = _limits(hint)
            found |= {} if limits is None else {name: limits}
    return found


def _hints(declared: type) -> dict[str, Any]:
    """The annotations of a class.

    Raises:
        DeclarationError: one cannot be resolved.
    """
    try:
        return typing.get_type_hints(declared, include_extras=True)
    except Exception as error:  # an annotation that is a text is evaluated, which may raise anything
        raise DeclarationError(f"{declared.__qualname__}: an annotation cannot be resolved: {said(error)}") from error


def _unannotated(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """A type and what ``Annotated`` adds to it."""
    return (hint.__origin__, hint.__metadata__) if typing.get_origin(hint) is Annotated else (hint, ())


def _limits(hint: Any) -> Range | Choice | None:
    """The range or choice in an annotation, also where the value may be None instead."""
    kind, added = _unannotated(hint)
    ranges = [each for each in added if isinstance(each, Range)]
    if ranges:
        return ranges[-1]
    if typing.get_origin(kind) is Literal:
        return Choice(typing.get_args(kind))
    members = typing.get_args(kind) if typing.get_origin(kind) in (Union, types.UnionType) else ()
    others = [member for member in members if member is not type(None)]
    return _limits(others[0]) if len(others) == 1 else None


def _may_be(value: Any, kind: Any) -> bool:
    """Whether a parameter's value fits its type, where that is a plain bool, int, float or str; else True."""
    if kind is bool:
        return isinstance(value, bool)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if kind is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and not math.isnan(value)
    return isinstance(value, str) if kind is str else True
