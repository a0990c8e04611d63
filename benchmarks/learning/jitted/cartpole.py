"""Many CartPoles in JAX: Gymnasium's CartPole-v1, whose episodes begin again where they end."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

GRAVITY, CART_MASS, POLE_MASS, HALF_LENGTH, FORCE, STEP_SECONDS = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02
POSITION_LIMIT, ANGLE_LIMIT, START_RANGE, EPISODE_LENGTH = 2.4, 0.20943951, 0.05, 500
FEATURES, ACTIONS = 4, 2


class State(NamedTuple):
    """Of each env.

    Attributes:
        cart: (num_envs, 4) float32, position, velocity, angle, angular velocity, which are also what is observed.
        steps: (num_envs,) int32, of the episode.
    """

    cart: Array
    steps: Array


def reset(key: Array, num_envs: int) -> State:
    """New episodes."""
    cart = jax.random.uniform(key, (num_envs, FEATURES), minval=-START_RANGE, maxval=START_RANGE)
    return State(cart, jnp.zeros(num_envs, jnp.int32))


def step(key: Array, state: State, actions: Array) -> tuple[State, Array, Array]:
    """One step of each env; one that ends begins a new episode.

    Args:
        key: of the new episodes' first states.
        state: before the step.
        actions: (num_envs,) int32, 0 or 1.

    Returns:
        The state after the step, rewards (num_envs,) float32, and (num_envs,) bool where an episode ended.
    """
    moved = _moved(state.cart, jnp.where(actions == 1, FORCE, -FORCE))
    steps = state.steps + 1
    failed = (jnp.abs(moved[:, 0]) > POSITION_LIMIT) | (jnp.abs(moved[:, 2]) > ANGLE_LIMIT)
    ends = failed | (steps >= EPISODE_LENGTH)
    fresh = reset(key, len(actions))
    after = State(jnp.where(ends[:, None], fresh.cart, moved), jnp.where(ends, fresh.steps, steps))
    return after, jnp.ones(len(actions)), ends


def _moved(cart: Array, force: Array) -> Array:
    """An Euler step."""
    velocity, angle, turning = cart[:, 1], cart[:, 2], cart[:, 3]
    sine, cosine, total = jnp.sin(angle), jnp.cos(angle), CART_MASS + POLE_MASS
    pushed = (force + POLE_MASS * HALF_LENGTH * turning**2 * sine) / total
    angular = (GRAVITY * sine - cosine * pushed) / (HALF_LENGTH * (4.0 / 3.0 - POLE_MASS * cosine**2 / total))
    linear = pushed - POLE_MASS * HALF_LENGTH * angular * cosine / total
    changes = jnp.stack((velocity, linear, turning, angular), 1)
    return cart + STEP_SECONDS * changes
