"""JAX's counterparts have as many weights as warpworld's networks, and compute the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from warpworld.config.endless_config import load_endless
from warpworld.policies.layers.gated_mean import gated_mean
from warpworld.trainers.trainer import Trainer

jax = pytest.importorskip("jax")
CELLS = {"plain": "null", "mingru": "mingru", "lstm": "lstm"}


def networks() -> Any:
    from benchmarks.learning.jitted import networks as module

    return module


@pytest.mark.long
@pytest.mark.parametrize("name", CELLS)
def test_as_many_weights_as_ours(name: str) -> None:
    theirs = jax.eval_shape(networks().NETWORKS[name]().make, jax.random.PRNGKey(0))
    overrides = ["trainer.device=cpu", "trainer.num_envs=8", f"policy.agent.model.recurrent={CELLS[name]}"]
    policy = Trainer(load_endless("cartpole", overrides)).policies["agent"]
    assert policy is not None
    assert sum(leaf.size for leaf in jax.tree.leaves(theirs)) == sum(each.numel() for each in policy.model.parameters())


def given(steps: int = 37, agents: int = 5, size: int = 7) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What a layer says, a state, and where episodes begin."""
    generator = np.random.default_rng(1)
    said = 2.0 * generator.standard_normal((steps, agents, 2 * size), np.float32)
    starts = generator.random((steps, agents)) < 0.2
    starts[:, 0], starts[0, 1], starts[-1, 2] = False, True, True
    return said, generator.standard_normal((agents, size), np.float32), starts


@pytest.mark.long
@pytest.mark.parametrize("name", ["gated_mean", "stepped_mean"])
def test_its_scans_are_our_gated_mean(name: str) -> None:
    numbers = given()
    ours = gated_mean(*map(torch.from_numpy, numbers))
    np.testing.assert_allclose(getattr(networks(), name)(*numbers), ours, rtol=0, atol=1e-5)


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["mingru", "lstm"])
def test_a_sequence_is_its_steps(name: str) -> None:
    network = networks().NETWORKS[name]()
    weights = network.make(jax.random.PRNGKey(0))
    generator = np.random.default_rng(2)
    seen, starts = generator.standard_normal((9, 5, 4), np.float32), generator.random((9, 5)) < 0.3
    before = generator.standard_normal((5, network.state_size), np.float32)
    state, steps = before, []
    for observations, begins in zip(seen, starts, strict=True):
        logits, values, state = network.step(weights, observations, np.where(begins[:, None], 0.0, state))
        steps.append((logits, values))
    for stepped, unrolled in zip(zip(*steps, strict=True), network.unroll(weights, seen, before, starts), strict=True):
        np.testing.assert_allclose(np.stack(stepped), unrolled, rtol=0, atol=1e-5)
