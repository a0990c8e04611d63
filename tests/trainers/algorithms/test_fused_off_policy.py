"""Off-policy learners whose networks run in C++: who has them, that they act as torch's, and whose formulas count."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from warpworld.config import config_from_dict, load_config
from warpworld.errors import ConfigError
from warpworld.policies.fused import FusedAdam, fused_gradient
from warpworld.trainers.algorithms.dqn import DQN
from warpworld.trainers.trainer import Trainer

pytestmark = pytest.mark.cpu_backend

SMALL = ["trainer.num_envs=4", "trainer.device=cpu"]
IN_CPP = ["cartpole_dqn", "recall_r2d2", "particles_spread_vdn", "particles_spread_qmix", "minatar_breakout_dqn"]


@pytest.mark.long
@pytest.mark.parametrize("name", IN_CPP)
def test_packaged_learners_of_values_have_cpp(name: str) -> None:
    trainer = Trainer(load_config(name, [*SMALL, "trainer.fused=required"]))
    (algorithm,) = trainer.algorithms.values()
    assert fused_gradient(algorithm.policy) is not None
    assert algorithm.target.module.fused is not None
    assert isinstance(algorithm.parameters.native, FusedAdam)


def test_a_model_without_kernels_is_refused_where_cpp_is_required() -> None:
    with pytest.raises(ConfigError) as refused:
        Trainer(
            load_config("minatar_breakout_dqn", [*SMALL, "trainer.fused=required", "policy.agent.model={type: impala}"])
        )
    assert str(refused.value) == (
        "trainer.fused is required, but policy 'agent' can be run by torch alone: it has residual convolutions; "
        "set it to true, which leaves such policies to torch"
    )


def lives(algorithm: str, cell: str | None, fused: bool, **own: Any) -> Trainer:
    """A trainer in an environment whose agents leave and are masked, with a rollout that explores."""
    memory = {} if cell is None else {"recurrent": cell, "recurrent_size": 5}
    entry = {"algorithm": algorithm, "learning_starts": 4000, "replay_size": 4000, "exploration": 0.3, **own}
    both = {**entry, "groups": ["left", "right"], "model": {"hidden_sizes": [8], **memory}}
    if cell is not None:
        both |= {"burn_in": 2, "train_length": 5, "n_step": 2}
    trainer = {"num_envs": 6, "num_steps": 20, "total_env_steps": 10_000, "device": "cpu", "seed": 2, "fused": fused}
    env = {"dying": 0.1, "counted": 0.7}
    data = {"name": "tests.trainers.recall:Lives", "env": env, "trainer": trainer, "policy": {"both": both}}
    return Trainer(config_from_dict(data))


@pytest.mark.long
@pytest.mark.parametrize(
    ("algorithm", "cell"), [("dqn", None), ("ape_x", None), ("r2d2", "lstm"), ("r2d2", "gru"), ("r2d2", "mingru")]
)
def test_actions_are_those_of_torchs_networks(algorithm: str, cell: str | None) -> None:
    own, torchs = (lives(algorithm, cell, fused) for fused in (True, False))
    assert fused_gradient(own.policies["both"]) is not None and fused_gradient(torchs.policies["both"]) is None
    for trainer in (own, torchs):
        policy = trainer.policies["both"]
        torch.manual_seed(3)
        with torch.no_grad():
            for weight in policy.parameters():
                weight.normal_(0, 0.5)  # so that values differ by more than their rounding
        trainer.collector.collect()
    for name in ("ring_actions", "ring_rewards", "ring_observations"):
        found, expected = (trainer.algorithms["both"].replay.array(name) for trainer in (own, torchs))
        assert torch.equal(found, expected), name
    assert own.algorithms["both"].replay.array("ring_actions").unique().numel() > 1


class Halved(DQN):
    """Targets of its own."""

    def targets_of(self, returns: Tensor, discounts: Tensor, following: Tensor) -> Tensor:
        return super().targets_of(returns, discounts, following) / 2


@pytest.mark.long
def test_formulas_of_a_subclass_count(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind, in_cpp in ((DQN, True), (Halved, False)):
        monkeypatch.setattr("warpworld.trainers.building.get_algorithm", lambda name, kind=kind: kind)
        trainer = lives("dqn", None, True)
        algorithm = trainer.algorithms["both"]
        assert type(algorithm) is kind
        assert (algorithm.transitions_in_cpp() is not None) == in_cpp
