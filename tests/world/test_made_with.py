"""What a World is made with: numbers that it refuses, and why."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.world.walks import Toy
from warpworld import Environment, World
from warpworld.errors import DeclarationError
from warpworld.managers.devices import open_backend


def test_a_class_is_no_environment() -> None:
    with pytest.raises(DeclarationError, match="a World is made of an Environment object, not of <class"):
        World(Environment, 2)  # type: ignore[arg-type]


@pytest.mark.parametrize("first_env", [True, -1, 0.0, 2**31, None])
def test_first_env(walk: Toy, first_env: Any) -> None:
    message = f"first_env={first_env!r}: expected a whole number of at least 0 and below 2^31"
    with pytest.raises(DeclarationError, match=f"^{re.escape(message)}$"):
        walk(first_env=first_env)
    assert walk(first_env=2**31 - 7).first_env == 2**31 - 7


@pytest.mark.parametrize("envs_per_warp", [True, -1, 1.5])
def test_envs_per_warp(walk: Toy, envs_per_warp: Any) -> None:
    message = f"envs_per_warp={envs_per_warp!r}: expected a whole number of at least 0"
    with pytest.raises(DeclarationError, match=f"^{re.escape(message)}$"):
        walk(envs_per_warp=envs_per_warp)


def test_agents_that_do_not_fit_a_warp(walk: Toy) -> None:
    lanes = open_backend("cpu").warp_size
    too_many = lanes // 2 + 1
    walk(envs_per_warp=too_many - 1)
    message = f"envs_per_warp={too_many}: 2 agents each do not fit a warp of {lanes}"
    with pytest.raises(DeclarationError, match=message):
        walk(envs_per_warp=too_many)
