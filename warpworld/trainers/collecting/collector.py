"""The steps of an iteration: every player acts, the world steps, recorders keep what they are there for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from warpworld.policies import SamplerMaker
from warpworld.trainers.collecting.acting import Acting, Measured
from warpworld.trainers.collecting.acting_kernel import ActingKernel
from warpworld.trainers.collecting.actor import Actor
from warpworld.trainers.collecting.choosing import choose_acting, choose_kernels
from warpworld.trainers.collecting.outcomes import ROW, Outcomes
from warpworld.trainers.collecting.players import Player, Slot
from warpworld.trainers.collecting.recorder import Recorder
from warpworld.trainers.collecting.recorders import Kind, Recorders
from warpworld.trainers.collecting.whole_step import networks_of
from warpworld.world import World

UpdatesAtOnce = Callable[[], AbstractContextManager[Sequence[object] | None]]
"""Gives a context in which updates of policies are begun and at whose end they run as one; with a list of those."""


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
        uses_kernels: whether kernels act and compute losses, where CUDA graphs are captured; ``building`` settles it
            before any algorithm is declared.
        is_reduced: whether networks multiply in bfloat16; likewise.
        overlaps: whether an update may run beside the steps of an iteration, see ``overlap``.
        together: gives a context for the updates of an iteration, see ``UpdatesAtOnce``.
        in_one_call: whether the networks, draws and steps of a rollout are one call, where they can be.

    Args:
        world: an unsealed world.
        num_steps: T.
        graph_steps: see above.
        slots: see above; their rows are not learned from.
        total_envs: see above; None if this process is alone.
    """

    uses_kernels: bool = False
    is_reduced: bool = False
    overlaps: bool = False
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
        self._recorders = Recorders(self.outcomes, ROW)
        self._acting: tuple[list[Any], Acting] | None = None  # the latest, and what it was made for
        self._measured: Measured = self._recorders.measured
        self._is_read = False
        self.together: UpdatesAtOnce = nullcontext

    @property
    def rows_ahead(self) -> int:
        """Rows of a ring that are written while an update draws from others."""
        return self.num_steps if self.overlaps else 0

    # ---- before the world is sealed ----------------------------------------------------------------------------------
    def overlap(self, join: Callable[[], None]) -> None:
        """Let an update run beside the steps of an iteration; call it before anything is declared.

        Args:
            join: waits for the update, behind the last step: what recorders then complete it draws from.
        """
        self.overlaps, self._recorders.beside = True, join

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
        together = choose_kernels(list(self.actors.values()))
        recorded = [actor for actor in self.actors.values() if actor.sampler.bound.get("row") == ROW]
        counts = bool(recorded) and len(together) == 1 and all(each in together[0] for each in recorded)
        if counts:
            self.outcomes.leave_counting()
        self.kernels = [ActingKernel(self.world, actors, self.num_steps, counts) for actors in together]

    def add(self, recorder: Kind) -> Kind:
        """Call a recorder in each iteration from now on, and return it."""
        return self._recorders.add(recorder)

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
        self._measured = self.acting().collect()

    def acting(self) -> Acting:
        """Taker of the steps; made again for other players, or for other networks of theirs."""
        actors = list(self.actors.values())
        players = [player for actor in actors for player in actor.players]
        wanted = [self.in_one_call, *players, *(networks_of(player) for player in players)]
        if self._acting is None or not all(a is b for a, b in zip(self._acting[0], wanted, strict=True)):
            self._acting, self._measured = None, self._recorders.measured  # frees what the latest holds
            sizes = self.num_steps, self.graph_steps
            made = choose_acting(self.world, actors, self.kernels, self._recorders, *sizes, self.in_one_call)
            self._acting = wanted, made
        return self._acting[1]

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

    def _read(self) -> list[tuple[Recorder, bool]]:
        """Read all recorders' numbers back at once, the only waiting for the device in an iteration."""
        found = self._recorders.take_in(self._measured().tolist())
        self._is_read = True
        return found
