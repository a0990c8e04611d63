"""Critics that read something else than actors: an array of the environment that their group names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pytest
import torch
from gymnasium.spaces import Box, Discrete
from torch import Tensor, nn

from tests.trainers.recorded import batches_of
from warpworld.config import RunConfig, config_from_dict
from warpworld.environment import Array, Environment, Group
from warpworld.errors import ConfigError, DeclarationError, TrainingError
from warpworld.policies import Categorical, Policy
from warpworld.trainers.algorithms.experience.trajectory_rows import ends_of, step_values
from warpworld.trainers.collecting.rollout import Rollout
from warpworld.trainers.trainer import Trainer
from warpworld.world import World


class Blind(Environment):
    """Agents see nothing; ``state`` holds (timestep, env, clock) of each env, or of each agent plus its number."""

    @dataclass(frozen=True)
    class Params:
        per: str = "env"
        named: str = "state"
        dtype: str = "float32"

    params: Params

    def groups(self) -> Sequence[Group]:
        space = Box(0.0, 1.0, (2,))
        return [
            Group("first", 1, space, Discrete(2)),
            Group("team", 2, space, Discrete(2), critic_input=self.params.named),
        ]

    def arrays(self) -> Sequence[Array]:
        per: Literal["agent", "env", "world"] = self.params.per  # type: ignore[assignment]
        return [Array("state", self.params.dtype, (3,), per=per)]

    def phases(self) -> Sequence[Any]:
        return [self._step]

    def resets(self) -> Sequence[Any]:
        return [self._look]

    def _step(self, arrays: Any, active: Tensor) -> None:
        arrays["rewards"].fill_(1.0)
        arrays["terminated"].zero_()
        arrays["truncated"].copy_(arrays["timestep"] >= 5)
        self._look(arrays, active)

    def _look(self, arrays: Any, active: Tensor) -> None:
        clock = arrays["clock"].float()
        envs = torch.arange(len(clock), device=clock.device, dtype=torch.float32)
        state = torch.stack((arrays["timestep"].float(), envs, clock), -1)
        if self.params.per == "agent":
            state = state[:, None] + torch.arange(3.0, device=clock.device)[:, None]
        arrays["state"].copy_(state)
        arrays["observations"].zero_()


class Reading(nn.Module):
    """An actor of observations and a critic of what the group names; the critic's value is the sum of that."""

    def __init__(self, observation: Box, num_outputs: int, critic_input: Box | None = None) -> None:
        super().__init__()
        self.layer = nn.Linear(observation.shape[0], num_outputs)
        self.scale = nn.Parameter(torch.ones(() if critic_input is None else critic_input.shape))

    def actor(self, observations: Tensor) -> Tensor:
        return self.layer(observations)

    def critic(self, inputs: Tensor) -> Tensor:
        return (inputs * self.scale).sum(-1)


class Unreading(nn.Module):
    """A model that is made of observations alone."""

    def __init__(self, observation: Box, num_outputs: int) -> None:
        super().__init__()
        self.layer = nn.Linear(observation.shape[0], num_outputs)

    def actor(self, observations: Tensor) -> Tensor:
        return self.layer(observations)

    def critic(self, inputs: Tensor) -> Tensor:
        return inputs.sum(-1)


def config(model: dict[str, Any], **env: Any) -> RunConfig:
    sizes = {"device": "cpu", "num_envs": 3, "num_steps": 8, "total_env_steps": 72}
    team = {"model": model, "num_minibatches": 2, "gamma": 0.5, "learning_rate": 1e-3}
    policy = {"first": {"num_minibatches": 1}, "team": team}
    return config_from_dict({"name": f"{__name__}:Blind", "env": env, "trainer": sizes, "policy": policy})


@pytest.mark.parametrize("per", ["env", "agent"])
def test_values_are_those_of_what_the_group_names(per: str) -> None:
    trainer = Trainer(config({"type": f"{__name__}:Reading"}, per=per))
    policy, rollout = trainer.policies["team"], trainer.collector.shared(Rollout)
    assert policy is not None
    trainer.collector.collect()
    seen = rollout.trajectories("team")
    assert seen.critic_inputs is not None and seen.critic_inputs.shape == (8, 3, 2, 3)
    # an env is reset as it begins and in its fifth step: the timesteps that actions were chosen in
    device = trainer.world.device
    timesteps = torch.tensor([0, 1, 2, 3, 4, 0, 1, 2.0], device=device)
    own = torch.tensor([1.0, 2.0] if per == "agent" else [0.0, 0.0], device=device)  # of agents 1 and 2
    assert torch.equal(seen.critic_inputs[..., 0], (timesteps[:, None, None] + own).expand(8, 3, 2))
    assert torch.equal(seen.critic_inputs[..., 1], (torch.arange(3.0, device=device)[:, None] + own).expand(8, 3, 2))
    assert torch.equal(step_values(seen, policy), seen.critic_inputs.sum(-1))

    ends = ends_of(seen, policy)
    assert seen.next_critic_inputs is not None and seen.finals.critic_inputs is not None
    assert torch.equal(ends["next_value"], trainer.world["state"].view(3, -1, 3)[:, -2:].expand(3, 2, 3).sum(-1))
    final = seen.finals.critic_inputs[seen.finals.rows < 8]  # of the step that the time limit cut, before the reset
    assert torch.equal(final[..., 0], (5.0 + own).expand(3, 2))
    assert torch.equal(ends["truncated_values"][4], final.sum(-1))
    rows = batches_of(trainer, "team")["team"].rows
    assert rows.critic_inputs is not None and rows.critic_inputs.shape == (48, 3)


@pytest.mark.parametrize("model", [{"type": f"{__name__}:Reading"}, {"hidden_sizes": [8]}], ids=["own", "mlp"])
def test_a_run_learns_and_resumes(model: dict[str, Any]) -> None:
    whole, first, second = (Trainer(config(model)) for _ in range(3))
    whole.train(None)
    first.train(None, stop=lambda: first.iteration == 2)
    second.load_state_dict(first.state_dict())
    second.train(None)
    weights = [trainer.policies["team"].state_dict() for trainer in (whole, second)]  # type: ignore[union-attr]
    torch.testing.assert_close(*weights, rtol=0, atol=0)
    before = Trainer(config(model)).policies["team"].state_dict()  # type: ignore[union-attr]
    assert any(
        not torch.equal(before[name], weights[0][name]) for name in before if "critic" in name or "scale" in name
    )


def test_the_mlp_s_critic_is_as_wide_as_what_it_reads() -> None:
    policy = Trainer(config({"hidden_sizes": [8]})).policies["team"]
    assert policy is not None
    assert policy.model.actor_layers[0].weight.shape == (8, 2)  # type: ignore[union-attr, index]
    assert policy.model.critic_layers[0].weight.shape == (8, 3)  # type: ignore[union-attr, index]
    fused: Any = policy.model.fused  # on a cpu
    assert fused is None or (fused.features, fused.critic_features) == (2, 3)


def test_what_is_not_finite_is_named() -> None:
    trainer = Trainer(config({"hidden_sizes": [8]}))
    trainer.world["state"][1, 2] = float("nan")
    trainer.collector.collect()
    with pytest.raises(TrainingError, match=r"critic inputs of env 1, agent 1 \(team 0\), number 2 in step 0 of the"):
        trainer.collector.check_finite()


def test_a_critic_may_take_actions() -> None:
    class Judge(nn.Module):
        def actor(self, observations: Tensor) -> Tensor:
            return observations

        def critic(self, inputs: Tensor, actions: Tensor) -> Tensor:
            return inputs.sum(-1) * actions[..., 0]

    policy = Policy(Judge(), Categorical([2]))
    seen, actions = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[2.0], [10.0]])
    assert policy.has_critic
    assert policy.value(seen, actions).tolist() == [6.0, 70.0]


def test_a_policy_needs_no_critic() -> None:
    class Mute(nn.Module):
        def actor(self, observations: Tensor) -> Tensor:
            return 2 * observations

    policy = Policy(Mute(), Categorical([2]))
    assert not policy.has_critic
    assert policy.outputs(torch.ones(2)).tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (
            {"named": "stat"},
            "Blind: group 'team' has critic_input='stat', which is not an array of it. Did you",
        ),
        (
            {"dtype": "int32"},
            "Blind: group 'team' has critic_input='state', an array of int32 per env, expected float32 ",
        ),
        ({"per": "world"}, "an array of float32 per world, expected float32 per agent or per env"),
    ],
)
def test_what_no_critic_reads_is_refused(env: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError) as error:
        World(Blind(**env), 2, device="cpu")
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            {"type": f"{__name__}:Unreading"},
            f"group 'team' names 'state' for its critic to read, but model '{__name__}:Unreading' takes no "
            "critic_input, expected (observation, num_outputs, critic_input, **settings); see warpworld.policies.Model",
        ),
        (
            {"recurrent": "lstm"},
            "group 'team' names 'state' for its critic to read, but a recurrent model's critic reads what its cell "
            "remembers; set model.recurrent=null",
        ),
    ],
)
def test_models_that_cannot_read_it_are_refused(model: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        Trainer(config(model))
    assert str(error.value) == message
