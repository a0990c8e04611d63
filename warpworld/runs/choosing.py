"""Choosing among runs: those whose settings are as asked, in the order that is asked for."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from warpworld.config import Document
from warpworld.errors import RunError, suggest
from warpworld.runs.differences import flat, shown_value
from warpworld.runs.summary import RunSummary

# What a run can be chosen or sorted by, besides its settings.
FACTS: dict[str, Callable[[RunSummary], Any]] = {
    "run": lambda run: run.name,
    "environment": lambda run: run.environment,
    "state": lambda run: run.state,
    "started": lambda run: run.started or None,
    "steps": lambda run: run.env_steps,
    "last": lambda run: next((found.last for found in run.returns.values()), None),
    "best": lambda run: next((found.best for found in run.returns.values()), None),
}
TAG = "tag"


def chosen(runs: Sequence[RunSummary], words: Iterable[str]) -> list[RunSummary]:
    """The runs for which every ``key=value`` holds.

    The key is "tag", one of ``FACTS``, or a setting, short where several keys end alike: then one of them has to match.
    The value is compared as YAML, or as a pattern such as ``tag_*``.

    Raises:
        RunError: no run has such a key, or a word is no ``key=value``.
        ConfigError: a value is not YAML.
    """
    found = list(runs)
    for word in words:
        key, equals, text = word.partition("=")
        if not equals or not key:
            raise RunError(f"'{word}': expected key=value, for instance state=finished or seed=1")
        _check_key(key, runs)
        wanted = Document("the command line", {})
        wanted.override(f"value={text}")
        found = [run for run in found if _has(run, key, wanted.data["value"], text)]
    return found


def in_order(runs: Iterable[RunSummary], key: str, reverse: bool = False) -> list[RunSummary]:
    """The runs sorted by a fact or a setting: texts ascending, numbers the largest first, runs without it last.

    Raises:
        RunError: no run has such a key.
    """
    runs = list(runs)
    _check_key(key, runs, (TAG,))
    values: list[tuple[Any, RunSummary]] = [(next(iter(_values(run, key)), None), run) for run in runs]
    known = [(value, run) for value, run in values if value is not None]
    numeric = all(isinstance(value, (int, float)) for value, _ in known)
    known.sort(key=lambda pair: pair[0] if numeric else str(pair[0]), reverse=numeric != reverse)
    return [run for _, run in [*known, *((value, run) for value, run in values if value is None)]]


def _check_key(key: str, runs: Sequence[RunSummary], but: Sequence[str] = ()) -> None:
    keys = dict.fromkeys(name for run in runs for name, _ in flat(run.settings))
    if not runs or key in {*FACTS, TAG} - {*but} or any(_ends(name, key) for name in keys):
        return
    leaves = dict.fromkeys(name.rpartition(".")[2] for name in keys)
    facts = [name for name in (*FACTS, TAG) if name not in but]
    raise RunError(f"no run has a setting '{key}'.{suggest(key, [*facts, *leaves])} Also known: {', '.join(facts)}")


def _has(run: RunSummary, key: str, wanted: Any, text: str) -> bool:
    values = run.tags if key == TAG else _values(run, key)
    return any(value == wanted or fnmatch.fnmatchcase(shown_value(key, value), text) for value in values)


def _values(run: RunSummary, key: str) -> list[Any]:
    if key in FACTS:
        return [FACTS[key](run)]
    return [value for name, value in flat(run.settings) if _ends(name, key)]


def _ends(name: str, key: str) -> bool:
    """Whether a dotted key is or ends with another."""
    return name == key or name.endswith(f".{key}")
