"""Differences between runs, and labels that name them."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from warpworld.importing import title_of

MISSING = "-"
MOST = 3  # settings in a label
_TRIAL = re.compile(r"-trial-(\d+)\Z")  # in the name that a sweep gives to a run
# Where a run lies and how it is written down do not change its trajectory.
_OF_THE_FOLDER = ("saving.",)
_FIRST = ("name", "policy.*.algorithm")  # say most, and stand first in a label


def flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each setting by its dotted key; an empty section counts as a value."""
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def differing(settings: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Settings that are not the same in all runs.

    Args:
        settings: of each run, nested.

    Returns:
        By dotted key the value in each run as text, "-" where a run has no such setting. Keys that say most come first.
    """
    found = [dict(flat(each)) for each in settings]
    keys = dict.fromkeys(key for each in found for key in each if not key.startswith(_OF_THE_FOLDER))
    values = {key: [shown_value(key, each[key]) if key in each else MISSING for each in found] for key in keys}
    return {key: values[key] for key in sorted(keys, key=_rank) if len(set(values[key])) > 1}


def labels(settings: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[str]:
    """A label for each run that names what differs: "seed 1" and "seed 2", or "trial 3: gamma 0.9731" of a sweep.

    Args:
        settings: of each run, nested.
        names: of the folders; they stand alone where nothing differs, and behind labels that are alike.

    Returns:
        In the order of the runs, each another one if the names are.
    """
    differ = differing(settings)
    chosen = _telling(differ)
    texts = {key: [rounded(value) for value in differ[key]] for key in chosen}
    parts = [[f"{title} {texts[key][i]}".strip() for key, title in chosen.items()] for i in range(len(settings))]
    found = [f"{_trial(given)}{', '.join(part)}" if part else "" for given, part in zip(settings, parts, strict=True)]
    count = Counter(found)
    return [
        name if not text else f"{text} ({name})" if count[text] > 1 else text
        for text, name in zip(found, names, strict=True)
    ]


def rounded(text: str) -> str:
    """A setting as text for a label: a number that is not whole with four digits, any other text as it is."""
    try:
        value = float(text)
    except ValueError:
        return text
    return text if not math.isfinite(value) or value.is_integer() else f"{value:.4g}"


def _trial(settings: Mapping[str, Any]) -> str:
    """The start of the label of a sweep's trial; "" for other runs."""
    saving = settings.get("saving")
    found = _TRIAL.search(str(saving.get("name"))) if isinstance(saving, Mapping) else None
    return f"trial {found[1]}: " if found else ""


def _telling(differ: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The keys that a label names, each with its short title: the fewest that distinguish runs, at most ``MOST``."""
    if len(differ) <= MOST:
        chosen = list(differ)
    else:
        chosen, distinct = [], 1
        for key in differ:
            found = len(set(zip(*(differ[each] for each in [*chosen, key]), strict=True)))
            if found > distinct and len(chosen) < MOST:
                chosen, distinct = [*chosen, key], found
    leaves = Counter(key.rpartition(".")[2] for key in chosen)
    return {key: _title(key, leaves) for key in chosen}


def _title(key: str, leaves: Mapping[str, int]) -> str:
    """``trainer.seed`` as ``seed``; with its policy where two of the keys end alike. The environment needs none."""
    if key == "name":
        return ""
    leaf = key.rpartition(".")[2]
    return leaf if leaves[leaf] == 1 else ".".join(key.split(".")[1:])


def _rank(key: str) -> int:
    parts = key.split(".")
    general = ".".join([parts[0], "*", *parts[2:]]) if parts[0] == "policy" and len(parts) > 2 else key
    return _FIRST.index(general) if general in _FIRST else len(_FIRST)


def shown_value(key: str, value: Any) -> str:
    """A setting as text: as JSON has it, texts without quotes, an environment without its folders."""
    if key == "name":
        return title_of(str(value))
    return value if isinstance(value, str) else json.dumps(value)
