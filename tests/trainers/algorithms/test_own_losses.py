"""A loss of one's own is what is learnt by, also where C++ and kernels have the one that it replaces."""

from __future__ import annotations

import pytest

from warpworld.config import config_from_dict
from warpworld.trainers.algorithms.ppo import PPO
from warpworld.trainers.trainer import Trainer


@pytest.mark.parametrize("name", ["OwnPPO", "OwnA2C", "OwnMAPPO"])
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


def test_a_class_that_says_what_its_loss_is_made_of_keeps_that() -> None:
    class Same(PPO):
        loss_of = PPO.loss_of
        loss_terms = PPO.loss_terms

    assert Same.loss_terms is PPO.loss_terms
