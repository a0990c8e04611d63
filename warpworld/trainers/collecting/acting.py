"""Acting: a rollout in one call, step by step or as CUDA graphs; a step of a world and its players in parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, Protocol

import torch
from torch import Tensor

from warpworld.trainers.collecting.acting_kernel import ActingKernel
from warpworld.trainers.collecting.actor import Actor
from warpworld.trainers.collecting.recorders import Recorders
from warpworld.trainers.collecting.whole_step import WholeSteps
from warpworld.trainers.spans import ACT_AND_STEP, ENV_STEP, span
from warpworld.world import World


# ---- a step ----------------------------------------------------------------------------------------------------------
class Step(Protocol):
    """One step of all envs: every player acts, records are kept, the world steps, recorders move on."""

    def begin(self) -> None:
        """Take in weights and players, which may change between two rollouts and at no other time."""

    def run(self) -> None:
        """Take the step."""


class StepInParts:
    """Takes steps in parts: the groups act one after the other, recorders record, the world steps.

    Args:
        world: a sealed world.
        kernels: that act for several groups each.
        actors: of all groups.
        recorders: of the run.
    """

    def __init__(
        self, world: World, kernels: Sequence[ActingKernel], actors: Sequence[Actor], recorders: Recorders
    ) -> None:
        self._world, self._kernels = world, kernels
        taken_over = [actor for kernel in kernels for actor in kernel.actors]
        self._acting: list[ActingKernel | Actor] = [*kernels, *(actor for actor in actors if actor not in taken_over)]
        # what records a step when every player has acted, and what follows the world's step
        copies, after = recorders.copies(), recorders.steps_after()
        self._recording = [*([world.program(copies)] if copies else []), *recorders.acted()]
        self._moving_on = [*recorders.stepped(), *([world.program(after)] if after else [])]

    def begin(self) -> None:
        """Let the kernels take in weights and players."""
        for kernel in self._kernels:
            kernel.begin()

    def run(self) -> None:
        """Take the step."""
        self._act()
        for record in self._recording:
            record()
        with span(ENV_STEP):
            self._world.step()
        for move_on in self._moving_on:
            move_on()

    def _act(self) -> None:
        """Let every player act."""
        for acting in self._acting:
            acting.act()


class StepPartByPart(StepInParts):
    """Takes steps in which a part of the envs steps while the policies act for the next, see ``Environment.parts``.

    With two parts, the second one's actions are computed while the first one steps.

    Args:
        world: a sealed world.
        actors: of all groups.
        recorders: of the run.
    """

    def __init__(self, world: World, actors: Sequence[Actor], recorders: Recorders) -> None:
        super().__init__(world, (), actors, recorders)
        self._active = world["active"]
        self._at_random = [actor for actor in actors if actor.is_random]
        self._deciding = [actor for actor in actors if not actor.is_random]
        self._parts = [
            (envs, world.python_program(partial(_begin_part, world, number)))
            for number, envs in enumerate(world.environment.parts)
        ]

    def _act(self) -> None:
        for actor in self._at_random:
            actor.act()
        before = self._active.clone()
        for envs, begin in self._parts:
            self._active.zero_()[envs] = True
            for actor in self._deciding:
                actor.act_in(envs)
            begin()
        self._active.copy_(before)


def _begin_part(world: World, number: int, arrays: Any, active: Tensor) -> None:
    """Begin a part's step, as a Python phase."""
    world.environment.begin_part(arrays, number)


# ---- a rollout -------------------------------------------------------------------------------------------------------
Measured = Callable[[], Tensor]
"""Gives the numbers that recorders measured of the latest rollout, (numbers,) int64 on the device."""


class Acting(Protocol):
    """Takes the steps of a rollout, for the players that it is made for."""

    def collect(self) -> Measured:
        """Take T steps from the world's current state."""


class InOneCall:
    """All steps in one call of C++.

    Args:
        whole: the steps.
        recorders: of the run, which call nothing from Python between two steps.
    """

    def __init__(self, whole: WholeSteps, recorders: Recorders) -> None:
        self._whole, self._recorders = whole, recorders

    def collect(self) -> Measured:
        """Implement ``Acting``."""
        self._recorders.begin()
        self._whole.begin()
        with span(ACT_AND_STEP):
            self._whole.run()
        self._recorders.join()
        self._recorders.end()
        return self._recorders.measured


class StepByStep:
    """Steps one by one, called from Python.

    Args:
        step: one step.
        recorders: of the run.
        num_steps: T.
    """

    def __init__(self, step: Step, recorders: Recorders, num_steps: int) -> None:
        self._one, self._recorders, self._num_steps = step, recorders, num_steps

    def collect(self) -> Measured:
        """Implement ``Acting``."""
        self._begin()
        for _ in range(self._num_steps):
            self._step()
        self._recorders.join()
        self._recorders.end()
        return self._recorders.measured

    def _begin(self) -> None:
        self._recorders.begin()
        self._one.begin()

    def _step(self) -> None:
        """Take one step; what a CUDA graph can hold."""
        self._one.run()


class InGraphs(StepByStep):
    """Several steps in a CUDA graph, which is replayed until the rollout is complete.

    Args:
        world: a sealed world.
        kernels: that act in the step.
        at_once: steps of a graph; they divide T.
        step: as of ``StepByStep``.
        recorders: as of ``StepByStep``.
        num_steps: as of ``StepByStep``.
    """

    def __init__(
        self,
        world: World,
        kernels: Sequence[ActingKernel],
        at_once: int,
        step: Step,
        recorders: Recorders,
        num_steps: int,
    ) -> None:
        super().__init__(step, recorders, num_steps)
        self._world, self._kernels, self._at_once = world, kernels, at_once

    @cached_property
    def replay(self) -> Callable[[], None]:
        """Takes the steps of one graph, which is captured at the first call: behind the beginning of a rollout."""
        return self._world.capture(self._steps)

    def collect(self) -> Measured:
        """Implement ``Acting``."""
        self._begin()
        for _ in range(self._num_steps // self._at_once):
            self.replay()
        self._recorders.join()
        self._recorders.end()
        return self._recorders.measured

    def _steps(self) -> None:
        """Make as many steps as a graph holds."""
        for kernel in self._kernels:
            kernel.follow_row()
        for _ in range(self._at_once):
            self._step()


class InOneGraph(InGraphs):
    """All steps in one CUDA graph, with what recorders do around them and measure; arguments as of ``InGraphs``."""

    _numbers: Tensor  # that recorders measured: the first run makes it, the graph writes it

    @cached_property
    def replay(self) -> Callable[[], None]:
        """Makes a whole iteration."""
        return self._world.capture(self._iteration)

    def collect(self) -> Measured:
        """Implement ``Acting``."""
        self.replay()
        return lambda: self._numbers

    def _iteration(self) -> None:
        """Make a whole iteration."""
        self._take_all()
        self._complete()

    def _take_all(self) -> None:
        """Begin an iteration and take its steps."""
        self._begin()
        self._steps()

    def _complete(self) -> None:
        """Complete an iteration, and measure for recorders in one place."""
        self._recorders.end()
        measured = self._recorders.measured()
        if not hasattr(self, "_numbers"):
            self._numbers = torch.empty_like(measured)
        self._numbers.copy_(measured)


class InTwoGraphs(InOneGraph):
    """All steps in one CUDA graph and what follows in another; in between an update beside the steps is waited for."""

    @cached_property
    def replay(self) -> Callable[[], None]:
        """Begins an iteration and takes its steps."""
        return self._world.capture(self._take_all)

    @cached_property
    def complete(self) -> Callable[[], None]:
        """Completes the iteration."""
        return self._world.capture(self._complete)

    def collect(self) -> Measured:
        """Implement ``Acting``."""
        self.replay()
        self._recorders.join()
        self.complete()
        return lambda: self._numbers
