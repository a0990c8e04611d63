"""Steps of Adam in C++: on a CPU one of torch's takes longer than a small network's whole gradient."""

from __future__ import annotations

import ctypes

import torch
from torch import Tensor, nn

from warpworld.policies.fused.library import library

_POINTER = ctypes.c_void_p


class _AdamStep(ctypes.Structure):
    """Struct of adam.hpp."""

    _fields_ = [
        ("count", ctypes.c_int64),
        *((name, _POINTER) for name in ("weights", "gradient", "mean", "square", "step")),
        *((name, ctypes.c_double) for name in ("rate", "beta1", "beta2", "eps", "max_norm", "norm")),
    ]


class FusedAdam:
    """Clips a gradient's length and takes a step, on what torch's optimiser keeps: its state stays torch's own.

    Attributes:
        moves_matrices: False: Muon's are torch's.

    Raises:
        BuildError: the library does not compile here.
    """

    moves_matrices = False

    def __init__(self) -> None:
        self._call = _AdamStep()
        self._run = library().function("fused_adam_step", _POINTER)

    @property
    def rate(self) -> float:
        """The learning rate of the latest step."""
        return float(self._call.rate)

    @staticmethod
    def takes(optimizer: torch.optim.Optimizer, vector: nn.Parameter) -> bool:
        """Whether an Adam has no other terms and has made its moments, of float32 on the cpu."""
        group = optimizer.param_groups[0]
        is_plain = not any(group.get(name) for name in ("weight_decay", "amsgrad", "maximize"))
        on_cpu = vector.device.type == "cpu" and vector.dtype == torch.float32
        return is_plain and on_cpu and bool(optimizer.state)

    def __call__(self, optimizer: torch.optim.Optimizer, vector: nn.Parameter, max_norm: float) -> Tensor:
        """One step along the vector's gradient, which is scaled down to ``max_norm`` first; gives its length before."""
        self._run(self.prepared(optimizer, vector, max_norm))
        return torch.tensor(self._call.norm, dtype=torch.float32)

    def prepared(self, optimizer: torch.optim.Optimizer, vector: nn.Parameter, max_norm: float) -> int:
        """Address of what C++ takes such steps by, as long as the vector, its gradient and the moments stay there."""
        group, state, gradient = optimizer.param_groups[0], optimizer.state[vector], vector.grad
        assert gradient is not None
        call = self._call
        call.count, call.weights, call.gradient = vector.numel(), vector.data_ptr(), gradient.data_ptr()
        call.mean, call.square = state["exp_avg"].data_ptr(), state["exp_avg_sq"].data_ptr()
        call.step, call.rate = state["step"].data_ptr(), float(group["lr"])
        (call.beta1, call.beta2), call.eps, call.max_norm = group["betas"], group["eps"], max_norm
        return ctypes.addressof(call)
