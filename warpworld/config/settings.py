"""Checks settings whose names and types are declared elsewhere: environments' parameters and models' settings."""

from __future__ import annotations

import dataclasses
import inspect
import math
import reprlib
import typing
from collections.abc import Mapping
from typing import Annotated, Any, Optional

from pydantic import ConfigDict, TypeAdapter, with_config
from typing_extensions import NotRequired, Required, TypedDict

from warpworld.config.documents import Document, KeyPath, dotted, validated
from warpworld.config.types import Flag
from warpworld.environment import Environment, expected_instead
from warpworld.errors import ConfigError, said

RANDOMIZE = "randomize"  # the key of the ranges that parameters per env are drawn from
_MISSING = inspect.Parameter.empty


def checked_params(cls: type[Environment], given: dict[str, Any], document: Document) -> dict[str, Any]:
    """Check parameters of an environment against their annotations, and add the defaults of the others.

    The environment itself checks ``randomize``, which environments with parameters per env also take.

    Raises:
        ConfigError: one is unknown, missing or of another type.
    """
    defaults = {}
    for field in dataclasses.fields(cls.Params):
        if not field.init:
            continue
        missing, factory = dataclasses.MISSING, field.default_factory
        default = field.default if factory is missing else factory()
        defaults[field.name] = _MISSING if default is missing else default
    own = {name: value for name, value in given.items() if not (cls.per_env and name == RANDOMIZE)}
    also = {RANDOMIZE: ""} if cls.per_env else None
    checked = _checked(f"environment '{cls.name}'", cls.Params, defaults, own, document, ("env",), also)
    for name in own:
        expected = expected_instead(cls.Params, name, checked[name])
        if expected is not None:
            path = ("env", name)
            raise ConfigError(f"{document.where(path)}: {dotted(path)} is {own[name]!r}, expected {expected}")
    if not cls.per_env:
        return checked
    ranges = given.get(RANDOMIZE)
    return {**checked, RANDOMIZE: {} if ranges is None else ranges}


def checked_model_settings(
    cls: type, given: dict[str, Any], document: Document, key: KeyPath, also: Mapping[str, Any]
) -> dict[str, Any]:
    """Check a model's settings, the keyword-only arguments of its constructor, and add the other defaults.

    Args:
        cls: the model.
        given: what the configuration contains.
        document: where it does.
        key: of the section in it.
        also: other keys that the section may have.

    Raises:
        ConfigError: one is unknown, missing or of another type, or the model declares one that no config can hold.
    """
    keywords = [p for p in inspect.signature(cls).parameters.values() if p.kind is inspect.Parameter.KEYWORD_ONLY]
    defaults = {p.name: p.default for p in keywords}
    what = f"model '{cls.__name__}'"
    for name in sorted({*(also or {}), "settings"} & {*defaults}):
        raise ConfigError(
            f"{document.where((*key, 'type'), key, key[:2])}: {what} has a keyword argument '{name}', which "
            f"{dotted(key)} has a meaning of its own for: give it another name"
        )
    return _checked(what, cls.__init__, defaults, given, document, key, also)  # type: ignore[misc]


def _checked(
    what: str,
    annotated: Any,
    defaults: Mapping[str, Any],
    given: dict[str, Any],
    document: Document,
    key: KeyPath,
    also: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """``given`` and ``defaults`` (``_MISSING`` where there is none), checked against the annotations of a thing."""
    try:
        hints = typing.get_type_hints(annotated, include_extras=True)
    except Exception as error:  # an annotation that is a text is evaluated, which may raise anything
        raise ConfigError(f"{what}: an annotation cannot be resolved: {said(error)}") from error
    schema: dict[str, Any] = {}
    for name, default in defaults.items():
        hint = Flag if hints.get(name) is bool else hints.get(name, Any)
        # `typing` keeps what it made of an equal hint, and Literals of another order are equal
        hint = Annotated[hint, object()]
        hint = Optional[hint] if default is None else hint  # noqa: UP045 (Any knows no | in 3.10)
        schema[name] = Required[hint] if default is _MISSING else NotRequired[hint]
    rules = ConfigDict(extra="forbid", strict=True, arbitrary_types_allowed=True)
    kind = with_config(rules)(TypedDict("Settings", schema))  # type: ignore[operator]
    names = dict.fromkeys([*(also or {}), *schema], "")
    checked = validated(TypeAdapter(kind), given, document, key, lambda path: names)
    for name, value in checked.items():
        if value != value:  # nan slips through every comparison that its reader may make
            path = (*key, name)
            raise ConfigError(f"{document.where(path)}: {dotted(path)} is nan, expected a number")
    settings = {name: checked.get(name, defaults[name]) for name in schema}
    for name, value in settings.items():
        if not _is_plain(value):
            which = "the value" if name in checked else "the default"
            raise ConfigError(
                f"{document.where((*key, name), key, key[:2])}: {what}: {which} of '{name}' is {reprlib.repr(value)}, "
                "which no config can hold, expected plain numbers, texts, lists and dicts"
            )
    return settings


def _is_plain(value: Any) -> bool:
    """Whether YAML holds this value, so that a run's config can be written and read back."""
    if type(value) in (list, tuple):
        return all(map(_is_plain, value))
    if type(value) is dict:
        return all(type(name) is str for name in value) and all(map(_is_plain, value.values()))
    return value is None or type(value) in (bool, int, str) or (type(value) is float and not math.isnan(value))
