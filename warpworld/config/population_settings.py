"""Checks of the settings in which the members of a population differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from warpworld.config.documents import known
from warpworld.config.sections import LearnerConfig, Sizes
from warpworld.config.types import schedule_limit
from warpworld.errors import suggest

Found = tuple[tuple[str, ...], str]
"""A key, and what is wrong with it."""


def settings_that_change(settings: type[LearnerConfig]) -> list[str]:
    """Names of an algorithm's settings that may change during a run: those that take a schedule."""
    return [name for name, field in settings.model_fields.items() if schedule_limit(field) is not None]


def settings_faults(entry: Any, sizes: Sizes) -> Iterator[Found]:
    """Faults of ranges of settings, by key below the section.

    Args:
        entry: of the policy.
        sizes: of an iteration, for a member.
    """
    yield from _of_settings(entry)
    yield from _of_changes(entry, sizes)


def _of_settings(entry: Any) -> Iterator[Found]:
    """Faults of the ranges of settings."""
    fields, able = type(entry).model_fields, settings_that_change(type(entry))
    if not entry.population.settings:
        yield (
            ("settings",),
            f" is empty, expected ranges of settings, such as {{{able[0]}: [1e-5, 1e-2]}}. {known(able)}",
        )
    for name, ends in entry.population.settings.items():
        key = ("settings", name)
        if name not in fields:
            yield key, f": {entry.algorithm} has no setting '{name}'.{suggest(name, able)} {known(able)}"
            return
        limit = schedule_limit(fields[name])
        if limit is None:
            text = f": {name} is no number that may change during a run, expected a setting that takes a schedule."
            yield key, f"{text}{suggest(name, able)} {known(able)}"
            return
        is_legal, text = limit
        for end in ends:
            if not is_legal(end):
                yield key, f" is {_shown(ends)}, expected two numbers{text}"
        if not ends[0] < ends[1]:
            yield key, f" is {_shown(ends)}, expected the lowest value first, and a higher one"
        if isinstance(getattr(entry, name), tuple):
            text = f" is {_shown(ends)}, but policy's {name} is a schedule, expected one of the two: members differ in"
            yield key, f"{text} numbers"


def _of_changes(entry: Any, sizes: Sizes) -> Iterator[Found]:
    """Faults of settings that stay the same beside settings that change."""
    ends = entry.population.settings
    known_faults = {fault.text for fault in entry.faults(sizes)}
    for fault in entry.with_values({key: low for key, (low, _) in ends.items()}).faults(sizes):
        if fault.text not in known_faults:
            changed = next((key for key in fault.keys if key in ends), next(iter(ends)))
            yield ("settings", changed), f" changes as a schedule does: {fault.text}"


def _shown(ends: tuple[float, float]) -> str:
    return f"[{ends[0]:g}, {ends[1]:g}]"
