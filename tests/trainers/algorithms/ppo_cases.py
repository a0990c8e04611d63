"""What the tests of PPO share: settings, a small policy and rows for it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch
from gymnasium.spaces import Box

from warpworld.policies import MLP, Categorical, Policy
from warpworld.policies.distributions.distribution import log_prob
from warpworld.trainers.algorithms.experience.batch import Batch
from warpworld.trainers.algorithms.ppo import PPO, PPOSettings

FEATURES, HEADS = 4, (3, 2)
DIAGNOSTICS = (*PPO.loss_diagnostics, "grad_norm", "explained_variance")
JUNK = (0.0, 1e30, float("inf"), float("-inf"), float("nan"))


Settings = partial(PPOSettings, learning_rate=1e-3, update_epochs=3)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def make_policy(
    seed: int = 0,
    features: int = FEATURES,
    heads: Sequence[int] = HEADS,
    hidden_sizes: tuple[int, ...] = (16, 16),
) -> Policy:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        space = Box(-float("inf"), float("inf"), (features,))
        return Policy(MLP(space, sum(heads), hidden_sizes=hidden_sizes), Categorical(heads))


def make_batch(policy: Policy, rows: int = 64, seed: int = 0, masked: bool = False) -> Batch:
    """Random rows whose log-probabilities and values are those of ``policy``."""
    generator = seeded(seed)
    observations = torch.randn(rows, FEATURES, generator=generator)
    actions = [torch.randint(size, (rows,), generator=generator, dtype=torch.int32) for size in HEADS]
    actions = torch.stack(actions, 1)
    with torch.no_grad():
        log_probs = log_prob(policy.outputs(observations), actions, HEADS)
        values = policy.value(observations)
    advantages = torch.randn(rows, generator=generator)
    mask = torch.rand(rows, generator=generator) < 0.6 if masked else None
    return Batch(observations, actions, log_probs, advantages, advantages + values, values, mask)


def equal_weights(a: Policy, b: Policy) -> bool:
    return all(torch.equal(x, y) for x, y in zip(a.parameters(), b.parameters(), strict=True))
