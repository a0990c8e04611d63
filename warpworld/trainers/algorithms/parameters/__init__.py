"""A policy's parameters as one vector, and the optimisers that move it."""

from warpworld.trainers.algorithms.parameters.averaged_policy import AveragedPolicy
from warpworld.trainers.algorithms.parameters.flat_parameters import OPTIMIZERS, FlatParameters, OptimizerMaker, adam
from warpworld.trainers.algorithms.parameters.kl_penalty import KLPenalty
from warpworld.trainers.algorithms.parameters.kl_rate import KLRate
from warpworld.trainers.algorithms.parameters.muon import MOMENTUM, Muon, muon
from warpworld.trainers.algorithms.parameters.optimizers import Adam
from warpworld.trainers.algorithms.parameters.rmsprop import rmsprop

__all__ = [
    "MOMENTUM",
    "OPTIMIZERS",
    "Adam",
    "AveragedPolicy",
    "FlatParameters",
    "KLPenalty",
    "KLRate",
    "Muon",
    "OptimizerMaker",
    "adam",
    "muon",
    "rmsprop",
]
