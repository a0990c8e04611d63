"""A game as arrays, in the form of `warpworld rollout`, for programs that learn from games."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpworld.trainers.from_python.episode_arrays import npz_of
from warpworld.trainers.from_python.kept_steps import episode_of

if TYPE_CHECKING:
    from warpworld.cli.play.game import Game


def data_of(game: Game) -> bytes:
    """The episode so far as an npz file of one episode, see ``npz_of``.

    Its ``about`` has the environment, the seed, the number of the game, and the person's agent by group, number in the
    group and name.
    """
    seat, others = game.seat, game.others()
    about = {
        "environment": game.title,
        "seed": game.seed,
        "episode": game.episode,
        "played": {"group": seat.group.name, "index": seat.index, "agent": seat.agent},
        "others": others,
    }
    episode = episode_of(game.world, [step.arrays for step in game.steps])
    return npz_of([episode], list(game.world.groups.values()), about)
