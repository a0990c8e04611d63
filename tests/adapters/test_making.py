"""Worlds by name, and what is refused when one is made."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

import pytest
import torch

import warpworld
from warpworld.config import load_config
from warpworld.errors import DeclarationError, DeviceError
from warpworld.trainers.building import build_world


class TestMaking:
    def test_by_name_with_params(self) -> None:
        world = warpworld.make("cartpole", num_envs=3, device="cpu", seed=5, num_workers=1, episode_length=7)
        world.reset()
        assert (world.num_envs, world.environment.params.episode_length) == (3, 7)

    def test_how_it_resets_and_what_it_checks(self) -> None:
        plain = warpworld.make("cartpole", 2, "cpu")
        asked = warpworld.make("cartpole", 2, "cpu", autoreset="disabled", check_actions=True)
        assert (plain.autoreset, plain.checks_actions) == ("same_step", False)
        assert (asked.autoreset, asked.checks_actions) == ("disabled", True)

    def test_what_speaks_for_it_has_its_own_ways(self) -> None:
        usual = warpworld.make("cartpole", 2, "cpu", api="gymnasium")
        asked = warpworld.make("cartpole", 2, "cpu", api="gymnasium", autoreset="same_step", check_actions=False)
        assert (usual.world.autoreset, usual.world.checks_actions) == ("next_step", True)
        assert (asked.world.autoreset, asked.world.checks_actions) == ("same_step", False)
        assert warpworld.make("cartpole", api="single", device="cpu", episode_length=9).world.num_envs == 1
        assert warpworld.make(config="cartpole", api="single", device="cpu").world.num_envs == 1

    def test_a_name_is_the_game_of_the_config_of_that_name(self) -> None:
        world = warpworld.make("tag_gridworld", num_envs=2, device="cpu")
        assert world.environment.params == build_world(load_config("tag_gridworld"), num_envs=2).environment.params
        assert warpworld.make("tag_gridworld", 2, "cpu", grid_length=7).environment.params.grid_length == 7

    @pytest.mark.long
    def test_a_config_says_what_is_not_given(self, tmp_path: Path) -> None:
        path = tmp_path / "run.yaml"
        path.write_text(
            "name: tag_gridworld\nenv: {grid_length: 9}\n"
            "trainer: {num_envs: 3, seed: 8, device: cpu, num_steps: 10, total_env_steps: 300}\n"
            "policy: {all: {groups: [tagger, runner], num_minibatches: 1}}\n"
        )
        world = warpworld.make(config=path)
        assert (world.num_envs, world.constants.seed, world.environment.params.grid_length) == (3, 8, 9)
        other = warpworld.make(
            config=path, overrides=["env.grid_length=11", "trainer.seed=4"], num_envs=5, num_taggers=2
        )
        assert (other.num_envs, other.constants.seed, other.num_agents) == (5, 4, 3)
        assert other.environment.params.grid_length == 11

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({}, "make(): pass the name of an environment or config=, not both"),
            (
                {"name": "cartpole", "config": "cartpole"},
                "make(): pass the name of an environment or config=, not both",
            ),
            ({"name": "cartpole"}, "make(): num_envs is missing; pass the number of envs to step together"),
            (
                {"name": "cartpole", "num_envs": 2, "overrides": ["trainer.seed=3"]},
                "make(): overrides change a config's values; pass config=, or parameters by name",
            ),
        ],
    )
    def test_what_is_missing_or_too_much(self, given: dict[str, Any], message: str) -> None:
        with pytest.raises(DeclarationError) as caught:
            warpworld.make(**given)
        assert str(caught.value) == message

    def test_auto_takes_what_works_and_says_so(self, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.INFO, logger="warpworld"):
            world = warpworld.make("cartpole", num_envs=1)
        if world._backend.name == "cpu":
            assert any(record.getMessage().startswith("device auto: cpu, since") for record in caplog.records)

    @pytest.mark.parametrize(
        ("given", "error", "message"),
        [
            ({"name": "cartpol"}, DeclarationError, "unknown environment 'cartpol'. Did you mean 'cartpole'"),
            (
                {"episode_lenght": 3},
                DeclarationError,
                "cartpole: no parameter 'episode_lenght'. Did you mean 'episode_l",
            ),
            ({"episode_length": "3"}, DeclarationError, "cartpole: episode_length='3', expected int"),
            ({"episode_length": 0}, DeclarationError, "episode_length"),
            ({"num_envs": 0}, DeclarationError, "num_envs=0: expected a whole number of at least 1"),
            ({"num_envs": -3}, DeclarationError, "num_envs=-3: expected a whole number of at least 1"),
            ({"num_envs": 2.0}, DeclarationError, "num_envs=2.0: expected a whole number"),
            ({"num_envs": "8"}, DeclarationError, "num_envs='8': expected a whole number"),
            (
                {"num_envs": 2**31},
                DeclarationError,
                "num_envs=2147483648: with 1 agents each, there are more than an int can count",
            ),
            ({"num_envs": True}, DeclarationError, "num_envs=True: expected a whole number of at least 1"),
            ({"seed": True}, DeclarationError, "seed=True: expected a whole number of at least 0 and below 2^64"),
            ({"seed": -1}, DeclarationError, "seed=-1: expected a whole number of at least 0"),
            ({"seed": 2**64}, DeclarationError, "seed="),
            ({"seed": 0.5}, DeclarationError, "seed=0.5: expected a whole number"),
            ({"device": "gpu"}, DeviceError, "device 'gpu': expected one of auto, cpu, cuda"),
            ({"device": "cud"}, DeviceError, "device 'cud': expected one of auto, cpu, cuda"),
            pytest.param({"num_workers": 0}, DeviceError, "num_workers=0: expected", marks=pytest.mark.cpu_backend),
            pytest.param({"num_workers": True}, DeviceError, "num_workers=True: exp", marks=pytest.mark.cpu_backend),
            pytest.param(
                {"num_workers": 10**6},
                DeviceError,
                "num_workers=1000000: expected",
                marks=pytest.mark.cpu_backend,
            ),
        ],
    )
    def test_refused(self, given: dict[str, Any], error: type[Exception], message: str) -> None:
        with pytest.raises(error, match=re.escape(message)):
            warpworld.make(**{"name": "cartpole", "num_envs": 2, "device": "cpu", **given})

    @pytest.mark.cpu_backend
    def test_cuda_where_there_is_none(self) -> None:
        if torch.cuda.is_available():
            pytest.skip("there is a CUDA device")
        with pytest.raises(DeviceError, match=r"device 'cuda' cannot be used: .*(install|use device=cpu)"):
            warpworld.make("cartpole", num_envs=2, device="cuda")
