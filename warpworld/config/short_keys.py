"""Overrides with keys as users type them.

``num_envs=64`` stands for ``trainer.num_envs=64``, ``policy.*.gamma=0.9`` for an override of each policy.
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from warpworld.config.algorithm_settings import algorithms_of, settings_of
from warpworld.config.documents import OTHER_NAMES, Document
from warpworld.config.named_classes import algorithm_class, model_class
from warpworld.config.sections import ModelConfig, PopulationConfig, SavingConfig, SelfPlayConfig, TrainerConfig
from warpworld.environment import get_environment
from warpworld.errors import ConfigError, DeclarationError, suggest
from warpworld.importing import absolute_target
from warpworld.near_names import nearest

SECTIONS = ("name", "env", "trainer", "schedules", "curriculum", "policy", "saving")
Key = tuple[str, ...]


def with_full_keys(document: Document, overrides: Iterable[str], folder: Path) -> list[str]:
    """The overrides, each key from the top, in their order; one of ``policy.*`` becomes one for each policy.

    Args:
        document: what they are laid over; it stays as it is.
        overrides: ``key=value`` each.
        folder: what an environment that is a file is relative to.

    Raises:
        ConfigError: a key has several meanings, or a key of one name is near to a known one.
    """
    texts = list(overrides)
    short = [text for text in texts if _is_short(text)]
    if not short:
        return texts
    outline = Document(document.source, copy.deepcopy(document.data))
    for text in texts:
        if text not in short:
            outline.override(text)
    known = list(_keys(outline, folder))
    return [full for text in texts for full in (_full(text, known) if text in short else [text])]


def _is_short(text: str) -> bool:
    parts = _parts(text)
    return "=" in text and all(parts) and (parts[0] not in SECTIONS or parts[:2] == ("policy", "*"))


def _parts(text: str) -> Key:
    return tuple(part.strip() for part in text.partition("=")[0].split("."))


def _full(text: str, known: Sequence[Key]) -> list[str]:
    """Full path of an override with a short key."""
    parts, value = _parts(text), text.partition("=")[2]
    if parts[:2] == ("policy", "*"):
        found = [key for key in known if key[0] == "policy" and key[2:] == parts[2:]]
        if not found:
            rests = dict.fromkeys(".".join(key[2:]) for key in known if key[0] == "policy")
            hint = suggest(".".join(parts[2:]), rests)
            raise ConfigError(f"command line, {text}: no policy has the key '{'.'.join(parts[2:])}'.{hint}".rstrip("."))
        return [f"{'.'.join(key)}={value}" for key in found]
    found = _ending_in(parts, known) or [(*key, parts[-1]) for key in _ending_in(parts[:-1], known)]
    if len(found) > 1:
        raise ConfigError(f"command line, {text}: {_choice(found, value)}")
    if not found and len(parts) == 1:
        _refuse_near(text, parts[0], known)
    return [f"{'.'.join(key)}={value}" for key in found] or [text]  # the check of the whole reports the rest


def _ending_in(parts: Key, known: Sequence[Key]) -> list[Key]:
    """The known keys that end in ``parts``; a key below one of them belongs to a section such as stop_when."""
    return [key for key in known if parts and key[-len(parts) :] == parts]


def _choice(found: Sequence[Key], value: str) -> str:
    """Message for a short key that stands for several."""
    leaf, keys = found[0][-1], [".".join(key) for key in found]
    what = f"{leaf} is a key of several sections: {', '.join(keys)}"
    if all(key[0] == "policy" and key[2:] == found[0][2:] for key in found):
        return f"{what}; for all of them: {'.'.join(('policy', '*', *found[0][2:]))}={value}"
    return f"{what}; expected one of them in full"


def _refuse_near(text: str, name: str, known: Sequence[Key]) -> None:
    """Refuse a key that is a known one misspelt, or another framework's name of it."""
    leaves: dict[str, Key] = {}
    for key in known:
        leaves.setdefault(key[-1], key)
    near = nearest(OTHER_NAMES.get(name, name), [*leaves, *SECTIONS])
    if near in leaves:
        raise ConfigError(f"command line, {text}: {name} is not a known key. Did you mean '{'.'.join(leaves[near])}'?")


def _keys(document: Document, folder: Path) -> Iterator[Key]:
    """Every key of a config, sections' own names left out."""
    base = Path() if ("name",) in document.overrides else folder
    yield from (("env", name) for name in _params(document.data.get("name"), base))
    yield from (("trainer", name) for name in TrainerConfig.model_fields)
    yield from (("saving", name) for name in SavingConfig.model_fields)
    for name, algorithm in algorithms_of(document).items():
        yield from (("policy", name, *key) for key in _policy_keys(algorithm, document.data["policy"][name] or {}))


def _params(environment: Any, folder: Path) -> list[str]:
    """The parameters of an environment; none where it cannot be had, which the check of the whole reports."""
    try:
        cls = get_environment(absolute_target(environment, folder) if isinstance(environment, str) else environment)
    except (DeclarationError, ValueError):
        return []
    return [field.name for field in dataclasses.fields(cls.Params) if field.init]


def _policy_keys(algorithm: str, entry: Mapping[str, Any]) -> Iterator[Key]:
    try:
        fields = settings_of(algorithm).model_fields
    except ConfigError:
        return
    yield from ((name,) for name in fields if name not in ("model", "self_play", "population"))
    if "model" in fields:
        yield from (("model", name) for name in (*ModelConfig.model_fields, *_model_settings(algorithm, entry)))
    if entry.get("self_play"):
        yield from (("self_play", name) for name in SelfPlayConfig.model_fields)
    if entry.get("population"):
        yield from (("population", name) for name in PopulationConfig.model_fields)


def _model_settings(algorithm: str, entry: Mapping[str, Any]) -> list[str]:
    """Settings that a policy's network takes besides those of all."""
    given = entry.get("model")
    kind = given.get("type") if isinstance(given, dict) else None
    try:
        cls = model_class(kind or ModelConfig().type, algorithm_class(algorithm).needs_critic)
    except ConfigError:
        return []
    parameters = inspect.signature(cls).parameters.values()
    return [parameter.name for parameter in parameters if parameter.kind is inspect.Parameter.KEYWORD_ONLY]
