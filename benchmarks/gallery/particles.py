"""Games of particles beside mpe2 and JaxMARL, and spread with more and more agents."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from .case import Case, Peer
from .stepping import jaxmarl_envs

AGENTS = 3072  # of all envs together, where their number grows

# Our game, mpe2's module, JaxMARL's class.
GAMES = (
    ("adversary", "simple_adversary_v3", "SimpleAdversaryMPE"),
    ("push", "simple_push_v3", "SimplePushMPE"),
    ("pursuit", "simple_tag_v3", "SimpleTagMPE"),
    ("reference", "simple_reference_v3", "SimpleReferenceMPE"),
    ("speaker_listener", "simple_speaker_listener_v4", "SimpleSpeakerListenerMPE"),
    ("spread", "simple_spread_v3", "SimpleSpreadMPE"),
)


def mpe2(module: str) -> Peer:
    """One env of the original, which is reset where its episode ends."""

    def make(num_envs: int) -> tuple[Callable[[], object], int]:
        del num_envs
        env = importlib.import_module(f"mpe2.{module}").parallel_env()
        env.reset(seed=0)
        spaces = [(agent, env.action_space(agent)) for agent in env.agents]

        def step() -> None:
            env.step({agent: space.sample() for agent, space in spaces})
            if not env.agents:
                env.reset()

        return step, 1

    return make


def jaxmarl(name: str, **options: Any) -> Peer:
    """JaxMARL's envs of a game."""

    def make(num_envs: int) -> tuple[Callable[[], object], int]:
        from jaxmarl.environments import mpe

        return jaxmarl_envs(getattr(mpe, name)(**options), num_envs)

    return make


def crowd(agents: int) -> Case:
    """Spread with so many agents and landmarks."""
    peer = jaxmarl("SimpleSpreadMPE", num_agents=agents, num_landmarks=agents)
    label = f"particles, spread of {agents}"
    return Case(label, "particles_spread", AGENTS // agents, {"agents": agents}, {"jaxmarl": peer})


CASES = (
    *(
        Case(f"particles, {game}", f"particles_{game}", 1024, peers={"mpe2": mpe2(module), "jaxmarl": jaxmarl(name)})
        for game, module, name in GAMES
    ),
    *(crowd(agents) for agents in (6, 12, 24, 48)),
)
