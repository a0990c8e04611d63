"""Packages that other libraries' environments need, and what they raise while they are made."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from warpworld import World
from warpworld.environment import get_environment
from warpworld.errors import DeclarationError

pytestmark = pytest.mark.cpu_backend


def message(**params: Any) -> str:
    with pytest.raises(DeclarationError) as caught:
        get_environment("external")(**params)
    return str(caught.value)


@pytest.mark.parametrize(
    ("package", "name", "install"),
    [
        ("chess", "pettingzoo.classic.chess_v6", 'pip install "pettingzoo[classic]"'),
        ("pygame", "pettingzoo.butterfly.pistonball_v6", 'pip install "pettingzoo[butterfly]"'),
        ("no_such_package", "tests.adapters.external.needing", "pip install no_such_package"),
    ],
)
def test_a_package_that_a_game_needs(package: str, name: str, install: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pettingzoo")
    for module in [module for module in sys.modules if module.startswith((package, "pymunk", name.split("_v")[0]))]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    found = message(library="pettingzoo", id=name)
    assert found == f"external: id='{name}' needs {package}, which is not installed: {install}"


def test_modules_without_an_environment() -> None:
    pytest.importorskip("pettingzoo")
    assert message(library="pettingzoo", id="json") == (
        "external: id='json' is not the module of a PettingZoo environment, such as mpe2.simple_spread_v3: it has "
        "neither parallel_env nor env"
    )
    assert message(library="pettingzoo", id="") == "external: id='' cannot be imported: Empty module name"


def test_what_a_library_raises_is_one_message() -> None:
    found = message(id="CartPole-v1", options={"gravitas": 1})
    assert found.startswith("external: gymnasium 'CartPole-v1' cannot be made: ")
    assert "got an unexpected keyword argument 'gravitas'" in found
    found = message(library="tests.adapters.external.counting:counting", options={"mode": "SOMETIMES"})
    assert found == (
        "external: tests.adapters.external.counting:counting cannot be made: KeyError: 'SOMETIMES'. Check env.options; "
        "from Python, __cause__ of this error has the traceback"
    )


def test_the_limit_of_an_episode_is_an_option() -> None:
    world = World(get_environment("external")(id="CartPole-v1", options={"max_episode_steps": 3}), 2, "cpu")
    world.reset()
    for step in range(3):
        world.step()
        assert world.data.numpy("truncated").tolist() == [step == 2] * 2
