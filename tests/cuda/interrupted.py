"""What test_interrupts.py runs in a process of its own: it says what it does, and is sent signals meanwhile."""

from __future__ import annotations

import ctypes
import faulthandler
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType

from tests.cuda.test_faults import MODES, faulty_world, goes_on
from warpworld import World
from warpworld.errors import KernelError


def say(*words: object) -> None:
    print(*words, flush=True)


def outcome(step: Callable[[], None]) -> str:
    """How a call ended."""
    try:
        step()
    except KeyboardInterrupt:
        return "KeyboardInterrupt"
    except KernelError as error:
        return f"KernelError: {error}"
    return "returned"


def endless(world: World, mode: str = "endless") -> None:
    """Steps that never end, unless they are interrupted."""
    world["mode"] = MODES.index(mode)
    say("running")
    say(outcome(world.step), goes_on(world), signal.getsignal(signal.SIGINT).__name__)


def short_steps(world: World) -> None:
    """Steps that end quickly, for ever."""
    say("running")

    def steps() -> None:
        while True:
            world.step()

    say(outcome(steps), goes_on(world))


def own_handler(world: World) -> None:
    """A handler of the program's own hears of every Ctrl-C, and the steps go on."""
    heard = []

    def hear(number: int, frame: FrameType | None) -> None:
        heard.append(number)

    signal.signal(signal.SIGINT, hear)
    say("running")
    while not heard:
        world.step()
    say("heard", goes_on(world))
    signal.signal(signal.SIGINT, signal.default_int_handler)


def other_thread(world: World) -> None:
    """The kernel runs in a thread of Python's that is not the main one, where Ctrl-C is heard."""
    world["mode"] = MODES.index("endless")
    ended = []
    thread = threading.Thread(target=lambda: ended.append(outcome(world.step)))
    thread.start()
    say("running")
    main = outcome(lambda: time.sleep(10))
    while not ended:
        time.sleep(0.01)
    say(main, ended[0], goes_on(world))


def ignored(world: World) -> None:
    """Who ignores Ctrl-C is not interrupted: the kernel runs into its time limit."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    world["mode"] = MODES.index("endless")
    say("running")
    say(outcome(world.step), goes_on(world))
    signal.signal(signal.SIGINT, signal.default_int_handler)


def with_faulthandler(world: World) -> None:
    """Faults are the kernels' affair, though Python's faulthandler came after them."""
    world["mode"] = MODES.index("null_pointer")
    faulthandler.enable()
    say(outcome(world.step), goes_on(world))


if __name__ == "__main__":
    kernels = [faulty_world(workers) for workers in (1, 2)]
    for number, kernel_world in enumerate(kernels):
        endless(kernel_world, ("endless", "barriers")[number])
        short_steps(kernel_world)
    own_handler(kernels[1])
    other_thread(kernels[1])
    ignored(faulty_world(2))
    with_faulthandler(kernels[1])
    say("end")
    ctypes.string_at(8)  # a fault outside of kernels is faulthandler's affair, and ends the process
