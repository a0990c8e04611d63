"""Networks in JAX with as many weights as warpworld's: two perceptrons, and an encoder with a MinGRU or an LSTM."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from .cartpole import ACTIONS, FEATURES

WIDTH, CELL = 64, 128  # of hidden layers, and of what remembers
LONGEST = 128.0  # steps that a number of a new MinGRU lasts at most
Weights = Any  # a tree of arrays


@dataclass(frozen=True)
class Network:
    """Functions of weights.

    Attributes:
        make: key -> weights.
        state_size: numbers that an env's memory has; 0 for none.
        step: weights, (envs, features), state (envs, state_size) -> logits (envs, actions), values (envs,), and the
            state after it.
        unroll: weights, (T, envs, features), state before, (T, envs) bool where it is zeroed before a step -> logits
            and values of all steps. Without a memory there is no time: (rows, features) alone are read.
    """

    make: Callable[[Array], Weights]
    state_size: int
    step: Callable[[Weights, Array, Array], tuple[Array, Array, Array]]
    unroll: Callable[[Weights, Array, Array, Array], tuple[Array, Array]]


# ---- layers ----------------------------------------------------------------------------------------------------------
def linear(key: Array, inputs: int, outputs: int, gain: float) -> tuple[Array, Array]:
    """Orthogonal weights, (inputs, outputs), and zero biases."""
    return jax.nn.initializers.orthogonal(gain)(key, (inputs, outputs)), jnp.zeros(outputs)


def applied(layer: tuple[Array, Array], x: Array) -> Array:
    """(..., inputs) -> (..., outputs)."""
    return x @ layer[0] + layer[1]


def hidden(key: Array) -> list[tuple[Array, Array]]:
    """Two layers with a tanh behind each."""
    first, second = jax.random.split(key)
    return [linear(first, FEATURES, WIDTH, 2**0.5), linear(second, WIDTH, WIDTH, 2**0.5)]


def encoded(layers: list[tuple[Array, Array]], x: Array) -> Array:
    """(..., features) -> (..., width)."""
    for layer in layers:
        x = jnp.tanh(applied(layer, x))
    return x


# ---- two perceptrons -------------------------------------------------------------------------------------------------
def plain() -> Network:
    """An actor and a critic that share nothing."""

    def make(key: Array) -> Weights:
        keys = jax.random.split(key, 4)
        return {
            "actor": [*hidden(keys[0]), linear(keys[1], WIDTH, ACTIONS, 0.01)],
            "critic": [*hidden(keys[2]), linear(keys[3], WIDTH, 1, 1.0)],
        }

    def both(weights: Weights, x: Array) -> tuple[Array, Array]:
        actor, critic = (applied(weights[name][2], encoded(weights[name][:2], x)) for name in ("actor", "critic"))
        return actor, critic[..., 0]

    return Network(
        make, 0, lambda weights, x, state: (*both(weights, x), state), lambda weights, x, *_: both(weights, x)
    )


# ---- with a memory ---------------------------------------------------------------------------------------------------
def _remembering(
    make_cell: Callable[[Array], Weights],
    state_size: int,
    step_cell: Callable[[Weights, Array, Array], Array],
    unroll_cell: Callable[[Weights, Array, Array, Array], Array],
) -> Network:
    """An encoder, a cell behind it, and two linear heads; the first ``CELL`` numbers of a state are what these read."""

    def make(key: Array) -> Weights:
        keys = jax.random.split(key, 4)
        heads = linear(keys[2], CELL, ACTIONS, 0.01), linear(keys[3], CELL, 1, 1.0)
        return {"encoder": hidden(keys[0]), "cell": make_cell(keys[1]), "heads": heads}

    def said(weights: Weights, read: Array) -> tuple[Array, Array]:
        actor, critic = weights["heads"]
        return applied(actor, read), applied(critic, read)[..., 0]

    def step(weights: Weights, x: Array, state: Array) -> tuple[Array, Array, Array]:
        state = step_cell(weights["cell"], encoded(weights["encoder"], x), state)
        return *said(weights, state[:, :CELL]), state

    def unroll(weights: Weights, x: Array, state: Array, starts: Array) -> tuple[Array, Array]:
        return said(weights, unroll_cell(weights["cell"], encoded(weights["encoder"], x), state, starts))

    return Network(make, state_size, step, unroll)


def gated_mean(said: Array, state: Array, starts: Array) -> Array:
    """h_t = (1 - z_t) * h_{t-1} + z_t * c_t by a parallel scan over time, with h_{t-1} = 0 where an episode begins.

    Args:
        said: (T, S, 2 * size), the gates z before their sigmoid, and behind them the candidates c.
        state: (S, size), h before the first step.
        starts: (T, S) bool.

    Returns:
        (T, S, size), h after each step.
    """
    gates, candidates = jnp.split(said, 2, -1)
    gates = jax.nn.sigmoid(gates)
    kept = jnp.where(starts[..., None], 0.0, 1.0 - gates)
    added = gates * candidates
    added = added.at[0].add(kept[0] * state)

    def joined(one: tuple[Array, Array], other: tuple[Array, Array]) -> tuple[Array, Array]:
        return one[0] * other[0], other[0] * one[1] + other[1]

    means: Array = jax.lax.associative_scan(joined, (kept, added))[1]
    return means


def stepped_mean(said: Array, state: Array, starts: Array) -> Array:
    """The same, one step after the other."""

    def follow(before: Array, now: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        gate, candidate, begins = now
        before = jnp.where(begins[:, None], 0.0, before)
        after = before + gate * (candidate - before)
        return after, after

    gates, candidates = jnp.split(said, 2, -1)
    means: Array = jax.lax.scan(follow, state, (jax.nn.sigmoid(gates), candidates, starts))[1]
    return means


def mingru(mean: Callable[[Array, Array, Array], Array] = gated_mean) -> Network:
    """A minimal GRU (Feng et al. 2024), whose gates read the input alone."""

    def make(key: Array) -> Weights:
        keys = jax.random.split(key, 3)
        parts = [linear(each, WIDTH, CELL, 1.0)[0] for each in keys[:2]]
        bias = -jnp.log(jax.random.uniform(keys[2], (CELL,), minval=1.0, maxval=LONGEST - 1.0))
        return jnp.concatenate(parts, 1), jnp.concatenate((bias, jnp.zeros(CELL)))

    def step(weights: Weights, x: Array, state: Array) -> Array:
        gates, candidates = jnp.split(applied(weights, x), 2, -1)
        gates = jax.nn.sigmoid(gates)
        return (1.0 - gates) * state + gates * candidates

    def unroll(weights: Weights, x: Array, state: Array, starts: Array) -> Array:
        return mean(applied(weights, x), state, starts)

    return _remembering(make, CELL, step, unroll)


def lstm() -> Network:
    """An LSTM; as torch's, it has two biases."""

    def make(key: Array) -> Weights:
        from_input, from_state = jax.random.split(key)
        return linear(from_input, WIDTH, 4 * CELL, 1.0), linear(from_state, CELL, 4 * CELL, 1.0)

    def advanced(weights: Weights, of_input: Array, state: Array) -> Array:
        """What the input says, (envs, 4 * size), and the state -> the state after it."""
        output, memory = jnp.split(state, 2, -1)
        entering, kept, candidate, leaving = jnp.split(of_input + applied(weights[1], output), 4, -1)
        memory = jax.nn.sigmoid(kept) * memory + jax.nn.sigmoid(entering) * jnp.tanh(candidate)
        return jnp.concatenate((jax.nn.sigmoid(leaving) * jnp.tanh(memory), memory), -1)

    def step(weights: Weights, x: Array, state: Array) -> Array:
        return advanced(weights, applied(weights[0], x), state)

    def unroll(weights: Weights, x: Array, state: Array, starts: Array) -> Array:
        def follow(state: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
            of_input, begins = now
            state = advanced(weights, of_input, jnp.where(begins[:, None], 0.0, state))
            return state, state[:, :CELL]

        outputs: Array = jax.lax.scan(follow, state, (applied(weights[0], x), starts))[1]
        return outputs

    return _remembering(make, 2 * CELL, step, unroll)


NETWORKS: dict[str, Callable[[], Network]] = {
    "plain": plain,
    "mingru": mingru,
    "mingru, stepped": lambda: mingru(stepped_mean),
    "lstm": lstm,
}
