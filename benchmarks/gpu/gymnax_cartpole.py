"""gymnax's CartPole under JAX on the same device: random actions drawn inside, steps in one compiled loop."""

from __future__ import annotations

import importlib.util
import os

from .cases import CARTPOLE
from .clock import measure
from .part import Context, SkippedError

STEPS = 64  # of a compiled loop


def measure_gymnax(context: Context) -> None:
    """Env steps a second with as many envs as our own row has."""
    missing = [name for name in ("jax", "gymnax") if importlib.util.find_spec(name) is None]
    if missing:
        raise SkippedError(f"{' and '.join(missing)} not installed")
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    import gymnax
    import jax

    if context.device == "cuda" and jax.default_backend() != "gpu":
        raise SkippedError(f"jax runs on {jax.default_backend()} here")
    num_envs = context.size(CARTPOLE.num_envs, 16)
    env, params = gymnax.make("CartPole-v1")
    reset_all = jax.vmap(env.reset, in_axes=(0, None))
    step_all = jax.vmap(env.step, in_axes=(0, 0, 0, None))

    def step(carry: tuple, _: None) -> tuple:
        key, state = carry
        key, for_actions, for_steps = jax.random.split(key, 3)
        actions = jax.random.randint(for_actions, (num_envs,), 0, 2)
        _, state, reward, *_ = step_all(jax.random.split(for_steps, num_envs), state, actions, params)
        return (key, state), reward.sum()

    loop = jax.jit(lambda carry: jax.lax.scan(step, carry, None, STEPS))
    carry = [(jax.random.PRNGKey(1), reset_all(jax.random.split(jax.random.PRNGKey(0), num_envs), params)[1])]

    def call() -> None:
        carry[0], rewards = loop(carry[0])
        jax.block_until_ready(rewards)

    timing = measure(call, "cpu", *((0.01, 2) if context.quick else (0.25, 7)))  # each call waits for the device
    speed = num_envs * STEPS / timing.median
    context.row(world="cartpole", system="gymnax", num_envs=num_envs, env_steps_per_s=speed, spread=timing.spread)
    context.report(backend=jax.default_backend(), headline=f"{speed / 1e6:.3g} M env steps/s")
