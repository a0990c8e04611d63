"""Comparison of selected runs: their labels, settings and league tables."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from typing import Any

from warpworld.config import read_saved
from warpworld.errors import ConfigError
from warpworld.files import read_file
from warpworld.runs import RunFolder, differing, flat, labels


def compared(runs: Mapping[str, RunFolder]) -> dict[str, Any]:
    """Labels, settings and league tables of runs: settings of one run are all of its own, of several what differs."""
    names: list[str] = []
    settings: list[Mapping[str, Any]] = []
    for name, run in runs.items():
        with contextlib.suppress(ConfigError):  # the list says what is wrong with it
            settings.append(read_saved(run.config_path).settings)
            names.append(name)
    if len(settings) == 1:
        rows = {key: [value if isinstance(value, str) else json.dumps(value)] for key, value in flat(settings[0])}
    else:
        rows = differing(settings)
    leagues = {name: league for name, run in runs.items() if (league := _league(run)) is not None}
    return {"names": names, "labels": labels(settings, names), "settings": rows, "leagues": leagues}


def _league(run: RunFolder) -> dict[str, Any] | None:
    """The table that ``warpworld league`` wrote, as far as it is one."""
    try:
        found = json.loads(read_file(run.path / "league.json"))
        rows, columns = ([str(name) for name in found[key]] for key in ("rows", "columns"))
        rates = [[None if rate is None else float(rate) for rate in line] for line in found["win_rates"]]
        ratings = [float(rating) for rating in found["row_ratings"]]
        heading = f"{found['policy']} against {found['against']}, {int(found['episodes'])} episodes of each pair"
    except (OSError, ValueError, LookupError, TypeError, RecursionError, OverflowError):
        return None
    if len(ratings) != len(rows) or [len(line) for line in rates] != [len(columns)] * len(rows):
        return None
    return {"heading": heading, "rows": rows, "columns": columns, "win_rates": rates, "ratings": ratings}
