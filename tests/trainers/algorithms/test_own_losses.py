"""A loss of one's own is what is learnt by, also where C++ and kernels have the one that it replaces."""

from __future__ import annotations

import pytest
from torch import nn

from warpworld.config import config_from_dict
from warpworld.trainers.algorithms.ppo import PPO
from warpworld.trainers.algorithms.updates.one_kernel import InOneKernel
from warpworld.trainers.trainer import Trainer


@pytest.mark.parametrize("name", ["OwnPPO", "OwnA2C", "OwnMAPPO", "MixedPPO"])
def test_it_is_learnt_by(name: str) -> None:
    trainer = Trainer(
        config_from_dict(
            {
                "name": "cartpole",
                "trainer": {"num_envs": 8, "num_steps": 8, "total_env_steps": 64},
                "policy": {"agent": {"algorithm": f"tests.trainers.algorithms.own_losses:{name}"}},
            }
        )
    )
    trainer._iterate()
    assert trainer.measured()["losses/agent/policy_loss"] > 900.0  # its mark


def test_values_may_depend_on_no_parameter() -> None:
    model = {"type": "tests.policies.my_models:Indifferent"}
    trainer = Trainer(
        config_from_dict(
            {
                "name": "cartpole",
                "trainer": {"num_envs": 8, "num_steps": 8, "total_env_steps": 192},
                "policy": {"agent": {"model": model, "update_epochs": 1}},
            }
        )
    )
    for _ in range(3):
        trainer._iterate()
    assert trainer.measured()["losses/agent/value_loss"] > 0.0


@pytest.mark.cuda_backend
@pytest.mark.parametrize("fused", [True, False])
def test_kernels_take_updates_where_networks_may_run_without_torch(fused: bool) -> None:
    trainer = Trainer(
        config_from_dict(
            {
                "name": "cartpole",
                "trainer": {"num_envs": 8, "num_steps": 8, "total_env_steps": 64, "fused": fused},
                "policy": {"agent": {}},
            }
        )
    )
    layers = [module for module in trainer.policies["agent"].modules() if isinstance(module, nn.Linear)]  # type: ignore[union-attr]
    assert any(hasattr(layer, "backward_kernels") for layer in layers) is fused
    assert isinstance(trainer.algorithms["agent"].updates.gradients, InOneKernel) is fused  # type: ignore[attr-defined]


def test_a_class_that_says_what_its_loss_is_made_of_keeps_that() -> None:
    class Same(PPO):
        loss_of = PPO.loss_of
        loss_terms = PPO.loss_terms

    assert Same.loss_terms is PPO.loss_terms
