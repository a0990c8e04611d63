"""The steps of an iteration: every player acts, the world steps, recorders keep what they are there for."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor

from warpworld.policies import SamplerMaker
from warpworld.trainers.collecting.acting_kernel import MAX_GROUPS, ActingKernel, is_random, why_not
from warpworld.trainers.collecting.actor import Actor
from warpworld.trainers.collecting.outcomes import ROW, Outcomes
from warpworld.trainers.collecting.players import Player, Slot
from warpworld.trainers.collecting.recorder import Recorder
from warpworld.trainers.collecting.whole_step import WholeStep, networks_of, steps_in_one
from warpworld.trainers.spans import ACT_AND_STEP, ENV_STEP, span
from warpworld.world import World

Kind = TypeVar("Kind", bound=Recorder)


class Collector:
    """Takes T steps of a world at a time.

    What is recorded of a group, and who draws its actions, is declared before the world is sealed: by an algorithm's
    ``declare``, or by ``act`` for a group without a learner.

    Attributes:
        world: the world that is stepped.
        num_steps: T.
        slots: ranges of envs in which opponents play some groups.
        total_envs: envs of all processes together.
        graph_steps: how many steps a CUDA graph holds at most; 0 for no graphs.
        actors: by group.
        kernels: that act for several groups each, see ``fuse``.
        outcomes: rewards and ends of the latest T steps.
        in_one_call: whether networks, draws and the world's step are one call, where they can be.

    Args:
        world: an unsealed world.
        num_steps: T.
        graph_steps: see above.
        slots: see above; their rows are not learned from.
        total_envs: see above; None if this process is alone.
    """

    in_one_call: bool = True

    def __init__(
        self,
        world: World,
        num_steps: int,
        graph_steps: int = 128,
        slots: Sequence[Slot] = (),
        total_envs: int | None = None,
    ) -> None:
        self.world, self.num_steps, self.graph_steps, self.slots = world, num_steps, graph_steps, list(slots)
        self.total_envs = world.num_envs if total_envs is None else total_envs
        self.actors: dict[str, Actor] = {}
        self.kernels: list[ActingKernel] = []
        # in the groups' order, not in that of declaration: a kernel's number decides its random numbers
        self._indices = {group: world.kernel_index() for group in world.groups}
        self.outcomes = Outcomes(world, num_steps)
        self._recorders: list[Recorder] = [self.outcomes]
        self._steps_at_once = max((k for k in range(1, graph_steps + 1) if num_steps % k == 0), default=0)
        self._made_for: list[Any] | None = None  # what the next two were made for
        self._captured: Callable[[], None] | None = None
        self._whole: WholeStep | None = None
        self._counts: list[int] = []  # how many numbers each recorder measures
        self._numbers: Tensor | None = None  # what recorders measured, where a graph writes it
        self._is_read = False
        world.when_sealed(self._find)

    def _find(self) -> None:
        """Find the recorders that have work to do in a step: a call that does nothing costs a small world time."""
        taken_over = [actor for kernel in self.kernels for actor in kernel.actors]
        self._acting: list[ActingKernel | Actor] = [
            *self.kernels,
            *(actor for actor in self.actors.values() if actor not in taken_over),
        ]
        copies = [copy for part in self._recorders for copy in part.copies()]
        self._copy = self.world.program(copies) if copies else None
        self._acted = [part.acted for part in self._recorders if type(part).acted is not Recorder.acted]
        moving = [part for part in self._recorders if part is not self.outcomes or not self.outcomes.is_counted]
        self._stepped = [part.stepped for part in moving if type(part).stepped is not Recorder.stepped]

    # ---- before the world is sealed ----------------------------------------------------------------------------------
    def act(
        self,
        group: str,
        player: Player = None,
        kernel: str = "act",
        sampler: SamplerMaker | None = None,
        recorded: Mapping[str, str] | None = None,
    ) -> Actor:
        """Let a player act for a group; arguments as an ``Actor``'s."""
        actor = Actor(self.world, group, player, kernel, self.slots, sampler, recorded, self._indices[group])
        self.actors[group] = actor
        return actor

    def fuse(self) -> None:
        """Let one launch act for all groups of this collector that ``acting_kernel.why_not`` has nothing against.

        Groups that act at random go with them. Call it when all groups have their actors. A graph of several steps then
        holds for each of them one launch of the policies, besides the world's own.
        """
        able = [actor for actor in self.actors.values() if why_not(actor) is None]
        if able:
            able = [actor for actor in self.actors.values() if actor in able or is_random(actor)]
        recorded = [actor for actor in self.actors.values() if actor.sampler.bound.get("row") == ROW]
        together = [able[i : i + MAX_GROUPS] for i in range(0, len(able), MAX_GROUPS)]
        self.outcomes.is_counted = bool(recorded) and len(together) == 1 and all(each in able for each in recorded)
        self.kernels = [
            ActingKernel(self.world, actors, self.num_steps, self.outcomes.is_counted) for actors in together
        ]

    def add(self, recorder: Kind) -> Kind:
        """Call a recorder in each iteration from now on, and return it."""
        self._recorders.append(recorder)
        return recorder

    def shared(self, kind: type[Kind]) -> Kind:
        """The one recorder of a kind that all algorithms of a run share; ``kind(self)`` where there is none yet."""
        for recorder in self._recorders:
            if isinstance(recorder, kind):
                return recorder
        return self.add(kind(self))  # type: ignore[call-arg]

    # ---- stepping ----------------------------------------------------------------------------------------------------
    def collect(self) -> None:
        """Take T steps from the world's current state."""
        self._is_read = False
        self._meet_players()
        # the whole iteration as one graph
        if self._steps_at_once == self.num_steps and self.world.captures:
            self._once_captured(self._iteration)()
            return
        # its steps, several in a graph or one by one
        self._begin()
        if self._steps_at_once:
            steps = self._once_captured(self._steps)
            for _ in range(self.num_steps // self._steps_at_once):
                steps()
        else:
            for _ in range(self.num_steps):
                self._step()
        self._end()

    def _iteration(self) -> None:
        """Make a whole iteration, and measure for recorders in one place: the part that a CUDA graph can hold."""
        self._begin()
        self._steps()
        self._end()
        measured = self._measured()
        if self._numbers is None:
            self._numbers = torch.empty_like(measured)
        self._numbers.copy_(measured)

    def _begin(self) -> None:
        for recorder in self._recorders:
            recorder.begin()
        for kernel in self.kernels:
            kernel.begin()
        if self._whole is not None:
            self._whole.begin()

    def _end(self) -> None:
        for recorder in self._recorders:
            recorder.end()

    def _step(self) -> None:
        """One step; what a CUDA graph can hold."""
        if self._whole is not None:
            with span(ACT_AND_STEP):
                self._whole.run()
        else:
            for acting in self._acting:
                acting.act()
            if self._copy is not None:
                self._copy()
            for acted in self._acted:
                acted()
            with span(ENV_STEP):
                self.world.step()
        for stepped in self._stepped:
            stepped()

    def _steps(self) -> None:
        """Make as many steps as a graph holds."""
        for kernel in self.kernels:
            kernel.follow_row()
        for _ in range(self._steps_at_once):
            self._step()

    def _meet_players(self) -> None:
        """Make what is made for the current players and their networks, if it was made for others."""
        actors = list(self.actors.values())
        players = [player for actor in actors for player in actor.players]
        wanted = [self.in_one_call, *players, *(networks_of(player) for player in players)]
        if self._made_for is not None and all(a is b for a, b in zip(self._made_for, wanted, strict=True)):
            return
        self._made_for = self._captured = self._whole = None
        does_more = self._acted or self._copy is not None
        if self.in_one_call and not does_more and steps_in_one(self.world, actors):
            self._whole = WholeStep(self.world, actors)
        self._made_for = wanted

    def _once_captured(self, run: Callable[[], None]) -> Callable[[], None]:
        """The work of ``run``, as a CUDA graph if the device has such; captured again for other players."""
        if self._captured is None:
            self._captured = self.world.capture(run)
        return self._captured

    # ---- what the host must know -------------------------------------------------------------------------------------
    def check_finite(self) -> None:
        """Refuse an iteration in which an agent that counts observed or received a number that is not finite.

        Kernels flag such numbers on their way, and a few sums are small to read; only then the rows are searched.

        Raises:
            TrainingError: names array, env, agent, step of the rollout and number.
        """
        for recorder, is_finite in self._read():
            if not is_finite:
                recorder.refuse_not_finite()

    def read(self) -> None:
        """Pass the measurements of the latest iteration to recorders, unless they have them already."""
        if not self._is_read:
            self._read()

    def _measured(self) -> Tensor:
        """The numbers of all recorders, (numbers,) int64 on the device."""
        measured = [recorder.measured() for recorder in self._recorders]
        self._counts = [len(part) for part in measured]
        return torch.stack([number.long() for part in measured for number in part])

    def _read(self) -> list[tuple[Recorder, bool]]:
        """Read all recorders' numbers back at once, the only waiting for the device in an iteration."""
        numbers = iter((self._measured() if self._numbers is None else self._numbers).tolist())
        found = []
        for recorder, count in zip(self._recorders, self._counts, strict=True):
            own = list(itertools.islice(numbers, count))
            recorder.take_in(own)
            found.append((recorder, not own or bool(own[0])))
        self._is_read = True
        return found
