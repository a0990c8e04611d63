"""Estimates of advantages and value targets of a group, from values and from its rollout."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Protocol

from torch import Tensor

from warpworld.policies.fused import fused_gae
from warpworld.trainers.algorithms.targets.gae import gae
from warpworld.trainers.algorithms.targets.vtrace import vtrace


class TargetSettings(Protocol):
    """Settings of a policy that targets read."""

    @property
    def gamma(self) -> float:
        """Discount per step."""

    @property
    def gae_lambda(self) -> float:
        """Weight of longer looks ahead."""

    @property
    def rho_bar(self) -> float:
        """V-trace's limit of the ratios that weigh TD errors."""

    @property
    def c_bar(self) -> float:
        """V-trace's limit of the ratios that carry them back."""

    @property
    def reward_scale(self) -> float:
        """Factor of rewards."""

    @property
    def reward_clip(self) -> float | None:
        """Size at which scaled rewards are cut off; None or 0 for none."""


class Estimates(ABC):
    """GAE and V-trace of one group, from its rewards as they are learnt: scaled and cut off by the settings.

    Attributes:
        place: (T + 1, num_envs, n) float32, where ``ends_of`` writes values of final observations; None for anywhere.
    """

    place: Tensor | None = None

    @abstractmethod
    def gae(self, values: Tensor, ends: Mapping[str, Any]) -> tuple[Tensor, Tensor]:
        """Advantages and returns, (T, num_envs, n) float32 each, which may be written over at the next call.

        Args:
            values: (T, num_envs, n) float32, of what was observed.
            ends: what ``ends_of`` gives.
        """

    @abstractmethod
    def vtrace(self, values: Tensor, log_ratios: Tensor, ends: Mapping[str, Any]) -> Tensor:
        """Targets, (T, num_envs, n) float32, which may be written over at the next call.

        Args:
            values: as for ``gae``, of the present weights.
            log_ratios: (T, num_envs, n) float32, of the actions' probabilities now to those when they were taken.
            ends: as for ``gae``.
        """


class TensorEstimates(Estimates):
    """GAE in C++ where values are on the cpu; else, as V-trace, by torch's operations, some for each step.

    Args:
        settings: discount, limits and what is learnt of rewards.
    """

    def __init__(self, settings: TargetSettings) -> None:
        self._settings = settings

    def gae(self, values: Tensor, ends: Mapping[str, Any]) -> tuple[Tensor, Tensor]:
        """Implement ``Estimates``."""
        weights = {"gamma": self._settings.gamma, "gae_lambda": self._settings.gae_lambda}
        given = {"values": values, **self._learnt(ends), **weights}
        found = fused_gae(**given) if values.device.type == "cpu" else None
        return gae(**given) if found is None else found

    def vtrace(self, values: Tensor, log_ratios: Tensor, ends: Mapping[str, Any]) -> Tensor:
        """Implement ``Estimates``."""
        settings = self._settings
        return vtrace(
            values=values,
            log_ratios=log_ratios,
            **self._learnt(ends),
            gamma=settings.gamma,
            gae_lambda=settings.gae_lambda,
            rho_bar=settings.rho_bar,
            c_bar=settings.c_bar,
        )

    def _learnt(self, ends: Mapping[str, Any]) -> Mapping[str, Any]:
        """``ends`` with the rewards that are learnt from."""
        scale, limit = self._settings.reward_scale, self._settings.reward_clip
        if scale == 1.0 and not limit:
            return ends
        rewards = ends["rewards"] * scale
        return {**ends, "rewards": rewards.clamp(-limit, limit) if limit else rewards}
