"""Transitions of n steps, drawn from a ring of past steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch import Tensor

from warpworld.environment import Array
from warpworld.managers import Kept, Step
from warpworld.trainers.collecting import Collector
from warpworld.trainers.processes import ALONE, ProcessGroup
from warpworld.trainers.replay.finals import Finals
from warpworld.trainers.replay.priorities import add_arrays
from warpworld.trainers.replay.replay_base import DrawSizes, Replay
from warpworld.trainers.replay.transitions import Transitions
from warpworld.trainers.spans import DRAW, spanned


@dataclass(frozen=True)
class ReplaySizes(DrawSizes):
    """Sizes of a ring of transitions and of its draws.

    Attributes:
        final_observations: whether final observations of truncated episodes are kept; else a transition that would need
            one ends a step earlier, and the last of an episode is not drawn.
        frame_stack: observations that make what the policy reads.
    """

    final_observations: bool = False
    frame_stack: int = 1


class TransitionReplay(Replay):
    """Records every step of a policy's agents in a ring, and draws transitions from it.

    Observations are stored once: what follows a step is the next row. Which items can be drawn is settled once an
    iteration. The rules stand in ``cuda/n_step.cuh`` and ``transitions.cu``.

    Attributes:
        sizes: see above.

    Args:
        collector: of an unsealed world.
        groups: of the policy.
        sizes: see above; the batch is this process's part.
        processes: those that learn together.
    """

    def __init__(
        self, collector: Collector, groups: Sequence[str], sizes: ReplaySizes, processes: ProcessGroup = ALONE
    ) -> None:
        super().__init__(collector, groups, sizes, sizes.rows, processes)
        self.sizes = sizes
        self._finals = Finals(self.world, self.ring) if sizes.final_observations else None
        self._aliases |= self._add_arrays()
        self._build()
        self.world.when_sealed(self._bind)

    # ---- before the world is sealed ----------------------------------------------------------------------------------
    def _add_arrays(self) -> dict[str, str]:
        """Add the batch; gives their names by those of the kernels' parameters."""
        policy_agents, sizes, ring = self.policy_agents, self.sizes, self.ring
        batch = sizes.batch_size
        each = (batch, *self.members)
        seen = (*each, sizes.frame_stack * policy_agents.rows.size)
        arrays: list[tuple[Array, Kept]] = [
            (Array("batch_observations", policy_agents.rows.dtype, seen, "world"), "derived"),
            (Array("batch_next_observations", policy_agents.rows.dtype, seen, "world"), "derived"),
            (
                Array("batch_actions", policy_agents.action_dtype, (*each, policy_agents.action_size), "world"),
                "derived",
            ),
            (Array("batch_returns", "float32", (batch,), "world"), "derived"),
            (Array("batch_discounts", "float32", (batch,), "world"), "derived"),
            (Array("batch_next", "int32", (batch,), "world"), "derived"),
        ]
        if ring.choices:
            arrays.append((Array("batch_next_mask", "bool", (*each, ring.choices), "world"), "derived"))
        aliases = add_arrays(self.world, policy_agents.name, arrays)
        # placeholders for arrays that kernels name but this replay does not have; they are never read
        flags, rows = ring.aliases["ring_terminated"], ring.aliases["ring_observations"]
        stand_ins = {"last_mask": flags, "finals_mask": flags, "finals_before": aliases["batch_next"], "finals": rows}
        return {**stand_ins, **aliases, **(self._finals.aliases if self._finals is not None else {})}

    def _build(self) -> None:
        """Compile the kernels."""
        sizes, ahead = self.sizes, self._collector.rows_ahead
        touched = self._collector.num_steps + sizes.n_step + sizes.frame_stack - 1
        if ahead:  # rows that are written while others are drawn, and one that is looked at behind a stack
            touched += ahead + 1
        constants = {
            "STACK": sizes.frame_stack,
            "TOUCHED": min(sizes.rows, touched),
            "SLOTS": 1 if self._finals is None else self._finals.slots,
            "FINALS": int(sizes.final_observations),
            "ACTION_MASKED": int(self.ring.choices > 0),
        }
        self.build("transitions.cu", constants, sizes.batch_size)

    # ---- in the sealed store -----------------------------------------------------------------------------------------
    def _bind(self) -> None:
        world, ring = self.world, self.ring
        self._settle = world.program(
            [*ring.settle(), *self._note(), self.step("set_first_leaves"), *self.priorities.add_up_steps()]
        )
        self._draw = world.program([*self.priorities.draw_steps(), *self._gather()])
        self._batch = self._views()

    def _views(self) -> Transitions:
        """The batch, as views of the store."""
        masks = self.array("batch_next_mask")[..., : self.policy_agents.num_choices] if self.ring.choices else None
        return Transitions(
            observations=self.array("batch_observations"),
            actions=self.array("batch_actions"),
            returns=self.array("batch_returns"),
            discounts=self.array("batch_discounts"),
            next_observations=self.array("batch_next_observations"),
            next_action_masks=masks,
            weights=self.array("batch_weights"),
        )

    def _note(self) -> list[Step]:
        """Further launches on an iteration's rows, before those that decide which of them can be drawn."""
        return []

    def _keep_final(self) -> list[Step]:
        if self._finals is None:
            return []
        kernel = "keep_final_observations" if self.policy_agents.rows.is_plain else "keep_final_bytes"
        return [*self._finals.copies(), self.step(kernel)]

    def _gather(self) -> list[Step]:
        names = ["gather", "gather_observations" if self.policy_agents.rows.is_plain else "gather_bytes"]
        names.append("gather_choices" if self.policy_agents.action_dtype == "int32" else "gather_box_actions")
        return [self.step(name) for name in (*names, *(["gather_masks"] if self.ring.choices else []))]

    # ---- around a step -----------------------------------------------------------------------------------------------
    def steps_after(self) -> Sequence[Step]:
        """Keep final observations, and let the next step go into the next row."""
        return [*self._keep_final(), *self.ring.advance()]

    def calls_after_step(self) -> Sequence[Callable[[], None]]:
        """Put final observations of several parts together, before they are kept."""
        return [self._finals.join] if self._finals is not None and self._finals.joins else []

    def end(self) -> None:
        """Settle which items can be drawn."""
        self._settle()

    def measured(self) -> Sequence[Tensor]:
        """Whether observations are finite, and how many final ones the ring's steps need."""
        return [*super().measured(), *([] if self._finals is None else [self._finals.most_kept()])]

    def take_in(self, numbers: Sequence[int]) -> None:
        """Receives what ``measured`` gave.

        Raises:
            DeclarationError: an env was truncated more often than its ``truncations()`` returns.
        """
        if self._finals is not None:
            self._finals.check(numbers[1:])

    # ---- learning ----------------------------------------------------------------------------------------------------
    @spanned(DRAW)
    def draw(self, beta: float | Tensor = 0.0) -> Transitions:
        """Draw a batch; it stays as it is until the next draw.

        Args:
            beta: how far importance weights make up for priorities, in [0, 1].
        """
        self._draw()
        self.priorities.weights(beta)
        return self._batch
