"""Ctrl-C while kernels run, and faults under Python's faulthandler: in a process of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.cpu_backend

ROOT = Path(__file__).resolve().parents[2]
SECONDS_BEFORE_CTRL_C = 0.25  # longer than the watchdog takes to notice that a launch does not end soon


class Conversation:
    """A process that says what it does; Ctrl-C is sent when it says that it is running."""

    def __init__(self) -> None:
        environment = {**os.environ, "WARPWORLD_KERNEL_TIMEOUT": "2"}
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.cuda.interrupted"],
            cwd=ROOT,
            stdout=pipe,
            stderr=pipe,
            text=True,
            env=environment,
        )

    def next(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def interrupted(self) -> str:
        """What it says after Ctrl-C."""
        assert self.next() == "running", self.errors()
        time.sleep(SECONDS_BEFORE_CTRL_C)
        self.process.send_signal(signal.SIGINT)
        return self.next()

    def errors(self) -> str:
        self.process.kill()
        assert self.process.stderr is not None
        return self.process.stderr.read()


@pytest.fixture
def conversation() -> Iterator[Conversation]:
    conversation = Conversation()
    yield conversation
    conversation.process.kill()
    conversation.process.communicate()


@pytest.mark.slow
def test_ctrl_c_and_faulthandler(conversation: Conversation) -> None:
    for _ in range(2):  # 1 and 2 workers
        how, goes_on, handler = conversation.interrupted().split()
        assert (how, goes_on, handler) == ("KeyboardInterrupt", "True", "default_int_handler")
        assert conversation.interrupted() == "KeyboardInterrupt True"
    assert conversation.interrupted() == "heard True"
    assert conversation.interrupted() == "KeyboardInterrupt KeyboardInterrupt True"
    assert re.match(r"KernelError: .*: no progress within 2 s.* True", conversation.interrupted())
    assert re.match(r"KernelError: .*: a null pointer True", conversation.next())
    assert conversation.next() == "end"
    errors = conversation.process.communicate(timeout=60)[1]
    assert conversation.process.returncode == -signal.SIGSEGV
    assert errors.count("Fatal Python error: Segmentation fault") == 1
