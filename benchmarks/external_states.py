"""Cost of states of other libraries' envs: taken for a checkpoint and put back, beside a step.

``python -m benchmarks.external_states [--games N]`` prints processor time, best of several, in turn in one run: of 64
games of ALE's Pong through Gymnasium, and of smaller envs.
"""

from __future__ import annotations

import argparse
import contextlib
import io
from collections.abc import Callable, Sequence
from time import process_time
from typing import Any

from warpworld import World
from warpworld.environment import get_environment
from warpworld.runs.tensors import save_tensors
from warpworld.world import RandomActions

ENVS: dict[str, dict[str, Any]] = {
    "ALE/Pong-v5": {
        "library": "gymnasium",
        "id": "ale_py:ALE/Pong-v5",
        "options": {"repeat_action_probability": 0.0, "obs_type": "ram"},
    },
    "CartPole-v1": {"library": "gymnasium", "id": "CartPole-v1"},
    "Taxi-v4": {"library": "gymnasium", "id": "Taxi-v4"},
    "mpe2 simple_spread_v3": {"library": "pettingzoo", "id": "mpe2.simple_spread_v3"},
}


def best(call: Callable[[], object], times: int) -> float:
    """Least processor seconds of a call, threads included."""
    found = []
    for _ in range(times):
        began = process_time()
        call()
        found.append(process_time() - began)
    return min(found)


def figures(name: str, envs: int, times: int) -> dict[str, float]:
    """Processor seconds of each call, for all envs together."""
    with contextlib.ExitStack() as stack:
        world = stack.enter_context(World(get_environment("external")(**ENVS[name]), envs, "cpu"))
        world.reset()
        actions = RandomActions(world, 0)

        def step() -> None:
            actions.draw()
            actions.put(world, slice(None))
            world.step()

        for _ in range(20):
            step()
        found = {"step": best(step, times)}
        if world.environment.resumable:
            snapshot = world.snapshot()
            found["take"] = best(world.snapshot, times)
            found["checkpoint"] = best(lambda: save_tensors({"store": world.snapshot()}, io.BytesIO()), times)
            found["put back"] = best(lambda: world.restore(snapshot), times)
        return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", type=int, default=64, help="envs of each kind")
    parser.add_argument("--times", type=int, default=10, help="calls, of which the shortest counts")
    given = parser.parse_args(arguments)
    print(f"processor seconds of {given.games} envs")
    for name in ENVS:
        costs = figures(name, given.games, given.times)
        print(f"{name:<24} " + ", ".join(f"{call} {seconds:.4f}" for call, seconds in costs.items()))


if __name__ == "__main__":
    main()
