"""Actor and critic in C++: plain perceptrons on the host's cores, without torch between the layers."""

from __future__ import annotations

import ctypes
import functools
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from warpworld.errors import DeviceError, StoreError
from warpworld.managers.cpu.native_library import NativeLibrary, WorkerLoop
from warpworld.managers.cpu.workers import MAX_WORKERS

SOURCE = Path(__file__).resolve().parent / "fused.cpp"
MAX_LAYERS = 16
DIAGNOSTICS = ("policy_loss", "value_loss", "entropy", "approx_kl", "old_approx_kl", "clipfrac")

_POINTER, _INT, _INT64, _FLOAT = ctypes.c_void_p, ctypes.c_int, ctypes.c_int64, ctypes.c_float


# ---- structs of network.hpp, losses.hpp and fused.cpp ---------------------------------------------------------------
class _LayerParameters(ctypes.Structure):
    _fields_ = [(name, _POINTER) for name in ("weight", "bias", "weight_gradient", "bias_gradient")]


class Loss(ctypes.Structure):
    """What a gradient is taken of.

    Attributes:
        surrogate: True for PPO's clipped surrogate, False for advantage actor-critic's ``-log_prob * advantage``.
        clip_value_loss, normalise_advantages, clip_coef, ent_coef, vf_coef: as PPO's settings.
    """

    _fields_ = [
        *((name, _INT) for name in ("surrogate", "clip_value_loss", "normalise_advantages")),
        *((name, _FLOAT) for name in ("clip_coef", "ent_coef", "vf_coef")),
    ]


class _Rows(ctypes.Structure):
    _fields_ = [
        *((name, _POINTER) for name in ("observations", "actions", "box_actions", "log_probs", "advantages")),
        *((name, _POINTER) for name in ("returns", "values")),
        *(("action_masks", _POINTER), ("index", _POINTER), ("count", _INT64)),
    ]


class _Common(ctypes.Structure):
    _fields_ = [(name, _FLOAT) for name in ("mean", "scale", "weight")]


class _ForwardCall(ctypes.Structure):
    _fields_ = [
        *(("model", _POINTER), ("critic", _INT), ("parameters", _POINTER), ("observations", _POINTER)),
        *(("count", _INT64), ("outputs", _POINTER)),
    ]


class _GradientCall(ctypes.Structure):
    _fields_ = [
        *((name, _POINTER) for name in ("model", "actor", "critic", "log_std", "log_std_gradient")),
        *(("rows", _Rows), ("loss", Loss)),
        *(("common", _Common), ("diagnostics", ctypes.c_double * len(DIAGNOSTICS)), ("bad_action", _INT)),
    ]


@functools.cache
def _library() -> NativeLibrary:
    return NativeLibrary(SOURCE)


# ---- which networks -------------------------------------------------------------------------------------------------
def why_not(actor: nn.Module, critic: nn.Module) -> str | None:
    """Why two networks cannot be run in C++, or None if they can."""
    activations = set()
    for name, network in (("actor", actor), ("critic", critic)):
        if type(network) is not nn.Sequential:
            return f"the {name} is a {type(network).__name__}, not a sequence of layers"
        layers = list(network)
        linear, between = layers[::2], layers[1::2]
        if len(layers) % 2 == 0 or not all(type(layer) is nn.Linear and layer.bias is not None for layer in linear):
            return f"the {name} is not linear layers with an activation between each two"
        if len(linear) > MAX_LAYERS:
            return f"the {name} has {len(linear)} layers, more than {MAX_LAYERS}"
        activations |= {type(layer) for layer in between}
        if any(module._forward_hooks or module._forward_pre_hooks for module in network.modules()):
            return f"the {name} has forward hooks"
        if any(p.dtype != torch.float32 or p.device.type != "cpu" for p in network.parameters()):
            return f"the {name} is not float32 on the cpu"
    if not activations <= {nn.Tanh} and not activations <= {nn.ReLU}:
        return "activations other than one of tanh and relu"
    return None


class FusedNetworks:
    """An actor's and a critic's forward, and the whole gradient of their loss.

    Parameters and gradients are the modules' own memory, read and written in place. Results are the same, bit for bit,
    for any number of workers. A call from one thread at a time.

    Args:
        actor: linear layers with tanh or relu between each two; ``why_not`` returns what is wrong with it.
        critic: likewise, with a single output and the same kind of activation.
        head_sizes: choices of each categorical head; the actor has as many outputs. Empty for actions in a Box.
        num_workers: threads, the calling one included; None means as many as torch has. At most 128 are used.
        log_std: with actions in a Box, (outputs of the actor,) float32, the logarithm of each dimension's width; None
            with choices.

    Raises:
        BuildError: the library does not compile here.
        DeviceError: networks that ``why_not`` speaks against, or no memory.
    """

    def __init__(
        self,
        actor: nn.Sequential,
        critic: nn.Sequential,
        head_sizes: Sequence[int],
        num_workers: int | None = None,
        log_std: nn.Parameter | None = None,
    ) -> None:
        reason = why_not(actor, critic)
        if reason:
            raise DeviceError(f"these networks have no fused kernels: {reason}; let torch run them")
        self.head_sizes, self._log_std = tuple(head_sizes), log_std
        self._actor, self._critic = _Network(actor), _Network(critic)
        outputs = self._actor.widths[-1], self._critic.widths[-1]
        expected = sum(self.head_sizes) if log_std is None else len(log_std)
        if outputs != (expected, 1) or self._actor.widths[0] != self._critic.widths[0]:
            raise DeviceError(
                f"an actor of {self._actor.widths[0]} inputs and {outputs[0]} outputs and a critic of "
                f"{self._critic.widths[0]} and {outputs[1]}: expected the same inputs, {expected} outputs of the actor "
                "and 1 of the critic"
            )
        workers = min(torch.get_num_threads() if num_workers is None else num_workers, MAX_WORKERS)
        relu = any(type(layer) is nn.ReLU for layer in (*actor, *critic))
        self._model = self._make(relu, workers)
        library = _library()
        self._begin_forward = library.function("fused_begin_forward", _POINTER, returns=_INT)
        self._begin_gradient = library.function("fused_begin_gradient", _POINTER, returns=_INT)
        self._end_gradient = library.function("fused_end_gradient", _POINTER)
        # One loop for each: the runtime learns how long a block of each takes.
        self._forward_calls = [_ForwardCall(model=self._model, critic=critic) for critic in (0, 1)]
        self._run_forward = [WorkerLoop(library, "forward", call, workers) for call in self._forward_calls]
        self._gradient_call = _GradientCall(model=self._model)
        self._run_gradient = WorkerLoop(library, "gradient", self._gradient_call, workers)

    def _make(self, relu: bool, num_workers: int) -> int:
        """The C++ side's model, freed with this object."""
        library, actor, critic, heads = _library(), self._actor.widths, self._critic.widths, self.head_sizes
        make = library.function("fused_make", *(_POINTER, _INT) * 2, _INT, _POINTER, _INT, _INT, returns=_POINTER)
        sizes = [(_INT * len(values))(*values) for values in (actor, critic, heads)]
        model = make(sizes[0], len(actor) - 1, sizes[1], len(critic) - 1, relu, sizes[2], len(heads), num_workers)
        if not model:
            raise DeviceError(f"no memory for fused networks of widths {actor} and {critic}")
        weakref.finalize(self, library.function("fused_free", _POINTER), model)
        return model

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        """A copy is None: copied networks are other networks, which torch runs."""
        return type(None), ()

    def outputs(self, observations: Tensor) -> Tensor:
        """The actor's outputs: (..., inputs) float32 -> (..., outputs) float32, without gradient."""
        return self._forward(0, self._actor, observations)

    def value(self, observations: Tensor) -> Tensor:
        """The critic's values: (..., inputs) float32 -> (...) float32, without gradient."""
        return self._forward(1, self._critic, observations).squeeze(-1)

    def _forward(self, which: int, network: _Network, observations: Tensor) -> Tensor:
        rows = _checked("observations", observations, torch.float32, (*observations.shape[:-1], network.widths[0]))
        outputs = torch.empty((*rows.shape[:-1], network.widths[-1]))
        call = self._forward_calls[which]
        call.parameters, call.observations = network.parameters(), rows.data_ptr()
        call.count, call.outputs = outputs.numel() // network.widths[-1], outputs.data_ptr()
        if call.count:
            self._run_forward[which](self._begin_forward(ctypes.addressof(call)))
        return outputs

    def gradient(self, batch: Any, rows: Tensor, loss: Loss) -> Tensor:
        """Write the gradient of a minibatch's loss into the parameters' ``grad``, whatever was there before.

        Args:
            batch: a ``trainers.batch.Batch`` of B rows; its mask is not read.
            rows: (count,) int64, those that the minibatch has, of 0 .. B-1; at least one.
            loss: which loss.

        Returns:
            (6,) float64: means of ``DIAGNOSTICS`` over the rows, from before the step. Without the surrogate, those
            about its ratio are 0.

        Raises:
            StoreError: a tensor of another shape or dtype, a row or an action that does not exist.
        """
        call = self._gradient_call
        keep = self._point_to(call.rows, batch, rows)
        call.actor, call.critic = self._actor.parameters(gradients=True), self._critic.parameters(gradients=True)
        if self._log_std is not None:
            call.log_std, call.log_std_gradient = _address(self._log_std), _grad(self._log_std)
        call.loss = loss
        self._run_gradient(self._begin_gradient(ctypes.addressof(call)))
        del keep  # it had to live until here
        if call.bad_action:
            raise StoreError(f"batch actions: outside of what {self.head_sizes} choices a head allow")
        self._end_gradient(ctypes.addressof(call))
        return torch.tensor(call.diagnostics[:], dtype=torch.float64)

    def _point_to(self, call: ctypes.Structure, batch: Any, rows: Tensor) -> list[Tensor]:
        """Set the call's pointers to the batch; returns the tensors that they point into."""
        count, heads, choices = len(batch), len(self.head_sizes), sum(self.head_sizes)
        is_box = self._log_std is not None
        actions = (torch.float32, self._actor.widths[-1]) if is_box else (torch.int32, heads)
        shapes: dict[str, tuple[torch.dtype, tuple[int, ...]]] = {
            "observations": (torch.float32, (count, self._actor.widths[0])),
            "actions": (actions[0], (count, actions[1])),
            **{name: (torch.float32, (count,)) for name in ("log_probs", "advantages", "returns", "values")},
        }
        keep = [_checked(name, getattr(batch, name), *wanted) for name, wanted in shapes.items()]
        for name, tensor in zip(shapes, keep, strict=True):
            setattr(call, "box_actions" if is_box and name == "actions" else name, tensor.data_ptr())
        masks = None if is_box else getattr(batch, "action_masks", None)
        call.action_masks = None
        if masks is not None:
            keep.append(_checked("action_masks", masks, torch.bool, (count, choices)))
            call.action_masks = keep[-1].data_ptr()
        keep.append(_checked("rows", rows, torch.int64, (len(rows),)))
        if len(rows) == 0 or int(rows.min()) < 0 or int(rows.max()) >= count:
            raise StoreError(f"rows: expected at least one, each of 0 to {count - 1}")
        call.index, call.count = keep[-1].data_ptr(), len(rows)
        return keep


class _Network:
    """One network's layers, as the C++ side knows them."""

    def __init__(self, network: nn.Sequential) -> None:
        self.layers = [layer for layer in network if isinstance(layer, nn.Linear)]
        self.widths = (self.layers[0].in_features, *(layer.out_features for layer in self.layers))
        self._native = (_LayerParameters * len(self.layers))()
        self._address = ctypes.addressof(self._native)

    def parameters(self, gradients: bool = False) -> int:
        """Address of where weights lie now, and gradients if these are asked for (made where there are none)."""
        for native, layer in zip(self._native, self.layers, strict=True):
            native.weight, native.bias = _address(layer.weight), _address(layer.bias)
            if gradients:
                native.weight_gradient, native.bias_gradient = _grad(layer.weight), _grad(layer.bias)
        return self._address


def _address(parameter: Tensor) -> int:
    if not parameter.is_contiguous():
        raise StoreError(f"a parameter of shape {tuple(parameter.shape)} is not contiguous")
    return parameter.data_ptr()


def _grad(parameter: Tensor) -> int:
    if parameter.grad is None:
        parameter.grad = torch.zeros_like(parameter)
    return _address(parameter.grad)


def _checked(name: str, tensor: Tensor, dtype: torch.dtype, shape: tuple[int, ...]) -> Tensor:
    """The tensor, contiguous and on the cpu; integers of another width are converted."""
    if tensor.shape != shape or tensor.device.type != "cpu" or tensor.is_floating_point() != dtype.is_floating_point:
        raise StoreError(
            f"{name}: shape {tuple(tensor.shape)} of {tensor.dtype} on {tensor.device}, expected {shape} of {dtype} "
            "on cpu"
        )
    return tensor.to(dtype).contiguous()
