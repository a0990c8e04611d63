"""A curriculum that follows success."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch

from tests.docs.pages import page
from warpworld.config import RunConfig, config_from_dict, load_config
from warpworld.errors import ConfigError
from warpworld.trainers.collecting import Slot, Teacher
from warpworld.trainers.collecting.outcomes import Outcomes
from warpworld.trainers.collecting.teacher import probabilities, rates_of
from warpworld.trainers.trainer import Trainer
from warpworld.world import World

DRIFT = "tests.world.drift:Drift"
PRESENT = {"parameters": {"present_players": [2, 4]}, "levels": 3, "success": 0.02}


def foraging(**trainer: Any) -> RunConfig:
    sizes = {"num_envs": 6, "num_steps": 40, "total_env_steps": 6 * 40 * 3, "seed": 4, **trainer}
    env = {"players": 4, "episode_length": 17}
    policy = {"player": {"num_minibatches": 2, "update_epochs": 1, "model": {"hidden_sizes": [8, 8]}}}
    return config_from_dict({"name": "foraging", "env": env, "trainer": sizes, "curriculum": PRESENT, "policy": policy})


def drift(num_envs: int, **section: Any) -> tuple[World, Teacher]:
    """A world of Drift with a teacher, before its first reset."""
    given = {"success": 0.0, **section}
    policy = {"agent": {"algorithm": "random"}}
    trainer = {"num_envs": num_envs, "num_steps": 4, "total_env_steps": 4 * num_envs, "seed": 2}
    config = config_from_dict({"name": DRIFT, "trainer": trainer, "curriculum": given, "policy": policy})
    world = World(config.make_environment(), num_envs, seed=2)
    Outcomes(world, 4)
    assert config.curriculum is not None
    return world, Teacher(config.curriculum, world, 4)


# --- the rule ---------------------------------------------------------------------------------------------------------


def test_probabilities_are_those_of_the_formulas() -> None:
    counts = torch.tensor([[10.0, 4.0, 0.0, 8.0], [10.0, 1.0, 0.0, 0.0]], dtype=torch.float64)
    rates = [11 / 12, 2 / 6, 1 / 2, 1 / 10]
    worth = [rate * (1 - rate) for rate in rates]
    np.testing.assert_allclose(rates_of(counts), rates, rtol=1e-12)
    wanted = [0.8 * each / sum(worth) + 0.2 / 4 for each in worth]
    np.testing.assert_allclose(probabilities(counts, 0.2), wanted, rtol=1e-12)
    assert int(probabilities(counts, 0.0).argmax()) == 2  # of which nothing is known


def test_levels_set_their_parameters() -> None:
    ends = {"gravity": [2.0, 8.0], "lives": [9, 1], "windy": [False, True]}
    world, _ = drift(400, parameters=ends, levels=4)
    world.reset()
    levels = world["teacher_level"].cpu()
    assert {*levels.tolist()} == {0, 1, 2, 3}
    by_level = {"gravity": [2.0, 4.0, 6.0, 8.0], "lives": [9, 6, 4, 1], "windy": [False, False, True, True]}
    for name, values in by_level.items():
        assert torch.equal(world[name].cpu(), torch.tensor(values)[levels])


def test_levels_are_drawn_by_their_probabilities_and_anew_in_each_episode() -> None:
    world, _ = drift(20_000, parameters={"gravity": [2.0, 8.0]}, levels=3)
    world.seal()
    world["teacher_chances"].copy_(torch.tensor([0.2, 0.2, 1.0]))
    world.reset()
    first = world["teacher_level"].clone()
    shares = first.cpu().bincount(minlength=3) / len(first)
    torch.testing.assert_close(shares, torch.tensor([0.2, 0.0, 0.8]), atol=0.02, rtol=0)
    for _ in range(10):
        ended = world["terminated"].clone() | world["truncated"]
        before = world["teacher_level"].clone()
        world.step()
        ended = world["terminated"] | world["truncated"]
        assert torch.equal(world["teacher_level"][~ended], before[~ended])
    assert not torch.equal(world["teacher_level"], first)


def test_episodes_are_noted_by_the_level_that_they_were_played_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Successes of a group whose agents may be out, beside a naive walk through the rollouts."""
    trainer = Trainer(foraging())
    teacher, world = trainer.teacher, trainer.world
    assert teacher is not None
    rollouts, add_up, teach = list[dict[str, np.ndarray]](), teacher.add_up, Teacher.teach
    names = ("rewards", "agent_mask", "terminated", "truncated", "teacher_level")

    def noted(self: Teacher) -> None:
        rollouts.append({name: world[f"rollout_{name}"].cpu().numpy().copy() for name in names})
        teach(self)

    def with_rewards_that_do_not_count() -> None:
        world["rollout_rewards"][~world["rollout_agent_mask"]] = 1e3
        add_up()

    monkeypatch.setattr(teacher, "add_up", with_rewards_that_do_not_count)
    monkeypatch.setattr(Teacher, "teach", noted)
    trainer.train(None)
    counts, running = np.zeros((2, 3)), np.zeros(6, np.float32)
    for rollout in rollouts:
        counts *= 0.9
        for t in range(40):
            for env in range(6):
                for agent in range(4):
                    running[env] += rollout["rewards"][t, env, agent] * rollout["agent_mask"][t, env, agent]
                if rollout["terminated"][t, env] or rollout["truncated"][t, env]:
                    level = rollout["teacher_level"][t, env]
                    counts[:, level] += 1, running[env] / 4 >= 0.02
                    running[env] = 0
    np.testing.assert_allclose(world["teacher_counts"].cpu(), counts, rtol=1e-12)
    assert 0 < counts[1].sum() < counts[0].sum()
    chances = probabilities(torch.from_numpy(counts), 0.1).cumsum(0).float()
    assert torch.equal(world["teacher_chances"].cpu(), chances)


def test_episodes_that_an_opponent_plays_do_not_count() -> None:
    world, _ = drift(8, parameters={"gravity": [2.0, 8.0]})
    world, teacher = World(world.environment, 8, seed=2), None
    Outcomes(world, 4)
    curriculum = foraging().curriculum
    assert curriculum is not None
    section = curriculum.model_copy(update={"parameters": {"gravity": [2.0, 8.0]}, "group": "agent", "levels": 2})
    teacher = Teacher(section, world, 4, [Slot(("agent",), slice(0, 5))])
    world.reset()
    world["teacher_episodes"].fill_(1)
    teacher.teach()
    assert world["teacher_counts"][0].tolist() == [3, 3] and not world["teacher_episodes"].any()


# --- in a run ---------------------------------------------------------------------------------------------------------


def test_a_run_reports_the_curriculum() -> None:
    lines = list[dict[str, Any]]()
    Trainer(foraging()).train(None, lines.append)
    named = {name for name in re.findall(r"`([^`]+)`", page("metrics")) if name.startswith("curriculum/")}
    assert {name for name in lines[-1] if name.startswith("curriculum/")} == named
    for line in lines:
        assert 0 <= line["curriculum/level"] <= 1 and 0 < line["curriculum/success_hardest"] < 1
        assert 0 <= line["curriculum/success"] <= 1


@pytest.mark.cpu_backend
def test_any_number_of_workers_teaches_the_same() -> None:
    trainers = [Trainer(foraging(num_workers=workers)) for workers in (1, 2)]
    for trainer in trainers:
        trainer.train(None)
    for name in ("teacher_counts", "teacher_level", "present_players", "rewards"):
        assert torch.equal(trainers[0].world[name], trainers[1].world[name])


# --- messages ---------------------------------------------------------------------------------------------------------

DRIFTING = {
    "name": DRIFT,
    "trainer": {"num_envs": 2, "num_steps": 4, "total_env_steps": 8},
    "policy": {"agent": {}},
}
GRAVITY = {"gravity": [2.0, 8.0]}


@pytest.mark.parametrize(
    ("section", "message"),
    [
        (
            {"parameters": {"gravty": [1, 2]}},
            "parameters.gravty is no parameter per env of Drift. Did you mean 'gravity'?",
        ),
        (
            {"parameters": {"scale": [1, 2]}},
            "parameters.scale is no parameter per env of Drift. Known: gravity, lives, ",
        ),
        ({"parameters": {"gravity": [2, 2]}}, "parameters.gravity is [2, 2], expected two values that differ"),
        ({"parameters": {"gravity": 2}}, "parameters.gravity is 2: expected two numbers that float32 holds"),
        ({"parameters": {"lives": [1.5, 2]}}, "parameters.lives is [1.5, 2]: expected two numbers that int32 holds"),
        (
            {"parameters": {"gravity": [50, 100]}},
            "parameters.gravity is [50, 100]: gravity=100: expected more than",
        ),
        ({"parameters": {}}, "parameters is empty, expected parameters per env of Drift: gravity, lives, windy"),
        ({"levels": 1}, "levels is 1, expected at least 2"),
        ({"decay": 1}, "decay is 1, expected less than 1"),
        ({"uniform": 1.5}, "uniform is 1.5, expected at most 1"),
        ({"success": None}, "success is missing"),
        ({"sucess": 3}, "sucess is not a known key"),
        ({"group": "agnt"}, "group: Drift has no group 'agnt'. Did you mean 'agent'?"),
    ],
)
def test_refusals(section: dict[str, Any], message: str) -> None:
    given = {"parameters": GRAVITY, "success": 1.0, **section}
    given = {name: value for name, value in given.items() if value is not None}
    with pytest.raises(ConfigError) as error:
        config_from_dict({**DRIFTING, "curriculum": given})
    assert f"curriculum.{message}" in str(error.value) and "\n" not in str(error.value)


def test_a_parameter_is_drawn_once() -> None:
    given = {**DRIFTING, "env": {"randomize": GRAVITY}, "curriculum": {"parameters": GRAVITY, "success": 1.0}}
    with pytest.raises(ConfigError) as error:
        config_from_dict(given)
    assert "curriculum.parameters.gravity is also in env.randomize, which draws it at each reset; leave one" in str(
        error.value
    )


def test_one_of_several_groups_is_named() -> None:
    words = ["curriculum={parameters: {enemy_damage: [0.5, 1.0]}, success: 1.0}"]
    with pytest.raises(ConfigError) as error:
        load_config("skirmish", words)
    assert "curriculum.group is null, expected one of ally, enemy: whose return decides success" in str(error.value)


def test_an_environment_without_parameters_per_env() -> None:
    words = ["curriculum={parameters: {num_taggers: [1, 2]}, success: 1.0, group: tagger}"]
    with pytest.raises(ConfigError) as error:
        load_config("tag_gridworld", words)
    assert "curriculum.parameters.num_taggers is no parameter per env of tag_gridworld. Known: none" in str(error.value)
