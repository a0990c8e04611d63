"""Several processes draw from rings of their own: the weights of all are unbiased, and all learn the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.trainers.together import together, trained
from warpworld.config import RunConfig, config_from_dict
from warpworld.environment import get_environment
from warpworld.errors import ConfigError
from warpworld.trainers.algorithms.exploration import epsilons
from warpworld.trainers.building import build_algorithms
from warpworld.trainers.processes.distributed import ALONE, ProcessGroup
from warpworld.trainers.replay import Priorities
from warpworld.trainers.trainer import Trainer
from warpworld.world import World

# its processes know nothing of --stand-in
pytestmark = [pytest.mark.cpu_backend, pytest.mark.long]

ITEMS, BATCH, DRAWS = 200, 64, 400


def leaves_of(rank: int) -> torch.Tensor:
    """Priorities of one process's items; those of the second are larger on the whole."""
    return torch.rand(ITEMS, generator=torch.Generator().manual_seed(rank)) * (1 + 4 * rank) + 0.05


def drawn(group: ProcessGroup) -> dict[str, torch.Tensor]:
    """Many draws of this process's items, their weights, and each item's count."""
    world = World(get_environment("cartpole")(), 4, device="cpu", first_env=4 * group.rank)
    priorities = Priorities(world, "cart", blocks=50, block=4, batch_size=BATCH, alpha=1.0, processes=group)
    draw = []
    world.when_sealed(lambda: draw.append(world.program(priorities.draw_steps())))
    world.reset()
    world["replay_leaves_cart"][:ITEMS] = leaves_of(group.rank)
    priorities.add_up_all()
    items, weights = [], []
    for _ in range(DRAWS):
        draw[0]()
        items.append(world["replay_batch_items_cart"].clone())
        weights.append(priorities.weights(1.0).clone())
    return {"items": torch.stack(items), "weights": torch.stack(weights)}


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, torch.Tensor]]:
    return together(2, tmp_path_factory.mktemp("draws"), drawn)


def test_weights_are_over_the_largest_of_all(pair: list[dict[str, torch.Tensor]]) -> None:
    shares = [leaves_of(rank).double() / leaves_of(rank).double().sum() for rank in range(2)]
    drawn_shares = torch.stack([shares[rank][pair[rank]["items"].long()] for rank in range(2)])  # (2, draws, batch)
    expected = drawn_shares.amin((0, 2))[:, None] / drawn_shares
    found = torch.stack([each["weights"] for each in pair]).double()
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=0)
    assert found.amax((0, 2)).eq(1).all() and (found[0].amax(1) < 1).any() and (found[1].amax(1) < 1).any()


def test_a_weighted_mean_is_that_of_all_items(pair: list[dict[str, torch.Tensor]]) -> None:
    """Without bias although each item is drawn by its priority in its own ring."""
    values = [leaves_of(rank).double() * 10 for rank in range(2)]  # what is drawn more often is larger
    plain = torch.stack([values[rank][pair[rank]["items"].long()] for rank in range(2)])
    weights = torch.stack([each["weights"] for each in pair]).double()
    sums = (weights * plain).sum((0, 2)) / weights.sum((0, 2))
    mean = torch.cat(values).mean()
    assert abs(sums.mean() - mean) < 4 * sums.std() / DRAWS**0.5 + 0.01 * mean
    assert plain.mean() > 1.2 * mean  # without weights it is off


def test_processes_draw_different_numbers(pair: list[dict[str, torch.Tensor]]) -> None:
    assert not torch.equal(pair[0]["items"], pair[1]["items"])


# ---- whole runs ------------------------------------------------------------------------------------------------------
def config(**policy: Any) -> RunConfig:
    settings = dict(algorithm="dqn", replay_size=400, learning_starts=64, batch_size=32, updates=2, target_every=4)
    trainer = {"num_envs": 7, "num_steps": 4, "total_env_steps": 20 * 28, "device": "cpu"}
    entry = {**settings, "first_priority": "actor", "model": {"hidden_sizes": [16]}, **policy}
    env = {"episode_length": 25}
    return config_from_dict({"name": "cartpole", "env": env, "trainer": trainer, "policy": {"agent": entry}})


def config_of_sac() -> RunConfig:
    entry = dict(algorithm="sac", replay_size=400, learning_starts=64, batch_size=32, model={"hidden_sizes": [16]})
    trainer = {"num_envs": 7, "num_steps": 4, "total_env_steps": 20 * 28, "device": "cpu"}
    env = {"episode_length": 25}
    return config_from_dict({"name": "pendulum", "env": env, "trainer": trainer, "policy": {"agent": entry}})


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("made", "loss"),
    [(config(), "loss"), (config(algorithm="qmix", first_priority="max"), "loss"), (config_of_sac(), "critic_loss")],
    ids=["dqn", "qmix", "sac"],
)
def test_both_learn_the_same_bits(made: RunConfig, loss: str, tmp_path: Path) -> None:
    one, other = (each["run"] for each in together(2, tmp_path / "two", trained, {"run": made}))
    start = Trainer(made).policies["agent"].state_dict()  # type: ignore[union-attr]
    for name, weight in one["weights"].items():
        assert torch.equal(weight, other["weights"][name]), name
    assert any(not torch.equal(weight, one["weights"][f"agent.{name}"]) for name, weight in start.items())
    assert one["lines"][-1][f"losses/agent/{loss}"] == other["lines"][-1][f"losses/agent/{loss}"] > 0


def exploring(group: ProcessGroup) -> torch.Tensor:
    """The share of random actions of this process's envs."""
    return Trainer(config(), processes=group).world["epsilon_agent"].clone()


def test_shares_of_random_actions_go_by_the_env_of_the_run(tmp_path: Path) -> None:
    assert torch.equal(torch.cat(together(2, tmp_path / "two", exploring)), epsilons(7))
    assert torch.equal(exploring(ALONE), epsilons(7))


def test_a_batch_that_does_not_divide() -> None:
    message = (
        r"^batch_size is 32, expected a multiple of the 3 processes, each of which draws an equal part of a batch$"
    )
    policies = Trainer(config()).policies
    with pytest.raises(ConfigError, match=message):
        build_algorithms(config(), policies, ProcessGroup(0, 3, 0, 1))
