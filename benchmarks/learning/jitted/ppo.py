"""An iteration of PPO as one jitted program. Formulas and settings are those of the baseline in torch."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from ..eager import ADAM_EPS, CLIP, ENT_COEF, GAE_LAMBDA, GAMMA, LEARNING_RATE, MAX_GRAD_NORM, VF_COEF
from . import cartpole
from .networks import Network, Weights

BETAS = 0.9, 0.999  # of Adam


class Learner(NamedTuple):
    """What an update changes: weights, and Adam's moments and number of steps."""

    weights: Weights
    first: Weights
    second: Weights
    steps: Array


class Acting(NamedTuple):
    """What a step changes.

    Attributes:
        env: state of the envs.
        memory: (num_envs, state_size) float32.
        starts: (num_envs,) bool, where the next step is an episode's first.
        key: of random numbers.
    """

    env: cartpole.State
    memory: Array
    starts: Array
    key: Array


class Rollout(NamedTuple):
    """(T, num_envs, ...) each."""

    observations: Array
    starts: Array
    actions: Array
    log_probs: Array
    values: Array
    rewards: Array
    ends: Array


class Rows(NamedTuple):
    """What a minibatch has; the first dimensions are (rows,), or (T, sequences) where the network remembers."""

    observations: Array
    starts: Array
    actions: Array
    log_probs: Array
    values: Array
    advantages: Array
    returns: Array


class PPO:
    """PPO of one network.

    Attributes:
        iterate: learner, acting -> both after a rollout and its update; jitted.
        collect: learner's weights, acting -> acting after a rollout, and the rollout; jitted.
        update: learner, memory before the rollout, acting after it, rollout -> learner; jitted.
    """

    def __init__(
        self,
        network: Network,
        num_envs: int,
        num_steps: int,
        update_epochs: int,
        num_minibatches: int,
        learning_rate: float = LEARNING_RATE,
    ) -> None:
        self.network, self.learning_rate = network, learning_rate
        self.num_envs, self.num_steps = num_envs, num_steps
        self.update_epochs, self.num_minibatches = update_epochs, num_minibatches
        self.iterate = jax.jit(self._iterate)
        self.collect, self.update = jax.jit(self._collect), jax.jit(self._update)

    def start(self, seed: int) -> tuple[Learner, Acting]:
        """Drawn weights and new episodes."""
        weights, envs, acting = jax.random.split(jax.random.PRNGKey(seed), 3)
        learnt = self.network.make(weights)
        zeros = jax.tree.map(jnp.zeros_like, learnt)
        memory, starts = jnp.zeros((self.num_envs, self.network.state_size)), jnp.ones(self.num_envs, bool)
        first = Acting(cartpole.reset(envs, self.num_envs), memory, starts, acting)
        return Learner(learnt, zeros, zeros, jnp.zeros((), jnp.int32)), first

    def _iterate(self, learner: Learner, acting: Acting) -> tuple[Learner, Acting]:
        after, rollout = self._collect(learner.weights, acting)
        return self._update(learner, acting.memory, after, rollout), after

    # ---- rollout -----------------------------------------------------------------------------------------------------
    def _collect(self, weights: Weights, acting: Acting) -> tuple[Acting, Rollout]:
        def step(acting: Acting, _: None) -> tuple[Acting, Rollout]:
            key, of_actions, of_envs = jax.random.split(acting.key, 3)
            seen = acting.env.cart
            logits, values, memory = self.network.step(weights, seen, self._forgotten(acting))
            actions = jax.random.categorical(of_actions, logits)
            env, rewards, ends = cartpole.step(of_envs, acting.env, actions)
            row = Rollout(seen, acting.starts, actions, _log_probs(logits, actions), values, rewards, ends)
            return Acting(env, memory, ends, key), row

        after: tuple[Acting, Rollout] = jax.lax.scan(step, acting, None, self.num_steps)
        return after

    def _forgotten(self, acting: Acting) -> Array:
        return jnp.where(acting.starts[:, None], 0.0, acting.memory)

    # ---- update ------------------------------------------------------------------------------------------------------
    def _update(self, learner: Learner, memory: Array, after: Acting, rollout: Rollout) -> Learner:
        next_value = self.network.step(learner.weights, after.env.cart, self._forgotten(after))[1]
        advantages = _gae(rollout, next_value)
        parts = (*rollout[:5], advantages, advantages + rollout.values)
        rows = Rows(*parts if self.network.state_size else (part.reshape(-1, *part.shape[2:]) for part in parts))
        axis = 1 if self.network.state_size else 0  # of sequences, or of rows
        count = rows.actions.shape[axis]

        def epoch(learner: Learner, key: Array) -> tuple[Learner, None]:
            orders = jax.random.permutation(key, count).reshape(self.num_minibatches, -1)
            return jax.lax.scan(minibatch, learner, orders)

        def minibatch(learner: Learner, order: Array) -> tuple[Learner, None]:
            dealt = jax.tree.map(lambda column: jnp.take(column, order, axis), rows)
            gradient = jax.grad(self._loss)(learner.weights, dealt, memory[order] if axis else memory)
            return self._stepped(learner, gradient), None

        keys = jax.random.split(jax.random.fold_in(after.key, 0), self.update_epochs)
        learnt: Learner = jax.lax.scan(epoch, learner, keys)[0]
        return learnt

    def _loss(self, weights: Weights, rows: Rows, memory: Array) -> Array:
        logits, values = self.network.unroll(weights, rows.observations, memory, rows.starts)
        ratio = jnp.exp(_log_probs(logits, rows.actions) - rows.log_probs)
        advantages = (rows.advantages - rows.advantages.mean()) / (rows.advantages.std(ddof=1) + 1e-8)
        policy_loss = jnp.maximum(-advantages * ratio, -advantages * jnp.clip(ratio, 1 - CLIP, 1 + CLIP)).mean()
        clipped = rows.values + jnp.clip(values - rows.values, -CLIP, CLIP)
        value_loss = 0.5 * jnp.maximum((values - rows.returns) ** 2, (clipped - rows.returns) ** 2).mean()
        normalised = jax.nn.log_softmax(logits)
        entropy = -(jnp.exp(normalised) * normalised).sum(-1).mean()
        loss: Array = policy_loss - ENT_COEF * entropy + VF_COEF * value_loss
        return loss

    def _stepped(self, learner: Learner, gradient: Weights) -> Learner:
        """A step of Adam (Kingma and Ba 2015) along a gradient that is not longer than ``MAX_GRAD_NORM``."""
        norm = jnp.sqrt(sum(jnp.sum(part**2) for part in jax.tree.leaves(gradient)))
        gradient = jax.tree.map(lambda part: part * jnp.minimum(1.0, MAX_GRAD_NORM / (norm + 1e-6)), gradient)
        one, two = BETAS
        steps = learner.steps + 1
        first = jax.tree.map(lambda mean, part: one * mean + (1 - one) * part, learner.first, gradient)
        second = jax.tree.map(lambda mean, part: two * mean + (1 - two) * part**2, learner.second, gradient)
        rate = self.learning_rate / (1 - one**steps)
        root = jnp.sqrt(1 - two**steps)

        def moved(weight: Any, mean: Any, square: Any) -> Any:
            return weight - rate * mean / (jnp.sqrt(square) / root + ADAM_EPS)

        return Learner(jax.tree.map(moved, learner.weights, first, second), first, second, steps)


def _log_probs(logits: Array, actions: Array) -> Array:
    chosen: Array = jnp.take_along_axis(jax.nn.log_softmax(logits), actions[..., None], -1)[..., 0]
    return chosen


def _gae(rollout: Rollout, next_value: Array) -> Array:
    """Advantages (Schulman et al. 2016), (T, num_envs), from the last step back to the first."""

    def step(later: tuple[Array, Array], row: Rollout) -> tuple[tuple[Array, Array], Array]:
        advantage, following = later
        going_on = 1.0 - row.ends
        delta = row.rewards + GAMMA * following * going_on - row.values
        advantage = delta + GAMMA * GAE_LAMBDA * going_on * advantage
        return (advantage, row.values), advantage

    first = jnp.zeros_like(next_value), next_value
    advantages: Array = jax.lax.scan(step, first, rollout, reverse=True)[1]
    return advantages
