"""Spaces that a store cannot hold: one message with a wrapper's line, in a loop, in workers and from a function."""

from __future__ import annotations

import gymnasium
import pytest

from tests.adapters.external.spaces import SPACES, Spaces
from warpworld.environment import get_environment
from warpworld.errors import DeclarationError

pytestmark = pytest.mark.cpu_backend

FUNCTION = "tests.adapters.external.spaces:function"
LINES = {  # of wrappers
    "Text": "FlattenObservation(env)",
    "Sequence": "TransformObservation(env, lambda seen: ..., gymnasium.spaces.Box(...))",
    "Graph": "TransformObservation(env, lambda seen: ..., gymnasium.spaces.Box(...))",
    "OneOf": "FlattenObservation(env)",
    "Dict of a Sequence": "FilterObservation(env, ['numbers'])",
    "Tuple of a Graph": "FilterObservation(env, [0])",
    "Dict in a Dict": "TransformObservation(env, lambda seen: ..., gymnasium.spaces.Box(...))",
}
ACTIONS = "TransformAction(env, lambda action: ..., gymnasium.spaces.MultiDiscrete([...]))"


def refused(**params: object) -> str:
    with pytest.raises(DeclarationError) as caught:
        get_environment("external")(**params)
    return str(caught.value)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["observation", "action"])
@pytest.mark.parametrize("name", SPACES)
def test_every_way_in(name: str, kind: str) -> None:
    gymnasium.register("Spaces-v0", entry_point=Spaces)
    try:
        found = [
            refused(id="Spaces-v0", options={kind: name, "vectorization_mode": mode}).replace(
                "gymnasium 'Spaces-v0'", FUNCTION
            )
            for mode in ("sync", "async")
        ]
    finally:
        gymnasium.registry.pop("Spaces-v0")
    found += [refused(library=FUNCTION, options={kind: name, "mode": mode}) for mode in ("sync", "async")]
    assert len(set(found)) == 1
    assert found[0].startswith(f"external: {FUNCTION}: group 'agent': {kind}")
    line = LINES[name] if kind == "observation" else ACTIONS
    assert f"Wrap the env in gymnasium.wrappers.{line}" in found[0] and "\n" not in found[0]
