"""Keys of a policy's section that belong to another algorithm than the one that it names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warpworld.config.documents import Document, KeyPath, dotted
from warpworld.config.named_classes import algorithm_class
from warpworld.errors import ConfigError
from warpworld.packaged import ALGORITHMS


def refuse_keys_of_others(entry: Mapping[str, Any], key: KeyPath, document: Document) -> None:
    """Refuse a key that the algorithm of a policy's entry has no use for and another one has.

    Args:
        entry: of the policy; its algorithm is known.
        key: where it stands.
        document: knows where it came from.

    Raises:
        ConfigError: names the algorithms that have the key.
    """
    algorithm = entry["algorithm"]
    own = algorithm_class(algorithm).Settings
    for name in entry:
        if name in own.model_fields:
            continue
        owners = {other: algorithm_class(other).Settings for other in ALGORITHMS}
        owners = {other: settings for other, settings in owners.items() if name in settings.model_fields}
        kinds = {settings.off_policy for settings in owners.values()}
        if not owners:
            continue
        how = f", which learn {'off' if True in kinds else 'on'}-policy" if len(kinds) == 1 else ""
        raise ConfigError(
            f"{document.where((*key, name))}: {dotted((*key, name))} is not a known key of {algorithm}: it is one of "
            f"{', '.join(owners)}{'' if own.off_policy in kinds else how}"
        )
