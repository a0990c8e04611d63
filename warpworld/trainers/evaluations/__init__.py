"""Evaluations during training: fixed games, the best weights so far, and when the training may end."""

from warpworld.trainers.evaluations.evaluations import Evaluations
from warpworld.trainers.evaluations.measures import measures_of

__all__ = ["Evaluations", "measures_of"]
