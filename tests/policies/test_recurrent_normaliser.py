"""A recurrent policy that normalises what it observes."""

from __future__ import annotations

import pytest
import torch
from gymnasium.spaces import Box, Discrete

from warpworld.config import ModelConfig
from warpworld.environment import Group
from warpworld.policies import RecurrentPolicy, build_policy


@pytest.mark.parametrize("kind", ["lstm", "gru", "mingru"])
def test_steps_and_a_replay_of_them_see_the_same(kind: str) -> None:
    """Whether one by one or all at once, with observations far from 0."""
    group = Group("agent", 1, Box(-1e6, 1e6, (3,)), Discrete(4))
    settings = ModelConfig(type="mlp", normalise_observations=True, recurrent=kind, recurrent_size=5)
    policy = build_policy(settings, group, torch.Generator().manual_seed(0))
    assert isinstance(policy, RecurrentPolicy) and policy.normaliser is not None
    seen = 100.0 + 30.0 * torch.randn(6, 2, 3, generator=torch.Generator().manual_seed(1))
    policy.normaliser.update(seen.flatten(0, 1))
    starts = torch.zeros(6, 2, dtype=torch.bool)
    starts[0] = starts[3, 1] = True
    with torch.no_grad():
        state, outputs, values = torch.zeros(2, policy.state_size), [], []
        for row, begins in zip(seen, starts, strict=True):
            said, value, state = policy.step(row, state.masked_fill(begins[:, None], 0.0))
            outputs.append(said)
            values.append(value)
        replayed = policy.replay(seen, torch.randn(2, policy.state_size), starts)
        raw = policy.model.replay(seen, torch.zeros(2, policy.state_size), starts)
    torch.testing.assert_close(replayed[0], torch.stack(outputs))
    torch.testing.assert_close(replayed[1], torch.stack(values))
    assert not torch.allclose(raw[1], replayed[1], atol=1e-3)
