"""What a step of many envs costs in PettingZoo's words: through SuperSuit's vector of ParallelEnvs, and through ours.

`python -m benchmarks.parallel_vectors` prints CPU time per call of Tag on a grid, four taggers and a runner, with new
actions for every agent and envs that are reset in the same step. SuperSuit is left out where it is not installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import warpworld

from .adapters import DRAWS, Call, System, measured
from .rows import AdapterRow, print_adapters

WORLD, PARAMS, CHOICES = "tag_gridworld", {"num_taggers": 4}, 5
SIZES = (8, 64, 1024)


def parallel_envs(num_envs: int) -> list[Any]:
    """PettingZoo's ParallelEnvs, one for each env."""
    return [warpworld.make(WORLD, api="parallel", device="cpu", num_workers=1, **PARAMS) for _ in range(num_envs)]


def draws(*shape: int) -> Callable[[], np.ndarray]:
    """Make a function that gives the next of some arrays of actions that were drawn beforehand."""
    return itertools.cycle(np.random.default_rng(0).integers(0, CHOICES, (DRAWS, *shape))).__next__


def loop(num_envs: int) -> Call:
    """A loop over ParallelEnvs, each of which is reset when its episode has ended."""
    envs, draw = parallel_envs(num_envs), draws(num_envs, len(parallel_envs(1)[0].possible_agents))
    for seed, env in enumerate(envs):
        env.reset(seed=seed)

    def call() -> None:
        for env, actions in zip(envs, draw(), strict=True):
            env.step(dict(zip(env.possible_agents, actions, strict=True)))
            if not env.agents:
                env.reset()

    return call


def concatenated(num_envs: int) -> Any:
    """SuperSuit's vector of ParallelEnvs: what ``concat_vec_envs_v1`` makes with one process.

    It is made directly: ``concat_vec_envs_v1`` pickles the env, which a World refuses.
    """
    from supersuit.vector import ConcatVecEnv, MarkovVectorEnv

    return ConcatVecEnv([lambda env=env: MarkovVectorEnv(env) for env in parallel_envs(num_envs)])


def supersuit(num_envs: int) -> Call:
    """A step of SuperSuit's vector, whose rows are agents."""
    envs = concatenated(num_envs)
    draw = draws(envs.num_envs)
    envs.reset(seed=0)
    return lambda: envs.step(draw())


def parallel_vector(num_envs: int, copy: bool = True) -> Call:
    """A step of our vector."""
    envs = warpworld.make(
        WORLD, num_envs, api="parallel_vector", device="cpu", num_workers=1, autoreset="same_step", copy=copy, **PARAMS
    )
    envs.reset(seed=0)
    draw = draws(len(envs.possible_agents), num_envs)
    return lambda: envs.step(dict(zip(envs.possible_agents, draw(), strict=True)))


SYSTEMS = (
    System("parallel_vector", parallel_vector),
    System("parallel_vector, no copies", lambda n: parallel_vector(n, copy=False)),
    System("loop over ParallelEnvs", loop),
    System("SuperSuit, ConcatVecEnv", supersuit, "supersuit"),
)


def rows(seconds: float) -> Iterator[AdapterRow]:
    """Every system that is installed, on every number of envs."""
    for num_envs in SIZES:
        for system in SYSTEMS:
            if importlib.util.find_spec(system.package) is not None:
                yield measured(WORLD, system, num_envs, seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each of five windows (default: 0.5)")
    print_adapters(rows(parser.parse_args().seconds))


if __name__ == "__main__":
    main()
