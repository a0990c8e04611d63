"""Where an update stops, how far it steps and what it leaves out: target_kl, Adam's epsilon, masked rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from gymnasium.spaces import Discrete
from torch import Tensor

from tests.trainers.small_worlds import space
from warpworld.config import config_from_dict
from warpworld.environment import Array, Environment, Group
from warpworld.trainers.trainer import Trainer

ADAM_EPS = 1e-5  # Huang et al. 2022, "The 37 Implementation Details of PPO", detail 3


class Unwritten:
    """A run that keeps its metrics in memory."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []

    def log(self, metrics: Mapping[str, Any]) -> None:
        self.lines.append(dict(metrics))

    def save_checkpoint(self, iteration: int, state: Mapping[str, Any]) -> None:
        pass


class InTurn(Environment):
    """In PyTorch alone: player and rival take part in every other step each, and choice 1 is worth 1.

    Where an agent takes no part it sees, and is paid, ``junk``.
    """

    @dataclass(frozen=True)
    class Params:
        junk: float = 0.0

    params: Params

    def groups(self) -> Sequence[Group]:
        return [Group(name, 1, space(1), Discrete(2)) for name in ("player", "rival")]

    def arrays(self) -> Sequence[Array]:
        return [Array("agent_mask", "bool", initial=True, on_reset="keep")]

    def phases(self) -> Sequence[Any]:
        return [self._step]

    def resets(self) -> Sequence[Any]:
        return [self._show]

    def truncations(self, num_steps: int) -> int:
        return num_steps

    def _takes_part(self, timestep: Tensor) -> Tensor:
        """(num_envs, 2) bool."""
        return (timestep[:, None] + torch.arange(2)) % 2 == 0

    def _step(self, arrays: Any, active: Tensor) -> None:
        takes_part = self._takes_part(arrays["timestep"])
        arrays["agent_mask"] = takes_part
        arrays["rewards"] = torch.where(takes_part, arrays["actions"][..., 0].float(), self.params.junk)
        arrays["terminated"] = arrays["timestep"] >= 4
        self._show(arrays, torch.ones_like(active))

    def _show(self, arrays: Any, active: Tensor) -> None:
        timestep = arrays["timestep"]
        seen = torch.where(self._takes_part(timestep + 1), timestep[:, None].float(), self.params.junk)[..., None]
        arrays["observations"] = torch.where(active[:, None, None], seen, arrays["observations"])


def trained(
    env: Mapping[str, Any] | None = None, iterations: int = 1, run: Unwritten | None = None, **policy: Any
) -> Trainer:
    """A trainer after some iterations of 8 envs and 8 steps."""
    config = config_from_dict(
        {
            "name": f"{__name__}:InTurn",
            "env": env or {},
            "trainer": {"num_envs": 8, "num_steps": 8, "total_env_steps": 64 * iterations, "seed": 3},
            "policy": {"both": {"groups": ["player", "rival"], "gamma": 0.0, "num_minibatches": 1, **policy}},
        }
    )
    trainer = Trainer(config)
    trainer.train(run)  # type: ignore[arg-type]
    return trainer


def weights(trainer: Trainer) -> Tensor:
    policy = trainer.policies["both"]
    assert policy is not None
    return torch.cat([parameter.detach().flatten() for parameter in policy.parameters()])


@pytest.mark.parametrize("share", [None, 0.5])
def test_agents_that_take_no_part_teach_nothing(share: float | None) -> None:
    """Nor do they where some envs have opponents. Without a discount, no expectation passes through their rows."""
    slots = {} if share is None else {"groups": ["rival"], "opponents": ["random"], "pool_size": 0, "share": share}
    self_play = {"self_play": {**slots, "slots": 1}} if slots else {}
    found = [weights(trained({"junk": junk}, iterations=2, **self_play)) for junk in (0.0, 50.0)]
    assert torch.equal(*found)


def kl_of_second_epoch(**policy: Any) -> float:
    """That of the first epoch is 0: its only minibatch has the policy that acted."""
    trained(update_epochs=2, run=(run := Unwritten()), **policy)
    return 2.0 * run.lines[0]["losses/both/approx_kl"]


def epochs(**policy: Any) -> int:
    """How many epochs of 10 an update takes: Adam makes a step in each."""
    trainer = trained(update_epochs=10, **policy)
    steps = {int(state["step"]) for state in optimiser_states(trainer.state_dict())}
    assert len(steps) == 1
    return steps.pop()


def optimiser_states(state: Any) -> list[Mapping[str, Any]]:
    """All parts of a state that hold Adam's moments, wherever they lie."""
    if not isinstance(state, Mapping):
        return []
    if "exp_avg" in state:
        return [state]
    return [found for part in state.values() for found in optimiser_states(part)]


def test_target_kl_is_exceeded_above_its_value() -> None:
    """Just above what the second epoch has, more epochs follow; just below, none does."""
    kl = kl_of_second_epoch(learning_rate=1e-2)
    assert kl > 1e-5
    assert epochs(learning_rate=1e-2, target_kl=0.99 * kl) == 2
    assert epochs(learning_rate=1e-2, target_kl=1.01 * kl) > 2


def test_a_first_step_of_adam_is_the_gradient_by_its_length_and_epsilon() -> None:
    """With gradients around epsilon, a fifth of the step's size depends on it."""
    rate = 1e-3
    before = trained(train=False)
    trainer = trained(learning_rate=rate, anneal_lr=False, update_epochs=1, max_grad_norm=1e-4)
    policy = trainer.policies["both"]
    assert policy is not None
    gradient = torch.cat([parameter.grad.flatten() for parameter in policy.parameters()])
    assert gradient.norm().item() == pytest.approx(1e-4, rel=1e-3)
    expected = -rate * gradient / (gradient.abs() + ADAM_EPS)
    assert weights(trainer) - weights(before) == pytest.approx(expected, abs=1e-3 * rate)


def test_a_step_behind_a_rollout_is_recorded_in_a_row_that_exists() -> None:
    """In the first; behind the last row lies another array."""
    world = trained().world
    recorded = world["rollout_rewards"]
    recorded.fill_(-1.0)
    world["actions"].fill_(1)
    world.step()
    assert torch.equal(recorded[0], world["rewards"])
    assert (recorded[1:] == -1.0).all()
