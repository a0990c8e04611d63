"""Advantages and value targets of a rollout, and the units in which values are learnt."""

from warpworld.trainers.algorithms.targets.estimates import Estimates
from warpworld.trainers.algorithms.targets.kernel_estimates import KernelEstimates
from warpworld.trainers.algorithms.targets.targets import TARGETS, GAETargets, Targets, VTraceTargets
from warpworld.trainers.algorithms.targets.value_units import ValueUnits, give_units

__all__ = [
    "TARGETS",
    "Estimates",
    "GAETargets",
    "KernelEstimates",
    "Targets",
    "VTraceTargets",
    "ValueUnits",
    "give_units",
]
