"""Arguments between Python and the C++ side: structs of the headers beside this file."""

from __future__ import annotations

import ctypes

import torch
from torch import Tensor

from warpworld.errors import StoreError

DIAGNOSTICS = ("policy_loss", "value_loss", "entropy", "approx_kl", "old_approx_kl", "clipfrac")

_POINTER, _INT, _INT64, _FLOAT = ctypes.c_void_p, ctypes.c_int, ctypes.c_int64, ctypes.c_float


class LayerParameters(ctypes.Structure):
    """Struct of layer.hpp: pointers into torch's memory."""

    _fields_ = [(name, _POINTER) for name in ("weight", "bias", "weight_gradient", "bias_gradient")]


class Loss(ctypes.Structure):
    """Settings of the loss whose gradient is computed.

    Attributes:
        surrogate: True for PPO's clipped surrogate, False for advantage actor-critic's ``-log_prob * advantage``.
        clip_value_loss, normalise_advantages, clip_coef, ent_coef, vf_coef, kl_coef: as PPO's settings.
    """

    _fields_ = [
        *((name, _INT) for name in ("surrogate", "clip_value_loss", "normalise_advantages")),
        *((name, _FLOAT) for name in ("clip_coef", "ent_coef", "vf_coef", "kl_coef")),
    ]


class Observed(ctypes.Structure):
    """Struct of strip.hpp: rows of observations."""

    _fields_ = [("first", _POINTER), ("row_bytes", _INT64), ("are_bytes", _INT64)]

    @classmethod
    def of(cls, rows: Tensor) -> Observed:
        """Rows of float32, or of bytes."""
        return cls(rows.data_ptr(), rows.shape[-1] * rows.element_size(), rows.element_size() == 1)


class Rows(ctypes.Structure):
    """Struct of losses.hpp: the rows that there are."""

    _fields_ = [
        *((name, Observed) for name in ("observations", "critic_inputs")),
        *((name, _POINTER) for name in ("actions", "box_actions", "log_probs", "advantages")),
        *((name, _POINTER) for name in ("returns", "values", "importance", "action_masks", "mask")),
    ]


class Places(ctypes.Structure):
    """Struct of strip.hpp: where a strip's rows are among them."""

    _fields_ = [
        *((name, _INT64) for name in ("count", "steps", "sequence_stride", "step_stride")),
        ("index", _POINTER),
    ]


class Runs(ctypes.Structure):
    """Struct of strip.hpp: how rows lie in memory."""

    _fields_ = [(name, _INT64) for name in ("length", "stride")]

    @classmethod
    def of(cls, rows: Tensor) -> Runs | None:
        """Describe how rows (..., features) lie in memory; None if they must be copied."""
        if rows.is_contiguous():
            return cls(1, 1)
        if rows.dim() != 3 or rows.stride()[1:] != (rows.shape[2], 1):
            return None
        stride, rest = divmod(rows.stride(0), rows.shape[2])
        return None if rest else cls(rows.shape[1], stride)


class Common(ctypes.Structure):
    """Struct of losses.hpp: what a minibatch's rows have in common."""

    _fields_ = [*((name, _FLOAT) for name in ("mean", "scale", "weight")), ("count", _INT64)]


class ModelShape(ctypes.Structure):
    """Struct of model.hpp."""

    _fields_ = [
        *((name, _INT) for name in ("num_trunks", "num_heads", "num_workers", "num_learners")),
        *((name, _INT) for name in ("has_critic", "is_dueling")),
        *((name, _POINTER) for name in ("trunks", "heads", "head_sizes")),
    ]


class ForwardCall(ctypes.Structure):
    """Struct of forward.hpp."""

    _fields_ = [
        *(("model", _POINTER), ("parameters", _POINTER)),
        *(("observations", Observed), ("runs", Runs), ("places", Places)),
        *((name, _POINTER) for name in ("starts", "states", "outputs", "values", "after")),
    ]


class ActingCall(ctypes.Structure):
    """Struct of forward.hpp."""

    _fields_ = [
        ("forward", ForwardCall),
        *((name, _INT64) for name in ("agents", "first_env", "end_env", "envs_per_block")),
    ]


class GradientCall(ctypes.Structure):
    """Struct of fused.cpp."""

    _fields_ = [
        *((name, _POINTER) for name in ("model", "parameters", "log_std", "log_std_gradient")),
        *(("rows", Rows), ("sequences", _INT64), ("places", Places), ("starts", _POINTER), ("states", _POINTER)),
        *(("of_outputs", _POINTER), ("transitions", _POINTER), ("loss", Loss)),
        *(("common", Common), ("diagnostics", ctypes.c_double * len(DIAGNOSTICS)), ("bad_action", _INT)),
    ]


class TransitionRows(ctypes.Structure):
    """Struct of transitions.hpp."""

    _fields_ = [
        *((name, _POINTER) for name in ("returns", "discounts", "weights", "chooses", "judges", "masks")),
        *(("mask_stride", _INT64), ("count", _INT64), ("targets", _POINTER), ("errors", _POINTER), ("rescales", _INT)),
    ]


class RateRule(ctypes.Structure):
    """Rule by which a learning rate follows the KL divergence, see ``KLRate``.

    Attributes:
        desired_kl: the divergence; 0 leaves the rate as it is.
        lowest, highest: ends of the rate.
    """

    _fields_ = [(name, ctypes.c_double) for name in ("desired_kl", "lowest", "highest")]


class StepsCall(ctypes.Structure):
    """Struct of fused.cpp."""

    _fields_ = [
        *((name, _POINTER) for name in ("gradient", "step", "chunks", "order", "bounds", "commons")),
        *(("minibatches", _INT64), ("done", _INT64), ("found", _POINTER)),
        *(("rule", RateRule), ("has_moved", _INT)),
    ]


def checked(name: str, tensor: Tensor, dtype: torch.dtype, shape: tuple[int, ...]) -> Tensor:
    """The tensor, contiguous and on the cpu; integers of another width are converted."""
    check(name, tensor, dtype, shape)
    return tensor.to(dtype).contiguous()


def check(name: str, tensor: Tensor, dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    """Refuse a tensor that is not on the cpu, or is of another shape or kind of numbers."""
    if tensor.shape != shape or tensor.device.type != "cpu" or tensor.is_floating_point() != dtype.is_floating_point:
        raise StoreError(
            f"{name}: shape {tuple(tensor.shape)} of {tensor.dtype} on {tensor.device}, expected {shape} of {dtype} "
            "on cpu"
        )
