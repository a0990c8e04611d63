"""Terms of an on-policy loss, for the C++ and the kernels that compute its gradient in place of autograd."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from warpworld.policies.fused import Loss

Losses = tuple[Tensor, dict[str, Tensor]]
"""A loss, a scalar with gradient, and its diagnostics by name, scalars without."""


@dataclass(frozen=True)
class LossTerms:
    """``policy_loss - ent_coef * entropy + vf_coef * value_loss + kl_coef * approx_kl``.

    Where updates are captured, each coefficient may be a () float32 tensor.

    Attributes:
        surrogate: True for PPO's clipped surrogate, False for advantage actor-critic's ``-log_prob * advantage``.
        clip_value_loss: take the larger of the plain value loss and that of a value clipped around the old one.
        normalise_advantages: shift and scale them to mean 0 and standard deviation 1 in each minibatch.
        clip_coef: limit of both.
        ent_coef: weight of the entropy.
        vf_coef: weight of the value loss.
        kl_coef: weight of the divergence from the policy that acted, of the surrogate.
    """

    surrogate: bool = False
    clip_value_loss: bool = False
    normalise_advantages: bool = False
    clip_coef: float | Tensor = 0.0
    ent_coef: float | Tensor = 0.0
    vf_coef: float | Tensor = 0.0
    kl_coef: float | Tensor = 0.0

    def in_cpp(self) -> Loss:
        """The struct that C++ reads."""
        return Loss(**vars(self))
