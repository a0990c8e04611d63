"""docs/atari.md names every parameter, with its default."""

from __future__ import annotations

import dataclasses

from tests.docs.pages import page
from warpworld.envs.atari.atari import Atari


def test_all_parameters_are_listed() -> None:
    text = page("atari")
    for field in dataclasses.fields(Atari.Params):
        assert f"`{field.name}`" in text
    for line in ("| `game` | `pong` |", "| `frameskip` | 4 |", "| `noop_max` | 30 |"):
        assert line in text
