"""Rollouts: T steps of the groups that learn on-policy, recorded in the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from warpworld.environment import Array, Group, action_heads, group_suffix, observation_names
from warpworld.managers import Copy
from warpworld.trainers.collecting.actor import Actor
from warpworld.trainers.collecting.collector import Collector
from warpworld.trainers.collecting.finite import refuse_not_finite
from warpworld.trainers.collecting.kept_finals import choose_finals
from warpworld.trainers.collecting.outcomes import ROW
from warpworld.trainers.collecting.players import Player, opponents_of
from warpworld.trainers.collecting.recorder import Recorder
from warpworld.trainers.collecting.trajectories import Finals, Trajectories

_SAMPLED = ("observations", "actions", "log_probs", "action_mask")  # what the kernel "sample" records
_REMEMBERED = ("values", "first_state", "first_cut")  # what is recorded of a memory


@dataclass(frozen=True)
class _Records:
    """Arrays that a group's steps are recorded in.

    Attributes:
        actor: acts for the group.
        observations: (T, num_envs, n, entries).
        actions: (T, num_envs, n, numbers of an action).
        log_probs: (T, num_envs, n).
        action_mask: (T, num_envs, n, choices), where choices may be forbidden.
        values: (T, num_envs, n), of a policy with memory.
        first_state: (num_envs, n, state size), before the first step, of a policy with memory.
        first_cut: (num_envs, n), whether an agent was cut before it, where agents are cut.
    """

    actor: Actor
    observations: Array
    actions: Array
    log_probs: Array
    action_mask: Array | None = None
    values: Array | None = None
    first_state: Array | None = None
    first_cut: Array | None = None


class Rollout(Recorder):
    """Records T steps of some groups; rewards and ends are in the collector's outcomes.

    Observations, actions and log-probabilities are recorded by the sampling kernel, each into the row of the step. One
    rollout serves all algorithms of a run: ``collector.shared(Rollout)``.

    Args:
        collector: of an unsealed world.
    """

    def __init__(self, collector: Collector) -> None:
        self._collector, self.world = collector, collector.world
        self._records: dict[str, _Records] = {}
        self._names, self._slices = dict[str, list[str]](), dict[str, slice]()  # of what each group observes
        self._critic_inputs: dict[str, Array] = {}  # their rows, by the names of the arrays that critics read
        self._finals = choose_finals(self.world, collector.num_steps)
        self.world.add(Array("not_finite", "bool", per="env", initial=False), kept="derived")
        self.world.when_sealed(self._find)

    # ---- before the world is sealed ----------------------------------------------------------------------------------
    def record(self, group: str, player: Player) -> Actor:
        """Let a player act for a group, and record the group's steps."""
        names = {what: f"rollout_{what}_{group}" for what in (*_SAMPLED, *_REMEMBERED)}
        recorded = {f"rollout_{what}": names[what] for what in _SAMPLED}
        actor = self._collector.act(group, player, "sample", recorded=recorded | {"row": ROW})
        self._records[group] = self._add_arrays(actor, names)
        for name in self._observed(group):
            self._finals.keep(name)
        if actor.memory is not None:
            self._finals.keep(actor.memory.state_name)
        if actor.group.critic_input is not None:
            self._record_critic_input(actor.group.critic_input)
        return actor

    def _record_critic_input(self, name: str) -> None:
        """Record an array that critics read, before each step as observations are."""
        if name in self._critic_inputs:
            return
        array = self.world.data.array(name)
        shape = (self._collector.num_steps, *array.full_shape(self.world.num_envs, self.world.num_agents))
        rows = Array(f"rollout_{name}", array.dtype, shape, per="world")
        self._critic_inputs[name] = self.world.add(rows, kept="derived")
        self._finals.keep(name)

    def _add_arrays(self, actor: Actor, names: Mapping[str, str]) -> _Records:
        """The arrays that the group's steps are recorded in, by what they record."""
        world, rows = self.world, self._collector.num_steps
        shape = (rows, world.num_envs, actor.group.size)
        # records of every actor
        arrays = [
            ("observations", actor.rows.dtype, (*shape, actor.rows.size)),
            ("actions", actor.action_dtype, (*shape, actor.action_size)),
            ("log_probs", "float32", shape),
        ]
        # records of memories and action masks
        if actor.memory is not None:
            state_size = actor.memory.state_size
            arrays += [("values", "float32", shape), ("first_state", "float32", (*shape[1:], state_size))]
            arrays += [("first_cut", "bool", shape[1:])] if "agent_truncated" in world.data else []
        if actor.sampler.masked:
            arrays.append(("action_mask", "bool", (*shape, sum(action_heads(actor.group.action)))))
        # rows are derived, so that no checkpoint holds them
        made = {
            what: world.add(Array(names[what], dtype, full, per="world"), kept="derived")
            for what, dtype, full in arrays
        }
        if actor.memory is not None:
            world.record(actor.memory.values_name, names["values"], ROW)
        return _Records(actor, **made)

    def _observed(self, group: str) -> list[str]:
        """Names of the arrays that hold what a group observes."""
        if group not in self._names:
            self._names[group] = list(observation_names(self.world.groups, self.world.groups[group]).values())
        return self._names[group]

    def _observers(self, group: Group) -> slice:
        """Agents of the arrays that hold what a group observes that are the group's."""
        if group.name not in self._slices:
            are_own = group_suffix(self.world.groups, group, "observations")
            self._slices[group.name] = slice(None) if are_own else group.slice
        return self._slices[group.name]

    def _find(self) -> None:
        self._own = {group: self._envs_of_policy(records.actor) for group, records in self._records.items()}

    def _envs_of_policy(self, actor: Actor) -> Tensor | None:
        """Envs in which no opponent plays a group, (num_envs,) bool; None if that is all of them."""
        opponents = opponents_of(actor.slots)
        if not opponents:
            return None
        own = torch.ones(self.world.num_envs, dtype=torch.bool)
        for slot in opponents:
            own[slot.envs] = False
        return own.to(self.world.device)

    # ---- around an iteration's steps ---------------------------------------------------------------------------------
    def begin(self) -> None:
        """Keep agents' states before the first step, and discard those of the previous rollout."""
        self.world["not_finite"].zero_()
        for records in self._records.values():
            memory = records.actor.memory
            if memory is not None and records.first_state is not None:
                memory.forget()
                self.world[records.first_state].copy_(memory.state)
                if memory.cut is not None and records.first_cut is not None:
                    self.world[records.first_cut].copy_(memory.cut)
        self._finals.begin()

    def copies(self) -> Sequence[Copy]:
        """Record what critics read."""
        return [Copy(name, rows.name, row=ROW) for name, rows in self._critic_inputs.items()]

    def measured(self) -> Sequence[Tensor]:
        """Whether observations are finite, and how many final ones were kept."""
        world = self.world
        names = list(dict.fromkeys(name for group in self._records for name in self._observed(group)))
        names += self._critic_inputs
        unchecked: list[str | Array] = [*names, *self._critic_inputs.values()]
        sums = [world[name].sum(dtype=torch.float32) for name in unchecked]  # those of float16 would soon be infinite
        sums += [self._sum_of_floats(each) for each in self._records.values() if not each.actor.rows.is_plain]
        is_finite = torch.stack([*sums, *self._finals.sums(names)]).isfinite().all() & ~world["not_finite"].any()
        return [is_finite, *self._finals.measured()]

    def _sum_of_floats(self, records: _Records) -> Tensor:
        """Sum of the floats among recorded bytes, which the sampling kernel does not check: () float32."""
        return records.actor.rows.floats(self.world[records.observations]).sum()

    def take_in(self, numbers: Sequence[int]) -> None:
        """Receives the results of ``measured``."""
        self._finals.take_in(numbers[1:])

    def refuse_not_finite(self) -> None:
        """Search what agents that count observed.

        Raises:
            TrainingError: names env, agent, step and number.
        """
        world = self.world
        for name, records in self._records.items():
            group, seen, floats = world.groups[name], self.trajectories(name), records.actor.rows.floats
            refuse_not_finite(world, "observations", group, floats(seen.observations), seen.mask)
            truncated = seen.truncated.unsqueeze(-1)
            counted = truncated if seen.mask is None else seen.mask & truncated
            refuse_not_finite(world, "final observations", group, floats(self._final_rows(seen)), counted)
            mask = world["agent_mask"][None, :, group.slice] if "agent_mask" in world.data else None
            last = floats(seen.next_observations).unsqueeze(0)
            refuse_not_finite(world, "observations", group, last, mask, first_step=self._collector.num_steps)
            if seen.critic_inputs is not None:
                refuse_not_finite(world, "critic inputs", group, seen.critic_inputs, seen.mask)

    def _final_rows(self, seen: Trajectories) -> Tensor:
        """(T, num_envs, n, entries): final observations that were kept, 0 elsewhere."""
        return seen.finals.placed(seen.finals.observations, *seen.observations.shape[:2])

    # ---- what algorithms read ----------------------------------------------------------------------------------------
    def trajectories(self, group: str) -> Trajectories:
        """The records of one group in the latest T steps."""
        self._collector.read()
        world, agents, records = self.world, self.world.groups[group].slice, self._records[group]
        actor, outcomes = records.actor, self._collector.outcomes
        terminated = world["rollout_terminated"]
        optional = {name: world[outcomes.rows[name]][:, :, agents] for name in outcomes.optional}
        mask = optional.get("agent_mask")
        return Trajectories(
            observations=world[records.observations],
            actions=world[records.actions],
            log_probs=world[records.log_probs],
            rewards=world["rollout_rewards"][:, :, agents],
            terminated=terminated,
            truncated=world["rollout_truncated"] & ~terminated,
            agent_terminated=optional.get("agent_terminated"),
            agent_truncated=optional.get("agent_truncated"),
            mask=mask,
            counted=self._counted(group, mask),
            action_masks=self._of(records.action_mask),
            next_observations=actor.observations(),
            finals=self._finals_of(actor),
            first_state=self._of(records.first_state),
            first_cut=self._of(records.first_cut),
            next_state=None if actor.memory is None else actor.memory.next_state(),
            values=self._of(records.values),
            critic_inputs=self._read_by_critic(actor.group, self._critic_inputs, 2),
            next_critic_inputs=self._read_by_critic(actor.group, {name: name for name in self._critic_inputs}, 1),
        )

    def _of(self, array: Array | None) -> Tensor | None:
        """An array of the store; None if there is none."""
        return None if array is None else self.world[array]

    def _read_by_critic(self, group: Group, arrays: Mapping[str, str | Array], lead: int) -> Tensor | None:
        """Inputs of a group's critic, n agents behind ``lead`` dimensions; None if they are observations.

        Args:
            group: whose.
            arrays: those to read, by the names of the arrays that critics read.
            lead: dimensions before those of an env's part.
        """
        name = group.critic_input
        return None if name is None else self._of_agents(group, name, self.world[arrays[name]], lead)

    def _of_agents(self, group: Group, name: str, array: Tensor, lead: int) -> Tensor:
        """A group's part of contents of array ``name``, per agent, or per env repeated for its agents, flat."""
        if self.world.data.array(name).per == "agent":
            return array[(slice(None),) * lead + (group.slice,)].flatten(lead + 1)
        flat = array.reshape(*array.shape[:lead], 1, -1)
        return flat.expand(*array.shape[:lead], group.size, -1)

    def _counted(self, group: str, mask: Tensor | None) -> Tensor | None:
        """Rows of a group to learn from: (T, num_envs, n) bool; None where all are."""
        own = self._own[group]
        if own is None:
            return mask
        rows = own[:, None].expand(self._collector.num_steps, -1, self.world.groups[group].size)
        return rows if mask is None else rows & mask

    def _finals_of(self, actor: Actor) -> Finals:
        placed = actor.group
        names = self._observed(placed.name)
        agents = self._observers(placed)
        rows, envs = self._finals.rows_and_envs(names[0])  # those of a Dict's other parts lie in the same slots
        parts = [self._finals.of(name)[:, agents].flatten(2) for name in names]
        states = None if actor.memory is None else self._finals.of(actor.memory.state_name)
        name = placed.critic_input
        read = None if name is None else self._of_agents(placed, name, self._finals.of(name), 1)
        return Finals(actor.rows.join(parts), rows, envs, states, read)
