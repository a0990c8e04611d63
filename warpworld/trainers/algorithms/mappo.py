"""MAPPO (Yu et al. 2022, arXiv 2103.01955): PPO whose critic sees the whole team."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import torch
from gymnasium.spaces import Box
from pydantic import Field
from torch import Tensor, nn

from warpworld.config import ALGORITHM, CELLS, Fault, Flag, Sizes
from warpworld.environment import Array, Environment, Group, state_space
from warpworld.errors import ConfigError
from warpworld.policies import (
    VALUE_GAIN,
    ActorWithCritic,
    CentralInputs,
    CriticThatRemembers,
    Policy,
    RecurrentActorAndCritic,
    RecurrentActorWithCritic,
    Width,
    action_distribution,
    build_policy,
    check_hidden,
    hidden_layers,
    make_cell,
    observation_size,
    perceptron,
)
from warpworld.trainers.algorithms import OnPolicySettings
from warpworld.trainers.algorithms.experience import starts_of
from warpworld.trainers.algorithms.ppo import PPO, PPOSettings
from warpworld.trainers.collecting import Collector, Trajectories


class MAPPOSettings(PPOSettings):
    """One entry of the ``policy`` section with ``algorithm: mappo``."""

    algorithm: Literal["mappo"] = Field(default="mappo", description=ALGORITHM)  # type: ignore[assignment]
    critic_reads: Literal["state", "observations"] | None = Field(
        default=None,
        description="what the critic reads of the team: the declared state, or the observations of all its agents; "
        "null for the state where one is declared",
    )
    own_observation: Flag = Field(default=False, description="let an agent's critic read its own observation as well")
    agent_ids: Flag = Field(default=True, description="let an agent's critic read the agent's number, one-hot")
    critic_hidden_sizes: tuple[Width, ...] = Field(
        default=(64, 64), description="width of each hidden layer of the critic; may be empty"
    )
    critic_activation: Literal["tanh", "relu"] = Field(default="tanh", description="between the critic's layers")
    recurrent_critic: Flag = Field(
        default=False, description="give the critic a memory of its own, of the model's kind and size"
    )
    normalise_returns: Literal["popart", "running"] | None = Field(
        default="popart", description=OnPolicySettings.model_fields["normalise_returns"].description
    )

    def faults(self, sizes: Sizes) -> Iterator[Fault]:
        """A team is one group; a critic with a memory takes an actor with one."""
        if self.recurrent_critic and self.model.recurrent is None:
            text = "recurrent_critic is true, but model.recurrent is null: what has a memory learns from sequences"
            yield Fault(("recurrent_critic",), f"{text}; set model.recurrent to {CELLS}, or recurrent_critic=false")
        if self.model.declares_state:
            text = f"{self.model.memory}, but mappo puts an actor and a critic of its own behind an encoder"
            yield Fault(("model.type",), f"{text}, expected a model with one; ppo and a2c train yours")
        if len(self.groups) > 1:
            text = f"groups has {', '.join(self.groups)}, but the critic of mappo reads what one group sees"
            yield Fault(("groups",), f"{text}, expected one; give each group a policy of its own")
        yield from super().faults(sizes)


class MAPPO(PPO):
    """PPO for a team: all agents of a group share a policy, and a critic that reads what all of them see.

    The critic is a network of its own, and needed for learning alone. It values what each agent will earn.
    """

    Settings: ClassVar[type[OnPolicySettings]] = MAPPOSettings
    settings: MAPPOSettings

    # ---- what it is made of ------------------------------------------------------------------------------------------
    @classmethod
    def critic_space(cls, environment: Environment, group: Group) -> Box | None:
        """The state of the whole team, where the environment declares it."""
        return state_space(environment, group)

    @classmethod
    def build_networks(
        cls, settings: Any, group: Group, generator: torch.Generator, critic_input: Box | None
    ) -> Policy:
        """An actor, with memory if the model is recurrent, and a critic, with a memory on request."""
        central, model = central_inputs(settings, group, critic_input), settings.model
        check_hidden(settings.critic_hidden_sizes, settings.critic_activation)
        outputs = action_distribution(group).num_outputs

        # heads, made once the encoder's width is known
        def network(encoder: nn.Module, width: int) -> nn.Module:
            widths, activation = (central.numbers, *settings.critic_hidden_sizes), settings.critic_activation
            if settings.recurrent_critic:
                critic = CriticThatRemembers(hidden_layers(widths, activation), make_cell(model, widths[-1]))
                return RecurrentActorAndCritic(encoder, make_cell(model, width), outputs, critic)
            plain = perceptron((*widths, 1), activation, VALUE_GAIN)
            if model.recurrent is None:
                return ActorWithCritic(encoder, width, outputs, plain)
            return RecurrentActorWithCritic(encoder, make_cell(model, width), outputs, plain)

        # the critic's input, one row of numbers
        read = Box(-math.inf, math.inf, (central.numbers,))
        policy = build_policy(model, group, generator, critic_input=read, heads=network)
        policy.central = central
        return policy

    def declare(self, collector: Collector) -> None:
        """Record rollouts of the group; the store keeps what its critic remembers."""
        super().declare(collector)
        self._world = collector.world
        (group,) = self.settings.groups
        is_known = critic_state(group) in self._world.data  # of another member of its population
        if isinstance(self.policy.model, RecurrentActorAndCritic) and not is_known:
            shape = (self._world.groups[group].size, self.policy.model.memory.state_size)
            doc = "what the critic remembers after the last rollout"
            self._world.add(
                Array(critic_state(group), "float32", shape, per="env", initial=0.0, on_reset="keep", doc=doc)
            )

    def memories(self) -> list[str]:
        """States of actors, and of a critic with a memory of its own."""
        name = critic_state(*self.settings.groups)
        return [*super().memories(), *([name] if name in self._world.data else [])]

    # ---- what the critic reads ---------------------------------------------------------------------------------------
    def seen(self) -> list[Trajectories]:
        """Trajectories of the group, with the inputs of its critic."""
        return [self._with_central(seen) for seen in super().seen()]

    def _with_central(self, seen: Trajectories) -> Trajectories:
        finals = seen.finals
        read = self._read(finals.observations, finals.critic_inputs, _takes_part_finally(seen))
        central = dataclasses.replace(
            seen,
            values=None,  # of a policy with memory: its actor's network has none
            next_state=None,
            critic_inputs=self._read_in_rows(seen),
            next_critic_inputs=self._read(seen.next_observations, seen.next_critic_inputs, self._takes_part_next()),
            finals=dataclasses.replace(finals, states=None, critic_inputs=read),
        )
        remembers = isinstance(self.acted.model, RecurrentActorAndCritic)
        return self._as_remembered(central) if remembers else central

    def _as_remembered(self, seen: Trajectories) -> Trajectories:
        """Values of a critic with a memory, and what it remembers; call it once for each rollout.

        It goes through the rollout by the weights that acted. The store then holds its state before the next rollout.
        """
        (group,) = self.settings.groups
        kept, model = self._world[critic_state(group)][self._own_envs], self.acted.model
        assert isinstance(model, RecurrentActorAndCritic)
        assert seen.critic_inputs is not None and seen.first_state is not None
        # the state before the rollout, and room for what follows
        starts = starts_of(seen).unsqueeze(-1)
        first, state = kept.clone(), kept
        values, states = torch.empty_like(seen.rewards), kept.new_empty(len(seen.rewards), *kept.shape)
        # values and states, by the weights that acted, up to the next rollout
        with torch.no_grad():
            for t, inputs in enumerate(seen.critic_inputs):
                values[t], state = model.critic_step(inputs, state.masked_fill(starts[t], 0.0))
                states[t] = state
        kept.copy_(state.masked_fill(starts[-1], 0.0))
        # the actor's records with those of the critic
        finals = seen.finals
        return dataclasses.replace(
            seen,
            values=self.acted.in_rewards(values),
            first_state=torch.cat((seen.first_state, first), -1),
            next_state=kept,
            finals=dataclasses.replace(finals, states=finals.taken(states)),
        )

    def _read_in_rows(self, seen: Trajectories) -> Tensor:
        """Inputs of the critic in each row, (T, num_envs, n, numbers).

        Of an agent that was cut the row behind holds what it observed last. There it still takes part, for its own
        critic and those of agents that were cut with it.
        """
        read = self._read(seen.observations, seen.critic_inputs, seen.mask)
        if seen.agent_truncated is None or seen.mask is None:
            return read
        cut = seen.agent_truncated & ~(seen.terminated | seen.truncated).unsqueeze(-1)
        if seen.agent_terminated is not None:
            cut = cut & ~seen.agent_terminated
        was_cut = torch.cat((torch.zeros_like(cut[:1]), cut[:-1]))
        with_it = self._read(seen.observations, seen.critic_inputs, seen.mask | was_cut)
        return torch.where(was_cut.unsqueeze(-1), with_it, read)

    def _read(self, observations: Tensor, declared: Tensor | None, takes_part: Tensor | None) -> Tensor:
        """Inputs of each agent's critic, (..., n, numbers), from observations, (..., n, entries)."""
        assert self.acted.central is not None
        with torch.no_grad():
            return self.acted.central(self.acted.features(observations), declared, takes_part)

    def _takes_part_next(self) -> Tensor | None:
        """Flags of the agents that take part in the step that follows the last, (num_envs, n) bool; None for all."""
        (group,) = self.settings.groups
        world = self._world
        if "agent_mask" not in world.data:
            return None
        return world["agent_mask"][self._own_envs, world.groups[group].slice]

    @property
    def _own_envs(self) -> slice:
        """Envs that it learns from."""
        return slice(None) if self.envs is None else slice(self.envs.start, self.envs.stop)


def critic_state(group: str) -> str:
    """Name of the array with what the critic of a group remembers."""
    return f"critic_state_{group}"


def central_inputs(settings: MAPPOSettings, group: Group, state: Box | None) -> CentralInputs:
    """Build what makes the inputs of a group's critic.

    Args:
        settings: of its policy.
        group: the team.
        state: as the environment declares it; None where it does not.

    Raises:
        ConfigError: the settings ask for a state that is not declared.
    """
    if settings.critic_reads == "state" and state is None:
        raise ConfigError(
            f"critic_reads is state, but group '{group.name}' declares none; name an array of the environment in "
            f"Group('{group.name}', ..., critic_input=NAME), or set critic_reads=observations"
        )
    numbers = None if state is None or settings.critic_reads == "observations" else math.prod(state.shape)
    return CentralInputs(
        group.size, observation_size(group), numbers, own=settings.own_observation, ids=settings.agent_ids
    )


def _takes_part_finally(seen: Trajectories) -> Tensor | None:
    """Flags of the agents left in the final observations of truncated episodes, (k, n) bool; None for all."""
    if seen.mask is None:
        return None
    left = seen.finals.taken(seen.mask)
    return left if seen.agent_terminated is None else left & ~seen.finals.taken(seen.agent_terminated)
