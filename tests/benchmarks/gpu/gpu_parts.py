"""Parts for tests of the GPU suite: ones that end well, and in every other way."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time

from benchmarks.gpu.part import CheckError, Context, PartialError, SkippedError, UnfinishedError


def passes(context: Context) -> None:
    context.report(device=context.device, quick=context.quick, headline="all well")


def holds_not(context: Context) -> None:
    context.report(found=3)
    raise CheckError("3 is not 4")


def cannot_be_done(context: Context) -> None:
    raise SkippedError("there is no moon")


def runs_late(context: Context) -> None:
    raise UnfinishedError("3 of 4 by then")


def does_half(context: Context) -> None:
    context.report(found=1)
    raise PartialError("1 of 2")


def says_its_cache(context: Context) -> None:
    context.report(cache=os.environ.get("WARPWORLD_CACHE"))


def raises(context: Context) -> None:
    raise KeyError("lost")


def raises_deep_down(context: Context) -> None:
    def odd(depth: int) -> None:
        if depth == 1:
            raise KeyError("lost")
        even(depth - 1)

    def even(depth: int) -> None:
        odd(depth - 1)

    odd(15)


def dies(context: Context) -> None:
    context.row(found="before")
    os.abort()


def hangs(context: Context) -> None:
    """Starts a child in its group and one in a session of its own, and reports their process ids."""
    sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
    children = [subprocess.Popen(sleep, start_new_session=own) for own in (False, True)]
    context.report(processes=[os.getpid(), *(child.pid for child in children)])
    time.sleep(600)


def finds_and_hangs(context: Context) -> None:
    """Ignores SIGTERM, too."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    context.row(found="before")
    context.wrong("3 is not 4")
    context.wrong("5 is not 6")
    hangs(context)


def lies(context: Context) -> None:
    """Finds something wrong and ends as if it had not."""
    context.wrong("3 is not 4")


def finds_and_dies(context: Context) -> None:
    context.wrong("3 is not 4")
    os.abort()


def finds_and_runs_late(context: Context) -> None:
    context.wrong("3 is not 4")
    raise UnfinishedError("1 of 2 by then")


def prints_garbage(context: Context) -> None:
    """Bytes that are no text, and an end that is none of its own."""
    os.write(1, b"\xff\xfe garbage \x00\n" * 1000)
    (context.path.parent / "end.json").write_text(json.dumps(["passed"]))
    os._exit(0)


def deletes_its_folder(context: Context) -> None:
    context.report(found=3)
    shutil.rmtree(context.path.parent)
