"""A policy's networks in C++: on the host's cores, without torch between the layers."""

from __future__ import annotations

import ctypes
import functools
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from warpworld.errors import DeviceError, StoreError
from warpworld.managers.cpu.native_library import NativeLibrary, WorkerLoop
from warpworld.managers.cpu.workers import MAX_WORKERS
from warpworld.policies.fused.layout import HeadShape, TrunkShape
from warpworld.policies.fused.modules import UnfitError
from warpworld.policies.fused.plan import plan

if TYPE_CHECKING:
    from warpworld.trainers.algorithms.sequences import Experience

SOURCE = Path(__file__).resolve().parent / "fused.cpp"
DIAGNOSTICS = ("policy_loss", "value_loss", "entropy", "approx_kl", "old_approx_kl", "clipfrac")

_POINTER, _INT, _INT64, _FLOAT = ctypes.c_void_p, ctypes.c_int, ctypes.c_int64, ctypes.c_float


# ---- structs of layer.hpp, strip.hpp, losses.hpp, model.hpp and fused.cpp --------------------------------------------
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
        *((name, _POINTER) for name in ("returns", "values", "action_masks", "mask")),
    ]


class _Places(ctypes.Structure):
    _fields_ = [
        *((name, _INT64) for name in ("count", "steps", "sequence_stride", "step_stride")),
        ("index", _POINTER),
    ]


class _Common(ctypes.Structure):
    _fields_ = [*((name, _FLOAT) for name in ("mean", "scale", "weight")), ("count", _INT64)]


class _ModelShape(ctypes.Structure):
    _fields_ = [
        *((name, _INT) for name in ("num_trunks", "num_heads", "num_workers")),
        *((name, _POINTER) for name in ("trunks", "heads", "head_sizes")),
    ]


class _ForwardCall(ctypes.Structure):
    _fields_ = [
        *((name, _POINTER) for name in ("model", "parameters", "observations")),
        ("places", _Places),
        *((name, _POINTER) for name in ("starts", "states", "outputs", "values", "after")),
    ]


class _GradientCall(ctypes.Structure):
    _fields_ = [
        *((name, _POINTER) for name in ("model", "parameters", "log_std", "log_std_gradient")),
        *(("rows", _Rows), ("places", _Places), ("starts", _POINTER), ("states", _POINTER), ("loss", Loss)),
        *(("common", _Common), ("diagnostics", ctypes.c_double * len(DIAGNOSTICS)), ("bad_action", _INT)),
    ]


@functools.cache
def _library() -> NativeLibrary:
    return NativeLibrary(SOURCE)


class FusedNetworks:
    """An actor's and a critic's forward, and the whole gradient of their loss.

    Parameters and gradients are the modules' own memory, read and written in place. Results are the same, bit for bit,
    for any number of workers. A call from one thread at a time.

    Args:
        model: a packaged model that ``plan`` takes.
        head_sizes: choices of each categorical head; the actor has as many outputs. Empty for actions in a Box.
        num_workers: threads, the calling one included; None means as many as torch has. At most 128 are used.
        log_std: with actions in a Box, (outputs of the actor,) float32, the logarithm of each dimension's width; None
            with choices.

    Raises:
        BuildError: the library does not compile here.
        DeviceError: networks that have no kernels, for the reason that ``plan`` gives, or no memory.
    """

    def __init__(
        self,
        model: nn.Module,
        head_sizes: Sequence[int],
        num_workers: int | None = None,
        log_std: nn.Parameter | None = None,
    ) -> None:
        library = _library()
        try:
            self._plan = plan(model, library.function("fused_lanes", returns=_INT)())
        except UnfitError as reason:
            raise DeviceError(f"these networks have no fused kernels: {reason}; let torch run them") from reason
        self.head_sizes, self._log_std = tuple(head_sizes), log_std
        expected = sum(self.head_sizes) if log_std is None else len(log_std)
        if (self._plan.num_outputs, self._plan.num_values) != (expected, 1):
            raise DeviceError(
                f"an actor of {self._plan.num_outputs} outputs and a critic of {self._plan.num_values}: expected "
                f"{expected} outputs of the actor and 1 of the critic"
            )
        workers = min(torch.get_num_threads() if num_workers is None else num_workers, MAX_WORKERS)
        self._model = self._make(workers)
        self._weights = self._plan.weights
        self._parameters = (_LayerParameters * len(self._weights))()
        self._begin_forward = library.function("fused_begin_forward", _POINTER, returns=_INT)
        self._begin_gradient = library.function("fused_begin_gradient", _POINTER, returns=_INT)
        self._end_gradient = library.function("fused_end_gradient", _POINTER)
        # One loop for each: the runtime learns how long a block of each takes.
        self._forward_calls = [_ForwardCall(model=self._model) for _ in range(3)]
        self._run_forward = [WorkerLoop(library, "forward", call, workers) for call in self._forward_calls]
        self._gradient_call = _GradientCall(model=self._model)
        self._run_gradient = WorkerLoop(library, "gradient", self._gradient_call, workers)

    def _make(self, num_workers: int) -> int:
        """The C++ side's model, freed with this object."""
        library, built = _library(), self._plan
        trunks = (TrunkShape * len(built.trunks))(*(trunk.shape() for trunk in built.trunks))
        heads = (HeadShape * 2)(built.actor.shape(), built.critic.shape())
        sizes = (_INT * len(self.head_sizes))(*self.head_sizes)
        addresses = [ctypes.addressof(array) for array in (trunks, heads, sizes)]
        shape = _ModelShape(len(trunks), len(sizes), num_workers, *addresses)
        model = library.function("fused_make", _POINTER, returns=_POINTER)(ctypes.addressof(shape))
        if not model:
            raise DeviceError("no memory for fused networks; set trainer.fused=false")
        weakref.finalize(self, library.function("fused_free", _POINTER), model)
        return model

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        """A copy is None: copied networks are other networks, which torch runs."""
        return type(None), ()

    # ---- forward -----------------------------------------------------------------------------------------------------
    def outputs(self, observations: Tensor) -> Tensor:
        """The actor's outputs: (..., features) float32 -> (..., outputs) float32, without gradient."""
        rows, outputs = self._rows(observations), self._made(observations, self._plan.num_outputs)
        self._forward(0, rows, rows.numel() // self._plan.features, 1, outputs=outputs)
        return outputs

    def value(self, observations: Tensor) -> Tensor:
        """The critic's values: (..., features) float32 -> (...) float32, without gradient."""
        rows, values = self._rows(observations), self._made(observations)
        self._forward(1, rows, rows.numel() // self._plan.features, 1, values=values)
        return values

    def step(self, observations: Tensor, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """One step of agents that remember, without gradient.

        Args:
            observations: (..., features) float32.
            state: (..., state size) float32, before the step.

        Returns:
            Outputs (..., outputs), values (...), and the state after it.
        """
        rows = self._rows(observations)
        states = _checked("state", state, torch.float32, (*observations.shape[:-1], self._plan.state_size))
        outputs, values = self._made(observations, self._plan.num_outputs), self._made(observations)
        after = torch.empty_like(states)
        count = rows.numel() // self._plan.features
        self._forward(2, rows, count, 1, states=states, outputs=outputs, values=values, after=after)
        return outputs, values, after

    def replay(self, observations: Tensor, state: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
        """Several steps of each of S agents, without gradient.

        Args:
            observations: (T, S, features) float32.
            state: (S, state size) float32, before the first step.
            starts: (T, S) bool, where the state is zeroed before the step.

        Returns:
            Outputs (T, S, outputs) and values (T, S).
        """
        rows, (steps, agents) = self._rows(observations), observations.shape[:2]
        states = _checked("state", state, torch.float32, (agents, self._plan.state_size))
        begins = _checked("starts", starts, torch.bool, (steps, agents))
        outputs, values = self._made(observations, self._plan.num_outputs), self._made(observations)
        self._forward(2, rows, agents, steps, states=states, starts=begins, outputs=outputs, values=values)
        return outputs, values

    def _rows(self, observations: Tensor) -> Tensor:
        return _checked("observations", observations, torch.float32, (*observations.shape[:-1], self._plan.features))

    def _made(self, observations: Tensor, *width: int) -> Tensor:
        return torch.empty((*observations.shape[:-1], *width))

    def _forward(self, which: int, rows: Tensor, count: int, steps: int, **tensors: Tensor) -> None:
        call = self._forward_calls[which]
        call.parameters, call.observations = self._point_to_weights(), rows.data_ptr()
        call.places = _Places(count, steps, 1, count, None)
        for name in ("states", "starts", "outputs", "values", "after"):
            setattr(call, name, tensors[name].data_ptr() if name in tensors else None)
        if count * steps:
            self._run_forward[which](_there_is_memory(self._begin_forward(ctypes.addressof(call))))

    # ---- gradient ----------------------------------------------------------------------------------------------------
    def gradient(self, experience: Experience, index: Tensor, loss: Loss) -> Tensor:
        """Write the gradient of a minibatch's loss into the parameters' ``grad``, whatever was there before.

        Args:
            experience: a batch of B rows whose mask is not read, or B sequences, whose mask is.
            index: (count,) int64, those that the minibatch has, of 0 .. B-1; at least one.
            loss: which loss.

        Returns:
            (6,) float64: means of ``DIAGNOSTICS`` over the rows, from before the step. Without the surrogate, those
            about its ratio are 0.

        Raises:
            StoreError: a tensor of another shape or dtype, a row or an action that does not exist.
        """
        call = self._gradient_call
        keep = self._point_to(call, experience, index)
        call.parameters = self._point_to_weights(gradients=True)
        if self._log_std is not None:
            call.log_std, call.log_std_gradient = _address(self._log_std), _grad(self._log_std)
        call.loss = loss
        self._run_gradient(_there_is_memory(self._begin_gradient(ctypes.addressof(call))))
        del keep  # it had to live until here
        if call.bad_action:
            raise StoreError(f"batch actions: outside of what {self.head_sizes} choices a head allow")
        self._end_gradient(ctypes.addressof(call))
        return torch.tensor(call.diagnostics[:], dtype=torch.float64)

    def _point_to(self, call: ctypes.Structure, experience: Experience, index: Tensor) -> list[Tensor]:
        """Set the call's pointers to the rows; returns the tensors that they point into."""
        keep = self._point_to_rows(call.rows, experience.rows)
        steps = 1
        call.starts = call.states = None
        if self._plan.state_size:
            states, starts = experience.states, experience.starts  # type: ignore[union-attr]
            steps = starts.shape[1]
            keep += [
                _checked("states", states, torch.float32, (len(experience), self._plan.state_size)),
                _checked("starts", starts, torch.bool, (len(experience), steps)),
            ]
            call.states, call.starts = keep[-2].data_ptr(), keep[-1].data_ptr()
            call.rows.mask = None
            if experience.rows.mask is not None:
                keep.append(experience.rows.mask.contiguous())
                call.rows.mask = keep[-1].data_ptr()
        keep.append(_checked("rows", index, torch.int64, (len(index),)))
        if len(index) == 0 or int(index.min()) < 0 or int(index.max()) >= len(experience):
            raise StoreError(f"rows: expected at least one, each of 0 to {len(experience) - 1}")
        call.places = _Places(len(index), steps, steps, 1, keep[-1].data_ptr())
        return keep

    def _point_to_rows(self, call: ctypes.Structure, batch: Any) -> list[Tensor]:
        count, heads, choices = len(batch), len(self.head_sizes), sum(self.head_sizes)
        is_box = self._log_std is not None
        actions = (torch.float32, self._plan.num_outputs) if is_box else (torch.int32, heads)
        shapes: dict[str, tuple[torch.dtype, tuple[int, ...]]] = {
            "observations": (torch.float32, (count, self._plan.features)),
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
        return keep

    def _point_to_weights(self, gradients: bool = False) -> int:
        """Address of where weights lie now, and gradients if these are asked for (made where there are none)."""
        for native, (weight, bias) in zip(self._parameters, self._weights, strict=True):
            native.weight, native.bias = _address(weight), _address(bias)
            if gradients:
                native.weight_gradient, native.bias_gradient = _grad(weight), _grad(bias)
        return ctypes.addressof(self._parameters)


def _address(parameter: Tensor) -> int:
    if not parameter.is_contiguous():
        raise StoreError(f"a parameter of shape {tuple(parameter.shape)} is not contiguous")
    return parameter.data_ptr()


def _grad(parameter: Tensor) -> int:
    if parameter.grad is None:
        parameter.grad = torch.zeros_like(parameter)
    return _address(parameter.grad)


def _there_is_memory(blocks: int) -> int:
    if blocks < 0:
        raise DeviceError("no memory for sequences of this length in fused networks; set trainer.fused=false")
    return blocks


def _checked(name: str, tensor: Tensor, dtype: torch.dtype, shape: tuple[int, ...]) -> Tensor:
    """The tensor, contiguous and on the cpu; integers of another width are converted."""
    if tensor.shape != shape or tensor.device.type != "cpu" or tensor.is_floating_point() != dtype.is_floating_point:
        raise StoreError(
            f"{name}: shape {tuple(tensor.shape)} of {tensor.dtype} on {tensor.device}, expected {shape} of {dtype} "
            "on cpu"
        )
    return tensor.to(dtype).contiguous()
