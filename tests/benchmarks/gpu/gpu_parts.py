"""Parts for tests of the GPU suite: ones that end well, and in every other way."""

from __future__ import annotations

import os
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


def dies(context: Context) -> None:
    context.row(found="before")
    os.abort()


def hangs(context: Context) -> None:
    """With a child that would hang on after it; its process id is reported."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    context.report(child=child.pid)
    time.sleep(600)
