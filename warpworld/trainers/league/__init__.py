"""Self-play: opponents in slots of envs, their pool, match-making and ratings; and tables of who beats whom."""

from warpworld.trainers.league.league import League
from warpworld.trainers.league.weights import copied, digest_of, is_held, packed, read_weights

__all__ = [
    "League",
    "copied",
    "digest_of",
    "is_held",
    "packed",
    "read_weights",
]
