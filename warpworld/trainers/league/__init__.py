"""Self-play: opponents in slots of envs, their pool, match-making and ratings; and tables of who beats whom."""

from warpworld.trainers.league.league import League

__all__ = ["League"]
