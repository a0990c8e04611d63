"""Games of Hanabi to compare: their parameters, and moves that bring games far."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.packaged import packaged
from warpworld import World

SMALL = dict(hand_size=2, max_information_tokens=3, max_life_tokens=1)
GAMES: dict[str, dict[str, Any]] = {
    **{f"{players} players": dict(players=players) for players in (2, 3, 4, 5)},
    "small": dict(colors=2, **SMALL),
    "very small": dict(colors=1, **SMALL),
    "mini": dict(colors=3, ranks=3, hand_size=3, max_information_tokens=5, lowest_rank_copies=2),
    "of a deck that is dealt whole": dict(players=3, ranks=1, max_life_tokens=2),
}


def dealt(params: dict[str, Any], num_envs: int, seed: int) -> World:
    """A world on the cpu after its first deal."""
    world = packaged("hanabi", num_envs, device="cpu", seed=seed, final_observations=True, **params)
    world.reset()
    return world


def chosen(world: World, generator: np.random.Generator) -> np.ndarray:
    """(envs, players): a legal choice of each mover, often a card that scores or else no card; of others any choice."""
    p = world.environment.params
    masks, to_move = world.data.numpy("action_mask"), world.data.numpy("to_move")
    actions = generator.integers(0, masks.shape[2], masks.shape[:2])
    for env, mover in enumerate(to_move):
        legal = np.flatnonzero(masks[env, mover])
        is_play = (legal >= p.hand) & (legal < 2 * p.hand)
        places = world.data.numpy("hands")[env, mover][legal[is_play] - p.hand]
        colours, ranks = np.divmod(world.data.numpy("deck")[env][places], p.ranks)
        scoring = legal[is_play][world.data.numpy("fireworks")[env][colours] == ranks]
        if scoring.size and generator.random() < 0.8:
            legal = scoring
        elif not is_play.all() and generator.random() < 0.95:
            legal = legal[~is_play]
        actions[env, mover] = generator.choice(legal)
    return actions


def act(world: World, actions: np.ndarray) -> list[int]:
    """One step; the choices of those who moved."""
    movers = world.data.numpy("to_move").copy()
    world["actions"][:] = world["actions"].new_tensor(actions)[..., None]
    world.step()
    return actions[np.arange(len(movers)), movers].tolist()
