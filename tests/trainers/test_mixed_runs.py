"""Runs in which groups learn by different algorithms, on-policy and off-policy, and against opponents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import torch

from tests.cases import often
from warpworld.config import RunConfig, config_from_dict
from warpworld.trainers.algorithms.ape_x import ApeXSettings
from warpworld.trainers.algorithms.dqn import DQNSettings
from warpworld.trainers.trainer import Trainer

SMALL = {"model": {"hidden_sizes": [8]}}
DQN = {**SMALL, **dict(algorithm="dqn", replay_size=3000, learning_starts=300, batch_size=32, updates=2)}
PPO = {**SMALL, **dict(algorithm="ppo", num_minibatches=2, update_epochs=2)}
RANDOM = {"algorithm": "random"}
TAG = {"name": "tag_gridworld", "env": {"num_taggers": 2, "grid_length": 4, "episode_length": 5}}
LIVES = {"name": "tests.trainers.recall:Lives", "env": {"dying": 0.1, "counted": 0.7}}
POOL = {"share": 0.5, "slots": 3, "pool_size": 3, "snapshot_every": 2, "match_every": 2}
PLAYED = 1  # as in cuda/ring.cuh


def config(world: Mapping[str, Any], policy: Mapping[str, Any], iterations: int = 12) -> RunConfig:
    sizes = {"num_envs": 12, "num_steps": 7, "total_env_steps": 84 * iterations, "seed": 5}
    return config_from_dict({**world, "trainer": sizes, "policy": policy})


def trained(world: Mapping[str, Any], policy: Mapping[str, Any]) -> Trainer:
    trainer = Trainer(config(world, policy))
    trainer.train(None)
    return trainer


def weights(trainer: Trainer, policy: str) -> torch.Tensor:
    found = trainer.policies[policy]
    assert found is not None
    return torch.cat([weight.flatten().cpu() for weight in found.state_dict().values()])


# ---- side by side ----------------------------------------------------------------------------------------------------
MIXES: dict[str, tuple[dict[str, Any], dict[str, Any], set[str]]] = {
    "both by values": (TAG, {"tagger": DQN, "runner": DQN}, {"tagger", "runner"}),
    "values beside gradients": (TAG, {"tagger": DQN, "runner": PPO}, {"tagger", "runner"}),
    "gradients beside values": (TAG, {"tagger": PPO, "runner": DQN}, {"tagger", "runner"}),
    "against random actions": (TAG, {"tagger": DQN, "runner": RANDOM}, {"tagger"}),
    "against a frozen one": (TAG, {"tagger": DQN, "runner": {**DQN, "train": False}}, {"tagger"}),
    "one for both groups": (LIVES, {"both": {**DQN, "groups": ["left", "right"]}}, {"both"}),
}
FEW = "values beside gradients", "against a frozen one", "one for both groups"


@pytest.mark.heavy
@pytest.mark.parametrize("mix", often(FEW, MIXES))
def test_each_policy_learns_by_its_own_algorithm(mix: str) -> None:
    world, policy, learners = MIXES[mix]
    before, after = Trainer(config(world, policy)), trained(world, policy)
    players = [name for name, each in after.policies.items() if each is not None]
    assert {name for name in players if not torch.equal(weights(before, name), weights(after, name))} == learners


@pytest.mark.long
def test_each_ring_holds_its_own_agents() -> None:
    world = trained(TAG, {"tagger": DQN, "runner": {**DQN, "replay_size": 700}}).world
    assert world["replay_ring_rewards_tagger"].shape == (125, 12, 2)
    assert world["replay_ring_rewards_runner"].shape == (59, 12, 1)
    assert world["replay_written_tagger"].item() == world["replay_written_runner"].item() == 84


# ---- opponents -------------------------------------------------------------------------------------------------------
SELF_PLAY: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "each against the other's past": (
        TAG,
        {
            "tagger": {**DQN, "self_play": {**POOL, "share": 0.25}},
            "runner": {**DQN, "self_play": {**POOL, "opponents": ["greedy", "random"]}},
        },
    ),
    "one of two groups": (
        {"name": "tests.trainers.league.duels:Throws"},
        {
            "fighter": {
                **{**DQN, "groups": ["player", "rival"]},
                "self_play": {**POOL, "groups": ["rival"], "opponents": ["rock"]},
            }
        },
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("config_name", SELF_PLAY)
def test_what_opponents_do_is_never_drawn(config_name: str) -> None:
    trainer = trained(*SELF_PLAY[config_name])
    world, total = trainer.world, 0
    for name, algorithm in trainer.algorithms.items():
        policy_agents = algorithm.replay.policy_agents  # type: ignore[attr-defined]
        takes_part = world[f"replay_takes_part_{policy_agents.name}"][:84]
        leaves = world[f"replay_leaves_{policy_agents.name}"][
            : world[f"replay_takes_part_{policy_agents.name}"].numel()
        ]
        leaves = leaves.view(world[f"replay_takes_part_{policy_agents.name}"].shape)[:84]
        for slot in trainer.league.matchmakers[name].slots:
            for group in policy_agents.groups:
                if group.name in slot.groups:
                    agents = slice(policy_agents.first(group.name), policy_agents.first(group.name) + group.size)
                    total += takes_part[:, slot.envs, agents].numel()
                    assert (takes_part[:, slot.envs, agents] & PLAYED).sum() == 0
                    assert leaves[:, slot.envs, agents].sum() == 0
        assert (takes_part & PLAYED).sum() > 0 < leaves.sum()
    assert total > 0


@pytest.mark.parametrize("exploration", ["per_env", 0.5])
def test_opponents_do_not_explore(exploration: Any) -> None:
    name, policy = "fighter", SELF_PLAY["one of two groups"][1]["fighter"]
    trainer = Trainer(config(SELF_PLAY["one of two groups"][0], {name: {**policy, "exploration": exploration}}))
    own, opponents = trainer.world["epsilon_player"], trainer.world["epsilon_rival"]
    for slot in trainer.league.slots:
        assert opponents[slot.envs].eq(0).all()
    assert torch.equal(opponents[opponents > 0], own[opponents > 0]) and own.gt(0).all() and opponents.gt(0).any()


def test_opponents_that_act_at_random_do_so() -> None:
    """Their values are all alike, so every choice is as good as any other."""
    opponent = {**POOL, "share": 1.0, "slots": 1, "pool_size": 0, "opponents": ["random"], "groups": ["rival"]}
    policy = {"fighter": {**DQN, "groups": ["player", "rival"], "exploration": 0.0, "self_play": opponent}}
    world = trained({"name": "tests.trainers.league.duels:Throws"}, policy).world
    chosen = world["replay_ring_actions_player"][:84, :, 1].flatten().bincount()
    assert len(chosen) == 3 and chosen.min() > 84 * 12 / 3 * 0.85


# ---- presets ---------------------------------------------------------------------------------------------------------
def test_ape_x_is_dqn_with_the_values_of_rela() -> None:
    """Horgan et al. 2018, appendix D; RELA's ref_run_apex.sh."""
    settings = ApeXSettings()
    given = {name: getattr(settings, name) for name in DQNSettings.model_fields}
    assert {name: value for name, value in given.items() if value != getattr(DQNSettings(), name)} == dict(
        algorithm="ape_x",
        learning_rate=6.25e-5,
        optimizer="rmsprop",
        optimizer_eps=1.5e-7,
        gamma=0.997,
        replay_size=2_000_000,
        learning_starts=80_000,
        batch_size=512,
        first_priority="actor",
        max_grad_norm=40,
        target_every=2500,
    )
    assert (settings.n_step, settings.priority_alpha, settings.priority_beta, settings.updates) == (3, 0.6, 0.4, 1)
    assert settings.double and settings.dueling and not settings.value_rescale and settings.exploration == "per_env"


def test_ape_x_learns() -> None:
    small = dict(algorithm="ape_x", replay_size=3000, learning_starts=300, batch_size=32)
    policy = {"tagger": {**SMALL, **small}, "runner": RANDOM}
    assert not torch.equal(weights(Trainer(config(TAG, policy)), "tagger"), weights(trained(TAG, policy), "tagger"))
