"""A process that takes one job after the other from its input; workers.py starts it.

Each line that it reads is a job, each that it writes the job's end. What jobs print goes to standard error.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback
from typing import Any

LINES = 12  # of a traceback that are reported; the whole is printed


def carry_out(function: str, arguments: list[Any]) -> dict[str, Any]:
    """``found``, what a function returns, or ``fault``, why it did not return."""
    module, _, name = function.partition(":")
    try:
        return {"found": getattr(importlib.import_module(module, __package__), name)(*arguments)}
    except Exception as error:
        traceback.print_exc()
        first = traceback.format_exception_only(error)[-1].partition("\n")[0]
        return {"fault": "\n".join([first, *traceback.format_exc().splitlines()[-LINES:]])}


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        answer = carry_out(**json.loads(line))
        print(json.dumps(answer), file=answers, flush=True)
        if "fault" in answer:
            break  # it may have spoilt the process's CUDA context; the next job gets a fresh process
    os._exit(0)  # a spoilt context must not end in a crash


if __name__ == "__main__":
    main()
