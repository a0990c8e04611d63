"""Which functions of a trainer are which part of an iteration."""

from __future__ import annotations

from warpworld.cli.profile.ledger import Ledger, Part
from warpworld.trainers.algorithms import targets
from warpworld.trainers.algorithms.algorithm import Algorithm
from warpworld.trainers.algorithms.estimates import TensorEstimates
from warpworld.trainers.algorithms.kernel_estimates import KernelEstimates
from warpworld.trainers.algorithms.minibatches import Minibatches
from warpworld.trainers.algorithms.off_policy import OffPolicy
from warpworld.trainers.algorithms.on_policy import OnPolicy
from warpworld.trainers.trainer import Trainer

ENV_STEP, POLICY, SAMPLING, RECORDING = "env step", "policy", "sampling", "recording"
CHECKS, OTHER = "checks, episodes", "other"
VALUES, RETURNS, ORDER, ROWS = "values", "returns", "order of rows", "other of the update"
GRADIENT, LOSS, STEP, NORMALISER = "gradient", "forward and loss", "optimiser", "normaliser"
DRAW, PRIORITIES = "draw from the replay", "priorities"


def watch_iterations(ledger: Ledger, trainer: Trainer) -> None:
    """Let a ledger book the iterations of a trainer."""
    ledger.watch(trainer, "_iterate", Part(OTHER))
    collector = trainer.collector
    collector.in_one_call = False  # networks, draws and the world's step are parts of their own
    ledger.watch(collector, "collect", Part(RECORDING))
    ledger.watch(collector.world, "step", Part(ENV_STEP))
    for name, entry in trainer.config.policy.items():
        for group in entry.groups:
            actor = collector.actors[group]
            ledger.watch(actor, "act", Part(POLICY, name))
            for draw in ("draw", "draw_at_random"):
                ledger.watch(actor.sampler, draw, Part(SAMPLING, name))
    for kernel in collector.kernels:
        ledger.watch(kernel, "act", Part(POLICY))  # of several policies together, with their draws
    ledger.watch(collector, "check_finite", Part(CHECKS))
    for statistics in (trainer.episodes, trainer.own_metrics):
        ledger.watch(statistics, "add_up", Part(CHECKS))
    for name, algorithm in trainer.algorithms.items():
        _watch_algorithm(ledger, name, algorithm)
    for function in ("step_values", "ends_of"):
        ledger.watch(targets, function, Part(VALUES))
    for estimates in (TensorEstimates, KernelEstimates):
        for function in ("gae", "vtrace"):
            ledger.watch(estimates, function, Part(RETURNS))
    ledger.watch(Minibatches, "shuffle", Part(ORDER))


def _watch_algorithm(ledger: Ledger, policy: str, algorithm: Algorithm) -> None:
    ledger.watch(algorithm, "learn", Part(ROWS, policy))
    ledger.watch(algorithm, "take_in", Part(NORMALISER))
    if isinstance(algorithm, OnPolicy):
        algorithm.passes_in_cpp = False  # gradients and steps are parts of their own
        ledger.watch(algorithm, "_gradients", Part(GRADIENT))
        ledger.watch(algorithm, "losses", Part(LOSS))
        ledger.watch(algorithm.parameters, "step", Part(STEP))
    if isinstance(algorithm, OffPolicy):
        ledger.watch(algorithm, "update", Part(GRADIENT))
        ledger.watch(algorithm.replay, "draw", Part(DRAW))
        ledger.watch(algorithm.replay, "update", Part(PRIORITIES))
        for parameters in algorithm.learnt.values():
            ledger.watch(parameters, "step", Part(STEP))
