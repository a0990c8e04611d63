"""Deep deterministic policy gradient (Lillicrap et al. 2016, arXiv 1509.02971), and TD3 (Fujimoto et al. 2018)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Literal

import torch
from pydantic import Field
from torch import Tensor

from warpworld.config import ALGORITHM, Count, Flag, Fraction, NotNegative, NotNegativeSchedule
from warpworld.policies import Deterministic, Noise, NoisySampler, Policy, SamplerContext, TanhHead
from warpworld.trainers.algorithms import ALONE, ActorCritic, ActorCriticSettings, ProcessGroup, Progress, TargetNetwork
from warpworld.trainers.algorithms.box_exploration import noise_scale
from warpworld.trainers.collecting import Collector
from warpworld.trainers.replay import Transitions


class DDPGSettings(ActorCriticSettings):
    """One entry of the ``policy`` section with ``algorithm: ddpg``."""

    algorithm: Literal["ddpg"] = Field(default="ddpg", description=ALGORITHM)
    exploration: Literal["ou", "normal"] = Field(
        default="ou", description="noise of actions: ou (Ornstein-Uhlenbeck, from 0 in each episode) or normal"
    )
    noise_damping: Fraction = Field(default=0.15, description="with ou: part of the noise that is gone a step later")
    noise_stddev: NotNegative = Field(default=0.2, description="deviation of the normal numbers that noise is made of")
    noise_scale: NotNegativeSchedule = Field(
        default=1.0, description="what noise is multiplied by, in units in which -1 and 1 are the Box's ends"
    )
    td3: Flag = Field(default=False, description="two critics of which the lower one counts, and the three keys below")
    policy_delay: Count = Field(default=2, description="with td3: updates of the critics between two of the actor")
    target_noise: NotNegative = Field(default=0.2, description="with td3: deviation of the noise of target actions")
    target_noise_clip: NotNegative = Field(default=0.5, description="with td3: size at which that noise is cut off")


class DDPG(ActorCritic):
    """The critic learns Q(s, a) towards y = R_n + discount * Q'(s', mu'(s')), the actor to raise Q(s, mu(s)).

    With ``td3`` there are two critics and Q' is the lower one; noise, cut off, is added to mu'(s'); actor and targets
    move in every ``policy_delay``-th update only, the actor by the first critic (Fujimoto et al. 2018, arXiv
    1802.09477, algorithm 1).
    """

    Settings = DDPGSettings
    num_draws = 1
    head = TanhHead
    distribution = Deterministic
    settings: DDPGSettings

    def __init__(self, policy: Policy, settings: Any, processes: ProcessGroup = ALONE) -> None:
        super().__init__(policy, settings, processes)
        self.target_actor = TargetNetwork(self.model.actor_layers, self.actor.vector)
        self.targets = {"actor": self.target_actor, **self.targets}
        self._actor_loss = torch.zeros((), device=self.actor.vector.device)

    @staticmethod
    def num_critics(settings: Any) -> int:
        """Number of critics: 2 with ``td3``, else 1."""
        return 2 if settings.td3 else 1

    # ---- an algorithm's part of a run --------------------------------------------------------------------------------
    def declare(self, collector: Collector) -> None:
        """Implement ``ActorCritic``."""
        self._noise_scale = noise_scale(collector, self.settings.groups[0], self.now.noise_scale)
        super().declare(collector)

    def sampler(self, context: SamplerContext) -> NoisySampler:
        """The policy's actions with noise."""
        chosen, arrays = self.settings, (self._noise_scale.array, self.at_random.array)
        return NoisySampler(context, Noise(chosen.exploration, chosen.noise_damping, chosen.noise_stddev, *arrays))

    def set_exploration(self, progress: Progress) -> None:
        """The noise's scale too."""
        super().set_exploration(progress)
        self._noise_scale.set(self.now.noise_scale)

    # ---- one update --------------------------------------------------------------------------------------------------
    def targets_of(self, batch: Transitions, following: Tensor, normals: Tensor) -> Tensor:
        """Implement ``ActorCritic``."""
        chosen, actions = self.settings, self.target_actor.module(following)
        if chosen.td3:
            noise = (chosen.target_noise * normals[0]).clamp(-chosen.target_noise_clip, chosen.target_noise_clip)
            actions = (actions + noise).clamp(-1.0, 1.0)
        return self.discounted(batch, self.target_critics.module(following, actions).amin(0))

    def update_actor(self, seen: Tensor, weights: Tensor, normals: Tensor) -> dict[str, Tensor]:
        """Implement ``ActorCritic``; with ``td3`` in some updates only, between which the latest loss is given."""
        if self.moves_actor:
            loss = -(weights * self.model.critics(seen, self.model.actor_layers(seen))[0]).mean()
            self.step(self.actor, loss)
            self.follow()
            self._actor_loss.copy_(loss.detach())
        return {"actor_loss": self._actor_loss}

    @property
    def moves_actor(self) -> bool:
        """Whether the present update is one of those that move actor and targets."""
        return not self.settings.td3 or (self.num_updates + 1) % self.settings.policy_delay == 0

    def variant(self) -> Hashable:
        """Updates that move the actor are other ones."""
        return self.moves_actor

    def written(self) -> list[Tensor]:
        """The actor's latest loss too."""
        return [*super().written(), self._actor_loss]

    # ---- saving ------------------------------------------------------------------------------------------------------
    def state_dict(self) -> dict[str, Any]:
        """The actor's latest loss too."""
        return {**super().state_dict(), "actor_loss": self._actor_loss}

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Implement ``OffPolicy``."""
        super().load_state_dict(saved)
        self._actor_loss.copy_(saved["actor_loss"])
