"""A module's parameters as one vector: a gradient's length and a step of the optimiser are one operation each."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional

from warpworld.errors import RunError
from warpworld.policies import gradients_of
from warpworld.trainers.algorithms.parameters.muon import ADAM_EPS, Matrix, Muon, matrices_of, muon
from warpworld.trainers.algorithms.parameters.optimizers import Adam
from warpworld.trainers.spans import STEP, spanned

ALIGNMENT = 4  # numbers; 16 bytes of float32, at whose multiples cuBLAS wants every matrix for its fastest kernels
_UNFIT = (AttributeError, LookupError, RuntimeError, TypeError, ValueError)  # what torch meets a wrong state with


OptimizerMaker = Callable[[nn.Parameter, float, Sequence[Matrix]], torch.optim.Optimizer]


class Stepper(Protocol):
    """Clips a gradient's length and takes steps.

    Attributes:
        moves_matrices: whether Muon's, too, or only Adam's.
    """

    moves_matrices: bool

    def takes(self, optimizer: torch.optim.Optimizer, vector: nn.Parameter) -> bool:
        """Whether it takes those of an optimiser as it is."""

    def __call__(self, optimizer: torch.optim.Optimizer, vector: nn.Parameter, max_norm: float) -> Tensor:
        """One step along the vector's gradient; gives its length before it was scaled down to ``max_norm``."""

    def prepared(self, optimizer: torch.optim.Optimizer, vector: nn.Parameter, max_norm: float) -> int | None:
        """Address of such a step's arguments for C++; None if C++ has no part in it."""


class ByTorch:
    """Lets torch clip a gradient's length and take a step."""

    def __call__(self, optimizer: torch.optim.Optimizer, vector: nn.Parameter, max_norm: float) -> Tensor:
        """One step along the vector's gradient; gives its length before it was scaled down to ``max_norm``."""
        if max_norm < math.inf:
            norm = nn.utils.clip_grad_norm_(vector, max_norm)
        else:
            norm = torch.linalg.vector_norm(vector.grad)
        optimizer.step()
        return norm

    def prepared(self, optimizer: torch.optim.Optimizer, vector: nn.Parameter, max_norm: float) -> None:
        """Give no address: C++ has no part in such steps."""


_BY_TORCH = ByTorch()


class FlatParameters:
    """All parameters of a module that require a gradient, as views of one vector, and an optimiser over it.

    The gradients are views of one vector too. The zeros between the views have no gradient, so that they stay zeros and
    count for nothing. Do not move the module afterwards.

    Attributes:
        parts: the parameters.
        vector: all of them.
        optimizer: of the vector.
        native: takes the steps that it can take; None leaves all to torch.

    Args:
        module: on its device.
        learning_rate: of the first step.
        optimizer: makes the optimiser of a vector, with a learning rate and the matrices in the vector.
    """

    def __init__(self, module: nn.Module, learning_rate: float, optimizer: OptimizerMaker | None = None) -> None:
        self._module, self._make = module, optimizer or adam
        self.native: Stepper | None = None
        self.parts = _trained(module)
        self.vector = flattened(module)
        self._matrices = matrices_of(module, list(zip(self.parts, _places(self.parts), strict=True)))
        self.optimizer = self._make(self.vector, learning_rate, self._matrices)

    def tensors(self) -> list[Tensor]:
        """Tensors that a step writes: the parameters, their gradients, the optimiser's moments."""
        if not self.optimizer.state:
            self._make_moments()
        state = self.optimizer.state[self.vector]
        return [self.vector, self.gradient, *(each for each in state.values() if isinstance(each, Tensor))]

    def _make_moments(self) -> None:
        """Let the optimiser make what it keeps, all zeros, which it does in its first step: one without effect."""
        kept = self.vector.detach().clone(), self.gradient.clone()
        self.gradient.zero_()
        self.optimizer.step()
        for each in self.optimizer.state[self.vector].values():
            each.zero_()
        self.vector.detach().copy_(kept[0])
        self.gradient.copy_(kept[1])

    def rate_on_device(self) -> Tensor:
        """The learning rate as a tensor that each step reads, so that a CUDA graph can hold steps from here on."""
        group = self.optimizer.param_groups[0]
        if "capturable" in group:  # what torch's optimisers are asked for before they step into a graph
            group["capturable"] = True
        held = group["lr"]
        if not isinstance(held, Tensor) or held.device != self.vector.device:
            held = group["lr"] = torch.tensor(self.learning_rate, device=self.vector.device)
        return held

    @property
    def gradient(self) -> Tensor:
        """The vector's gradient."""
        assert self.vector.grad is not None
        return self.vector.grad

    @property
    def learning_rate(self) -> float:
        """The learning rate of the next step."""
        return float(self.optimizer.param_groups[0]["lr"])

    @learning_rate.setter
    def learning_rate(self, rate: float) -> None:
        held = self.optimizer.param_groups[0]["lr"]
        if isinstance(held, Tensor):
            held.fill_(rate)
        else:
            self.optimizer.param_groups[0]["lr"] = rate

    def differentiate(self, tensors: Sequence[Tensor], gradients: Sequence[Tensor] | None = None) -> None:
        """Leave a loss's gradient in ``gradient``, all parameters' in one operation; 0 where it depends on none.

        Args:
            tensors: losses, or tensors between the parameters and a loss.
            gradients: of the loss at each of these; None where they are losses.
        """
        found = gradients_of(tensors, self.parts, gradients)
        pairs = [(_grad(part), new) for part, new in zip(self.parts, found, strict=True) if new is not None]
        for part, new in zip(self.parts, found, strict=True):
            if new is None:
                _grad(part).zero_()
        if pairs:  # a sparse one, of an embedding, cannot be copied
            dense = [new.to_dense() if new.is_sparse else new for _, new in pairs]
            torch._foreach_copy_([old for old, _ in pairs], dense)

    @spanned(STEP)
    def step(self, max_grad_norm: float = math.inf, norm: Tensor | None = None) -> Tensor:
        """Scale the gradient down to a length, step along it, and return its length before scaling, ().

        Args:
            max_grad_norm: the length.
            norm: its length before, of a gradient that is scaled down already; None for others.
        """
        found = self._stepper()(self.optimizer, self.vector, max_grad_norm if norm is None else math.inf)
        return found if norm is None else norm

    def native_step(self, max_grad_norm: float = math.inf) -> int | None:
        """Address of such steps' arguments for C++, see ``FusedAdam.prepared``; None if torch takes the steps."""
        return self._stepper().prepared(self.optimizer, self.vector, max_grad_norm)

    def _stepper(self) -> Stepper | ByTorch:
        """Object that takes the next step: torch for all other optimisers, and for subclasses."""
        native, kind = self.native, type(self.optimizer)
        if native is None or not (kind is Adam or (kind is Muon and native.moves_matrices)):
            return _BY_TORCH
        return native if native.takes(self.optimizer, self.vector) else _BY_TORCH

    # ---- saving ------------------------------------------------------------------------------------------------------
    def check_state(self, state: Any) -> None:
        """Try a saved state of the optimiser on another one, whose step has no effect.

        Raises:
            RunError: the state is not of this optimiser, or one of other sizes, or an older version's.
        """
        vector = nn.Parameter(torch.zeros_like(self.vector))
        vector.grad = torch.zeros_like(vector)
        trial = self._make(vector, self.learning_rate, self._matrices)
        try:
            trial.load_state_dict(copy.deepcopy(state))
            for key, moment in trial.state[vector].items():
                if key == "step" or moment.shape == vector.shape:
                    continue
                if moment.shape == (sum(parameter.numel() for parameter in _trained(self._module)),):
                    raise RunError(
                        "the optimiser's state was saved by an older version of warpworld, which put no padding "
                        "between weights; continue with that version, or begin a new run whose policies have the old "
                        "one as their initial_weights"
                    )
                raise ValueError(f"{key} has shape {tuple(moment.shape)}, expected {tuple(vector.shape)}")
            trial.step()
        except _UNFIT as error:
            raise _does_not_fit(error) from error

    def load_state(self, state: Any) -> None:
        """Continue from a state of the optimiser.

        Raises:
            RunError: it is of other parameters.
        """
        try:
            # without a copy Adam would adopt the moments themselves, and two learners would share them
            self.optimizer.load_state_dict(copy.deepcopy(state))
        except _UNFIT as error:
            raise _does_not_fit(error) from error


def _grad(parameter: Tensor) -> Tensor:
    assert parameter.grad is not None  # a view of the vector's
    return parameter.grad


def _does_not_fit(error: Exception) -> RunError:
    """Error for a saved state that torch refuses."""
    said = f"it lacks {error}" if isinstance(error, KeyError) else " ".join(str(error).split())
    return RunError(
        f"the saved state does not fit this policy ({said}); use the model settings and the env that it was saved with"
    )


def flattened(module: nn.Module) -> nn.Parameter:
    """Join all parameters in one vector; they and their gradients become views of it.

    Each view begins at a multiple of ``ALIGNMENT`` numbers, with zeros behind it up to the next. Parameters with
    ``requires_grad=False`` are left out and keep their values.
    """
    parameters = _trained(module)
    padded = [functional.pad(parameter.detach().flatten(), (0, _padding(parameter))) for parameter in parameters]
    vector = nn.Parameter(torch.cat(padded))
    vector.grad = torch.zeros_like(vector)
    for parameter, first in zip(parameters, _places(parameters), strict=True):
        part = slice(first, first + parameter.numel())
        parameter.data = vector.detach()[part].view_as(parameter)
        parameter.grad = vector.grad[part].view_as(parameter)
    return vector


def _places(parameters: Sequence[Tensor]) -> list[int]:
    """First place of each in the vector."""
    lengths = [parameter.numel() + _padding(parameter) for parameter in parameters]
    return list(accumulate(lengths, initial=0))[:-1]


def _trained(module: nn.Module) -> list[nn.Parameter]:
    return [parameter for parameter in module.parameters() if parameter.requires_grad]


def _padding(parameter: Tensor) -> int:
    return -parameter.numel() % ALIGNMENT


def adam(
    parameters: nn.Parameter, learning_rate: float, matrices: Sequence[Matrix] = (), eps: float = ADAM_EPS
) -> Adam:
    """Adam, fused into one kernel where this torch can do that for the policy's device."""
    try:
        return Adam([parameters], lr=learning_rate, eps=eps, fused=True)
    except RuntimeError:
        return Adam([parameters], lr=learning_rate, eps=eps)


OPTIMIZERS: dict[str, OptimizerMaker] = {"adam": adam, "muon": muon}
