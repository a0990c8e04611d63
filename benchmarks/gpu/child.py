"""One part in this process; main.py starts it."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import traceback
from pathlib import Path

from .part import (
    FAILED,
    PARTIAL,
    PASSED,
    SKIPPED,
    UNFINISHED,
    CheckError,
    Context,
    PartialError,
    SkippedError,
    UnfinishedError,
)

LINES = 12  # of a traceback that are kept


def run(function: str, context: Context) -> dict[str, str]:
    """Status and reason of a part that was run to its end."""
    module, _, name = function.partition(":")
    try:
        getattr(importlib.import_module(module, __package__), name)(context)
    except SkippedError as skip:
        return {"status": SKIPPED, "reason": str(skip)}
    except PartialError as partial:
        return {"status": PARTIAL, "reason": str(partial)}
    except UnfinishedError as unfinished:
        return {"status": UNFINISHED, "reason": str(unfinished)}
    except CheckError as wrong:
        return {"status": FAILED, "reason": str(wrong)}
    except Exception:
        return {"status": FAILED, "reason": "\n".join(traceback.format_exc().splitlines()[-LINES:])}
    return {"status": PASSED, "reason": ""}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("function")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", required=True)
    parser.add_argument("--limit", type=float, required=True)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    context = Context(given.device, given.quick, given.limit, given.folder / "figures.json")
    context.report()
    (given.folder / "end.json").write_text(json.dumps(run(given.function, context)))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # a context that a fault has spoilt must not turn the part's own words into a crash


if __name__ == "__main__":
    main()
