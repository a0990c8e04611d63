"""MinAtar's games beside the package of their authors, and beside gymnax, which has four of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .case import Case, Peer
from .classic_control import gymnax
from .stepping import DRAWS, in_turn

GYMNAX = {
    "asterix": "Asterix-MinAtar",
    "breakout": "Breakout-MinAtar",
    "freeway": "Freeway-MinAtar",
    "space_invaders": "SpaceInvaders-MinAtar",
}


def original(game: str) -> Peer:
    """The package, one env, whose observation is read after each step."""

    def make(num_envs: int) -> tuple[Callable[[], object], int]:
        from minatar import Environment

        env = Environment(game)
        choices = np.random.default_rng(0).choice(env.minimal_action_set(), 64 * DRAWS)

        def step(choice: int) -> None:
            _, ended = env.act(choice)
            if ended:
                env.reset()
            env.state()

        return in_turn(step, list(choices)), 1

    return make


def _case(game: str) -> Case:
    peers = {"minatar": original(game)}
    if game in GYMNAX:
        peers["gymnax"] = gymnax(GYMNAX[game])
    return Case(f"minatar_{game}", f"minatar_{game}", 4096, peers=peers)


CASES = tuple(_case(game) for game in ("asterix", "breakout", "freeway", "seaquest", "space_invaders"))
