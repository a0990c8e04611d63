"""Transitions of teams, drawn from a ring of past steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from torch import Tensor

from warpworld.environment import Array, Kernel
from warpworld.managers import Copy, Kept, Number, Step
from warpworld.trainers.collecting import Collector
from warpworld.trainers.processes import ALONE, ProcessGroup
from warpworld.trainers.replay.priorities import KERNELS, add_arrays, lanes_for
from warpworld.trainers.replay.team_states import TeamStates
from warpworld.trainers.replay.team_transitions import TeamTransitions
from warpworld.trainers.replay.transition_replay import ReplaySizes, TransitionReplay
from warpworld.trainers.spans import DRAW, spanned


@dataclass(frozen=True)
class TeamSizes(ReplaySizes):
    """Sizes of a ring of teams' transitions and of its draws.

    Attributes:
        mean_reward: whether a team earns the mean over its agents; else their sum.
        state: name of the array that the state comes from; None keeps none.
    """

    mean_reward: bool = True
    state: str | None = None


class TeamReplay(TransitionReplay):
    """Records every step of a group's agents, and draws transitions of all agents of an env at once.

    The agents of an env lie side by side in a row of the ring, so a team's transition is that of one agent whose
    observation, action and mask are as long as all of theirs. What it earned and whether it can be drawn is settled
    once an iteration. The rules stand in ``teams.cu``.

    Attributes:
        sizes: see above.

    Args:
        collector: of an unsealed world.
        group: the agents that make up a team.
        sizes: see above; the batch is this process's part.
        processes: those that learn together.
    """

    sizes: TeamSizes
    _batch: TeamTransitions

    def __init__(self, collector: Collector, group: str, sizes: TeamSizes, processes: ProcessGroup = ALONE) -> None:
        self._states: TeamStates | None = None
        super().__init__(collector, [group], sizes, processes)

    @property
    def members(self) -> tuple[int, ...]:
        """Agents of a transition, as dimensions of a batch: all agents of an env."""
        return (self.policy_agents.size,)

    # ---- before the world is sealed ----------------------------------------------------------------------------------
    def _add_arrays(self) -> dict[str, str]:
        """Implement ``TransitionReplay``; a team's rewards and flags are what its kernels take for an agent's."""
        each = (self.sizes.batch_size, self.policy_agents.size)
        of_teams = (self.ring.rows, self.world.num_envs, 1)
        arrays: list[tuple[Array, Kept]] = [
            (Array("team_rewards", "float32", of_teams, "world"), "history"),
            (Array("team_takes_part", "uint8", of_teams, "world", initial=0), "history"),
            (Array("batch_takes_part", "bool", each, "world"), "derived"),
            (Array("batch_next_takes_part", "bool", each, "world"), "derived"),
        ]
        aliases = super()._add_arrays() | add_arrays(self.world, self.policy_agents.name, arrays)
        if self.sizes.state is not None:
            slots, known = None if self._finals is None else self._finals.slots, {**self.aliases, **aliases}
            self._states = TeamStates(self.world, self.ring, self.sizes.state, self.sizes.batch_size, slots, known)
            aliases |= self._states.aliases
        return {**aliases, "ring_rewards": aliases["team_rewards"], "takes_part": aliases["team_takes_part"]}

    def build(self, source: str, constants: Mapping[str, Number], work: int, **scalars: Number) -> None:
        """Implement ``Replay``; to these kernels a team is one agent, which leaves its episode only with its env."""
        super().build(source, {**constants, "AGENTS": 1, "LEAVING": 0, "CUTTING": 0, "MASKED": 0}, work, **scalars)
        world, aliases = self.world, {**self.aliases, **self.ring.aliases}
        own = {"BATCH": self.sizes.batch_size, "MEAN": int(self.sizes.mean_reward)}
        of_ring = self.ring.constants
        known, numbers = {**of_ring, **own}, self.ring.sizes_of(of_ring)
        self._of_teams = world.kernels(KERNELS / "teams.cu", known, numbers, aliases=aliases)
        lanes = lanes_for(max(work, world.num_envs) * self.policy_agents.size, world.num_envs)
        self._of_teams.build([Kernel(name, lanes, own_env_only=False) for name in self._of_teams.signatures])

    # ---- in the sealed store -----------------------------------------------------------------------------------------
    def _note(self) -> list[Step]:
        return [self._team_step("note_teams")]

    def _keep_final(self) -> list[Step]:
        states = [] if self._states is None else self._states.keep_final()
        return [*states, *super()._keep_final()]

    def _gather(self) -> list[Step]:
        states = [] if self._states is None else self._states.gather()
        return [*super()._gather(), self._team_step("gather_members"), *states]

    def _team_step(self, kernel: str) -> Step:
        return self._of_teams.step(kernel, index=0, own_env_only=False)

    def _views(self) -> TeamTransitions:
        states = self._states
        return TeamTransitions(
            **vars(super()._views()),
            takes_part=self.array("batch_takes_part"),
            next_takes_part=self.array("batch_next_takes_part"),
            states=None if states is None else states.of_batch("batch_states"),
            next_states=None if states is None else states.of_batch("batch_next_states"),
        )

    # ---- around a step -----------------------------------------------------------------------------------------------
    def copies(self) -> Sequence[Copy]:
        """Copies of what was seen, done and allowed into the row, and of the state."""
        return [*super().copies(), *([] if self._states is None else self._states.copies())]

    def measured(self) -> Sequence[Tensor]:
        """Measures as ``TransitionReplay``'s; states are to be finite too."""
        is_finite, *others = super().measured()
        return [is_finite if self._states is None else is_finite & self._states.is_finite(), *others]

    def refuse_not_finite(self) -> None:
        """Search what agents saw, and their states."""
        super().refuse_not_finite()
        if self._states is not None:
            self._states.refuse_not_finite()

    # ---- learning ----------------------------------------------------------------------------------------------------
    @spanned(DRAW)
    def draw(self, beta: float | Tensor = 0.0) -> TeamTransitions:
        """Draw a batch; it stays as it is until the next draw; ``beta`` as of ``TransitionReplay.draw``."""
        super().draw(beta)
        return self._batch
