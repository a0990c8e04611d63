"""The algorithms by name."""

from __future__ import annotations

from warpworld.config import algorithm_class
from warpworld.packaged import ALGORITHMS
from warpworld.trainers.algorithms.algorithm import Algorithm

__all__ = ["ALGORITHMS", "get_algorithm"]


def get_algorithm(name: str) -> type[Algorithm]:
    """The algorithm of that name, or the class that ``module:Class`` names.

    Raises:
        ConfigError: there is none, or it is no algorithm.
    """
    found: type[Algorithm] = algorithm_class(name)
    return found
