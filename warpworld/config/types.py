"""The types of settings: numbers within limits, words for truth values, schedules."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainValidator
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from warpworld.managers.devices import device_names

REQUIRED = "required"
_LARGEST = 2**63 - 1
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\Z")
_WORDS = {"yes": True, "on": True, "no": False, "off": False}


def _read_word(given: Any) -> Any:
    return _WORDS.get(given.lower(), given) if isinstance(given, str) else given


def _read_schedule(given: Any, limit: str, is_legal: Callable[[float], bool]) -> Any:
    """A number, or points ``[[env_steps, number], ...]`` in ascending order of env steps."""
    points = given if isinstance(given, (list, tuple)) else [[0, given]]
    if not points or not all(_is_point(point, is_legal) for point in points):
        wanted = f"a finite number{limit}, or points such as [[0, 1e-3], [10000, 1e-4]]"
        raise PydanticCustomError("schedule", wanted)
    steps = [point[0] for point in points]
    if steps != sorted(steps):
        raise PydanticCustomError("schedule", "points in ascending order of env steps")
    if steps[-1] > _LARGEST:
        raise PydanticCustomError("schedule", f"points at {_LARGEST} env steps at most")
    return tuple((step, float(value)) for step, value in points) if points is given else float(given)


def schedule_limit(field: FieldInfo) -> tuple[Callable[[float], bool], str] | None:
    """Limit of the numbers of a setting that takes a schedule: a test and its text; None of any other setting."""
    for part in field.metadata:
        read = getattr(part, "func", None)
        if isinstance(read, partial) and read.func is _read_schedule:
            return read.keywords["is_legal"], read.keywords["limit"]
    return None


def _is_point(point: Any, is_legal: Callable[[float], bool]) -> bool:
    if not isinstance(point, (list, tuple)) or [type(part) for part in point] not in ([int, int], [int, float]):
        return False
    steps, value = point
    # a whole number may be larger than any float: comparing can't overflow, converting can
    return steps >= 0 and abs(value) <= sys.float_info.max and is_legal(value)


def _read_device(given: Any) -> Any:
    """The name of a device that comes with warpworld or that is registered."""
    names = device_names()
    if given not in names:
        *others, last = map(repr, names)
        raise PydanticCustomError("device", "{expected}", {"expected": f"{', '.join(others)} or {last}"})
    return given


def _read_wish(given: Any) -> Any:
    """A flag, or that nothing else will do."""
    wish = _read_word(given)
    if not isinstance(wish, bool) and wish != REQUIRED:
        raise PydanticCustomError("wish", "true, false or {required}", {"required": REQUIRED})
    return wish


def _read_label(given: Any) -> Any:
    """A word that may stand in a folder's name and in a table."""
    if not (isinstance(given, str) and _LABEL.match(given)):
        raise PydanticCustomError("label", "up to 100 letters, digits, '.', '-' and '_', a letter or digit first")
    return given


def _read_names(given: Any) -> Any:
    if not isinstance(given, (list, tuple)):
        raise PydanticCustomError("names", "a list of names, such as [tensorboard, my_module:MyClass]")
    return tuple(given)


Device = Annotated[str, BeforeValidator(_read_device)]
Flag = Annotated[bool, BeforeValidator(_read_word)]
Wish = Annotated[bool | str, BeforeValidator(_read_wish)]
Label = Annotated[str, BeforeValidator(_read_label)]
Text = Annotated[str, Field(min_length=1)]
Names = Annotated[tuple[Text, ...], BeforeValidator(_read_names)]
Count = Annotated[int, Field(ge=1, le=_LARGEST)]
Seed = Annotated[int, Field(ge=0, le=_LARGEST)]
Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Fraction = Annotated[float, Field(ge=0, le=1)]

# A number or points. Checkers see Any, since ``LearnerConfig.at`` replaces points by a number.
PositiveSchedule = Annotated[
    Any, PlainValidator(partial(_read_schedule, limit=" above 0", is_legal=lambda value: value > 0))
]
NotNegativeSchedule = Annotated[
    Any, PlainValidator(partial(_read_schedule, limit=" of at least 0", is_legal=lambda value: value >= 0))
]
FractionSchedule = Annotated[
    Any, PlainValidator(partial(_read_schedule, limit=" from 0 to 1", is_legal=lambda value: 0 <= value <= 1))
]
AnySchedule = Annotated[Any, PlainValidator(partial(_read_schedule, limit="", is_legal=lambda value: True))]
