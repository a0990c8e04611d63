"""The file of results: under which conditions, and how every part ended."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from warpworld.cli.bench.conditions import conditions

from .part import SKIPPED

VERSION = 1
DEFAULT_PATH = Path(__file__).resolve().parent.parent / "results" / "gpu.json"


def new_results(device: str, quick: bool, commit: str | None) -> dict[str, Any]:
    """Results of a run that has not begun."""
    about = conditions()
    return {
        "version": VERSION,
        "date": about["date"],
        "commit": commit or about["commit"],
        "device": "cpu" if device == "cpu" else None,  # what the part "machine" finds
        "host": {name: about[name] for name in ("device", "cores", "compiler", "python")},
        "quick": quick,
        "parts": {},
    }


def read_results(path: Path) -> dict[str, Any] | None:
    """Results of an earlier run, or None."""
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and found.get("version") == VERSION else None


def keep_parts(results: dict[str, Any], earlier: dict[str, Any] | None) -> None:
    """Take over the parts of an earlier run of the same commit, so that parts can be run one after the other.

    Those of another device are dropped again as soon as the part "machine" has seen which one this is.

    Raises:
        SystemExit: there are earlier parts, and it is not known which commit this is.
    """
    if earlier and earlier["parts"] and results["commit"] is None:
        raise SystemExit(
            "--only keeps the parts that FILE has of the same commit, and git does not tell which one this is; "
            "give it with --commit, or write another file with --save"
        )
    if earlier and earlier["commit"] == results["commit"] and earlier["quick"] == results["quick"]:
        results["parts"] = dict(earlier["parts"])
        results["device"] = earlier["device"] or results["device"]


def adopt_parts(results: dict[str, Any], earlier: dict[str, Any]) -> list[str]:
    """Take over the parts that a run lacks from one of another commit, which each of them then names; returns them.

    Raises:
        SystemExit: the runs are of different devices or sizes.
    """
    for key in ("device", "quick"):
        if earlier[key] != results[key]:
            raise SystemExit(f"{key} of these runs: {results[key]} and {earlier[key]}; expected the same")
    lacking = {name: part for name, part in earlier["parts"].items() if name not in results["parts"]}
    results["parts"] |= {name: {"commit": earlier["commit"], **part} for name, part in lacking.items()}
    return list(lacking)


def put(results: dict[str, Any], name: str, title: str, result: dict[str, Any]) -> None:
    """Add how a part ended, and when."""
    found = result["figures"].get("device")
    if name == "machine" and found and results["device"] not in (None, found):
        results["parts"] = {}
    results["parts"][name] = {"title": title, "date": time.strftime("%Y-%m-%dT%H:%M:%S"), **result}
    if name == "machine":
        results["device"] = found or results["device"]


def put_skipped(results: dict[str, Any], name: str, title: str, reason: str) -> None:
    """Add a part that was not begun; what an earlier run found by it stays."""
    if results["parts"].get(name, {}).get("figures"):
        return
    put(results, name, title, {"status": SKIPPED, "reason": reason, "seconds": 0.0, "figures": {}})


def write(results: dict[str, Any], path: Path | None) -> None:
    """Write the file whole."""
    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(results, indent=1) + "\n")
    draft.replace(path)
