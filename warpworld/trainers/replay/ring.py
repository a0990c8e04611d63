"""A ring of past steps in the store, which replays draw from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn

import torch
from torch import Tensor

from warpworld.environment import Array, Kernel
from warpworld.errors import ConfigError
from warpworld.managers import Copy, Kept, Number, Step
from warpworld.trainers.collecting import OPTIONAL, Actor, Collector, refuse_not_finite
from warpworld.trainers.replay.policy_agents import PolicyAgents
from warpworld.trainers.replay.priorities import KERNELS, add_arrays, lanes_for

PLAYED, COUNTS, CUT_OFF = 1, 2, 8  # as in cuda/ring.cuh


class Ring:
    """The last steps of a policy's agents, each stored once; the rules stand in ``ring.cu``.

    Steps are copied into the ring while the world steps. A replay records ``copies`` in each step, and puts ``advance``
    and ``settle`` into programs of its own.

    Attributes:
        policy_agents: the agents.
        rows: steps of all envs that it holds.
        actors: what acts, by group.
        choices: of all heads of an agent, where there is an ``action_mask``; else 0.
        aliases: the arrays' names by those of the kernels' parameters.

    Args:
        collector: of an unsealed world.
        groups: of the policy.
        rows: see above.
        notes_values: whether actors note what they expected of their actions.
    """

    def __init__(self, collector: Collector, groups: Sequence[str], rows: int, notes_values: bool) -> None:
        self._collector, self._world, self.rows = collector, collector.world, rows
        self.policy_agents = PolicyAgents(self._world, groups)
        self.actors: dict[str, Actor] = {}
        has = self._world.data
        self.choices = has.array("action_mask").shape[0] if "action_mask" in has else 0
        self._optional = [name for name in OPTIONAL if name in has]
        self._notes_values = notes_values
        self.aliases = self._add_arrays()
        self._record()
        self._build()
        self._world.when_sealed(self._bind)

    # ---- before the world is sealed ----------------------------------------------------------------------------------
    def act(self, group: str, *args: object, **kwargs: object) -> Actor:
        """Let a player act for one of the groups; arguments as those of ``Collector.act``."""
        actor = self._collector.act(group, *args, **kwargs)  # type: ignore[arg-type]
        self.actors[group] = actor
        return actor

    @property
    def value_arrays(self) -> dict[str, str]:
        """Arrays in which an actor notes values of its actions, by its kernel's parameters; empty if it need not."""
        names = ("ring_taken_values", "ring_best_values", "row") if self._notes_values else ()
        return {name: self.aliases[name] for name in names}

    @property
    def constants(self) -> dict[str, int]:
        """Constants of kernels that read the ring."""
        return {
            "NUM_AGENTS": 1,
            "AGENTS": self.policy_agents.size,
            "ROWS": self.rows,
            "NUM_STEPS": self._collector.num_steps,
            "LEAVING": int("agent_terminated" in self._optional),
            "CUTTING": int("agent_truncated" in self._optional),
            "MASKED": int("agent_mask" in self._optional),
        }

    @staticmethod
    def sizes_of(constants: Mapping[str, Number]) -> dict[str, Number]:
        """Fields of ``Ring`` in ``cuda/ring.cuh``, for kernels that are compiled with constants such as these."""
        flags = {"leaving": "LEAVING", "cutting": "CUTTING", "masking": "MASKED"}
        numbers = {"rows": constants["ROWS"], "agents": constants["AGENTS"]}
        return numbers | {field: bool(constants[name]) for field, name in flags.items()}

    def _add_arrays(self) -> dict[str, str]:
        """Add what is carried on and the rows."""
        policy_agents, lead = self.policy_agents, (self.rows, self._world.num_envs)
        ring = (*lead, policy_agents.size)
        arrays: list[tuple[Array, Kept]] = [
            (Array("row", "int32", (), "world", initial=0, doc="the row that is written next"), "state"),
            (Array("written", "int64", (1,), "world", initial=0, doc="rows that were ever written"), "state"),
            (Array("played", "bool", (policy_agents.size,), "env", initial=True), "derived"),
            (
                Array("ring_observations", policy_agents.rows.dtype, (*ring, policy_agents.rows.size), "world"),
                "history",
            ),
            (Array("ring_actions", policy_agents.action_dtype, (*ring, policy_agents.action_size), "world"), "history"),
            (Array("ring_rewards", "float32", ring, "world"), "history"),
            (Array("ring_terminated", "bool", lead, "world", initial=False), "history"),
            (Array("ring_truncated", "bool", lead, "world", initial=False), "history"),
            *((Array(f"ring_{name}", "bool", ring, "world"), "history") for name in self._optional),
            (Array("takes_part", "uint8", ring, "world", initial=0), "history"),
        ]
        if self._notes_values:
            values = ("ring_taken_values", "ring_best_values")
            arrays += [(Array(name, "float32", ring, "world"), "history") for name in values]
        if self.choices:
            arrays.append((Array("ring_action_mask", "bool", (*ring, self.choices), "world"), "history"))
        aliases = add_arrays(self._world, policy_agents.name, arrays)
        # placeholders for arrays that kernels name but this ring does not have; they are never read
        flags, numbers = aliases["ring_terminated"], aliases["ring_rewards"]
        stand_ins = {f"ring_{name}": flags for name in OPTIONAL}
        return {**stand_ins, "ring_taken_values": numbers, "ring_best_values": numbers, **aliases}

    def _record(self) -> None:
        """Let the world copy what a step came to into the ring."""
        for name in ("rewards", *self._optional):
            for copy in self.policy_agents.copies(name, self.aliases[f"ring_{name}"], self.aliases["row"]):
                self._world.record_copy(copy)
        for name in ("terminated", "truncated"):
            self._world.record(name, self.aliases[f"ring_{name}"], self.aliases["row"])

    def _build(self) -> None:
        world = self._world
        sizes = {**self.sizes_of(self.constants), "num_steps": self._collector.num_steps}
        self._kernels = world.kernels(KERNELS / "ring.cu", {"NUM_AGENTS": 1}, sizes, aliases=self.aliases)
        lanes = lanes_for(world.num_envs * self.policy_agents.size, world.num_envs)
        self._kernels.build([Kernel(name, lanes, own_env_only=False) for name in self._kernels.signatures])

    # ---- in the sealed store -----------------------------------------------------------------------------------------
    def _bind(self) -> None:
        played = self.policy_agents.played(self._collector.slots)
        if not played.any():
            self._refuse_opponents()
        self._world[self.aliases["played"]].copy_(played)

    def copies(self) -> list[Copy]:
        """Copies of what was seen, done and allowed into the row."""
        policy_agents, aliases, row = self.policy_agents, self.aliases, self.aliases["row"]
        actors = [self.actors[group.name] for group in policy_agents.groups]
        found = policy_agents.copies_of_observations(actors, aliases["ring_observations"], row)
        found += policy_agents.copies_of_actions(aliases["ring_actions"], row)
        if self.choices:
            found += policy_agents.copies("action_mask", aliases["ring_action_mask"], row)
        return found

    def _refuse_opponents(self) -> NoReturn:
        """Raise ConfigError: one of several processes has no row to draw from. A config rules this out for one."""
        first, groups = self._world.first_env, " and ".join(group.name for group in self.policy_agents.groups)
        raise ConfigError(
            f"opponents play {groups} in all envs of one process, {first} to {first + self._world.num_envs - 1}, "
            "expected an env in which their policy plays: each process draws batches from its own envs. "
            "Start fewer processes, or lower self_play.share"
        )

    def advance(self) -> list[Step]:
        """Steps after one of the world: the next one goes into the next row."""
        return [self._step("advance")]

    def settle(self) -> list[Step]:
        """Steps after an iteration: its rows are written, and it is settled who takes part in them."""
        return [self._step("count_rows"), self._step("note_rows")]

    def _step(self, name: str) -> Step:
        return self._kernels.step(name, index=0, own_env_only=False)

    # ---- after an iteration ------------------------------------------------------------------------------------------
    def recorded(self) -> Tensor:
        """Observations of the latest iteration in which the policy's agents took part: (rows, entries)."""
        latest = self.latest()
        return self._of("ring_observations", latest)[self._took_part(latest, PLAYED)]

    def is_finite(self) -> Tensor:
        """Whether agents that count saw finite numbers only in the latest iteration: () bool."""
        rows = self.policy_agents.rows
        if not any(part.is_float for part in rows.parts):
            return torch.ones((), dtype=torch.bool, device=self._world.device)
        latest = self.latest()
        is_finite = rows.floats(self._of("ring_observations", latest)).isfinite().all(-1)
        return (is_finite | ~self._took_part(latest, COUNTS)).all()

    def refuse_not_finite(self) -> None:
        """Search what agents that count saw in the latest iteration.

        Raises:
            TrainingError: names env, agent, step and number.
        """
        latest = self.latest()
        seen = self.policy_agents.rows.floats(self._of("ring_observations", latest))
        counts = self._took_part(latest, COUNTS)
        for group in self.policy_agents.groups:
            agents = self.policy_agents.agents(group)
            refuse_not_finite(self._world, "observations", group, seen[:, :, agents], counts[:, :, agents])

    def latest(self) -> Tensor:
        """The rows of the latest iteration, in their order: (T,) int64."""
        num_steps = self._collector.num_steps
        steps = torch.arange(num_steps, device=self._world.device)
        return (self._world[self.aliases["written"]] - num_steps + steps) % self.rows

    def _took_part(self, rows: Tensor, how: int) -> Tensor:
        """Whether agents took part in some rows: (rows, num_envs, size) bool."""
        return (self._of("takes_part", rows) & how) > 0

    def _of(self, what: str, rows: Tensor) -> Tensor:
        """Some rows of an array of the ring."""
        return self._world[self.aliases[what]].index_select(0, rows)
