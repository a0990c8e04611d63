"""What it costs to step a World through the protocols of others, beside other libraries' own envs and theirs as worlds.

Every call takes new actions from outside, so that all systems do the same work.
"""

from __future__ import annotations

import importlib.util
import itertools
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

import warpworld
from warpworld import World
from warpworld.environment import get_environment

from .rows import AdapterRow

NAME = "adapters"
SIZES = (1, 8, 64, 4096)
DRAWS, WINDOWS = 16, 5
Call = Callable[[], object]


def actions(num_envs: int, choices: int = 2) -> Callable[[], np.ndarray]:
    """What gives the next of some sets of actions that were drawn beforehand."""
    drawn = [draw.astype(np.int32) for draw in np.random.default_rng(0).integers(0, choices, (DRAWS, num_envs))]
    return itertools.cycle(drawn).__next__


# ---- cartpole --------------------------------------------------------------------------------------------------------
def plain_steps(num_envs: int) -> Call:
    """``world.step`` by itself."""
    world = warpworld.make("cartpole", num_envs, "cpu", num_workers=1)
    world.reset()
    world["actions"].random_(0, 2)
    return world.step


def views(num_envs: int) -> Call:
    """Actions written into the store's NumPy view, and a step: the least that a caller's loop does."""
    world, draw = warpworld.make("cartpole", num_envs, "cpu", num_workers=1), actions(num_envs)
    world.reset()
    view, step = world.data.numpy("actions")[:, 0, 0], world.step

    def call() -> None:
        view[...] = draw()
        step()

    return call


def adapted(num_envs: int, **options: Any) -> Call:
    """A step through an adapter."""
    env, draw = warpworld.make("cartpole", num_envs, "cpu", num_workers=1, **options), actions(num_envs)
    env.reset()
    return lambda: env.step(draw())


def disabled(num_envs: int) -> Call:
    """A step through the VectorEnv whose caller resets ended envs."""
    env = warpworld.make("cartpole", num_envs, "cpu", num_workers=1, api="gymnasium", autoreset="disabled")
    draw = actions(num_envs)
    env.reset()

    def call() -> None:
        _, _, terminated, truncated, _ = env.step(draw())
        ended = terminated | truncated
        if ended.any():
            env.reset(options={"reset_mask": ended})

    return call


def envpool(num_envs: int) -> Call:
    """EnvPool with one thread, all envs in a call."""
    import envpool as library

    env = library.make("CartPole-v1", env_type="gymnasium", num_envs=num_envs, num_threads=1)
    draw = actions(num_envs)
    env.reset()
    return lambda: env.step(draw())


def gymnasium_numpy(num_envs: int) -> Call:
    """Gymnasium's CartPole written in NumPy for many envs."""
    from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv

    env, draw = CartPoleVectorEnv(num_envs=num_envs), actions(num_envs)
    env.reset(seed=0)
    return lambda: env.step(draw())


def gymnax_scan(num_envs: int) -> Call:
    """128 steps of gymnax in one jitted scan; the row is of one of them."""
    import gymnax as library
    import jax

    env, params = library.make("CartPole-v1")
    step_all = jax.vmap(env.step, in_axes=(0, 0, 0, None))
    keys = jax.random.split(jax.random.PRNGKey(0), num_envs)
    _, first = jax.vmap(env.reset, in_axes=(0, None))(keys, params)
    draw = actions(num_envs)
    drawn = jax.numpy.stack([jax.numpy.asarray(draw()) for _ in range(128)])
    run = jax.jit(lambda state: jax.lax.scan(lambda s, a: (step_all(keys, s, a, params)[1], 0), state, drawn)[0])
    state = [first]

    def call() -> None:
        state[0] = jax.block_until_ready(run(state[0]))

    return call


@dataclass(frozen=True)
class System:
    """Who steps cartpole.

    Attributes:
        name: in the table.
        make: makes its call.
        package: that must be installed.
        most: the largest number of envs that it is asked for.
        steps: env steps of a call, for each env.
    """

    name: str
    make: Callable[[int], Call]
    package: str = "warpworld"
    most: int = SIZES[-1]
    steps: int = 1


CARTPOLE = (
    System("world.step", plain_steps),
    System("NumPy view, step", views),
    System("VectorEnv, same step", lambda n: adapted(n, api="gymnasium", autoreset="same_step")),
    System("VectorEnv, no copies", lambda n: adapted(n, api="gymnasium", autoreset="same_step", copy=False)),
    System(
        "VectorEnv, same step, unchecked",
        lambda n: adapted(n, api="gymnasium", autoreset="same_step", check_actions=False),
    ),
    System("VectorEnv, next step", lambda n: adapted(n, api="gymnasium")),
    System("VectorEnv, disabled", disabled),
    System("Stable-Baselines3", lambda n: adapted(n, api="sb3"), "stable_baselines3"),
    System("pool", lambda n: adapted(n, api="pool")),
    System("EnvPool", envpool, "envpool"),
    System("Gymnasium, NumPy", gymnasium_numpy),
    System("gymnax, scan of 128", gymnax_scan, "gymnax", steps=128),
)


# ---- other libraries' envs as worlds ---------------------------------------------------------------------------------
def as_world(num_envs: int, choices: int, **params: Any) -> Call:
    """Another library's envs, stepped as a World."""
    world, draw = World(get_environment("external")(**params), num_envs, "cpu"), actions(num_envs, choices)
    world.reset()

    def call() -> None:
        world["actions"] = torch.from_numpy(draw()).view(num_envs, 1, 1)
        world.step()

    return call


def acrobots(num_envs: int) -> Call:
    """Gymnasium's own loop over its envs."""
    import gymnasium
    from gymnasium.vector import AutoresetMode

    env = gymnasium.make_vec("Acrobot-v1", num_envs, "sync", vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP})
    draw = actions(num_envs, 3)
    env.reset(seed=0)
    return lambda: env.step(draw())


def pongs(num_envs: int) -> Call:
    """ALE's own vector environment."""
    from ale_py.vector_env import AtariVectorEnv
    from gymnasium.vector import AutoresetMode

    env = AtariVectorEnv("pong", num_envs, autoreset_mode=AutoresetMode.SAME_STEP, num_threads=1)
    draw = actions(num_envs, 6)
    env.reset(seed=0)
    return lambda: env.step(draw())


EXTERNAL = (
    ("acrobot", 64, System("Gymnasium, sync", acrobots)),
    ("acrobot", 64, System("external", lambda n: as_world(n, 3, id="Acrobot-v1"))),
    ("pong", 16, System("ALE", pongs, "ale_py")),
    (
        "pong",
        16,
        System("external", lambda n: as_world(n, 6, library="ale", id="pong", options={"num_threads": 1}), "ale_py"),
    ),
)


# ---- a policy beside the envs ----------------------------------------------------------------------------------------
def with_policy(name: str, num_envs: int, num_batches: int) -> Call:
    """A round over the batches of a pool, each acted in by a network of two layers of 64 while another is stepped."""
    size = num_envs // num_batches
    pool = warpworld.make(name, num_envs, "cpu", num_workers=1, api="pool", batch_size=size, check_actions=False)
    features, space = pool.observation_space.shape[-1], pool.action_space
    choices = int(space.n if hasattr(space, "n") else np.max(space.nvec))
    network = torch.nn.Sequential(
        *(torch.nn.Linear(features, 64), torch.nn.Tanh(), torch.nn.Linear(64, 64), torch.nn.Tanh()),
        torch.nn.Linear(64, choices),
    ).requires_grad_(False)
    pool.async_reset()

    def call() -> None:
        for _ in range(num_batches):
            observations, *_, infos = pool.recv()
            logits = network(torch.from_numpy(observations))
            drawn = (logits - torch.rand_like(logits).log().neg().log()).argmax(-1)  # as from a Categorical
            pool.send(drawn.numpy(), infos["env_id"])

    return call


def policy_systems(name: str) -> list[System]:
    """A pool of one batch, of two and of four."""
    words = {1: "pool and policy, one batch", 2: "two batches", 4: "four batches"}
    return [System(text, lambda n, parts=parts: with_policy(name, n, parts)) for parts, text in words.items()]  # type: ignore[misc]


POLICIES = (("cartpole, policy", "cartpole", 4096), ("tag_gridworld, policy", "tag_gridworld", 1024))


# ---- measuring -------------------------------------------------------------------------------------------------------
def rows(seconds: float) -> Iterator[AdapterRow]:
    """Every system that is installed, on every number of envs."""
    for num_envs in SIZES:
        for system in CARTPOLE:
            if importlib.util.find_spec(system.package) is not None and num_envs <= system.most:
                yield measured("cartpole", system, num_envs, seconds)
    for world, num_envs, system in EXTERNAL:
        if importlib.util.find_spec(system.package) is not None:
            yield measured(world, system, num_envs, seconds)

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the other core steps envs
    for title, name, num_envs in POLICIES:
        for system in policy_systems(name):
            yield measured(title, system, num_envs, seconds)
    torch.set_num_threads(threads)


def measured(world: str, system: System, num_envs: int, seconds: float) -> AdapterRow:
    """One row of a table."""
    call = system.make(num_envs)
    windows = [_window(call, seconds / 2 if number == 0 else seconds) for number in range(WINDOWS + 1)][1:]
    wall, cpu = (statistics.median(figures) / system.steps for figures in zip(*windows, strict=True))
    walls = [each for each, _ in windows]
    spread = (max(walls) - min(walls)) / statistics.median(walls)
    return AdapterRow(world, system.name, num_envs, wall, cpu, spread)


def _window(call: Call, seconds: float) -> tuple[float, float]:
    """Wall time and CPU time of a call."""
    done, batch, start, cpu = 0, 1, time.perf_counter(), time.process_time()
    while done == 0 or time.perf_counter() - start < seconds:
        for _ in range(batch):
            call()
        done, batch = done + batch, min(2 * batch, 256)
    return (time.perf_counter() - start) / done, (time.process_time() - cpu) / done
