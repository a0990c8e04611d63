"""Lets the players of one agent group act: observations in, actions into the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from warpworld.environment import Array, action_layout, observation_names
from warpworld.errors import StoreError
from warpworld.policies import (
    FLOAT32,
    ObservationRows,
    Policy,
    RememberingPolicy,
    SamplerContext,
    SamplerMaker,
    action_distribution,
    products,
)
from warpworld.trainers.collecting.memory import Memory
from warpworld.trainers.collecting.players import (
    Player,
    Scripted,
    Seen,
    Slot,
    cut_at,
    decide,
    distribution_of,
    needs_torch,
    outputs_array,
    split_envs,
)
from warpworld.trainers.collecting.scripts import ScriptKernels
from warpworld.trainers.spans import POLICY, SAMPLING, span
from warpworld.world import World


class Actor:
    """Acts for one group: its players decide, then a sampler's kernel draws actions from what they answered.

    Where the world has an ``action_mask``, actions that it forbids are not taken. Make it before the world is sealed.

    Attributes:
        group: the agents it acts for.
        policy: what decides; None acts uniformly at random. It may be exchanged at any time, but for a recurrent one
            only where the first was one, with states of the same size.
        slots: ranges of envs in which an opponent plays the group.
        memory: what the agents remember, where the first policy remembers; else None.
        distribution: of the group's actions: the policy's, or what the group's space calls for.
        sampler: what draws.
        scripts: players that need no torch.
        rows: how one agent's observation lies in a row.
        action_dtype: of the actions array, and of what is recorded of it.
        action_size: numbers in one agent's action.

    Args:
        world: an unsealed world.
        group: name of the group.
        policy: see above.
        kernel: of the sampler: "sample" draws and records, "act" draws, "act_greedily" takes the likeliest.
        slots: see above; those of other groups are left out. None where actions lie in a Box.
        sampler: makes the sampler; None takes that of the distribution.
        recorded: arrays that "sample" records the step in, by the names of the kernel's parameters.
        index: number of the sampler's kernel in the world; None takes the next one.

    Raises:
        DeclarationError: no policy can serve the group's spaces.
    """

    def __init__(
        self,
        world: World,
        group: str,
        policy: Player = None,
        kernel: str = "act",
        slots: Sequence[Slot] = (),
        sampler: SamplerMaker | None = None,
        recorded: Mapping[str, str] | None = None,
        index: int | None = None,
    ) -> None:
        self.group = world.groups[group]
        self.policy = policy
        self.slots = [slot for slot in slots if group in slot.groups]
        own = policy.distribution if isinstance(policy, Policy) else None
        self.distribution = own or action_distribution(self.group)
        self.rows = ObservationRows(self.group.observation)
        self.action_dtype, self.action_size = action_layout(self.group.action)
        self.memory = Memory(world, self.group, policy.state_size) if isinstance(policy, RememberingPolicy) else None
        self._world = world
        self.scripts = ScriptKernels(world, self.group, self.distribution.num_outputs)
        make = sampler or self.distribution.sampler
        self.sampler = make(self._sampler_context(world.kernel_index() if index is None else index, recorded), kernel)
        world.when_sealed(self._find)
        self._sealed = False

    def _sampler_context(self, index: int, recorded: Mapping[str, str] | None) -> SamplerContext:
        world, group = self._world, self.group
        outputs = outputs_array(group.name)
        per_agent = (group.size, self.distribution.num_outputs)
        self._outputs = world.add(Array(outputs, "float32", per_agent, per="env", initial=0.0), kept="derived")
        observations, is_own = self._observation_array()
        return SamplerContext(
            world=world,
            group=group,
            index=index,
            outputs=outputs,
            observations=observations,
            observed_agents=group.size if is_own else world.num_agents,
            first_observed=0 if is_own else group.first,
            observation_size=self.rows.size,
            recorded=recorded,
        )

    def _observation_array(self) -> tuple[str, bool]:
        """Name of the array with what the group sees, in rows, and whether it is the group's own."""
        names = observation_names(self._world.groups, self.group)
        if "" in names and self._world.data.array(names[""]).dtype == self.rows.dtype:
            return names[""], names[""] != "observations"
        joined, per_agent = self._joined_observations, (self.group.size, self.rows.size)
        self._world.add(Array(joined, self.rows.dtype, per_agent, per="env", initial=0), kept="derived")
        return joined, True

    @property
    def _joined_observations(self) -> str:
        """Name of the array for what the group sees where the world's own arrays are no such rows."""
        return f"joined_observations_{self.group.name}"

    def _find(self) -> None:
        """Find the arrays in the sealed store."""
        world, joined = self._world, self._joined_observations
        seen = world.observations(self.group.name)
        parts = [part.flatten(2) for part in (seen.values() if isinstance(seen, dict) else [seen])]
        self._parts, self._seen = (parts, world[joined]) if joined in world.data else ([], parts[0])
        outputs = world[self._outputs]
        self._ranges = [
            (slot, Seen(world, self.group, envs, self._seen[envs], self.memory), outputs[envs])
            for slot, range_of_slot in split_envs(self.slots, world.num_envs)
            for envs in cut_at(range_of_slot, world.environment.parts)
        ]
        self._sealed = True
        if isinstance(self.policy, Scripted):
            self.policy.check(world, self.group, self.distribution.num_outputs)

    @property
    def is_random(self) -> bool:
        """Whether all envs act at random."""
        return self.policy is None and not self.slots

    @property
    def joins(self) -> bool:
        """Whether what the group sees is put together from arrays that are no rows of the policy's."""
        return self._joined_observations in self._world.data

    @property
    def joined(self) -> tuple[list[Tensor], Tensor]:
        """Parts of what the group sees, (num_envs, size, numbers) each, and the rows that they are put together in.

        There are no parts where the rows are the world's own array. It needs a sealed world.
        """
        return self._parts, self._seen

    @property
    def playing(self) -> list[tuple[Player, Seen, Tensor]]:
        """Players of the moment, each with its observations and the place of its outputs; needs a sealed world."""
        return [(self.policy if slot is None else slot.player, seen, outputs) for slot, seen, outputs in self._ranges]

    def observations(self) -> Tensor:
        """Present observations of the group, in rows: (num_envs, size, features) float32, or bytes, in the store.

        Each call joins the parts of a Dict again, and so are halves, choices and flags; a single Box of float32
        or uint8 is a view of the world's own array.
        """
        if self._parts:
            self.rows.join(self._parts, out=self._seen)
        return self._seen

    def act(self) -> None:
        """Decide on what the group sees now, and write its actions into the store.

        Raises:
            StoreError: the world is not sealed yet, or the policy remembers more or less than the first one did.
        """
        if not self._sealed or self.sampler.draw is None:
            raise StoreError(f"group '{self.group.name}': call the world's reset() before the actor acts")
        with span(POLICY, self.group.name):
            self.observations()  # joins the parts of a Dict; also for a random policy: the kernel may record them
            if not self.is_random:
                self._decide()
        with span(SAMPLING, self.group.name):
            if self.is_random:
                self.sampler.draw_at_random()
            else:
                self.sampler.draw()

    def act_in(self, envs: slice) -> None:
        """Do as ``act``, for the envs that the world's ``active`` marks: one of its environment's parts.

        Args:
            envs: the same envs. Call it for all parts, in their order, of an actor that does not act at random.
        """
        with span(POLICY, self.group.name):
            if envs.start == 0:
                self.observations()
            self._decide(envs)
        with span(SAMPLING, self.group.name):
            self.sampler.draw_active()

    def _decide(self, envs: slice | None = None) -> None:
        with torch.no_grad(), products(FLOAT32, self._world.device):  # a run's own precision lies around it
            if self.memory is not None and (envs is None or envs.start == 0):  # of all envs, before the first acts
                self.memory.forget()
            playing = self.playing
            self.scripts.take(playing)
            self.scripts.run()
            for player, seen, outputs in playing:
                if envs is None or envs.start <= seen.envs.start < envs.stop:
                    if needs_torch(player):
                        decide(player, seen, outputs)
                    self.sampler.take(distribution_of(player), seen.envs)

    @property
    def players(self) -> list[Player]:
        """Players that act for the group at the moment."""
        return [self.policy, *(slot.player for slot in self.slots)]
