"""Waits for envs that do not end, is interrupted by Ctrl-C, and continues; a forked child steps envs of its own."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np

from tests.adapters.uneven import Uneven
from warpworld import World
from warpworld.adapters.pools import pool

NOTHING = np.zeros(3, int)


def main() -> None:
    """Print what happens, a line each."""
    envs = pool(World(Uneven(), 3, "cpu", num_workers=2), order="ready")
    envs.reset()
    envs.worlds[0]["gate"] = 0
    envs.send(NOTHING)
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        envs.recv()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    envs.worlds[0]["gate"] = 1
    print(sorted(envs.recv()[-1]["env_id"].tolist()), flush=True)
    print(sorted(envs.step(NOTHING)[-1]["env_id"].tolist()), flush=True)
    child = os.fork()
    if not child:
        other = pool(World(Uneven(), 3, "cpu", num_workers=2), order="ready")
        other.reset()
        print("child", sorted(other.step(NOTHING)[-1]["env_id"].tolist()), flush=True)
        os._exit(0)
    os.waitpid(child, 0)


if __name__ == "__main__":
    main()
