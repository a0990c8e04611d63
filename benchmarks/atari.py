"""Speed of an Atari game as a world of ours, beside EnvPool, ALE's vector environment and Gymnasium.

``python -m benchmarks.atari [--game GAME] [--envs N] [--threads N] [--seconds S]`` prints env steps a second, of four
frames each and with the same grey pictures of 84 x 84. Systems take turns, and the median of the rounds counts for
each. Beside it stands the time until the first observations of all games; the last line has what a copy of all states
takes.
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

import warpworld

ROUNDS = 5
DRAWS = 16


@dataclass(frozen=True)
class System:
    """What plays the games.

    Attributes:
        name: in the table.
        package: what must be importable.
        make: from a game, its number of envs and of threads, a step of some envs and how many it advances.
    """

    name: str
    package: str
    make: Callable[[str, int, int], tuple[Callable[[], object], int]]


def _draws(choices: int, envs: int, dtype: Any) -> Callable[[], np.ndarray]:
    drawn = np.random.default_rng(0).integers(0, choices, (DRAWS, envs)).astype(dtype)
    number = iter(range(1 << 62))
    return lambda: drawn[next(number) % DRAWS]


def atari(game: str, envs: int, threads: int) -> tuple[Callable[[], object], int]:
    """The world of this package."""
    world = warpworld.make("atari", envs, device="cpu", num_workers=threads, game=game)
    world.reset()
    draw = _draws(len(world.groups["agent"].action_names or ()), envs, np.int32)

    def step() -> None:
        world.data.numpy("actions")[...] = draw().reshape(world["actions"].shape)
        world.step()

    return step, envs


def ale_vector(game: str, envs: int, threads: int) -> tuple[Callable[[], object], int]:
    """ALE's own vector environment."""
    from ale_py.vector_env import AtariVectorEnv

    vector = AtariVectorEnv(game, envs, num_threads=threads)
    vector.reset(seed=0)
    draw = _draws(int(vector.single_action_space.n), envs, np.int64)  # type: ignore[attr-defined]
    return lambda: vector.step(draw()), envs


def envpool_sync(game: str, envs: int, threads: int) -> tuple[Callable[[], object], int]:
    """EnvPool, all games at once."""
    import envpool

    pool = envpool.make(_task(game), env_type="gymnasium", num_envs=envs, num_threads=threads)
    pool.reset()
    draw = _draws(pool.action_space.n, envs, np.int32)
    return lambda: pool.step(draw()), envs


def envpool_async(game: str, envs: int, threads: int) -> tuple[Callable[[], object], int]:
    """EnvPool, the half of the games that is ready first."""
    import envpool

    half = max(envs // 2, 1)
    pool = envpool.make(_task(game), env_type="gymnasium", num_envs=envs, batch_size=half, num_threads=threads)
    pool.async_reset()
    draw = _draws(pool.action_space.n, half, np.int32)

    def step() -> None:
        info = pool.recv()[-1]
        pool.send(draw(), info["env_id"])

    return step, half


def gymnasium(game: str, envs: int, _threads: int) -> tuple[Callable[[], object], int]:
    """Gymnasium's games one after the other, behind its own preprocessing."""
    import ale_py
    import gymnasium as library
    from gymnasium.wrappers import AtariPreprocessing, FrameStackObservation

    library.register_envs(ale_py)

    def made() -> Any:
        single = library.make(f"ALE/{_camel(game)}-v5", frameskip=1, repeat_action_probability=0.0)
        return FrameStackObservation(AtariPreprocessing(single), 4)

    vector = library.vector.SyncVectorEnv([made] * envs)
    vector.reset(seed=0)
    draw = _draws(vector.single_action_space.n, envs, np.int64)  # type: ignore[attr-defined]
    return lambda: vector.step(draw()), envs


def _camel(game: str) -> str:
    return "".join(word.capitalize() for word in game.split("_"))


def _task(game: str) -> str:
    return f"{_camel(game)}-v5"


SYSTEMS = (
    System("warpworld", "ale_py", atari),
    System("ALE's vector environment", "ale_py", ale_vector),
    System("EnvPool", "envpool", envpool_sync),
    System("EnvPool, half of the games at once", "envpool", envpool_async),
    System("Gymnasium", "cv2", gymnasium),
)


def rates(game: str, envs: int, threads: int, seconds: float) -> dict[str, tuple[float, float]]:
    """Seconds until the first observations, and env steps a second, by the name of each system that is installed."""
    steps, found = {}, {}
    for system in SYSTEMS:
        if importlib.util.find_spec(system.package) is None:
            continue
        begin = time.perf_counter()
        steps[system.name] = system.make(game, envs, threads)
        found[system.name] = time.perf_counter() - begin
    windows: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(ROUNDS):
        for name, (step, advanced) in steps.items():
            begin, count = time.perf_counter(), 0
            while (passed := time.perf_counter() - begin) < seconds:
                step()
                count += advanced
            windows[name].append(count / passed)
    return {name: (found[name], statistics.median(windows[name])) for name in steps}


def milliseconds_of_states(game: str, envs: int) -> tuple[float, float]:
    """Milliseconds that it takes to copy all that a checkpoint holds of the games, and to put it back; medians."""
    with warpworld.make("atari", envs, device="cpu", game=game) as world:
        world.reset()
        world.step()
        taken, put = [], []
        for _ in range(ROUNDS + 1):
            begin = time.perf_counter()
            saved = world.snapshot()
            middle = time.perf_counter()
            world.restore(saved)
            taken.append(1e3 * (middle - begin))
            put.append(1e3 * (time.perf_counter() - middle))
        return statistics.median(taken[1:]), statistics.median(put[1:])


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--game", default="pong")
    parser.add_argument("--envs", type=int, default=64)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2.0, help="of a system in each round")
    given = parser.parse_args(arguments)
    atari(given.game, 1, 1)  # compiles, which no start counts
    found = rates(given.game, given.envs, given.threads, given.seconds)
    ours = found["warpworld"][1]
    print(f"{given.game}, {given.envs} games, {given.threads} thread{'s' * (given.threads != 1)}")
    for name, (start, rate) in found.items():
        print(f"{name:<36} {rate:8,.0f} env steps/s, {rate / ours:.2f} of ours; starts in {start:.2f} s")
    taken, put = milliseconds_of_states(given.game, given.envs)
    print(f"a copy of all states takes {taken:.1f} ms, and to put it back {put:.1f} ms")


if __name__ == "__main__":
    main()
