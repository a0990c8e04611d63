"""One part in this process; main.py starts it."""

from __future__ import annotations

import argparse
import faulthandler
import importlib
import json
import os
import signal
import sys
import threading
import time
import traceback
from pathlib import Path

from .leftovers import end_marked
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
    judged,
)

LINES = 12  # of a traceback that are kept in the results; the whole is printed
LOOK = 0.25  # seconds between two looks at the parent


def run(function: str, context: Context) -> dict[str, str]:
    """Status and reason of a part that was run to its end."""
    return judged(_run(function, context), context.findings)


def _run(function: str, context: Context) -> dict[str, str]:
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
        traceback.print_exc()
        return {"status": FAILED, "reason": "\n".join(traceback.format_exc().splitlines()[-LINES:])}
    return {"status": PASSED, "reason": ""}


def end_with(parent: int, folder: Path) -> None:
    """Watch, in a thread, the process that started this one: when it is gone, nothing would end this part in time."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK)
        end_marked(str(folder))
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("function")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", required=True)
    parser.add_argument("--limit", type=float, required=True)
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    end_with(given.parent, given.folder)
    faulthandler.dump_traceback_later(max(1.0, given.limit - 2.0))  # where it hangs, before it is ended
    context = Context(given.device, given.quick, given.limit, given.folder / "figures.json")
    context.report()
    (given.folder / "end.json").write_text(json.dumps(run(given.function, context)))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # a context that a fault has spoilt must not turn the part's own words into a crash


if __name__ == "__main__":
    main()
