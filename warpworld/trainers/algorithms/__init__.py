"""The algorithms that policies learn by: one file each, and what they share."""

from warpworld.trainers.algorithms.algorithm import Algorithm, Progress
from warpworld.trainers.algorithms.registry import ALGORITHMS, get_algorithm

__all__ = ["ALGORITHMS", "Algorithm", "Progress", "get_algorithm"]
