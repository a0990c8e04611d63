"""Names that are suggested for a wrong one, and names that only look alike to a count of letters."""

from __future__ import annotations

import pytest

from warpworld.near_names import nearest


@pytest.mark.parametrize(
    ("name", "candidate"),
    [
        *(("num_env", "num_envs"), ("learing_rate", "learning_rate"), ("ppoo", "ppo"), ("cdua", "cuda")),
        *(("num_envz", "num_envs"), ("mpl", "mlp"), ("dqq", "dqn"), ("wolk.py", "walk.py"), ("5m_v_6m", "5m_vs_6m")),
        *(("CartPol", "cartpole"), ("taggridwrld", "tag_gridworld"), ("loc_xx", "loc_x"), ("trainr", "trainer")),
        *(("NumEnvs", "num_envs"), ("tag-gridworld", "tag_gridworld"), ("steps_num", "num_steps")),
        *(("CartPole-v9", "CartPole-v1"), ("a_00", "a_0")),
        *(("num_envz", "trainer.num_envs"), ("steps", "num_steps"), ("loc_x_of", "loc_x_of_goal")),
        *(("total_env_steps", "env_steps"), ("ent_coef", "entropy_coefficient"), ("obs", "observations")),
    ],
)
def test_near(name: str, candidate: str) -> None:
    assert nearest(name, ["policy", "seed_of_walls", candidate, "Pendulum-v3"]) == candidate


@pytest.mark.parametrize(
    ("name", "candidate"),
    [
        *(("loc_y", "loc_x"), ("gpu", "cpu"), ("max_speed", "min_speed"), ("pen", "hen"), ("left", "felt")),
        *(("last_place", "farthest_place"), ("observations_fox", "observations_hen"), ("red_team", "blue_team")),
        *(("x", "loc_x"), ("size", "size_of_all_buffers"), ("mappo", "ppo"), ("", "ppo"), ("_", "-"), ("fox", "box")),
    ],
)
def test_not_near(name: str, candidate: str) -> None:
    assert nearest(name, [candidate]) is None


@pytest.mark.parametrize(
    ("name", "candidates", "expected"),
    [
        ("batch_sizes", ["buffer_size", "batch_size"], "batch_size"),
        ("loc_xx", ["loc_xxx_of", "loc_x"], "loc_x"),
        ("observations", ["observations_left", "observations_right"], "observations_left"),
        ("observations", ["observations_middle", "observations_right"], "observations_right"),
        ("total_env_steps", ["env_steps", "total_step"], "total_step"),
        ("total_env_steps", ["env_steps", "total_env"], "env_steps"),
        ("size", ["batch_size", "buffer_size"], None),
        ("coef", ["value_coef", "entropy_coef"], None),
        ("anything", [], None),
    ],
)
def test_of_several(name: str, candidates: list[str], expected: str | None) -> None:
    assert nearest(name, candidates) == expected
