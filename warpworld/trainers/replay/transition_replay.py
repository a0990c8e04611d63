"""A ring of past steps in the store, from which transitions of n steps are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from warpworld.environment import Array, Kernel
from warpworld.managers.data_manager import Kept
from warpworld.managers.program import Step
from warpworld.trainers.collecting.actor import Actor
from warpworld.trainers.collecting.collector import Collector
from warpworld.trainers.collecting.recorder import Recorder
from warpworld.trainers.distributed import ALONE, ProcessGroup
from warpworld.trainers.replay.crew import Crew
from warpworld.trainers.replay.priorities import CUDA_FOLDER, SMALLEST_PRIORITY, Priorities, add_arrays, lanes_for
from warpworld.trainers.replay.transitions import Transitions


@dataclass(frozen=True)
class ReplaySizes:
    """What a ring holds, and what is drawn from it.

    Attributes:
        rows: steps of all envs that it holds.
        batch_size: transitions in a draw.
        n_step: steps of a transition.
        gamma: discount per step.
        alpha: how much priorities count; 0 draws uniformly.
        actors_priority: whether a transition's first priority is its error as it was acted; else it is the largest.
        final_observations: whether final observations of truncated episodes are kept; else a transition that would need
            one ends a step earlier, and the last of an episode is not drawn.
        frame_stack: observations that make what the policy reads.
        reward_clip: rewards are cut off at this size; 0 leaves them.
    """

    rows: int
    batch_size: int
    n_step: int = 1
    gamma: float = 0.99
    alpha: float = 0.0
    actors_priority: bool = False
    final_observations: bool = False
    frame_stack: int = 1
    reward_clip: float = 0.0


class TransitionReplay(Recorder):
    """Records every step of a policy's agents in a ring, and draws transitions from it.

    Observations are stored once: what follows a step is the next row. Steps are copied into the ring while the world
    steps; which items can be drawn is settled once an iteration. The rules stand in ``cuda/transitions.cu``.

    Attributes:
        crew: the agents.
        sizes: see above.
        priorities: what draws.

    Args:
        collector: of an unsealed world.
        groups: of the policy.
        sizes: see above; the batch is this process's part.
        processes: those that learn together.
    """

    def __init__(
        self, collector: Collector, groups: Sequence[str], sizes: ReplaySizes, processes: ProcessGroup = ALONE
    ) -> None:
        self._collector, self.world, self.sizes = collector, collector.world, sizes
        self.crew = Crew(self.world, groups)
        self.masked = "action_mask" in self.world.data
        self._optional = [name for name in ("agent_terminated", "agent_mask") if name in self.world.data]
        block = self.world.num_envs * self.crew.size
        self.priorities = Priorities(
            self.world, self.crew.name, sizes.rows, block, sizes.batch_size, sizes.alpha, processes
        )
        self._actors: dict[str, Actor] = {}
        self._aliases = self._add_arrays()
        self._record()
        self._build()
        collector.add(self)
        self.world.when_sealed(self._bind)

    # ---- before the world is sealed ----------------------------------------------------------------------------------
    def act(self, group: str, *args: object, **kwargs: object) -> Actor:
        """Let a player act for one of the groups; arguments as those of ``Collector.act``."""
        actor = self._collector.act(group, *args, **kwargs)  # type: ignore[arg-type]
        self._actors[group] = actor
        return actor

    @property
    def value_arrays(self) -> dict[str, str]:
        """Where an actor notes what it expected of its actions, by the names of its kernel's parameters."""
        return {name: self._aliases[name] for name in ("ring_taken_values", "ring_best_values", "row")}

    def _add_arrays(self) -> dict[str, str]:
        """Add the ring, what is carried on, and the batch; gives their names by those of the kernels' parameters."""
        crew, world, sizes = self.crew, self.world, self.sizes
        lead, batch, entries = (sizes.rows, world.num_envs), sizes.batch_size, crew.rows.size
        ring, seen = (*lead, crew.size), sizes.frame_stack * entries
        arrays: list[tuple[Array, Kept]] = [
            (Array("row", "int32", (), "world", initial=0, doc="the row that is written next"), "state"),
            (Array("written", "int64", (1,), "world", initial=0, doc="rows that were ever written"), "state"),
            (Array("has_left", "bool", (crew.size,), "env", initial=False), "state"),
            (Array("played", "bool", (crew.size,), "env", initial=True), "scratch"),
            (Array("ring_observations", crew.rows.dtype, (*ring, entries), "world"), "history"),
            (Array("ring_actions", crew.action_dtype, (*ring, crew.action_size), "world"), "history"),
            (Array("ring_rewards", "float32", ring, "world"), "history"),
            (Array("ring_terminated", "bool", lead, "world", initial=False), "history"),
            (Array("ring_truncated", "bool", lead, "world", initial=False), "history"),
            *((Array(f"ring_{name}", "bool", ring, "world"), "history") for name in self._optional),
            (Array("takes_part", "uint8", ring, "world", initial=0), "history"),
            (Array("batch_observations", crew.rows.dtype, (batch, seen), "world"), "scratch"),
            (
                Array("batch_next_observations", crew.rows.dtype, (batch, sizes.frame_stack * entries), "world"),
                "scratch",
            ),
            (Array("batch_actions", crew.action_dtype, (batch, crew.action_size), "world"), "scratch"),
            (Array("batch_returns", "float32", (batch,), "world"), "scratch"),
            (Array("batch_discounts", "float32", (batch,), "world"), "scratch"),
            (Array("batch_next", "int32", (batch,), "world"), "scratch"),
        ]
        if sizes.actors_priority:
            arrays += [
                (Array(f"ring_{name}_values", "float32", ring, "world"), "history") for name in ("taken", "best")
            ]
        if self.masked:
            arrays.append((Array("ring_action_mask", "bool", (*ring, self._choices), "world"), "history"))
            arrays.append((Array("batch_next_mask", "bool", (batch, self._choices), "world"), "scratch"))
        if sizes.final_observations:
            arrays += self._arrays_of_finals()
        return self._with_placeholders(add_arrays(world, crew.name, arrays))

    def _arrays_of_finals(self) -> list[tuple[Array, Kept]]:
        crew, slots = self.crew, self._slots
        kept = (slots, crew.size)
        arrays: list[tuple[Array, Kept]] = [
            (Array("last", crew.rows.dtype, (crew.size, crew.rows.size), "env", initial=0), "scratch"),
            (Array("finals", crew.rows.dtype, (*kept, crew.rows.size), "env"), "history"),
            (Array("finals_kept", "int32", (), "env", initial=0, doc="how many were ever kept"), "state"),
            (Array("final_slot", "int32", (self.sizes.rows, self.world.num_envs), "world"), "history"),
        ]
        if self.masked:
            last = (1, self.world.num_envs, crew.size, self._choices)
            arrays.append((Array("last_mask", "bool", last, "world", initial=True), "scratch"))
            arrays.append((Array("only_row", "int32", (), "world", initial=0), "scratch"))
            arrays.append((Array("finals_mask", "bool", (*kept, self._choices), "env"), "history"))
        self.world.request("final_observations")
        return arrays

    @property
    def _slots(self) -> int:
        """Final observations of an env that the ring's rows may need."""
        return self.world.environment.truncations(self.sizes.rows)

    @property
    def _choices(self) -> int:
        """Choices of all heads of an agent of the crew."""
        return self.world.data.array("action_mask").shape[0]

    def _with_placeholders(self, aliases: dict[str, str]) -> dict[str, str]:
        """Kernels name arrays that this ring need not have; nobody reads what stands for them."""
        stand_ins = {
            "bool": ("ring_terminated", ("ring_agent_terminated", "ring_agent_mask", "last_mask", "finals_mask")),
            "float32": ("ring_rewards", ("ring_taken_values", "ring_best_values")),
            "int32": ("batch_next", ("final_slot",)),
            "rows": ("ring_observations", ("finals",)),
        }
        for there, missing in stand_ins.values():
            aliases |= {name: aliases[there] for name in missing if name not in aliases}
        return {**self.priorities.aliases, **aliases}

    def _record(self) -> None:
        """Let the world copy what a step came to into the ring."""
        for name in ("rewards", *self._optional):
            for copy in self.crew.copies(name, self._aliases[f"ring_{name}"], self._aliases["row"]):
                self.world.record_copy(copy)
        for name in ("terminated", "truncated"):
            self.world.record(name, self._aliases[f"ring_{name}"], self._aliases["row"])
        if self.masked and self.sizes.final_observations:
            for copy in self.crew.copies("action_mask", self._aliases["last_mask"], self._aliases["only_row"]):
                self.world.record_copy(copy)

    def _build(self) -> None:
        """Compile the kernels."""
        world, sizes = self.world, self.sizes
        constants = {
            "NUM_AGENTS": 1,
            "AGENTS": self.crew.size,
            "BLOCKS": sizes.rows,
            "BATCH": sizes.batch_size,
            "NUM_STEPS": self._collector.num_steps,
            "N_STEP": sizes.n_step,
            "STACK": sizes.frame_stack,
            "TOUCHED": min(sizes.rows, self._collector.num_steps + sizes.n_step + sizes.frame_stack - 1),
            "ENTRIES": self.crew.rows.size,
            "ACTION_SIZE": self.crew.action_size,
            "CHOICES": self._choices if self.masked else 1,
            "SLOTS": self._slots if sizes.final_observations else 1,
            "FINALS": int(sizes.final_observations),
            "ACTION_MASKED": int(self.masked),
            "LEAVING": int("agent_terminated" in self._optional),
            "MASKED": int("agent_mask" in self._optional),
            "ACTORS_PRIORITY": int(sizes.actors_priority),
            "REWARD_CLIP": float(sizes.reward_clip),
            "SMALLEST_PRIORITY": SMALLEST_PRIORITY,
        }
        scalars = {"gamma": sizes.gamma, "alpha": sizes.alpha}
        self._kernels = world.kernels(CUDA_FOLDER / "transitions.cu", constants, scalars=scalars, aliases=self._aliases)
        work = max(sizes.batch_size, world.num_envs * self.crew.size)
        lanes = lanes_for(work, world.num_envs)
        self._kernels.build([Kernel(name, lanes, own_env_only=False) for name in self._kernels.signatures])

    def _step(self, name: str) -> Step:
        return self._kernels.step(name, index=0, own_env_only=False)

    # ---- in the sealed store -----------------------------------------------------------------------------------------
    def _bind(self) -> None:
        world, crew, aliases = self.world, self.crew, self._aliases
        actors, row = [self._actors[group.name] for group in crew.groups], aliases["row"]
        before = crew.copies_of_observations(actors, aliases["ring_observations"], row)
        before += crew.copies_of_actions(aliases["ring_actions"], row)
        if self.masked:
            before += crew.copies("action_mask", aliases["ring_action_mask"], row)
        self._copy_before = world.program(before)
        self._advance = world.program([*self._keep_final(), self._step("advance")])
        noting = [self._step(name) for name in ("count_rows", "note_rows", "set_first_leaves")]
        self._note = world.program([*noting, *self.priorities.add_up_steps()])
        self._draw = world.program([*self.priorities.draw_steps(), *self._gather()])
        self._array("played").copy_(crew.played(self._collector.slots))
        self._last = self._array("last") if self.sizes.final_observations else None

    def _keep_final(self) -> list[Step]:
        if not self.sizes.final_observations:
            return []
        return [self._step("keep_final_observations" if self.crew.rows.is_plain else "keep_final_bytes")]

    def _gather(self) -> list[Step]:
        names = ["gather", "gather_observations" if self.crew.rows.is_plain else "gather_bytes"]
        names.append("gather_choices" if self.crew.action_dtype == "int32" else "gather_box_actions")
        return [self._step(name) for name in (*names, *(["gather_masks"] if self.masked else []))]

    def _array(self, what: str) -> Tensor:
        return self.world[self._aliases[what]]

    # ---- around a step -----------------------------------------------------------------------------------------------
    def acted(self) -> None:
        """Copy what was seen, done and allowed into the row."""
        self._copy_before()

    def stepped(self) -> None:
        """Keep final observations; the next step goes into the next row."""
        if self._last is not None:
            self.crew.join_last(self._last)
        self._advance()

    def end(self) -> None:
        """Settle which items can be drawn."""
        self._note()

    # ---- learning ----------------------------------------------------------------------------------------------------
    def draw(self, beta: float | Tensor = 0.0) -> Transitions:
        """Draw a batch; it stays as it is until the next draw.

        Args:
            beta: how far importance weights make up for priorities, in [0, 1].
        """
        self._draw()
        return Transitions(
            observations=self._array("batch_observations"),
            actions=self._array("batch_actions"),
            returns=self._array("batch_returns"),
            discounts=self._array("batch_discounts"),
            next_observations=self._array("batch_next_observations"),
            next_action_masks=self._array("batch_next_mask")[:, : self.crew.num_choices] if self.masked else None,
            weights=self.priorities.weights(beta),
        )

    def update(self, errors: Tensor) -> None:
        """Give the batch that was drawn last new priorities; see ``Priorities.update``."""
        self.priorities.update(errors)
