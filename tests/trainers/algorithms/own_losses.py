"""Algorithms that change the loss of a packaged one: the policy loss has the other sign."""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from warpworld.trainers.algorithms import Batch, Losses
from warpworld.trainers.algorithms.a2c import A2C, A2CSettings
from warpworld.trainers.algorithms.mappo import MAPPO, MAPPOSettings
from warpworld.trainers.algorithms.ppo import PPO, PPOSettings

FOLDER = __name__


def turned(losses: Losses, factor: float) -> Losses:
    """The loss with its policy loss multiplied, and what was made of it."""
    loss, diagnostics = losses
    return loss * factor, {**diagnostics, "policy_loss": diagnostics["policy_loss"] + 1000.0}


class OwnPPOSettings(PPOSettings):
    """Settings of ``OwnPPO``."""

    algorithm: Literal["tests.trainers.algorithms.own_losses:OwnPPO"] = f"{FOLDER}:OwnPPO"  # type: ignore[assignment]


class OwnPPO(PPO):
    """PPO with a loss of its own, by the loss of rows."""

    Settings = OwnPPOSettings

    def loss_of(self, log_probs: Tensor, entropies: Tensor, values: Tensor, minibatch: Batch) -> Losses:
        """PPO's, marked."""
        return turned(super().loss_of(log_probs, entropies, values, minibatch), -1.0)


class OwnA2CSettings(A2CSettings):
    """Settings of ``OwnA2C``."""

    algorithm: Literal["tests.trainers.algorithms.own_losses:OwnA2C"] = f"{FOLDER}:OwnA2C"  # type: ignore[assignment]


class OwnA2C(A2C):
    """A2C with a loss of its own, by the loss of a minibatch."""

    Settings = OwnA2CSettings

    def losses(self, minibatch: Batch) -> Losses:  # type: ignore[override]
        """A2C's, marked."""
        return turned(super().losses(minibatch), -1.0)


class OwnMAPPOSettings(MAPPOSettings):
    """Settings of ``OwnMAPPO``."""

    algorithm: Literal["tests.trainers.algorithms.own_losses:OwnMAPPO"] = f"{FOLDER}:OwnMAPPO"  # type: ignore[assignment]


class Between(MAPPO):
    """MAPPO with a loss of its own, for a class behind it."""

    def loss_of(self, log_probs: Tensor, entropies: Tensor, values: Tensor, minibatch: Batch) -> Losses:
        """MAPPO's, marked."""
        return turned(super().loss_of(log_probs, entropies, values, minibatch), -1.0)


class MixedPPOSettings(PPOSettings):
    """Settings of ``MixedPPO``."""

    algorithm: Literal["tests.trainers.algorithms.own_losses:MixedPPO"] = f"{FOLDER}:MixedPPO"  # type: ignore[assignment]


class Marking:
    """A mixin with a loss."""

    def loss_of(self, log_probs: Tensor, entropies: Tensor, values: Tensor, minibatch: Batch) -> Losses:
        """PPO's, marked."""
        return turned(super().loss_of(log_probs, entropies, values, minibatch), -1.0)  # type: ignore[misc]


class MixedPPO(Marking, PPO):
    """PPO with the loss of a mixin."""

    Settings = MixedPPOSettings


class OwnMAPPO(Between):
    """An algorithm that inherits a loss that is no packaged one."""

    Settings = OwnMAPPOSettings
