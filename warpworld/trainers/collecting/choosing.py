"""Choice of how a run's steps are executed, by device and players: the only place of ``collecting`` that asks."""

from __future__ import annotations

from collections.abc import Sequence

from warpworld.trainers.collecting.acting import (
    Acting,
    InGraphs,
    InOneCall,
    InOneGraph,
    InTwoGraphs,
    Step,
    StepByStep,
    StepInParts,
    StepPartByPart,
)
from warpworld.trainers.collecting.acting_kernel import MAX_GROUPS, ActingKernel, is_random, why_not
from warpworld.trainers.collecting.actor import Actor
from warpworld.trainers.collecting.recorders import Recorders
from warpworld.trainers.collecting.whole_step import WholeSteps, acts_in_cpp
from warpworld.world import World


def choose_acting(
    world: World,
    actors: Sequence[Actor],
    kernels: Sequence[ActingKernel],
    recorders: Recorders,
    num_steps: int,
    graph_steps: int,
    in_one_call: bool = True,
) -> Acting:
    """Choose what takes a rollout's steps, for the present players.

    Args:
        world: a sealed world.
        actors: of all its groups.
        kernels: that act for several groups each.
        recorders: of the run.
        num_steps: T.
        graph_steps: steps of a CUDA graph at most; 0 for no graphs.
        in_one_call: whether the networks, draws and steps of a rollout are one call, where they can be.
    """
    at_once = most_steps(num_steps, graph_steps)
    needs_python = recorders.call_python or world.checks_actions
    in_one_call = in_one_call and world.runs_on_host and len(world.environment.parts) < 2
    if in_one_call and not needs_python and all(acts_in_cpp(actor) for actor in actors):
        recording = recorders.copies(), recorders.steps_after()
        return InOneCall(WholeSteps(world, actors, recording, num_steps, recorders.row), recorders)
    step = _choose_step(world, actors, kernels, recorders)
    if not world.captures or not at_once:
        return StepByStep(step, recorders, num_steps)
    whole = InOneGraph if recorders.beside is None else InTwoGraphs
    kind = whole if at_once == num_steps else InGraphs
    return kind(world, kernels, at_once, step, recorders, num_steps)


def _choose_step(world: World, actors: Sequence[Actor], kernels: Sequence[ActingKernel], recorders: Recorders) -> Step:
    """Envs in several parts begin one part's step while the players act for the next."""
    if len(world.environment.parts) > 1 and not kernels and not world.checks_actions:
        return StepPartByPart(world, actors, recorders)
    return StepInParts(world, kernels, actors, recorders)


def most_steps(num_steps: int, graph_steps: int) -> int:
    """Steps of a graph: the largest divisor of T that is allowed; 0 for no graphs."""
    return max((k for k in range(1, graph_steps + 1) if num_steps % k == 0), default=0)


def choose_kernels(actors: Sequence[Actor]) -> list[list[Actor]]:
    """The groups for which a launch can act together: those that ``why_not`` has nothing against.

    Groups that act at random go with them.
    """
    able = [actor for actor in actors if why_not(actor) is None]
    if able:
        able = [actor for actor in actors if actor in able or is_random(actor)]
    return [able[i : i + MAX_GROUPS] for i in range(0, len(able), MAX_GROUPS)]
