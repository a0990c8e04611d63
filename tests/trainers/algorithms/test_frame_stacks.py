"""Policies that read several pictures at once: what they remember, and what they learn that one does not show."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from torch import Tensor

from tests.trainers.replay.filled import Filled
from tests.trainers.replay.varied import SEEN
from warpworld.config import config_from_dict
from warpworld.environment import Array, Environment, Group
from warpworld.errors import ConfigError
from warpworld.policies.stacking import StackingPolicy
from warpworld.trainers.algorithms.dqn import DQN, DQNSettings
from warpworld.trainers.trainer import Trainer


class LastSeen(Environment):
    """In PyTorch alone: one of two pixels is lit at random; to choose the one that was lit a step ago pays 1."""

    def groups(self) -> Sequence[Group]:
        return [Group("agent", 1, Box(0, 255, (1, 2), np.uint8), Discrete(2))]

    def arrays(self) -> Sequence[Array]:
        return [Array("lit_before", "int32", per="env", initial=0, on_reset="keep")]

    def phases(self) -> Sequence[Any]:
        return [self._step]

    def resets(self) -> Sequence[Any]:
        return [self._light]

    def _step(self, arrays: Any, active: Tensor) -> None:
        right = arrays["actions"][:, 0, 0] == arrays["lit_before"]
        arrays["rewards"] = (right & (arrays["timestep"] > 1)).float()[:, None]
        arrays["lit_before"] = arrays["observations"][:, 0, 0].argmax(-1).int()
        arrays["truncated"] = arrays["timestep"] >= 20
        self._light(arrays, torch.ones_like(active))

    def _light(self, arrays: Any, active: Tensor) -> None:
        lit = arrays.random.below(2)
        shown = 255 * torch.nn.functional.one_hot(lit, 2).view(len(lit), 1, 1, 2).to(torch.uint8)
        arrays["observations"] = torch.where(active.view(-1, 1, 1, 1), shown, arrays["observations"])


def policy_of(frames: int, observation: Any = SEEN["bytes"]) -> StackingPolicy:
    group = Group("left", 2, observation, Discrete(3))
    settings = DQNSettings(groups=("left",), frame_stack=frames, model={"hidden_sizes": [8]})  # type: ignore[arg-type]
    policy = DQN.build_policy(settings, group, torch.Generator().manual_seed(0), None)
    assert isinstance(policy, StackingPolicy)
    return policy


@pytest.mark.heavy
@pytest.mark.long
def test_what_is_remembered_is_what_was_seen_last() -> None:
    policy = policy_of(4)
    ends = {"terminating": 0.1, "truncating": 0.1, "dying": 0.1}
    sizes = {"frame_stack": 4, "n_step": 2}
    filled = Filled(["left"], sizes, num_steps=1, players={"left": policy}, seen="bytes", **ends)
    policy.to(filled.world.device)
    for _ in range(25):
        filled.collector.collect()
        state = filled.world["recurrent_state_left"]
        for (env, agent), moment in filled.witness.steps[-1].items():
            expected = torch.from_numpy(filled.witness.stack(moment, 3)).float() / 255
            assert torch.equal(state[env, agent].cpu(), expected)
        filled.check()


def test_acting_reads_what_training_reads() -> None:
    policy = policy_of(3)
    frames = torch.randint(0, 256, (5, 3, 8), dtype=torch.uint8)
    state = torch.zeros(5, policy.state_size)
    for frame in frames.unbind(1):
        outputs, _, state = policy.step(frame, state)
    torch.testing.assert_close(outputs, policy.outputs(frames.flatten(1)))


def test_act_hands_the_state_back() -> None:
    policy = policy_of(2)
    seen = np.random.default_rng(0).integers(0, 256, (2, 6, 2, 4), np.uint8)
    policy.acts_greedily = True
    _, state = policy.act(seen[0])
    actions, _ = policy.act(seen[1], state=state)
    both = torch.from_numpy(np.concatenate([seen[0].reshape(6, 8), seen[1].reshape(6, 8)], 1))
    assert np.array_equal(actions, policy.outputs(both).argmax(-1).numpy())


@pytest.mark.parametrize("observation", [Box(-1.0, 1.0, (3,)), Discrete(4)])
def test_what_is_no_picture_is_not_stacked(observation: Any) -> None:
    expected = (
        f"frame_stack is 2, but group 'left' observes {observation}, expected a Box of shape (channels, pixels) or "
        "(channels, height, width); set it to 1"
    )
    with pytest.raises(ConfigError, match=f"^{re.escape(expected)}$"):
        policy_of(2, observation)


def mean_reward(frames: int) -> float:
    """What the last iterations of a short run gave a step."""
    trainer = {"num_envs": 16, "num_steps": 4, "total_env_steps": 16 * 4 * 350}
    learning = {"learning_rate": 3e-3, "learning_starts": 500, "batch_size": 64, "target_every": 50, "n_step": 1}
    replay = {"replay_size": 10_000, "gamma": 0.5, "exploration": [[0, 0.3], [15_000, 0.0]], "frame_stack": frames}
    entry = {"algorithm": "dqn", "model": {"hidden_sizes": [32]}, **learning, **replay}
    config = config_from_dict({"name": f"{__name__}:LastSeen", "trainer": trainer, "policy": {"agent": entry}})
    made = Trainer(config)
    made.train(None)
    rewards = []
    for _ in range(50):
        made.collector.collect()
        rewards.append(made.world["rollout_rewards"].mean().item())
    return float(np.mean(rewards))


@pytest.mark.exhaustive
@pytest.mark.slow
def test_two_pictures_show_more_than_one() -> None:
    assert mean_reward(2) > 0.9  # 19 of 20 steps can be paid
    assert mean_reward(1) < 0.6
