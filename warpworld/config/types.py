"""The types of settings: numbers within limits, words for truth values, schedules."""

from __future__ import annotations

import sys
from functools import partial
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainValidator
from pydantic_core import PydanticCustomError

_LARGEST = 2**63 - 1
_WORDS = {"yes": True, "on": True, "no": False, "off": False}


def _read_word(given: Any) -> Any:
    return _WORDS.get(given.lower(), given) if isinstance(given, str) else given


def _read_schedule(given: Any, allow_zero: bool) -> Any:
    """A number, or points ``[[env_steps, number], ...]`` in ascending order of env steps."""
    points = given if isinstance(given, (list, tuple)) else [[0, given]]
    if not points or not all(_is_point(point, allow_zero) for point in points):
        limit = "of at least 0" if allow_zero else "above 0"
        wanted = f"a finite number {limit}, or points such as [[0, 1e-3], [10000, 1e-4]]"
        raise PydanticCustomError("schedule", wanted)
    steps = [point[0] for point in points]
    if steps != sorted(steps):
        raise PydanticCustomError("schedule", "points in ascending order of env steps")
    if steps[-1] > _LARGEST:
        raise PydanticCustomError("schedule", f"points at {_LARGEST} env steps at most")
    return tuple((step, float(value)) for step, value in points) if points is given else float(given)


def _is_point(point: Any, allow_zero: bool) -> bool:
    if not isinstance(point, (list, tuple)) or [type(part) for part in point] not in ([int, int], [int, float]):
        return False
    steps, value = point
    # a whole number may be larger than any float: comparing can't overflow, converting can
    return steps >= 0 and value <= sys.float_info.max and (value > 0 or (allow_zero and value == 0))


Flag = Annotated[bool, BeforeValidator(_read_word)]
Text = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(ge=1, le=_LARGEST)]
Seed = Annotated[int, Field(ge=0, le=_LARGEST)]
Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Fraction = Annotated[float, Field(ge=0, le=1)]

_Points = tuple[tuple[int, float], ...]
PositiveSchedule = Annotated[float | _Points, PlainValidator(partial(_read_schedule, allow_zero=False))]
NotNegativeSchedule = Annotated[float | _Points, PlainValidator(partial(_read_schedule, allow_zero=True))]
