"""The arrays that an environment names as infos."""

from __future__ import annotations

import pytest

from tests.world.drift import Drift
from warpworld import Array, World
from warpworld.errors import DeclarationError


class Informed(Drift):
    """Drift with a map that all envs share."""

    def arrays(self) -> list[Array]:
        """Where they are, and the map."""
        return [*super().arrays(), Array("map", "float32", (3,), per="world")]


def world(*infos: str) -> World:
    return World(type("Informed", (Informed,), {"infos": infos})(), 2, "cpu")


def test_own_and_reserved_arrays() -> None:
    assert World(Drift(), 2, "cpu").infos == ()
    assert world("x", "timestep", "gravity").infos == ("x", "timestep", "gravity")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gravty", "Informed: infos names 'gravty', which is not an array of this world. Did you mean 'gravity'?"),
        ("agent_mask", "Informed: infos names 'agent_mask', which is not an array of this world."),
        ("map", "Informed: infos names 'map', an array per world, expected one per agent or per env"),
    ],
)
def test_no_such_array(name: str, message: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        world(name)
    assert str(caught.value) == message


def test_a_forgotten_comma() -> None:
    with pytest.raises(DeclarationError) as caught:
        World(type("Informed", (Informed,), {"infos": "gravity"})(), 2, "cpu")
    assert str(caught.value) == "Informed: infos='gravity', expected a tuple of names, as in ('gravity',)"
