"""Instrumentation of a trainer: the functions that are timed, and the span of each."""

from __future__ import annotations

from warpworld.cli.profile.span_timer import Span, SpanTimer
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


def watch_iterations(timer: SpanTimer, trainer: Trainer) -> None:
    """Time the iterations of a trainer."""
    timer.watch(trainer, "_iterate", Span(OTHER))
    collector = trainer.collector
    collector.in_one_call = False  # networks, draws and the world's step are parts of their own
    timer.watch(collector, "collect", Span(RECORDING))
    timer.watch(collector.world, "step", Span(ENV_STEP))
    for name, entry in trainer.config.policy.items():
        for group in entry.groups:
            actor = collector.actors[group]
            timer.watch(actor, "act", Span(POLICY, name))
            for draw in ("draw", "draw_at_random"):
                timer.watch(actor.sampler, draw, Span(SAMPLING, name))
    for kernel in collector.kernels:
        timer.watch(kernel, "act", Span(POLICY))  # of several policies together, with their draws
    timer.watch(collector, "check_finite", Span(CHECKS))
    for statistics in (trainer.episodes, trainer.own_metrics):
        timer.watch(statistics, "add_up", Span(CHECKS))
    for name, algorithm in trainer.algorithms.items():
        _watch_algorithm(timer, name, algorithm)
    for function in ("step_values", "ends_of"):
        timer.watch(targets, function, Span(VALUES))
    for estimates in (TensorEstimates, KernelEstimates):
        for function in ("gae", "vtrace"):
            timer.watch(estimates, function, Span(RETURNS))
    timer.watch(Minibatches, "shuffle", Span(ORDER))


def _watch_algorithm(timer: SpanTimer, policy: str, algorithm: Algorithm) -> None:
    timer.watch(algorithm, "learn", Span(ROWS, policy))
    timer.watch(algorithm, "take_in", Span(NORMALISER))
    if isinstance(algorithm, OnPolicy):
        algorithm.passes_in_cpp = False  # gradients and steps are parts of their own
        timer.watch(algorithm, "_gradients", Span(GRADIENT))
        timer.watch(algorithm, "losses", Span(LOSS))
        timer.watch(algorithm.parameters, "step", Span(STEP))
    if isinstance(algorithm, OffPolicy):
        timer.watch(algorithm, "update", Span(GRADIENT))
        timer.watch(algorithm.replay, "draw", Span(DRAW))
        timer.watch(algorithm.replay, "update", Span(PRIORITIES))
        for parameters in algorithm.learnt.values():
            timer.watch(parameters, "step", Span(STEP))
