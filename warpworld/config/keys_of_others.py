"""Keys of a policy's section that belong to another algorithm than the one that it names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warpworld.config.algorithm_settings import FIXED
from warpworld.config.documents import Document, KeyPath, dotted, known
from warpworld.config.named_classes import algorithm_class
from warpworld.config.sections import Section
from warpworld.errors import ConfigError
from warpworld.packaged import ALGORITHMS


def refuse_keys_of_others(entry: Mapping[str, Any], own: type[Section], key: KeyPath, document: Document) -> None:
    """Refuse a key that the algorithm of a policy's entry has no use for and another one has.

    Args:
        entry: of the policy; its algorithm is known.
        own: the keys of that algorithm.
        key: where it stands.
        document: knows where it came from.

    Raises:
        ConfigError: names the algorithms that have the key.
    """
    algorithm = entry["algorithm"]
    for name in entry:
        if name in own.model_fields:
            continue
        owners = {other: algorithm_class(other).Settings for other in ALGORITHMS}
        owners = {other: settings for other, settings in owners.items() if name in settings.model_fields}
        where = _where(document, (*key, name))
        if name == "script":
            raise ConfigError(
                f"{where}: {dotted((*key, name))} is not a known key of {algorithm}; "
                f"leave {dotted((*key, 'algorithm'))} out, or set it to script"
            )
        if not owners:
            continue
        if algorithm in FIXED:
            raise ConfigError(
                f"{where}: {dotted((*key, name))} is not a known key of {algorithm}, which does not learn. "
                f"{known(own.model_fields)}"
            )
        kinds = {settings.off_policy for settings in owners.values()}
        how = f", which learn {'off' if True in kinds else 'on'}-policy" if len(kinds) == 1 else ""
        raise ConfigError(
            f"{where}: {dotted((*key, name))} is not a known key of {algorithm}: it is one of "
            f"{', '.join(owners)}{'' if algorithm_class(algorithm).Settings.off_policy in kinds else how}"
        )


def _where(document: Document, path: KeyPath) -> str:
    """Place of a key: the override of a key below it, which keeps it where the file's others were left out."""
    below = (text for given, text in document.overrides.items() if given[: len(path)] == path)
    return next((f"command line, {text}" for text in below), document.where(path))
