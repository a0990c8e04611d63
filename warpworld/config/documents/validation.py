"""Turns pydantic's errors into sentences: place, key, the value given, the one expected, the nearest known name."""

from __future__ import annotations

import json
import reprlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from warpworld.config.documents.document import Document
from warpworld.config.documents.keys import KeyPath, dotted
from warpworld.errors import ConfigError, suggest

_EXPECTED = {
    "int_type": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "string_type": "a text",
    "string_too_short": "a text that is not empty",
    "tuple_type": "a list such as [64, 64]",
    "list_type": "a list such as [64, 64]",
    "dict_type": "a section of indented 'key: value' lines",
    "model_type": "a section of indented 'key: value' lines",
    "greater_than_equal": "at least {ge:g}",
    "greater_than": "more than {gt:g}",
    "less_than_equal": "at most {le:g}",
    "less_than": "less than {lt:g}",
    "literal_error": "{expected}",
    "union_tag_invalid": "one of {expected_tags}",
    "too_long": "at most {max_length} entries",
    "too_short": "at least {min_length} entries",
    "missing": "another number of entries",  # of a tuple; a missing key has a sentence of its own
}

# what WarpDrive calls it -> what it is called here
OTHER_NAMES = {
    "train_batch_size": "num_steps",
    "num_episodes": "total_env_steps",
    "to_train": "train",
    "lr": "learning_rate",
    "clip_param": "clip_coef",
    "entropy_coeff": "ent_coef",
    "vf_loss_coeff": "vf_coef",
    "normalize_advantage": "norm_adv",
    "fc_dims": "hidden_sizes",
    "metrics_log_freq": "log_every",
    "model_params_save_freq": "checkpoint_every",
    "basedir": "directory",
}


def known(names: Iterable[str]) -> str:
    """The names that would have been right, for the end of a message."""
    return f"Known: {', '.join(names)}"


def validated(
    adapter: TypeAdapter[Any],
    data: dict[str, Any],
    document: Document,
    prefix: KeyPath,
    keys_at: Callable[[KeyPath], Mapping[str, str]],
) -> Any:
    """Check plain values against types.

    Args:
        adapter: the types.
        data: what to check.
        document: knows where ``data`` came from.
        prefix: where ``data`` stands in the document.
        keys_at: known keys of the section at a path of the document, with descriptions.

    Raises:
        ConfigError: the first thing that is wrong, in a sentence.
    """
    try:
        return adapter.validate_json(json.dumps(data))  # JSON rules: a list for a tuple, but no text for a number
    except ValidationError as error:
        errors = error.errors(include_url=False)
    # a misspelt key is also a missing one: the misspelling is more helpful
    first = next((e for e in errors if e["type"] == "extra_forbidden"), errors[0])
    location = _without_tags(data, first["loc"])
    path = (*prefix, *location)
    if first["type"] == "extra_forbidden":
        raise ConfigError(_unknown_key(path, document, keys_at))
    if first["type"] == "missing" and isinstance(path[-1], str):
        where = document.where(path, path[:-1]) if path[:-1] else document.source
        about = keys_at(path[:-1]).get(path[-1], "")
        raise ConfigError(f"{where}: {dotted(path)} is missing{f' ({about})' if about else ''}")
    path, value = _follow(data, location)
    path = (*prefix, *path)
    if first["type"].startswith("union_tag"):  # this key selects the member of the union
        key = first["ctx"]["discriminator"].strip("'")
        path, value = (*path, key), value.get(key)
    expected = _EXPECTED.get(first["type"], first["msg"]).format(**first.get("ctx", {}))
    raise ConfigError(f"{document.where(path)}: {dotted(path)} is {_show(value)}, expected {expected}")


def _unknown_key(path: KeyPath, document: Document, keys_at: Callable[[KeyPath], Mapping[str, str]]) -> str:
    name, names = str(path[-1]), keys_at(path[:-1])
    hint = suggest(name, names)
    renamed = OTHER_NAMES.get(name)
    if renamed in names:
        hint = f" Did you mean '{renamed}'?"
    if len(path) == 1:  # a key that forgot its section
        for section in ("trainer", "saving"):
            if name in keys_at((section,)):
                hint = f" Did you mean '{section}.{name}'?"
    return f"{document.where(path)}: {dotted(path)} is not a known key.{hint or ' ' + known(names)}"


def _without_tags(data: Any, location: tuple[str | int, ...]) -> KeyPath:
    """``location`` without the names of a union's members, which pydantic puts between the keys."""
    path: KeyPath = ()
    for i, key in enumerate(location):
        entries = dict(enumerate(data)) if isinstance(data, list) else data
        last = i == len(location) - 1
        if isinstance(entries, dict) and key not in entries and not last:
            continue
        path = (*path, key)
        data = entries.get(key) if isinstance(entries, dict) else None
    return path


def _follow(data: Any, location: tuple[str | int, ...]) -> tuple[KeyPath, Any]:
    """The value at ``location``; pydantic appends the names of a union's members, so stop where the data ends."""
    path: KeyPath = ()
    for key in location:
        entries = dict(enumerate(data)) if isinstance(data, list) else data
        if not isinstance(entries, dict) or key not in entries:
            break
        data, path = entries[key], (*path, key)
    return path, data


def _show(value: Any) -> str:
    if value is None:
        return "empty"
    return str(value).lower() if isinstance(value, bool) else reprlib.repr(value)
