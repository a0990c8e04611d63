"""Evaluations during training: fixed games, the best weights so far, and when the training may end."""

from warpworld.trainers.evaluations.evaluations import Evaluations

__all__ = ["Evaluations"]
