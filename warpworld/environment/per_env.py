"""Params of which each env has a value of its own: the values that are given, and the ranges that they are drawn from.

The Params class itself refuses wrong values: it is tried with the lowest and with the highest.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from warpworld.environment.declarations import check_names
from warpworld.environment.params import made_params, plain_types
from warpworld.errors import DeclarationError, suggest

if TYPE_CHECKING:
    from warpworld.environment.environment import Environment

Ends = tuple[float, float]

PER_ENV_DTYPES = {int: "int32", float: "float32", bool: "bool"}


def per_env_dtypes(cls: type[Environment]) -> dict[str, str]:
    """The dtype of each array that stands for a Param in ``per_env``, by name.

    Raises:
        DeclarationError: a name is not a Param with a default, is not a number, or is a constant of the build.
    """
    check_names(cls.name, "per_env", cls.per_env)
    fields = {field.name: field for field in dataclasses.fields(cls.Params)} if cls.per_env else {}
    found = {}
    for name in cls.per_env:
        if name not in fields:
            raise DeclarationError(f"{cls.name}: per_env: no parameter '{name}'.{suggest(name, fields)}")
        dtype = PER_ENV_DTYPES.get(plain_types(cls.Params)[name])
        if dtype is None:
            raise DeclarationError(f"{cls.name}: per_env: '{name}' is not a number")
        if name in cls.compile_time:
            raise DeclarationError(
                f"{cls.name}: per_env: '{name}' is a constant of the build; remove it from compile_time"
            )
        if fields[name].default is fields[name].default_factory is dataclasses.MISSING:
            raise DeclarationError(f"{cls.name}: per_env: '{name}' has no default")
        found[name] = dtype
    return found


def split_values(cls: type[Environment], given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Parameters with one value for all envs, and those of ``per_env`` with one for each env.

    Raises:
        DeclarationError: values are no numbers in a row.
    """
    of_each = {name: _values(cls, name, given[name]) for name in cls.per_env if _is_array(given.get(name))}
    return {name: value for name, value in given.items() if name not in of_each}, of_each


def checked_ranges(cls: type[Environment], randomize: Any, taken: Iterable[str]) -> dict[str, Ends]:
    """The ranges of ``randomize``, by name.

    Args:
        cls: the environment.
        randomize: what is given: lowest and highest, for names of ``per_env``.
        taken: parameters that have a value for each env, and so no range.

    Raises:
        DeclarationError: a name is not in ``per_env``, or a range is not two numbers that its array holds, in order.
    """
    # the form of what is given
    if any(field.name == "randomize" for field in dataclasses.fields(cls.Params)):
        raise DeclarationError(f"{cls.name}: Params has 'randomize', which has a meaning of its own; rename it")
    if not isinstance(randomize, Mapping):
        raise DeclarationError(f"{cls.name}: randomize={randomize!r}, expected a range for each of its names")
    # each range
    dtypes = per_env_dtypes(cls)
    ranges = {name: _plain(given) for name, given in randomize.items()}
    for name, given in ranges.items():
        if name not in dtypes:
            known = ", ".join(dtypes) or "none"
            raise DeclarationError(
                f"{cls.name}: randomize: '{name}' is not in per_env.{suggest(str(name), dtypes)} Known: {known}"
            )
        where = f"{cls.name}: randomize: {name}={given!r}"
        _check_range(where, given, dtypes[name])
        if name in taken:
            raise DeclarationError(f"{where}, but {name} is given for each env too; leave one of them out")
    return {name: (given[0], given[1]) for name, given in ranges.items()}


def checked_ends(cls: type[Environment], name: str, given: Any, params: Any) -> Ends:
    """Two values of a parameter in ``per_env``, in any order.

    Args:
        cls: the environment.
        name: the parameter.
        given: what is given for it.
        params: an environment's other parameters.

    Raises:
        DeclarationError: these are not two numbers that its array holds, or the Params refuse one.
    """
    dtype, ends = per_env_dtypes(cls)[name], _plain(given)
    if not _is_pair(ends, dtype):
        raise DeclarationError(f"expected two numbers that {dtype} holds")
    others = {field.name: getattr(params, field.name) for field in dataclasses.fields(params) if field.init}
    try_ends(cls, others, {name: (ends[0], ends[1])})
    return ends[0], ends[1]


def _is_pair(given: Any, dtype: str) -> bool:
    is_pair = isinstance(given, list) and len(given) == 2 and all(isinstance(end, (int, float)) for end in given)
    return is_pair and all(_holds(dtype, end) for end in given)


def _check_range(where: str, given: Any, dtype: str) -> None:
    if not _is_pair(given, dtype):
        raise DeclarationError(f"{where}, expected two numbers that {dtype} holds, the lowest and the highest")
    if given[0] > given[1]:
        raise DeclarationError(f"{where} is reversed, expected the lowest first")


def try_ends(cls: type[Environment], plain: Mapping[str, Any], ends: Mapping[str, Ends]) -> None:
    """Make the Params with the lowest and the highest value that each parameter may have, one at a time.

    Raises:
        DeclarationError: the Params refuse one.
    """
    for name, both in ends.items():
        for end in both:
            made_params(cls.name, cls.Params, {**plain, name: end})


def _is_array(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or (hasattr(value, "__array__") and not isinstance(value, np.generic))


def _values(cls: type[Environment], name: str, given: Any) -> np.ndarray:
    try:
        values = np.array(given.cpu() if hasattr(given, "cpu") else given)
    except (ValueError, TypeError):
        values = np.empty(0)
    if values.ndim != 1 or not len(values) or values.dtype.kind not in "biuf":
        raise DeclarationError(f"{cls.name}: {name}={given!r}, expected one number for each env")
    return values


def _plain(given: Any) -> Any:
    """A range in Python's own numbers."""
    if not isinstance(given, (list, tuple)):
        return given
    return [end.item() if isinstance(end, np.generic) else end for end in given]


def _holds(dtype: str, value: float) -> bool:
    """Whether an array can hold a number; floats may be rounded."""
    if dtype == "float32":
        return not isinstance(value, bool) and abs(value) <= float(np.finfo(dtype).max)
    if dtype == "bool":
        return isinstance(value, bool)
    return isinstance(value, int) and not isinstance(value, bool) and -(2**31) <= value < 2**31
