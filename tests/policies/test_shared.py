"""An actor and a critic that share an encoder."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from gymnasium.spaces import Box, Discrete
from torch import Tensor, nn

from warpworld.config import ModelConfig, config_from_dict
from warpworld.environment import Group
from warpworld.errors import ConfigError
from warpworld.policies import Policy, build_policy
from warpworld.policies.shared import Shared
from warpworld.trainers.trainer import Trainer

SIZES = {"num_envs": 8, "num_steps": 8, "total_env_steps": 256, "device": "cpu"}


def policy_of(**model: Any) -> Policy:
    group = Group("agent", 1, observation=Box(-1.0, 1.0, (3,)), action=Discrete(2))
    return build_policy(ModelConfig(**{"shared": True, **model}), group, torch.Generator().manual_seed(0))


def trainer_of(name: str = "cartpole", trainer: dict[str, Any] | None = None, **policy: Any) -> Trainer:
    entry = {"model": {"shared": True}, **policy}
    return Trainer(
        config_from_dict({"name": name, "trainer": {**SIZES, **(trainer or {})}, "policy": {"agent": entry}})
    )


def test_both_read_one_encoder() -> None:
    policy, rows = policy_of(hidden_sizes=(5,)), torch.randn(4, 2, 3)
    model = policy.model
    assert isinstance(model, Shared)
    assert sum(parameter.numel() for parameter in model.parameters()) == (3 + 1) * 5 + (5 + 1) * 2 + (5 + 1)
    layer = model.encoder[0]  # type: ignore[index]
    encoded = (rows.double() @ layer.weight.double().t() + layer.bias.double()).tanh()
    outputs = encoded @ model.actor_layer.weight.double().t()
    values = (encoded @ model.critic_layer.weight.double().t())[..., 0]
    for found in (policy(rows), (policy.outputs(rows), policy.value(rows))):
        torch.testing.assert_close(found[0].double(), outputs, rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(found[1].double(), values, rtol=1e-5, atol=1e-6)


def test_both_teach_the_encoder() -> None:
    policy, rows = policy_of(), torch.randn(6, 3)
    found = []
    for which in ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0)):
        policy.zero_grad()
        outputs, values = policy(rows)
        (which[0] * outputs[:, 0].sum() + which[1] * values.sum()).backward()
        gradient = policy.model.encoder[0].weight.grad  # type: ignore[index,union-attr]
        found.append(gradient.clone())
    assert all(gradient.abs().max() > 1e-6 for gradient in found)
    torch.testing.assert_close(found[0] + found[1], found[2])


@pytest.mark.cpu_backend
@pytest.mark.long
def test_a_run_learns_with_it_in_cpp_and_in_torch() -> None:
    weights = []
    for fused in (True, False):
        trainer = trainer_of(trainer={"fused": fused})
        trainer.train(None)
        weights.append(torch.cat([each.detach().flatten() for each in trainer.policies["agent"].parameters()]))  # type: ignore[union-attr]
    start = torch.cat([each.detach().flatten() for each in trainer_of().policies["agent"].parameters()])  # type: ignore[union-attr]
    assert (weights[0] - weights[1]).norm() < 0.1 * (weights[1] - start).norm()


class Plain(nn.Module):
    """A user's model without an encoder."""

    def __init__(self, observation: Any, num_outputs: int) -> None:
        super().__init__()
        self.layer = nn.Linear(observation.shape[0], num_outputs + 1)

    def actor(self, observations: Tensor) -> Tensor:
        return self.layer(observations)[..., 1:]

    def critic(self, observations: Tensor) -> Tensor:
        return self.layer(observations)[..., 0]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            {"model": {"shared": True, "recurrent": "gru"}, "num_minibatches": 4},
            "policy.agent.model.shared is true, but model.recurrent is gru, whose actor and critic share a memory "
            "anyway, expected false",
        ),
        (
            {"algorithm": "dqn", "model": {"shared": True}},
            "model.shared is true, but this algorithm's actor and critic cannot share an encoder: it gives the encoder "
            "heads of its own; set it to false",
        ),
        (
            {"algorithm": "mappo", "model": {"shared": True}},
            "model.shared is true, but this algorithm's actor and critic cannot share an encoder: its critic reads "
            "other inputs; set it to false",
        ),
        (
            {"model": {"shared": True, "type": f"{__name__}:Plain"}},
            f"model '{__name__}:Plain' cannot be shared: it has no encoder(observation, **settings), expected one",
        ),
    ],
)
def test_what_cannot_be_shared_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError) as refused:
        trainer_of(**given)
    assert words in str(refused.value)
