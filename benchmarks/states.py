"""The cost of states of envs: ``state``, ``set_state`` and ``fork``, each as a number of env steps.

``python -m benchmarks.states [--envs N] [--workers N]`` prints a table. Steps and copies take turns in one run, and the
best of many windows counts for each.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence

import warpworld
from warpworld import World

WORLDS = ("cartpole", "connect_four", "tag_gridworld")
WINDOWS = 300

Call = tuple[Callable[[], object], int]  # and how many envs it works on


def calls_of(world: World) -> dict[str, Call]:
    """The calls to compare, by name; the step comes first."""
    envs, half, saved = world.num_envs, world.num_envs // 2, world.state()
    return {
        "step": (world.step, envs),
        "state()": (world.state, envs),
        "set_state(all)": (lambda: world.set_state(slice(None), saved), envs),
        "fork(0, all others)": (lambda: world.fork(0, range(1, envs)), envs - 1),
        "the same, reseed": (lambda: world.fork(0, range(1, envs), reseed=True), envs - 1),
        "fork(one half, the other)": (lambda: world.fork(range(half), range(half, 2 * half)), half),
    }


def nanoseconds(calls: dict[str, Call], windows: int = WINDOWS) -> dict[str, float]:
    """The least time of each call, for each env that it works on."""
    least = dict.fromkeys(calls, float("inf"))
    for _ in range(windows):
        for name, (call, envs) in calls.items():
            start = time.perf_counter()
            call()
            least[name] = min(least[name], (time.perf_counter() - start) * 1e9 / envs)
    return least


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--envs", type=int, default=4096)
    parser.add_argument("--workers", type=int, default=1)
    given = parser.parse_args(arguments)
    for name in WORLDS:
        with warpworld.make(name, given.envs, device="cpu", num_workers=given.workers) as world:
            world.reset()
            figures = nanoseconds(calls_of(world))
            step, width = figures.pop("step"), world.state([0]).shape[1]
            print(f"{name}, {given.envs:,} envs of {width} bytes: an env step takes {step:.1f} ns")
            for call, cost in figures.items():
                print(f"    {call:<26} {cost:6.1f} ns = {cost / step:.2f} env steps")


if __name__ == "__main__":
    main()
