"""Speed of a C++ class as an environment, beside the package's kernel of the same rules.

``python -m benchmarks.residents [--envs N] [--workers N]`` prints the cost of a step of CartPole as a class with
virtual functions, as a kernel with and without vectors, and of a fork, in turn in one run. The best of many windows
counts for each.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from gymnasium.spaces import Box, Discrete

from benchmarks.states import nanoseconds
from warpworld import Environment, Group, World
from warpworld.environment import get_environment

VECTORS = "ENVS_IN_VECTORS;"  # lets a CPU run several envs side by side


class ResidentCartPole(Environment):
    """CartPole as a C++ class."""

    source = "resident_cartpole.cu"
    devices = ("cpu",)
    resident_bytes = 16

    @dataclass(frozen=True)
    class Params:
        """Constants of the kernels."""

        episode_length: int = 500

    def groups(self) -> Sequence[Group]:
        """The pole's one agent."""
        return [Group("pole", 1, Box(-np.inf, np.inf, (4,)), Discrete(2))]


def scalar_cartpole(folder: Path) -> Environment:
    """The package's CartPole without vectors, whose kernel file is written into a folder."""
    packaged = get_environment("cartpole")
    path = packaged.source_path()
    assert path is not None  # it has kernels
    text = path.read_text(encoding="utf-8")
    if VECTORS not in text:
        raise ValueError(f"{path} has no {VECTORS}")
    (folder / "cartpole.cu").write_text(text.replace(VECTORS, ""), encoding="utf-8")
    environment: Environment = type("ScalarCartPole", (packaged,), {"source": str(folder / "cartpole.cu")})()
    return environment


def figures(envs: int, workers: int, windows: int = 300) -> dict[str, float]:
    """Nanoseconds of an env step, or of an env that is forked, by call."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        environments = get_environment("cartpole")(), scalar_cartpole(folder), ResidentCartPole()
        worlds = [stack.enter_context(World(each, envs, "cpu", num_workers=workers)) for each in environments]
        for world in worlds:
            world.reset()
        names = "kernel, in vectors", "kernel", "class"
        calls = {f"{name}: step": (world.step, envs) for name, world in zip(names, worlds, strict=True)}
        return nanoseconds(calls | {"class: fork(0, all others)": (fork_of(worlds[-1]), envs - 1)}, windows)


def fork_of(world: World) -> Callable[[], object]:
    """A call that makes all envs as the first."""
    return lambda: world.fork(0, range(1, world.num_envs))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--envs", type=int, default=4096)
    parser.add_argument("--workers", type=int, default=1)
    given = parser.parse_args(arguments)
    found = figures(given.envs, given.workers)
    for name, cost in found.items():
        print(f"{name:<28} {cost:7.1f} ns = {cost / found['kernel: step']:.2f} steps of the kernel")


if __name__ == "__main__":
    main()
