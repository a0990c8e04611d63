"""Envs of uneven cost behind one policy: all at once, in batches as sent, and as they are ready, beside EnvPool.

``python -m benchmarks.uneven [--envs N] [--threads N] [--width N] [--rounds N]`` prints env steps a second. Each step
of an env costs 1 to 100 microseconds, drawn anew; then one in 500 costs 10 ms, as a reset may. A policy, two matrix
products of torch on the calling thread, acts for each batch. Systems take turns in many short windows, and the best of
them counts for each: that in which other programs took the least.

EnvPool has no env whose cost can be chosen. Its rows are of two envs of its own whose steps and resets differ in cost,
each beside the same env stepped all at once, and of CartPole, which is the same in both systems and costs next to
nothing: what is left there is the cost of sending and receiving.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box, Discrete

from warpworld import Array, Environment, Group, World
from warpworld.adapters.pools import pool
from warpworld.environment import get_environment

SECONDS = 0.03  # of a window
TURNS = 1 << 16  # in a measurement of how long one takes
Step = Callable[[], int]  # a batch: acts and steps; returns how many envs it advanced


class Uneven(Environment):
    """One agent an env, whose steps cost ``least`` to ``most`` microseconds, and rarely more."""

    source = "uneven_costs.cu"

    @dataclass(frozen=True)
    class Params:
        """Constants of the kernels."""

        least: float = 1.0
        most: float = 100.0
        rarely: float = 0.0  # microseconds of one step in 500
        turns_per_microsecond: float = 1000.0  # of a loop; what the processor makes of them
        episode_length: int = 500

    def groups(self) -> Sequence[Group]:
        """The one agent."""
        return [Group("agent", 1, Box(0.0, 2.0**24, (1,)), Discrete(2))]

    def arrays(self) -> Sequence[Array]:
        """Where the work leaves its result."""
        return [Array("sum", "uint32", per="env")]


def turns_per_microsecond() -> float:
    """How many turns of the kernel's loop this processor makes in a microsecond, best of several measurements."""
    with World(Uneven(least=1.0, most=1.0, turns_per_microsecond=TURNS), 1, "cpu", num_workers=1) as world:
        world.reset()
        return max(TURNS / (1e6 * clocked(world.step)) for _ in range(200))


def clocked(call: Callable[[], object]) -> float:
    """Seconds of a call."""
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


class Policy:
    """Two matrix products for each batch, on one thread.

    Args:
        width: of the hidden layer.
        choices: number of actions; 0 for four numbers.
    """

    def __init__(self, width: int, choices: int) -> None:
        self._first, self._second = torch.randn(64, width), torch.randn(width, 4)
        self._choices, self._random = choices, np.random.default_rng(0)

    def __call__(self, count: int) -> np.ndarray:
        """Actions for ``count`` envs; drawn, since none is to learn."""
        torch.mm(torch.mm(torch.ones(count, 64), self._first).relu_(), self._second)
        if self._choices:
            return self._random.integers(0, self._choices, count).astype(np.int32)
        return self._random.uniform(-1, 1, (count, 4)).astype(np.float32)


def at_once(envs: Any, policy: Policy) -> Step:
    """All envs in each step."""
    envs.reset()

    def step() -> int:
        envs.step(policy(len(envs)))
        return len(envs)

    return step


def in_batches(envs: Any, policy: Policy) -> Step:
    """The batch that is received is sent again, while others are stepped."""
    envs.async_reset()

    def step() -> int:
        ids = envs.recv()[-1]["env_id"]
        envs.send(policy(len(ids)), ids)
        return len(ids)

    return step


def ours(environment: Environment, envs: int, threads: int, batches: int, order: str) -> Any:
    """A pool of a world."""
    world = World(environment, envs, "cpu", num_workers=threads, autoreset="next_step", check_actions=True)
    return pool(world, batch_size=envs // batches, order=order)


def envpool(task: str, envs: int, threads: int, batches: int) -> Any:
    """A pool of EnvPool's."""
    import envpool as library

    size = envs // batches
    return library.make(task, "gymnasium", num_envs=envs, batch_size=size, num_threads=threads, seed=1)


def systems(envs: int, threads: int, width: int) -> dict[str, Step]:
    """A step of each system, by its name."""
    turns = turns_per_microsecond()
    found: dict[str, Step] = {}
    kinds: dict[str, Callable[[], Environment]] = {
        "1 to 100 us": lambda: Uneven(turns_per_microsecond=turns),
        "1 to 100 us, rarely 10 ms": lambda: Uneven(rarely=1e4, turns_per_microsecond=turns),
        "cartpole": lambda: get_environment("cartpole")(),
    }
    for name, made in kinds.items():
        acting = Policy(width, 2)
        found[f"{name}: all at once"] = at_once(ours(made(), envs, threads, 1, "sent"), acting)
        for batches in (2, 4):
            for order in ("sent", "ready"):
                label = f"{name}: {batches} batches, {order}"
                found[label] = in_batches(ours(made(), envs, threads, batches, order), acting)
    if importlib.util.find_spec("envpool"):
        tasks = {"CartPole-v1": 2, "LunarLander-v3": 4, "BipedalWalkerHardcore-v3": 0}
        for task, choices in tasks.items():
            acting = Policy(width, choices)
            found[f"EnvPool's {task}: all at once"] = at_once(envpool(task, envs, threads, 1), acting)
            for batches in (2, 4):
                label = f"EnvPool's {task}: {batches} batches, ready"
                found[label] = in_batches(envpool(task, envs, threads, batches), acting)
    return found


def rates(steps: dict[str, Step], rounds: int) -> dict[str, float]:
    """Env steps a second of each system."""
    best = dict.fromkeys(steps, 0.0)
    for _ in range(rounds):
        for name, step in steps.items():
            begin, count = time.perf_counter(), 0
            while (passed := time.perf_counter() - begin) < SECONDS:
                count += step()
            best[name] = max(best[name], count / passed)
    return best


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--envs", type=int, default=32)
    parser.add_argument("--threads", type=int, default=2, help="that step envs, in each system")
    parser.add_argument("--width", type=int, default=256, help="of the policy's hidden layer")
    parser.add_argument("--rounds", type=int, default=60, help="windows of each system")
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    policy = Policy(given.width, 2)
    cost = 1e6 * statistics.median(clocked(lambda: policy(given.envs // 2)) for _ in range(200))
    print(f"{given.envs} envs, {given.threads} threads; the policy takes {cost:.0f} us for half of the envs")
    found = rates(systems(given.envs, given.threads, given.width), given.rounds)
    for name, rate in found.items():
        together = found[f"{name.partition(':')[0]}: all at once"]
        print(f"{name:<55} {rate:9,.0f} env steps/s, {rate / together:.2f} of all at once")


if __name__ == "__main__":
    main()
