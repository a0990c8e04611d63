"""Arrays whose last element an int cannot index are refused; a trainer's kernels index theirs with size_t."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box

from tests.toys import agents, box, environment
from warpworld import Array, Group, World
from warpworld.errors import DeclarationError
from warpworld.managers.kernel_source import INCLUDE_FOLDER, OWN_FOLDERS

SAID = "but kernels index with int, which counts to 2,147,483,647: ask for fewer envs, or a smaller array"


def large(array: Array | None = None, num_envs: int = 2**10, **settings: Any) -> World:
    """A world that is never laid out, so that it takes no memory."""
    groups = settings.pop("groups", [agents(2)])
    made = environment(None, [array] if array else [], groups, phases=[lambda arrays, active: None], resets=[])
    return World(made, num_envs, **settings)


@pytest.mark.parametrize(
    ("array", "elements"),
    [
        (Array("large", "uint8", (2**20 + 1,)), "2,147,485,696"),
        (Array("large", "float32", (2**21 + 1,), per="env"), "2,147,484,672"),
        (Array("large", "bool", (2**31 + 1,), per="world"), "2,147,483,649"),
    ],
)
def test_of_an_environment(array: Array, elements: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        large(array)
    assert str(caught.value) == f"array 'large': {elements} elements with num_envs=1024, {SAID}"


@pytest.mark.parametrize(
    "array",
    [
        Array("large", "uint8", (2**20,)),
        Array("large", "float32", (2**21,), per="env"),
        Array("large", "bool", (2**31,), per="world"),
    ],
)
def test_as_large_as_may_be(array: Array) -> None:
    large(array)


def test_of_every_world() -> None:
    seen = Group("agent", 2, observation=Box(0.0, 1.0, (2**20 + 1,), np.float32), action=box(1))
    with pytest.raises(
        DeclarationError, match=f"array 'observations': 2,147,485,696 elements with .*{re.escape(SAID)}"
    ):
        large(groups=[seen])


def test_of_agents() -> None:
    large(groups=[agents(65_534)], num_envs=1)
    with pytest.raises(DeclarationError) as caught:
        large(groups=[agents(65_535)], num_envs=1)
    assert str(caught.value) == "65,535 agents in an env: expected at most 65,534, whom random numbers tell apart"


def test_on_request() -> None:
    world = large(groups=[agents(2, choices=2**11)], num_envs=2**20)
    with pytest.raises(DeclarationError, match="'action_mask': 4,294,967,296 elements with num_envs=1048576, but"):
        world.request("action_mask")


def test_a_trainer_s_may_be_larger() -> None:
    large().add(Array("rollout", "float32", (2**32,), per="world"))


def test_a_trainer_s_kernels_never_multiply_an_agent_s_index_as_an_int() -> None:
    samplers = [path for folder in OWN_FOLDERS for path in folder.rglob("sample*.cu")]
    assert samplers
    for path in [*samplers, INCLUDE_FOLDER / "sampling.cuh"]:
        text = path.read_text(encoding="utf-8")
        assert not re.findall(r"(?<!\(size_t\))\b(?:agent_index|env_id)\(\) \*", text), path
