"""Soft actor-critic (Haarnoja et al. 2018, arXiv 1812.05905): a stochastic actor, two critics, a learnt temperature."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import torch
from pydantic import Field, PlainValidator
from pydantic_core import PydanticCustomError
from torch import Tensor, nn

from warpworld.config import ALGORITHM, Count
from warpworld.policies import Policy, SamplerContext, SquashedGaussian, SquashedHead, SquashedSampler
from warpworld.trainers.algorithms import ALONE, ActorCritic, ActorCriticSettings, FlatParameters, ProcessGroup
from warpworld.trainers.collecting import Collector
from warpworld.trainers.replay import Transitions

logger = logging.getLogger(__name__)


def _read_temperature(given: Any) -> str | float:
    """The word, or a number."""
    if given == "auto":
        return "auto"
    if type(given) not in (int, float) or not 0 <= given <= sys.float_info.max:
        raise PydanticCustomError("temperature", "auto, or a finite number of at least 0")
    return float(given)


class SACSettings(ActorCriticSettings):
    """One entry of the ``policy`` section with ``algorithm: sac``."""

    algorithm: Literal["sac"] = Field(default="sac", description=ALGORITHM)
    learning_starts: Count = Field(
        default=1_000, description="transitions before the first update; until then actions are drawn uniformly"
    )
    temperature: Annotated[Any, PlainValidator(_read_temperature)] = Field(
        default="auto", description="weight of the entropy: auto learns it from 1 on, or a number"
    )


class Temperature(nn.Module):
    """The weight of the entropy, by its logarithm.

    Attributes:
        log: (1,) float32 parameter, 0 at first.
    """

    log: nn.Parameter

    def __init__(self) -> None:
        super().__init__()
        self.log = nn.Parameter(torch.zeros(1))


class SAC(ActorCritic):
    """Two critics learn the return with entropy, the actor to raise both.

    With a' ~ pi(s'): y = R_n + discount * (min_j Q'_j(s', a') - alpha log pi(a'|s')); the actor's loss is the mean of
    alpha log pi(a|s) - min_j Q_j(s, a), that of the temperature alpha the mean of -alpha (log pi(a|s) + target), where
    the target of the entropy is minus the number of dimensions.
    """

    Settings = SACSettings
    acts_greedily = False
    diagnostics = (*ActorCritic.diagnostics, "entropy", "temperature")
    num_draws = 2
    head = SquashedHead
    distribution = SquashedGaussian
    settings: SACSettings

    def __init__(self, policy: Policy, settings: Any, processes: ProcessGroup = ALONE) -> None:
        super().__init__(policy, settings, processes)
        assert isinstance(policy.distribution, SquashedGaussian)
        self._squashed, device = policy.distribution, self.actor.vector.device
        self._target_entropy = -policy.distribution.num_outputs / 2
        self._alpha = torch.ones(1, device=device)
        self._is_learnt = settings.temperature == "auto"
        if self._is_learnt:
            self._temperature = Temperature().to(device)
            make = settings.maker_without_matrices
            self.learnt["temperature"] = FlatParameters(self._temperature, self.now.learning_rate, make)
        else:
            self._alpha.fill_(settings.temperature)

    @staticmethod
    def num_critics(settings: Any) -> int:
        """Number of critics: 2."""
        return 2

    # ---- an algorithm's part of a run --------------------------------------------------------------------------------
    def declare(self, collector: Collector) -> None:
        """Implement ``ActorCritic``."""
        super().declare(collector)
        if self.settings.n_step > 1:
            logger.warning(
                "n_step is %d: sac leaves the entropy of the steps between out of its returns", self.settings.n_step
            )

    def sampler(self, context: SamplerContext) -> SquashedSampler:
        """The policy's own draws."""
        return SquashedSampler(context, "explore", self.at_random.array)

    # ---- one update --------------------------------------------------------------------------------------------------
    @property
    def alpha(self) -> Tensor:
        """The temperature: (1,) float32, without gradient."""
        return self._temperature.log.detach().exp() if self._is_learnt else self._alpha

    def targets_of(self, batch: Transitions, following: Tensor, normals: Tensor) -> Tensor:
        """Implement ``ActorCritic``."""
        actions, log_probs = self._squashed.draw(self.model.actor_layers(following), normals[0])
        values = self.target_critics.module(following, actions).amin(0)
        return self.discounted(batch, values - self.alpha * log_probs)

    def update_actor(self, seen: Tensor, weights: Tensor, normals: Tensor) -> dict[str, Tensor]:
        """Implement ``ActorCritic``; then a step of the temperature."""
        alpha = self.alpha
        actions, log_probs = self._squashed.draw(self.model.actor_layers(seen), normals[1])
        loss = (weights * (alpha * log_probs - self.model.critics(seen, actions).amin(0))).mean()
        self.step(self.actor, loss)
        entropy = -(weights * log_probs.detach()).mean()
        self._update_temperature(alpha, entropy, weights)
        self.follow()
        return {"actor_loss": loss.detach(), "entropy": entropy, "temperature": alpha.mean()}

    def _update_temperature(self, alpha: Tensor, entropy: Tensor, weights: Tensor) -> None:
        """Along the gradient by the logarithm of alpha, which is alpha * (entropy - target)."""
        if self._is_learnt:
            parameters = self.learnt["temperature"]
            parameters.gradient[:1] = alpha * (entropy - self._target_entropy * weights.mean())
            self.share_gradient(parameters)
            parameters.step()

    # ---- saving ------------------------------------------------------------------------------------------------------
    def state_dict(self) -> dict[str, Any]:
        """The temperature too."""
        own = {"log_temperature": self._temperature.log.detach()} if self._is_learnt else {}
        return {**super().state_dict(), **own}

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Implement ``OffPolicy``."""
        super().load_state_dict(saved)
        if self._is_learnt:
            self._temperature.log.detach().copy_(saved["log_temperature"])
