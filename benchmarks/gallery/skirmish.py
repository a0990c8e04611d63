"""Skirmish beside JaxMARL's SMAX, whose rules these are."""

from __future__ import annotations

from collections.abc import Callable

from .case import Case, Peer
from .stepping import jaxmarl_envs


def jaxmarl(scenario: str) -> Peer:
    """JaxMARL's envs of a scenario."""

    def make(num_envs: int) -> tuple[Callable[[], object], int]:
        from jaxmarl.environments.smax import SMAX, map_name_to_scenario

        return jaxmarl_envs(SMAX(scenario=map_name_to_scenario(scenario)), num_envs)

    return make


CASES = tuple(
    Case(f"skirmish, {scenario}", "skirmish", num_envs, {"scenario": scenario}, {"jaxmarl": jaxmarl(scenario)})
    for scenario, num_envs in (("2s3z", 1024), ("5m_vs_6m", 1024), ("27m_vs_30m", 128))
)
