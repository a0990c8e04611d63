"""Policies that start from another run's weights, and policies that act at random."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from warpworld.config import RunConfig, config_from_dict
from warpworld.errors import ConfigError, RunError
from warpworld.runs import Run
from warpworld.trainers.evaluate import load_policies
from warpworld.trainers.trainer import Trainer

FEW = {"update_epochs": 1, "num_minibatches": 1}  # for policies that learn


def clockwork(left: dict[str, Any], right: dict[str, Any], **trainer: Any) -> RunConfig:
    settings = {"num_envs": 8, "num_steps": 8, "total_env_steps": 128, **trainer}
    small = {"model": {"hidden_sizes": [8, 8]}}
    policies = {
        name: policy if policy.get("algorithm") == "random" else {**small, **policy}
        for name, policy in (("left", left), ("right", right))
    }
    return config_from_dict({"name": "tests.trainers.small_worlds:Clockwork", "trainer": settings, "policy": policies})


@pytest.fixture
def earlier(tmp_path: Path) -> Run:
    config = clockwork(FEW, FEW, seed=7)
    run = Run.create(config, tmp_path)
    Trainer(config).train(run)
    return run


def flat(policy: Any) -> torch.Tensor:
    """All weights, on the CPU."""
    return torch.cat([p.detach().flatten() for p in policy.parameters()]).cpu()


def weights(trainer: Trainer, name: str) -> torch.Tensor:
    return flat(trainer.policies[name])


def test_of_the_same_name_and_of_another(earlier: Run) -> None:
    saved = load_policies(earlier)
    trainer = Trainer(clockwork({"initial_weights": str(earlier.path)}, {"initial_weights": f"{earlier.path}#left"}))
    left = flat(saved["left"])
    assert torch.equal(weights(trainer, "left"), left)
    assert torch.equal(weights(trainer, "right"), left)
    fresh = Trainer(clockwork({"initial_weights": str(earlier.path)}, {}), initial_weights=False)
    assert not torch.equal(weights(fresh, "left"), left)


def test_of_a_folder_with_a_hash_in_its_name(earlier: Run) -> None:
    saved = load_policies(earlier)
    path = earlier.path.rename(earlier.path.with_name("try#2"))
    trainer = Trainer(clockwork({"initial_weights": str(path)}, {"initial_weights": f"{path}#left"}))
    left = flat(saved["left"])
    assert torch.equal(weights(trainer, "left"), left)
    assert torch.equal(weights(trainer, "right"), left)
    with pytest.raises(RunError, match=r"a run without policy 'lefd'.* It has left, right: write .*try#2#NAME$"):
        Trainer(clockwork({"initial_weights": f"{path}#lefd"}, {}))
    with pytest.raises(RunError, match=r"try' does not exist, expected a run folder"):
        Trainer(clockwork({"initial_weights": f"{path.with_name('try')}#left"}, {}))


@pytest.mark.parametrize("policies", [5, {}, {"left": 5}])
def test_a_checkpoint_without_policies_is_refused(earlier: Run, policies: Any) -> None:
    earlier.save_checkpoint(99, {"policies": policies})
    with pytest.raises(RunError, match="whose checkpoint holds no policies"):
        Trainer(clockwork({"initial_weights": str(earlier.path)}, {}))


def test_a_frozen_opponent_keeps_them(earlier: Run, tmp_path: Path) -> None:
    config = clockwork(FEW, {"initial_weights": str(earlier.path), "train": False})
    trainer = Trainer(config)
    before = weights(trainer, "right").clone()
    trainer.train(Run.create(config, tmp_path))
    assert torch.equal(weights(trainer, "right"), before)


def test_what_does_not_fit_is_refused(earlier: Run, tmp_path: Path) -> None:
    for source, words in (
        (str(tmp_path / "nowhere"), "does not exist, expected a run folder"),
        (
            f"{earlier.path}#lefd",
            r"a run without policy 'lefd'. Did you mean 'left'\? It has left, right: write .*#N",
        ),
    ):
        with pytest.raises(RunError, match=words):
            Trainer(clockwork({"initial_weights": source}, {}))
    wider = {"initial_weights": str(earlier.path), "model": {"hidden_sizes": [32, 64]}}
    expected = (
        r"policy.left.initial_weights is .*whose weights do not fit policy 'left': .*size mismatch.*model settings"
    )
    with pytest.raises(RunError, match=expected):
        Trainer(clockwork(wider, {}))


def test_a_random_policy_plays_and_is_not_saved(tmp_path: Path) -> None:
    config = clockwork(FEW, {"algorithm": "random"})
    trainer, run = Trainer(config), Run.create(config, tmp_path)
    taken: list[torch.Tensor] = []
    agents = trainer.world.groups["right"].slice
    metrics = trainer.train(run, lambda _: taken.append(trainer.world["actions"][:, agents].clone()))
    assert trainer.policies["right"] is None
    assert list(trainer.algorithms) == ["left"]
    assert "charts/right/episodic_return" in metrics
    assert "losses/right/policy_loss" not in metrics
    assert (torch.cat(taken).flatten().bincount(minlength=3) > 0).all()
    assert list(run.load_checkpoint()["policies"]) == ["left"]
    assert load_policies(run)["right"] is None


def test_a_random_policy_has_no_settings() -> None:
    with pytest.raises(
        ConfigError, match=r"policy.right.gamma is not a known key of random, which does not learn. Known: groups,"
    ):
        clockwork({}, {"algorithm": "random", "gamma": 0.9})
