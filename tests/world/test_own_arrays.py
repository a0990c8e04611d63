"""Groups that have arrays of their own, whatever the other groups see and do."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.toys import agents, environment
from tests.world.flock import Flock
from warpworld import Group, World
from warpworld.checking import check
from warpworld.config import config_from_dict
from warpworld.errors import DeclarationError
from warpworld.trainers.trainer import Trainer


def observed(world: World) -> dict[str, np.ndarray]:
    """What each group should see, from where all stand."""
    x = world["x"].cpu().numpy()
    wolves, sheep = (x[:, world.groups[name].slice] for name in ("wolf", "sheep"))
    return {"wolf": sheep[:, None] - wolves[:, :, None], "sheep": wolves[:, None] - sheep[:, :, None]}


@pytest.mark.parametrize(("wolves", "sheep"), [(1, 1), (1, 3), (2, 2), (3, 2)])
def test_one_kernel_serves_all_sizes(wolves: int, sheep: int) -> None:
    world = World(Flock(wolves=wolves, sheep=sheep), 3, seed=1)
    world.reset()
    assert "observations" not in world and "actions" not in world
    for step in range(7):
        before = world["x"].clone()
        world["actions_wolf"] = 2
        world["actions_sheep"] = 0
        world.step()
        if step != 4:  # that one ends with a reset
            moved = torch.tensor([1] * wolves + [-1] * sheep)
            assert torch.equal(world["x"].cpu(), before.cpu() + moved)
        for name, expected in observed(world).items():
            assert np.array_equal(world.observations(name).cpu().numpy(), expected)
            assert world.observations(name).shape == world[f"observations_{name}"].shape


@pytest.mark.heavy
@pytest.mark.cpu_backend
@pytest.mark.long
def test_learning_is_the_same_as_with_shared_arrays() -> None:
    trained = []
    for shared in (False, True):
        env = {"wolves": 2, "sheep": 2, "shared": shared}
        learner = {"model": {"hidden_sizes": [8]}, "update_epochs": 2, "num_minibatches": 2}
        settings = {"num_envs": 6, "num_steps": 16, "total_env_steps": 6 * 16 * 3, "graph_steps": 8}
        config = {"name": "tests.world.flock:Flock", "env": env, "trainer": settings}
        trainer = Trainer(config_from_dict({**config, "policy": {"wolf": learner, "sheep": learner}}))
        trainer.train(None)
        trained.append(trainer)
    own, shared_arrays = trained
    assert torch.equal(own.world["rollout_rewards"], shared_arrays.world["rollout_rewards"])
    for name in ("wolf", "sheep"):
        pairs = zip(own.policies[name].parameters(), shared_arrays.policies[name].parameters(), strict=True)
        assert all(torch.equal(ours, theirs) for ours, theirs in pairs)


def test_a_single_group_may_ask_too() -> None:
    alone = Group("wolf", 2, agents().observation, agents().action, own_arrays=True)
    world = World(environment(None, groups=[alone], phases=[lambda arrays, active: None], resets=()), 3)
    assert [name for name in ("observations_wolf", "actions_wolf", "observations") if name in world] == [
        "observations_wolf",
        "actions_wolf",
    ]
    assert world.action_array("wolf") == ("actions_wolf", 0)


@pytest.mark.cpu_backend
def test_the_check_has_nothing_against_them() -> None:
    assert not check(Flock(wolves=2, sheep=3)).findings


def test_what_is_no_answer_is_refused() -> None:
    with pytest.raises(DeclarationError) as refused:
        Group("wolf", 2, agents().observation, agents().action, own_arrays="yes")  # type: ignore[arg-type]
    assert str(refused.value) == "group 'wolf': own_arrays='yes', expected True or False"
