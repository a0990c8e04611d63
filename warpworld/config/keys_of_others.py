"""Keys of a policy's section that belong to another algorithm than the one that it names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warpworld.config.document import Document
from warpworld.config.keys import KeyPath, dotted
from warpworld.errors import ConfigError


def refuse_keys_of_others(entry: Mapping[str, Any], key: KeyPath, document: Document) -> None:
    """Refuse a key that the algorithm of a policy's entry has no use for and another one has.

    Args:
        entry: of the policy; its algorithm is known.
        key: where it stands.
        document: knows where it came from.

    Raises:
        ConfigError: names the algorithms that have the key.
    """
    # stand above: algorithms read configs
    from warpworld.trainers.algorithms import ALGORITHMS, get_algorithm
    from warpworld.trainers.algorithms.off_policy import OffPolicySettings

    algorithm = entry["algorithm"]
    own = get_algorithm(algorithm).Settings
    for name in entry:
        if name in own.model_fields:
            continue
        owners = {other: get_algorithm(other).Settings for other in ALGORITHMS}
        owners = {other: settings for other, settings in owners.items() if name in settings.model_fields}
        kinds = {issubclass(settings, OffPolicySettings) for settings in owners.values()}
        if not owners:
            continue
        how = f", which learn {'off' if True in kinds else 'on'}-policy" if len(kinds) == 1 else ""
        raise ConfigError(
            f"{document.where((*key, name))}: {dotted((*key, name))} is not a known key of {algorithm}: it is one of "
            f"{', '.join(owners)}{'' if issubclass(own, OffPolicySettings) in kinds else how}"
        )
