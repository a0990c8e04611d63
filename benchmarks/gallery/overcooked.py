"""Overcooked beside JaxMARL's."""

from __future__ import annotations

from collections.abc import Callable

from .case import Case, Peer
from .stepping import jaxmarl_envs


def jaxmarl(layout: str) -> Peer:
    """JaxMARL's envs of a layout."""

    def make(num_envs: int) -> tuple[Callable[[], object], int]:
        from jaxmarl.environments.overcooked import Overcooked, overcooked_layouts

        return jaxmarl_envs(Overcooked(layout=overcooked_layouts[layout]), num_envs)

    return make


CASES = tuple(
    Case(f"overcooked, {layout}", "overcooked", 1024, {"layout": layout}, {"jaxmarl": jaxmarl(layout)})
    for layout in ("cramped_room", "asymm_advantages", "counter_circuit")
)
