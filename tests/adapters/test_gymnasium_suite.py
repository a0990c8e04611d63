"""What Gymnasium's own checkers, wrappers and vector environments make of ours."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import (
    check_env,
    check_reset_seed_determinism,
    check_returned_data_not_reused,
    data_equivalence,
)
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import (
    DictInfoToList,
    FlattenObservation,
    NormalizeObservation,
    NormalizeReward,
    RecordEpisodeStatistics,
)

import warpworld
from tests.adapters.worlds import PARAMS, world
from warpworld.adapters.registration import register_id
from warpworld.adapters.single import Env
from warpworld.adapters.vector import VectorEnv
from warpworld.errors import DeclarationError
from warpworld.packaged import packaged_names

MODES = ["same_step", "next_step", "disabled"]


def single(name: str = "cartpole", render_mode: str | None = None, **options: Any) -> Env:
    return Env(world(name, 1, autoreset="disabled", **options), render_mode=render_mode)


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["cartpole", "tag_gridworld", "deathmatch"])
def test_their_checks_of_an_env(name: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        env = gymnasium.make(f"warpworld/{name}", device="cpu", num_workers=1, render_mode="rgb_array", **PARAMS[name])
        check_env(env.unwrapped)
    said = [str(warning.message) for warning in caught]
    assert all("A Box observation space" in text for text in said), said  # its bounds are infinite


def test_ids_make_envs() -> None:
    assert {f"warpworld/{name}" for name in packaged_names()} <= set(gymnasium.registry)
    env = gymnasium.make("warpworld/cartpole", device="cpu", episode_length=7)
    observation, _ = env.reset(seed=4)
    assert np.array_equal(observation, single(seed=4).reset()[0])
    for _ in range(7):
        *_, terminated, truncated, _ = env.step(env.action_space.sample())
    assert truncated and not terminated
    many = gymnasium.make_vec("warpworld/cartpole", num_envs=5, device="cpu", autoreset="same_step")
    assert isinstance(many.unwrapped, VectorEnv) and many.reset()[0].shape == (5, 4)
    assert str(many) == "VectorEnv(warpworld/cartpole, num_envs=5)"


def test_make_vec_limits_episodes() -> None:
    envs = gymnasium.make_vec("warpworld/cartpole", 2, device="cpu", autoreset="same_step", max_episode_steps=3)
    envs.reset()
    truncated = [envs.step(envs.action_space.sample())[3].tolist() for _ in range(3)]
    assert truncated == [[False, False], [False, False], [True, True]]
    with pytest.raises(DeclarationError) as caught:
        gymnasium.make_vec("warpworld/connect_four", 2, device="cpu", max_episode_steps=3)
    assert str(caught.value) == (
        "connect_four: make_vec(max_episode_steps=...) sets the parameter 'episode_length', which this environment "
        "lacks; leave it out"
    )


def test_own_environments_get_an_id() -> None:
    cartpole = warpworld.environment.get_environment("cartpole")
    warpworld.register("own_cart")(type("OwnCart", (cartpole,), {}))
    register_id("own_cart")
    try:
        assert gymnasium.make("warpworld/own_cart", device="cpu").reset()[0].shape == (4,)
    finally:
        gymnasium.registry.pop("warpworld/own_cart")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["cartpole", "tag_gridworld"])
def test_their_checks_of_a_vector_env(name: str, mode: Any) -> None:
    env: Any = VectorEnv(world(name, 1, autoreset=mode), agents="axis")  # they take one truth value an end
    for check in (check_returned_data_not_reused, check_reset_seed_determinism):
        check(env)


@pytest.mark.parametrize("mode", ["same_step", "next_step"])
def test_equal_seeds_give_equal_steps(mode: Any) -> None:
    envs = [VectorEnv(world(seed=seed, autoreset=mode)) for seed in (1, 2)]
    assert data_equivalence(*(env.reset(seed=9) for env in envs), exact=True)
    for actions in np.random.default_rng(2).integers(0, 2, (60, 6)):
        assert data_equivalence(*(env.step(actions) for env in envs), exact=True)
    assert data_equivalence(*(env.reset(seed=9) for env in envs), exact=True)


def test_their_check_finds_views() -> None:
    env: Any = VectorEnv(world(num_envs=1), copy=False)
    with pytest.raises(AssertionError, match="share an object"):
        check_returned_data_not_reused(env)


@pytest.mark.parametrize("mode", MODES)
def test_their_statistics_of_episodes(mode: Any) -> None:
    env = RecordEpisodeStatistics(VectorEnv(world(autoreset=mode)))
    env.reset(seed=3)
    env.action_space.seed(3)
    lengths, ends = [], 0
    for _ in range(120):
        *_, terminated, truncated, infos = env.step(env.action_space.sample())
        ended = terminated | truncated
        ends += int(ended.sum())
        if "episode" in infos:
            lengths += list(infos["episode"]["l"][infos["_episode"]])
            assert np.array_equal(infos["episode"]["r"], infos["episode"]["l"])  # cartpole pays 1 a step
        if mode == "disabled" and ended.any():
            env.reset(options={"reset_mask": ended})
    assert len(lengths) == ends > 20 and max(lengths) <= 25
    assert env.unwrapped.world.environment.params.episode_length == 25


def test_their_other_wrappers() -> None:
    wrapped = NormalizeReward(NormalizeObservation(VectorEnv(world(autoreset="next_step"))))
    flat = FlattenObservation(VectorEnv(world(autoreset="disabled")))
    listed = DictInfoToList(VectorEnv(world()))
    for env in (wrapped, flat, listed):
        env.reset(seed=1)
        for _ in range(3):
            env.step(env.action_space.sample())
    infos: list[dict[str, Any]] = []
    while not any(infos):
        *_, infos = listed.step(listed.action_space.sample())
    assert {key for info in infos for key in info} == {"final_obs"}


@pytest.mark.parametrize("mode", ["next_step", "disabled"])
def test_their_vector_env_of_our_single_envs(mode: Any) -> None:
    """Env i is the single env of its seed, ends and resets included, bit for bit."""
    seeds = [7, 21, 3, 1]
    theirs = SyncVectorEnv(
        [single] * 4, autoreset_mode=AutoresetMode.NEXT_STEP if mode == "next_step" else mode.title()
    )
    ours = VectorEnv(world(num_envs=4, autoreset=mode))
    both: list[Any] = [ours, theirs]
    observations = [env.reset(seed=list(seeds))[0] for env in both]
    assert np.array_equal(*observations)
    generator, ends = np.random.default_rng(1), 0
    for _ in range(200):
        actions = generator.integers(0, 2, 4)
        mine, others = (env.step(actions) for env in both)
        for got, expected in zip(mine[:4], others[:4], strict=True):
            assert np.array_equal(got, expected)
        ended = mine[2] | mine[3]
        ends += int(ended.sum())
        if mode == "disabled" and ended.any():
            observations = [env.reset(options={"reset_mask": ended.copy()})[0] for env in both]
            assert np.array_equal(*observations)
    assert ends > 20


def test_cartpole_steps_as_theirs() -> None:
    """From equal states one step differs by the rounding of float32 alone."""
    theirs, ours = gymnasium.make("CartPole-v1").unwrapped, single()
    generator, worst = np.random.default_rng(0), 0.0
    for seed in range(10):
        theirs.reset(seed=seed)
        ours.reset(seed=seed)
        over = False
        while not over:
            theirs.state = ours.world.data.numpy("state")[0, 0].astype(np.float64)
            action = int(generator.integers(2))
            seen, reward, terminated, *_ = theirs.step(action)
            got, paid, over, limit, _ = ours.step(action)
            worst = max(worst, float(np.abs(got - seen).max()))
            assert reward == paid and terminated == over
            over = over or limit
    assert 0 < worst < 1e-6
