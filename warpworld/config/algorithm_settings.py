"""Keys of a policy's section, which its algorithm declares. Another algorithm drops the former's settings."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from warpworld.config.documents import Document
from warpworld.config.named_classes import algorithm_class
from warpworld.config.sections import RandomConfig, ScriptConfig, Section
from warpworld.errors import ConfigError

logger = logging.getLogger(__name__)
DEFAULT = "ppo"
# Sections of policies that do not learn, by the value of their key `algorithm`.
FIXED: Mapping[str, type[Section]] = {"random": RandomConfig, "script": ScriptConfig}


def settings_of(algorithm: str) -> type[Section]:
    """The keys of a policy's section, which its algorithm declares.

    Raises:
        ConfigError: there is no such algorithm.
    """
    if algorithm in FIXED:
        return FIXED[algorithm]
    settings: type[Section] = algorithm_class(algorithm).Settings
    return settings


def default_algorithm(entry: Mapping[str, Any]) -> str:
    """The algorithm of a policy's section that names none: a section with a script is played by it."""
    return "script" if "script" in entry else DEFAULT


def algorithms_of(document: Document) -> dict[str, str]:
    """The algorithm of each policy, as far as the document names them."""
    policies = document.data.get("policy")
    entries = policies.items() if isinstance(policies, dict) else ()
    sections = {name: entry or {} for name, entry in entries if isinstance(entry, dict | None)}
    named = {name: entry.get("algorithm", default_algorithm(entry)) for name, entry in sections.items()}
    return {name: algorithm for name, algorithm in named.items() if isinstance(algorithm, str)}


def drop_settings_of_former(document: Document, former: Mapping[str, str]) -> None:
    """Remove the file's keys for algorithms that overrides replaced, and log which; overrides' own keys stay.

    The file's keys were right for the algorithm that it names, and who names another one does not want them. A key
    that overrides give, alone or as a part of a section, is meant for the new algorithm, which may then refuse it.

    Args:
        document: with the overrides laid over the file.
        former: the algorithm of each policy before.
    """
    for name, algorithm in algorithms_of(document).items():
        entry, before = document.data["policy"][name], former.get(name, algorithm)
        if before == algorithm or not entry:
            continue
        try:
            own, others = settings_of(algorithm).model_fields, settings_of(before).model_fields
        except ConfigError:  # the check of the policy reports it
            continue
        paths = [path for path in document.overrides if path == ("policy", name, *path[2:])[: len(path)]]
        if any(len(path) < 3 for path in paths):  # a whole section: nothing of the file is left in it
            continue
        given = {path[2] for path in paths}
        dropped = [key for key in entry if key in others and key not in own and key not in given]
        for key in dropped:
            del entry[key]
        if dropped:
            logger.info(
                "policy.%s.algorithm=%s leaves out settings of %s: %s", name, algorithm, before, ", ".join(dropped)
            )
