"""Keys of a policy's section, which its algorithm declares. Another algorithm drops the former's settings."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from warpworld.config.documents import Document
from warpworld.config.named_classes import algorithm_class
from warpworld.config.sections import RandomConfig, Section
from warpworld.errors import ConfigError

logger = logging.getLogger(__name__)
DEFAULT = "ppo"


def settings_of(algorithm: str) -> type[Section]:
    """The keys of a policy's section, which its algorithm declares.

    Raises:
        ConfigError: there is no such algorithm.
    """
    if algorithm == "random":
        return RandomConfig
    settings: type[Section] = algorithm_class(algorithm).Settings
    return settings


def algorithms_of(document: Document) -> dict[str, str]:
    """The algorithm of each policy, as far as the document names them."""
    policies = document.data.get("policy")
    entries = policies.items() if isinstance(policies, dict) else ()
    named = {name: (entry or {}).get("algorithm", DEFAULT) for name, entry in entries if isinstance(entry, dict | None)}
    return {name: algorithm for name, algorithm in named.items() if isinstance(algorithm, str)}


def drop_settings_of_former(document: Document, former: Mapping[str, str]) -> None:
    """Remove the file's keys for algorithms that overrides replaced, and log which; overrides' own keys stay.

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
        given = {path[2] for path in document.overrides if path[:2] == ("policy", name) and len(path) > 2}
        dropped = [key for key in entry if key in others and key not in own and key not in given]
        for key in dropped:
            del entry[key]
        if dropped:
            logger.info(
                "policy.%s.algorithm=%s leaves out settings of %s: %s", name, algorithm, before, ", ".join(dropped)
            )
