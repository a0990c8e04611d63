"""Checks of the ``curriculum`` section against the environment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from warpworld.config.documents import Document, KeyPath, dotted, known
from warpworld.config.sections import CurriculumConfig
from warpworld.config.settings import RANDOMIZE
from warpworld.environment import Environment, Group, checked_ends
from warpworld.errors import ConfigError, DeclarationError, suggest


def checked_curriculum(
    curriculum: CurriculumConfig | None, environment: Environment, groups: Mapping[str, Group], document: Document
) -> CurriculumConfig | None:
    """The section with the name of its group, and with ends of its parameters that the environment takes.

    Raises:
        ConfigError: one line: which key, what was given, what was expected.
    """
    if curriculum is None:
        return None
    for key, text in _faults(curriculum, environment, groups):
        where = document.where(key, key[:2], key[:1])
        raise ConfigError(f"{where}: {dotted(key)}{text}")
    return curriculum.model_copy(update={"group": curriculum.group or next(iter(groups))})


def _faults(
    curriculum: CurriculumConfig, environment: Environment, groups: Mapping[str, Group]
) -> Iterator[tuple[KeyPath, str]]:
    """Faults of the section, by key."""
    # the group
    own, group = ("curriculum",), curriculum.group
    if group is None and len(groups) > 1:
        yield (*own, "group"), f" is null, expected one of {', '.join(groups)}: whose return decides success"
    elif group is not None and group not in groups:
        yield (*own, "group"), f": {environment.name} has no group '{group}'.{suggest(group, groups)} {known(groups)}"
    # the parameters
    names = (*own, "parameters")
    if not curriculum.parameters:
        yield names, f" is empty, expected parameters per env of {environment.name}: {_listed(environment)}"
    for name, ends in curriculum.parameters.items():
        key = (*names, name)
        if name not in environment.per_env:
            hint = suggest(name, environment.per_env)
            yield key, f" is no parameter per env of {environment.name}.{hint} Known: {_listed(environment)}"
        if name in environment.randomize:
            yield key, f" is also in env.{RANDOMIZE}, which draws it at each reset; leave one of them out"
        try:
            easiest, hardest = checked_ends(type(environment), name, ends, environment.params)
        except DeclarationError as error:
            yield key, f" is {ends}: {error}"
            return
        if easiest == hardest:
            yield key, f" is {ends}, expected two values that differ: of the easiest and of the hardest level"


def _listed(environment: Environment) -> str:
    return ", ".join(environment.per_env) or "none"
