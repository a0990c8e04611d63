"""Games on a board beside PettingZoo's, with random legal moves there and random moves here."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from .case import Case, Peer


def pettingzoo(module: str) -> Peer:
    """A game of PettingZoo's, one env: a move of the player whose turn it is."""

    def make(num_envs: int) -> tuple[Callable[[], object], int]:
        env: Any = importlib.import_module(f"pettingzoo.classic.{module}").env()
        env.reset()
        generator = np.random.default_rng(0)

        def step() -> None:
            observation, _, ended, cut, _ = env.last()
            if ended or cut:
                env.reset()
                observation = env.last()[0]
            env.step(int(generator.choice(np.flatnonzero(observation["action_mask"]))))

        return step, 1

    return make


CASES = (
    Case("connect_four", "connect_four", 4096, peers={"pettingzoo": pettingzoo("connect_four_v3")}),
    Case("tic_tac_toe", "tic_tac_toe", 4096, peers={"pettingzoo": pettingzoo("tictactoe_v3")}),
)
