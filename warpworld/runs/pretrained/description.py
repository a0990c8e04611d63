"""The description of a pretrained policy, ``pretrained.json``, in a format that versions of warpworld agree on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from warpworld.errors import RunError
from warpworld.files import read_file, reason
from warpworld.version import __version__

FILE = "pretrained.json"
FORMAT = 1  # rises where files are laid out anew, or a network of the same settings computes something else


def check_format(folder: Path) -> dict[str, Any]:
    """Read a description.

    Args:
        folder: of the policy.

    Returns:
        The description: ``format``, the version ``warpworld`` that trained it, ``seed``, ``env_steps``,
        ``cpu_seconds``, ``command``, ``spaces`` by group, and ``scores``.

    Raises:
        RunError: it cannot be read, or has another format than this version reads.
    """
    try:
        found = json.loads(read_file(folder / FILE))
        version = found["warpworld"]
        if found["format"] == FORMAT:
            return dict(found)
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise RunError(f"'{folder / FILE}' cannot be read: {reason(error)}; install warpworld anew") from error
    raise RunError(
        f"pretrained policy '{folder.name}' has format {found['format']}, written by warpworld {version}, and "
        f"warpworld {__version__} reads format {FORMAT}: install warpworld {version} to play it"
    )
