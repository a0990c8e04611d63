"""Rollouts: T steps of all envs, recorded in the store, and what a learner reads of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from warpworld.environment import Array
from warpworld.environment.spaces import group_suffix, observation_names
from warpworld.errors import DeclarationError, TrainingError
from warpworld.policies import Policy, RecurrentPolicy
from warpworld.trainers.actor import Actor
from warpworld.trainers.batch import Batch
from warpworld.trainers.memory import begun
from warpworld.trainers.players import Player, Slot
from warpworld.trainers.returns import gae
from warpworld.trainers.sequences import Experience, Sequences
from warpworld.trainers.trajectories import Trajectories
from warpworld.world import World

ROW = "rollout_row"  # the array with the number of the row that a step is recorded in

# Rows of one value forward: on a cpu so few that what lies between the layers stays in a cache, on a gpu as many as its
# memory does not notice.
VALUE_ROWS = {"cpu": 1 << 12, "cuda": 1 << 20}


@dataclass(frozen=True)
class _OnHost:
    """What the host must know of a rollout, read back all at once.

    Attributes:
        is_finite: whether nothing that agents saw or got is suspicious.
        truncations: episodes that were truncated.
        kept: how many truncated episodes were kept, by array.
    """

    is_finite: bool
    truncations: int
    kept: dict[str, int]


class Rollout:
    """Collects T steps of a world whose groups are all served by policies.

    Observations, actions and log-probabilities are recorded by the sampling kernel, rewards and ends by the step
    itself, each into the row that the array ``ROW`` holds. That array is kept in snapshots, so that the check of a CUDA
    graph, which steps the world more often than the rollout does, leaves it as it was.

    Attributes:
        world: the world that is stepped.
        num_steps: T.
        actors: what acts, by group.

    Args:
        world: an unsealed world.
        policies: each group's policy; None acts at random.
        num_steps: T.
        graph_steps: how many steps a CUDA graph holds at most, where the device has such; 0 takes every step by itself.
        slots: ranges of envs in which somebody else plays some groups; their rows are not in these groups' batches.
    """

    def __init__(
        self,
        world: World,
        policies: Mapping[str, Policy | None],
        num_steps: int,
        graph_steps: int = 16,
        slots: Sequence[Slot] = (),
    ) -> None:
        self.world, self.num_steps = world, num_steps
        self._steps_at_once = max((k for k in range(1, graph_steps + 1) if num_steps % k == 0), default=0)
        self._on_host: _OnHost | None = None  # nothing of the present rollout is known yet
        self._captured: tuple[list[Player], Callable[[], None]] | None = None
        world.add(Array(ROW, "int32", per="world", initial=0, read_only=True, doc="the row that is recorded next"))
        self.actors = {group: Actor(world, group, policies[group], "sample", slots) for group in world.groups}
        for actor in self.actors.values():
            self._add_group_arrays(actor)
        self._optional = [name for name in ("agent_terminated", "agent_mask") if name in world.data]
        self._add_shared_arrays()
        world.when_sealed(self._bind)

    def _add_group_arrays(self, actor: Actor) -> None:
        """The arrays that the group's sampling kernel records into."""
        rows = (self.num_steps, self.world.num_envs, actor.group.size)
        arrays = [
            ("observations", "float32", (*rows, actor.observation_size)),
            ("actions", actor.action_dtype, (*rows, actor.action_size)),
            ("log_probs", "float32", rows),
        ]
        if actor.memory is not None:
            state_size = actor.memory.state_size
            arrays += [("values", "float32", rows), ("first_state", "float32", (*rows[1:], state_size))]
        if actor.masked:
            arrays.append(("action_mask", "bool", (*rows, actor.distribution.num_outputs)))
        for name, dtype, shape in arrays:
            self.world.add(Array(f"rollout_{name}_{actor.group.name}", dtype, shape, per="world"), kept="scratch")
        if actor.memory is not None:
            self.world.record(actor.memory.values_name, f"rollout_values_{actor.group.name}", ROW)

    def _add_shared_arrays(self) -> None:
        world, rows = self.world, self.num_steps
        world.add(Array("not_finite", "bool", per="env", initial=False), kept="scratch")
        for name in ("rewards", "terminated", "truncated", *self._optional):
            array = world.data.array(name)
            shape = (rows, *array.full_shape(world.num_envs, world.num_agents))
            world.add(Array(f"rollout_{name}", array.dtype, shape, per="world"), kept="scratch")
            world.record(name, f"rollout_{name}", ROW)
        self._slots = world.environment.truncations(rows)
        for name in self._kept_arrays():
            array = world.data.array(name)
            part = array.full_shape(world.num_envs, world.num_agents)[1:]
            world.add(Array(f"kept_{name}", array.dtype, (self._slots, *part), per="env"), kept="scratch")
            world.add(Array(f"kept_{name}_row", "int32", (self._slots,), per="env", initial=0), kept="scratch")
            world.add(Array(f"kept_{name}_count", "int32", per="env", initial=0))
            world.keep_final(name, f"kept_{name}", f"kept_{name}_row", f"kept_{name}_count", ROW)

    def _observation_arrays(self) -> list[str]:
        return [name for name in self.world.data if name == "observations" or name.startswith("observations_")]

    def _kept_arrays(self) -> list[str]:
        """What is kept of truncated episodes: final observations, and what agents remembered then."""
        memories = [actor.memory.state_name for actor in self.actors.values() if actor.memory is not None]
        return [*self._observation_arrays(), *memories]

    def _bind(self) -> None:
        """Find out which envs are learnt from."""
        self._learnt_envs = {group: self._envs_of_policy(actor) for group, actor in self.actors.items()}

    def _envs_of_policy(self, actor: Actor) -> Tensor | None:
        """In which envs a group is in its policy's own hands, (num_envs,) bool; None where it is in all."""
        if not actor.slots:
            return None
        own = torch.ones(self.world.num_envs, dtype=torch.bool)
        for slot in actor.slots:
            own[slot.envs] = False
        return own.to(self.world.device)

    def collect(self) -> None:
        """Step the world ``num_steps`` times from where it stands."""
        world, row = self.world, self.world[ROW]
        self._on_host = None
        row.zero_()
        world["not_finite"].zero_()
        for actor in self.actors.values():
            if actor.memory is not None:
                actor.memory.forget()
                world[f"rollout_first_state_{actor.group.name}"].copy_(actor.memory.state)
        for name in self._kept_arrays():
            world[f"kept_{name}_count"].zero_()
        if self._steps_at_once:
            steps = self._steps()
            for _ in range(self.num_steps // self._steps_at_once):
                steps()
        else:
            for _ in range(self.num_steps):
                self._step()
        row.zero_()  # a step outside a rollout must find a row that exists

    def _step(self) -> None:
        """One step, recorded in the present row; what a CUDA graph can hold."""
        for actor in self.actors.values():
            actor.act()
        self.world.step()
        self.world[ROW].add_(1)

    def _steps(self) -> Callable[[], None]:
        """Several steps at once: a CUDA graph where the device has such, captured anew for other players."""
        players = [player for actor in self.actors.values() for player in actor.players]
        if self._captured is None or any(a is not b for a, b in zip(self._captured[0], players, strict=True)):

            def steps() -> None:
                for _ in range(self._steps_at_once):
                    self._step()

            self._captured = players, self.world.capture(steps)
        return self._captured[1]

    def trajectories(self, group: str) -> Trajectories:
        """What was recorded of one group."""
        world, agents = self.world, self.world.groups[group].slice
        terminated = world["rollout_terminated"]
        optional = {name: world[f"rollout_{name}"][:, :, agents] for name in self._optional}
        return Trajectories(
            observations=world[f"rollout_observations_{group}"],
            actions=world[f"rollout_actions_{group}"],
            log_probs=world[f"rollout_log_probs_{group}"],
            rewards=world["rollout_rewards"][:, :, agents],
            terminated=terminated,
            truncated=world["rollout_truncated"] & ~terminated,
            agent_terminated=optional.get("agent_terminated"),
            mask=optional.get("agent_mask"),
            action_masks=world[f"rollout_action_mask_{group}"] if self.actors[group].masked else None,
        )

    def check_finite(self) -> None:
        """Refuse a rollout in which an agent that counts saw or got what is not a number.

        What the kernels flagged on their way, and three sums, are small to read; only then the rows are searched.

        Raises:
            TrainingError: names array, env, agent, step of the rollout and number.
        """
        world = self.world
        if self._read_back().is_finite:
            return
        for group in self.actors:
            seen = self.trajectories(group)
            self._refuse_not_finite("observations", group, seen.observations, seen.mask)
            self._refuse_not_finite("rewards", group, seen.rewards.unsqueeze(-1), seen.mask)
            final, truncated = self._final_observations(group), seen.truncated.unsqueeze(-1)
            counted = truncated if seen.mask is None else seen.mask & truncated
            self._refuse_not_finite("final observations", group, final, counted)
            last = self.actors[group].observations().unsqueeze(0)
            agents = world.groups[group].slice
            mask = world["agent_mask"][None, :, agents] if "agent_mask" in world.data else None
            self._refuse_not_finite("observations", group, last, mask, first_step=self.num_steps)

    def _read_back(self) -> _OnHost:
        """Read what the host must know of the rollout that stands in the store; the only waiting for the device."""
        world, names = self.world, self._observation_arrays()
        summed = ["rollout_rewards", *names, *(f"kept_{name}" for name in names)]
        sums = [world[name].sum(dtype=torch.float32) for name in summed]  # those of float16 would soon be infinite
        is_finite = torch.stack(sums).isfinite().all() & ~world["not_finite"].any()
        truncations = (world["rollout_truncated"] & ~world["rollout_terminated"]).sum()
        kept_arrays = self._kept_arrays()
        kept = [world[f"kept_{name}_count"].clamp(max=self._slots).sum() for name in kept_arrays]
        numbers = torch.stack([is_finite.long(), truncations, *kept]).tolist()
        self._on_host = _OnHost(bool(numbers[0]), numbers[1], dict(zip(kept_arrays, numbers[2:], strict=True)))
        return self._on_host

    def _refuse_not_finite(self, name: str, group: str, rows: Tensor, mask: Tensor | None, first_step: int = 0) -> None:
        """``rows`` is (steps, num_envs, n, numbers), ``mask`` (steps, num_envs, n or 1)."""
        wrong = ~rows.isfinite()
        if mask is not None:
            wrong &= mask.unsqueeze(-1)
        found = wrong.nonzero()
        if len(found):
            step, env, agent, i = found[0].tolist()
            first, first_env = self.world.groups[group].first, self.world.first_env
            which = f", number {i}" if rows.shape[-1] > 1 else ""
            raise TrainingError(
                f"{self.world.environment.name}: {name} of env {first_env + env}, agent {first + agent} "
                f"({group} {agent}){which} in step {first_step + step} of the rollout is "
                f"{rows[step, env, agent, i].item()}, expected a finite number; look for a division by zero, a root of "
                "a negative number or an array that is read before it is written"
                f"{self._beyond_half(group) if name != 'rewards' else ''}"
            )

    def _beyond_half(self, group: str) -> str:
        """What else it may be where a part of what the group sees is float16."""
        names = observation_names(self.world.groups, self.world.groups[group]).values()
        is_half = any(self.world.data.array(name).dtype == "float16" for name in names)
        return ", or for a number beyond 65504, where float16 ends" if is_half else ""

    def batch(self, group: str, policy: Policy, gamma: float, gae_lambda: float) -> Experience:
        """One group's rollout with advantages and returns; rows that somebody else played do not count.

        Returns:
            Its (T, num_envs, n) rows laid out flat; for a recurrent policy, the num_envs * n sequences of T rows.
        """
        seen = self.trajectories(group)
        mask = self._counted(group, seen)
        values = self._values(group, policy)
        advantages, returns = gae(values=values, **self.ends(group, policy), gamma=gamma, gae_lambda=gae_lambda)
        rows = Batch(
            observations=seen.observations.flatten(0, 2),
            actions=seen.actions.flatten(0, 2),
            log_probs=seen.log_probs.flatten(),
            advantages=advantages.flatten(),
            returns=returns.flatten(),
            values=values.flatten(),
            mask=None if mask is None else mask.flatten(),
            action_masks=None if seen.action_masks is None else seen.action_masks.flatten(0, 2),
            blocks=(self.world.num_envs * self.world.groups[group].size,) * self.num_steps,
        )
        if not isinstance(policy, RecurrentPolicy):
            return rows
        starts = begun(seen.terminated, seen.truncated, seen.agent_terminated, seen.rewards.shape[2])
        first = self.world[f"rollout_first_state_{group}"]
        return Sequences.of_rollout(rows, first.flatten(0, 1), starts.flatten(1))

    def _counted(self, group: str, seen: Trajectories) -> Tensor | None:
        """Rows of a group to learn from: (T, num_envs, n) bool; None where all are."""
        own = self._learnt_envs[group]
        if own is None:
            return seen.mask
        rows = own[:, None].expand(seen.rewards.shape)
        return rows if seen.mask is None else rows & seen.mask

    def ends(self, group: str, policy: Policy) -> dict[str, Any]:
        """What value targets are made of besides the values: the arguments of ``gae`` and ``vtrace`` of these names.

        A recurrent policy is told of what follows the last step, and of final observations, with the states in which it
        acted.
        """
        seen = self.trajectories(group)
        return {
            "rewards": seen.rewards if seen.mask is None else seen.rewards.where(seen.mask, 0.0),
            "terminated": seen.terminated,
            "truncated": seen.truncated,
            "agent_terminated": seen.agent_terminated,
            "next_value": self._next_value(group, policy),
            "truncated_values": self._truncated_values(group, policy, seen.rewards),
        }

    def _values(self, group: str, policy: Policy) -> Tensor:
        """(T, num_envs, n): the values of what was seen; a recurrent policy gave them on the way."""
        if isinstance(policy, RecurrentPolicy):
            return self.world[f"rollout_values_{group}"]
        return values_of(policy, self.trajectories(group).observations)

    def _next_value(self, group: str, policy: Policy) -> Tensor:
        """(num_envs, n): the value of what is seen after the last step; nobody reads it where that ended an episode."""
        actor = self.actors[group]
        return values_of(policy, actor.observations(), None if actor.memory is None else actor.memory.state)

    def _truncated_values(self, group: str, policy: Policy, like: Tensor) -> Tensor:
        """(T, num_envs, n): the value of the final observation where an env was truncated, 0 elsewhere."""
        values = torch.zeros_like(like, memory_format=torch.contiguous_format)
        kept, rows, envs = self._kept(group)
        if len(envs) < (self._on_host or self._read_back()).truncations:
            raise DeclarationError(
                f"{self.world.environment.name}: an env was truncated more often in {self.num_steps} steps than the "
                f"{self._slots} times that its truncations() gives; let it return the most that are possible"
            )
        if len(envs):
            memory = self.actors[group].memory
            values[rows, envs] = values_of(policy, kept, None if memory is None else self._kept_of(memory.state_name))
        return values

    def _final_observations(self, group: str) -> Tensor:
        """(T, num_envs, n, features): those that were kept, 0 elsewhere."""
        kept, rows, envs = self._kept(group)
        placed = self.world.groups[group]
        final = torch.zeros(self.num_steps, self.world.num_envs, placed.size, kept.shape[-1], device=kept.device)
        final[rows, envs] = kept
        return final

    def _kept(self, group: str) -> tuple[Tensor, Tensor, Tensor]:
        """Final observations that were kept, (k, n, features) float32, and of which rows and envs, (k,) each."""
        world, placed = self.world, self.world.groups[group]
        names = list(observation_names(world.groups, placed).values())
        agents = slice(None) if group_suffix(world.groups, placed, "observations") else placed.slice
        env, slot = self._slots_of(names[0])  # those of a Dict's other parts lie in the same slots
        kept = torch.cat([self._kept_of(part)[:, agents].flatten(2).float() for part in names], -1)
        return kept, world[f"kept_{names[0]}_row"][env, slot].long(), env

    def _kept_of(self, name: str) -> Tensor:
        """What was kept of an array: (k, *an env's part of it)."""
        return self.world[f"kept_{name}"][self._slots_of(name)]

    def _slots_of(self, name: str) -> tuple[Tensor, Tensor]:
        """In which envs and slots what was kept of an array lies: (k,) each, env by env."""
        world, count = self.world, (self._on_host or self._read_back()).kept[name]
        used = torch.arange(self._slots, device=world.device) < world[f"kept_{name}_count"][:, None]
        # where the first, second, ... of them lies: nonzero() would wait for the device to say how many there are
        place = torch.searchsorted(used.flatten().cumsum(0), torch.arange(1, count + 1, device=world.device))
        return place // self._slots, place % self._slots


def values_of(policy: Policy, observations: Tensor, states: Tensor | None = None) -> Tensor:
    """Value of each observation, without gradient.

    Args:
        policy: whose.
        observations: (..., features) float32.
        states: (..., state size) float32, what a recurrent policy remembers then; None for others.

    Returns:
        (...) float32.
    """
    flat, size = observations.reshape(-1, observations.shape[-1]), VALUE_ROWS[observations.device.type]
    with torch.no_grad():
        if isinstance(policy, RecurrentPolicy):
            assert states is not None
            parts = zip(flat.split(size), states.flatten(0, -2).split(size), strict=True)
            values = [policy.step(*part)[1] for part in parts]
        else:
            values = [policy.value(rows) for rows in flat.split(size)]
    return torch.cat(values).view(observations.shape[:-1])
