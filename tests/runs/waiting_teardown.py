"""`warpworld` where whatever frees a device's memory waits for ever, as it may while another process is awaited."""

from __future__ import annotations

import atexit
import sys
import time
from typing import Any

from warpworld.cli.main import main
from warpworld.trainers.processes import membership
from warpworld.trainers.trainer import Trainer


def wait(*arguments: Any) -> None:
    time.sleep(300)


def take_no_device(launch: membership.Launch, device: str) -> str:
    """Channels of the host alone, under another name than theirs: as if there were others for a device."""
    return "cpu:gloo"


if __name__ == "__main__":
    atexit.register(wait)  # torch and the driver have such functions too
    Trainer.__del__ = wait  # type: ignore[attr-defined]
    membership._take_device = take_no_device
    sys.exit(main(sys.argv[1:]))
