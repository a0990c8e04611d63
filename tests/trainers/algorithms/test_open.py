"""Algorithms that live outside of the package plug in by name: they learn, resume exactly, and stand beside others."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.trainers.corridor import CELLS
from warpworld.config import RunConfig, config_from_dict
from warpworld.errors import ConfigError
from warpworld.policies import Policy
from warpworld.runs import Run
from warpworld.trainers.algorithms import ALGORITHMS
from warpworld.trainers.evaluate import evaluate
from warpworld.trainers.trainer import Trainer

FOLDER = "tests.trainers.algorithms"
REINFORCE = {"algorithm": f"{FOLDER}.reinforce:Reinforce", "learning_rate": 0.03}
Q_LEARNER = {"algorithm": f"{FOLDER}.q_learner:QLearner"}
PPO = {"algorithm": "ppo", "gamma": 0.9, "learning_rate": 0.02, "num_minibatches": 2}
GAMMA = 0.9
KNOWN = ", ".join(ALGORITHMS)


def config(policy: Mapping[str, Any], iterations: int = 100, **env: Any) -> RunConfig:
    sizes = {"device": "cpu", "num_envs": 32, "num_steps": 10, "total_env_steps": 320 * iterations}
    entries = {name: {"model": {"hidden_sizes": []}, **entry} for name, entry in policy.items()}
    return config_from_dict(
        {"name": "tests.trainers.corridor:Corridor", "env": env, "trainer": sizes, "policy": entries}
    )


def optimal_values() -> torch.Tensor:
    """(cell, action): what an action is worth where the best ones follow, by the Bellman equation."""
    values = torch.zeros(CELLS, 2, dtype=torch.float64)
    for _ in range(200):
        best = torch.cat((values.max(1).values, torch.tensor([0.0], dtype=torch.float64)))
        for cell in range(CELLS):
            values[cell, 0] = GAMMA * best[max(cell - 1, 0)]
            values[cell, 1] = 1.0 if cell == CELLS - 1 else GAMMA * best[cell + 1]
    return values


def outputs(policy: Policy | None) -> torch.Tensor:
    """Of all cells, (cell, action), on the CPU."""
    assert policy is not None
    with torch.no_grad():
        return policy.outputs(cells(policy)).cpu()


def cells(policy: Policy) -> torch.Tensor:
    """What is seen in each cell, where the policy is."""
    return torch.eye(CELLS, device=next(policy.parameters()).device)


# ---- learning --------------------------------------------------------------------------------------------------------
@pytest.mark.heavy
@pytest.mark.long
@pytest.mark.usefixtures("optimised")
def test_a_q_learner_finds_the_values_of_the_bellman_equation() -> None:
    trainer = Trainer(config({"walker": Q_LEARNER}))
    trainer.train(None)
    torch.testing.assert_close(outputs(trainer.policies["walker"]).double(), optimal_values(), rtol=0, atol=0.05)


@pytest.mark.heavy
@pytest.mark.long
def test_reinforce_walks_out() -> None:
    trainer = Trainer(config({"walker": REINFORCE}))
    trainer.train(None)
    policy = trainer.policies["walker"]
    assert (outputs(policy).softmax(-1)[:, 1] > 0.9).all()
    assert policy is not None
    values = policy.value(cells(policy)).detach().cpu()  # of a policy that nearly always walks right
    torch.testing.assert_close(values.double(), optimal_values()[:, 1], rtol=0, atol=0.15)


@pytest.mark.heavy
@pytest.mark.long
@pytest.mark.usefixtures("optimised")
def test_a_rollout_and_a_ring_stand_side_by_side() -> None:
    trainer = Trainer(config({"left": PPO, "right": Q_LEARNER}, iterations=150, two_groups=True))
    trainer.train(None)
    for name in ("left", "right"):
        assert (outputs(trainer.policies[name]).argmax(-1) == 1).all(), name
    assert "rollout_observations_left" in trainer.world and "rollout_observations_right" not in trainer.world
    assert "replay_observations_right" in trainer.world and "replay_observations_left" not in trainer.world


@pytest.mark.heavy
@pytest.mark.long
def test_greedy_policies_are_evaluated_so(tmp_path: Path) -> None:
    made = config({"walker": Q_LEARNER}, episode_length=40)
    trainer = Trainer(made)
    run = trainer.create_run(tmp_path)
    assert run is not None
    trainer.train(run)
    assert evaluate(run, episodes=64)["walker"]["mean_return"] == 1.0  # a drawn step back would show by the time limit
    assert evaluate(run, episodes=64)["walker"]["random_return"] < 1.0


# ---- saving ----------------------------------------------------------------------------------------------------------
def final_weights(trainer: Trainer) -> dict[str, Any]:
    return {name: policy.state_dict() for name, policy in trainer.policies.items() if policy is not None}


@pytest.mark.long
@pytest.mark.parametrize(
    "policy",
    [{"walker": Q_LEARNER}, {"walker": REINFORCE}, {"left": PPO, "right": Q_LEARNER}],
    ids=["q_learner", "reinforce", "ppo_and_q_learner"],
)
def test_a_resumed_run_is_the_uninterrupted_one(policy: dict[str, Any], tmp_path: Path) -> None:
    """The ring is full and has been written over by the time it is saved."""
    made = config(policy, iterations=12, two_groups="left" in policy)
    whole = Trainer(made)
    whole.train(None)

    first = Trainer(made)
    run = first.create_run(tmp_path)
    assert run is not None
    first.train(run, stop=lambda: first.iteration == 7)
    run.close()
    second = Trainer(made, initial_weights=False)
    second.resume(Run.open(run.path))
    assert second.iteration == 7
    metrics = second.train(None)
    torch.testing.assert_close(final_weights(second), final_weights(whole), rtol=0, atol=0)
    assert metrics["env_steps"] == 320 * 12


# ---- what is refused -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("algorithm", "message"),
    [
        ("reinforce", f"algorithm 'reinforce', expected one of {KNOWN}, random, script, or module:Class."),
        ("pppo", f"algorithm 'pppo', expected one of {KNOWN}, random, script, or module:Class. Did you mean 'ppo'?"),
        ("nowhere:DQN", "algorithm 'nowhere:DQN' cannot be imported: No module named 'nowhere'"),
        (f"{FOLDER}.q_learner:Nobody", f"algorithm '{FOLDER}.q_learner:Nobody' cannot be imported: "),
        (
            f"{FOLDER}.q_learner:Ring",
            f"algorithm '{FOLDER}.q_learner:Ring' is not a subclass of warpworld.trainers.algorithms.Algorithm",
        ),
        ("warpworld.trainers.algorithms:Algorithm", "algorithm 'warpworld.trainers.algorithms:Algorithm' has no "),
    ],
)
def test_a_wrong_name_is_refused(algorithm: str, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        config({"walker": {"algorithm": algorithm}})
    assert str(error.value).startswith(f"config: policy.walker.algorithm: {message}")


def test_its_settings_are_checked_as_any() -> None:
    with pytest.raises(ConfigError, match=r"policy.walker.epsilon is 2, expected at most 1"):
        config({"walker": {**Q_LEARNER, "epsilon": 2}})
    with pytest.raises(ConfigError, match=r"policy.walker.gae_lambda is not a known key"):
        config({"walker": {**Q_LEARNER, "gae_lambda": 0.9}})
    with pytest.raises(ConfigError, match=r"policy.walker.replay_row is not a known key. Did you mean 'replay_rows'\?"):
        config({"walker": {**Q_LEARNER, "replay_row": 5}})
