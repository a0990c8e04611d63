"""Windows of successive steps, drawn from a ring of past steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from warpworld.environment import Array
from warpworld.managers import Kept, Step
from warpworld.trainers.collecting import Actor, Collector
from warpworld.trainers.processes import ALONE, ProcessGroup
from warpworld.trainers.replay.priorities import add_arrays
from warpworld.trainers.replay.replay_base import DrawSizes, Replay
from warpworld.trainers.replay.window_states import WindowStates
from warpworld.trainers.replay.windows import Windows
from warpworld.trainers.spans import DRAW, spanned


@dataclass(frozen=True, kw_only=True)
class WindowSizes(DrawSizes):
    """Sizes of a ring of windows and of its draws.

    A window begins every ``train_length`` rows, so that every step is trained in one of them; ``rows`` is a multiple of
    it. ``n_step`` steps follow the trained ones.

    Attributes:
        state_size: numbers that an agent remembers.
        burn_in: steps that warm the memory up.
        train_length: steps that are trained.
        eta: share of the largest error in a window's priority; the rest is the mean's.
    """

    state_size: int
    burn_in: int
    train_length: int
    eta: float = 0.9

    @property
    def length(self) -> int:
        """Steps of a window."""
        return self.burn_in + self.train_length + self.n_step

    @property
    def slots(self) -> int:
        """Windows of one agent that the ring has room for."""
        return self.rows // self.train_length


class WindowReplay(Replay):
    """Records every step of a policy's agents in a ring, and draws windows of it.

    Windows run on across ends of episodes, so that nothing is padded and nothing stored twice. What agents remember is
    kept where windows begin. Which windows can be drawn is settled once an iteration. The rules stand in
    ``cuda/n_step.cuh`` and ``windows.cu``.

    Attributes:
        sizes: see above.

    Args:
        collector: of an unsealed world.
        groups: of the policy.
        sizes: see above; the batch is this process's part.
        processes: those that learn together.
    """

    def __init__(
        self, collector: Collector, groups: Sequence[str], sizes: WindowSizes, processes: ProcessGroup = ALONE
    ) -> None:
        super().__init__(collector, groups, sizes, sizes.slots, processes)
        self.sizes = sizes
        self._aliases |= self._add_arrays()
        kept, cuts = self._aliases["window_states"], self._aliases["window_cuts"]
        self._states = WindowStates(self.world, self.ring, kept, cuts, sizes.train_length, sizes.state_size)
        self._build()
        self.world.when_sealed(self._bind)

    # ---- before the world is sealed ----------------------------------------------------------------------------------
    def act(self, group: str, *args: object, **kwargs: object) -> Actor:
        """Let a policy that remembers act for one of the groups; arguments as those of ``Collector.act``."""
        actor = super().act(group, *args, **kwargs)
        assert actor.memory is not None
        self._states.keep(actor.memory, actor.group)
        return actor

    def _add_arrays(self) -> dict[str, str]:
        """Add states and the batch; gives their names by those of the kernels' parameters."""
        policy_agents, sizes = self.policy_agents, self.sizes
        length, steps, batch, members = sizes.length, sizes.train_length, sizes.batch_size, self.members
        kept = (sizes.slots, self.world.num_envs, policy_agents.size, sizes.state_size)
        arrays: list[tuple[Array, Kept]] = [
            (Array("window_states", "float32", kept, "world", initial=0.0), "history"),
            (
                Array(
                    "batch_observations",
                    policy_agents.rows.dtype,
                    (length, batch, *members, policy_agents.rows.size),
                    "world",
                ),
                "derived",
            ),
            (Array("batch_states", "float32", (batch, *members, sizes.state_size), "world"), "derived"),
            (Array("batch_starts", "bool", (length, batch), "world"), "derived"),
            (
                Array(
                    "batch_actions",
                    policy_agents.action_dtype,
                    (steps, batch, *members, policy_agents.action_size),
                    "world",
                ),
                "derived",
            ),
            (Array("batch_returns", "float32", (steps, batch), "world"), "derived"),
            (Array("batch_discounts", "float32", (steps, batch), "world"), "derived"),
            (Array("batch_next", "int64", (steps, batch), "world"), "derived"),
            (Array("batch_learnt", "bool", (steps, batch), "world"), "derived"),
        ]
        if self.ring.constants["CUTTING"]:
            arrays.append((Array("window_cuts", "bool", kept[:3], "world", initial=False), "history"))
        if self.ring.choices:
            allowed = (steps + sizes.n_step, batch, *members, self.ring.choices)
            arrays.append((Array("batch_mask", "bool", allowed, "world"), "derived"))
        aliases = add_arrays(self.world, policy_agents.name, arrays)
        # placeholders for arrays that kernels name but this replay does not have; they are never read
        read, written = self._aliases["ring_terminated"], aliases["batch_starts"]
        return {"ring_action_mask": read, "batch_mask": written, "window_cuts": written, **self._aliases, **aliases}

    def _build(self) -> None:
        """Compile the kernels."""
        sizes = self.sizes
        constants = {
            "BURN_IN": sizes.burn_in,
            "TRAIN": sizes.train_length,
            "STRIDE": sizes.train_length,
            "STATE_SIZE": math.prod(self.members) * sizes.state_size,
            "FINALS": 0,
            "AHEAD": self._collector.rows_ahead,
        }
        self.build("windows.cu", constants, sizes.length * sizes.batch_size, eta=sizes.eta)

    # ---- in the sealed store -----------------------------------------------------------------------------------------
    def _bind(self) -> None:
        world, ring, priorities = self.world, self.ring, self.priorities
        self._keep_states = world.program(self._states.steps())
        self._settle = world.program(
            [*ring.settle(), *self._note(), self.step("set_first_leaves"), *priorities.add_up_steps()]
        )
        names = ["gather", "gather_memory", "gather_choices", *(["gather_masks"] if ring.choices else [])]
        names.append("gather_observations" if self.policy_agents.rows.is_plain else "gather_bytes")
        self._draw = world.program([*priorities.draw_steps(), *map(self.step, names), *self._gather()])

    def _note(self) -> list[Step]:
        """Further launches on an iteration's rows, before those that decide which windows can be drawn."""
        return []

    def _gather(self) -> list[Step]:
        """Further launches that gather a batch."""
        return []

    # ---- around an iteration's steps ---------------------------------------------------------------------------------
    def begin(self) -> None:
        """Keep what agents remember, if a window begins: it may have been set since the latest step."""
        self._keep_states()

    def steps_after(self) -> Sequence[Step]:
        """Let the next step go into the next row; if a window begins there, what agents remember is kept."""
        return [*self.ring.advance(), *self._states.steps()]

    def end(self) -> None:
        """Settle which windows can be drawn."""
        self._settle()

    # ---- learning ----------------------------------------------------------------------------------------------------
    @spanned(DRAW)
    def draw(self, beta: float | Tensor = 0.0) -> Windows:
        """Draw a batch; it stays as it is until the next draw.

        Args:
            beta: how far importance weights make up for priorities, in [0, 1].
        """
        self._draw()
        return Windows(
            observations=self.array("batch_observations"),
            states=self.array("batch_states"),
            starts=self.array("batch_starts"),
            actions=self.array("batch_actions"),
            returns=self.array("batch_returns"),
            discounts=self.array("batch_discounts"),
            following=self.array("batch_next"),
            learnt=self.array("batch_learnt"),
            action_masks=self.array("batch_mask")[..., : self.policy_agents.num_choices] if self.ring.choices else None,
            weights=self.priorities.weights(beta),
        )
