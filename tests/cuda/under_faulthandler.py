"""What test_faulthandler.py runs in a process of its own: a kernel's faults, whenever faulthandler is enabled."""

from __future__ import annotations

import faulthandler
import sys

import pytest

from tests.cuda.test_faults import MODES, faulty_world
from warpworld import World
from warpworld.errors import KernelError

FAULTS = ("null_pointer", "division", "trap")


def say_faults(world: World) -> None:
    for mode in FAULTS:
        world["mode"] = MODES.index(mode)
        with pytest.raises(KernelError) as caught:
            world.step()
        print(mode, caught.value, flush=True)
    world["mode"] = MODES.index("right")
    world.step()


def main() -> None:
    print(faulthandler.is_enabled())
    world = faulty_world(2)
    say_faults(world)
    faulthandler.disable()  # what was there before is put back in the place of the kernels' handlers
    say_faults(world)
    faulthandler.enable()
    say_faults(world)
    print("end", flush=True)
    sys.stderr.flush()


if __name__ == "__main__":
    main()
