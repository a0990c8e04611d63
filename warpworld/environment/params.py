"""An environment's parameters: what is given, checked against what its Params class declares."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from warpworld.errors import DeclarationError, suggest


def made_params(environment: str, declared: type, given: Mapping[str, Any]) -> Any:
    """An object of a Params class.

    Values of plain types are checked here; a configuration's, whose errors name its lines, are checked by
    ``warpworld.config`` against the whole of their annotations before.

    Args:
        environment: its name.
        declared: its Params.
        given: values by the names of fields.

    Raises:
        DeclarationError: Params is not a dataclass, or a parameter is unknown, missing or of another type.
    """
    if not dataclasses.is_dataclass(declared):
        raise DeclarationError(f"{environment}: Params is not a dataclass; write @dataclass(frozen=True) above it")
    fields = {field.name: field for field in dataclasses.fields(declared) if field.init}
    plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in given.items()}
    for name in plain:
        if name not in fields:
            raise DeclarationError(
                f"{environment}: no parameter '{name}'.{suggest(name, fields)} Known: {', '.join(fields) or 'none'}"
            )
    for name, field in fields.items():
        if name not in plain and field.default is field.default_factory is dataclasses.MISSING:
            raise DeclarationError(f"{environment}: parameter '{name}' has no default and was not given")
        if name in plain and not _may_be(plain[name], field.type):
            raise DeclarationError(f"{environment}: {name}={plain[name]!r}, expected {_type_name(field.type)}")
    return declared(**plain)


def _type_name(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))


def _may_be(value: Any, annotation: Any) -> bool:
    """Whether a parameter's value fits its annotation, where that is a plain bool, int, float or str; else True."""
    name = _type_name(annotation)
    if name == "bool":
        return isinstance(value, bool)
    if name == "int":
        return isinstance(value, int) and not isinstance(value, bool)
    if name == "float":
        return isinstance(value, (int, float)) and not isinstance(value, bool) and not math.isnan(value)
    return isinstance(value, str) if name == "str" else True
