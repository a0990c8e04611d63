"""The run folder of a configuration, where an earlier command has made one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from warpworld.config import RunConfig, read_saved
from warpworld.errors import ConfigError
from warpworld.runs import RunFolder


def found_run(config: RunConfig) -> RunFolder | None:
    """The newest run of a configuration; None if there is none.

    Args:
        config: with ``saving.directory``, where the run lies, and ``saving.name``, which its folder's name begins with.
            Every other setting of ``saving`` may differ.
    """
    wanted = determining(config.to_dict())
    folders = Path(config.saving.directory).glob(f"{config.saving.name}-*/config.yaml")
    for path in sorted(folders, reverse=True):
        try:
            settings = read_saved(path).settings
        except ConfigError:
            continue
        if determining(settings) == wanted:
            return RunFolder(path.parent)
    return None


def determining(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that determine what a run learns: all but ``saving``."""
    return as_json({key: value for key, value in settings.items() if key != "saving"})


def as_json(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values as they are read back from JSON or YAML: tuples are lists."""
    found: dict[str, Any] = json.loads(json.dumps(values))
    return found
