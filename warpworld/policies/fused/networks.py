"""A policy's networks in C++: on the host's cores, without torch between the layers."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from typing_extensions import Self

from warpworld.errors import DeviceError, StoreError
from warpworld.managers.cpu import MAX_WORKERS, WorkerLoop, available_cores
from warpworld.policies import FLOAT32
from warpworld.policies.fused.architecture import architecture_of
from warpworld.policies.fused.calls import (
    ForwardCall,
    GradientCall,
    LayerParameters,
    Loss,
    ModelShape,
    Observed,
    Places,
    Runs,
    StepsCall,
    check,
    checked,
)
from warpworld.policies.fused.gradients import Experience, FusedGradients
from warpworld.policies.fused.library import library
from warpworld.policies.fused.modules import UnfitError
from warpworld.policies.fused.trunk import BytesOfFeatures, HeadShape, TrunkShape

_NO_SUCH_ROW, _NO_SUCH_ACTION = -2, -3  # of fused_begin_gradient and fused_take_steps

_POINTER, _INT = ctypes.c_void_p, ctypes.c_int


class FusedNetworks:
    """An actor's and a critic's forward, and the whole gradient of their loss.

    Parameters and gradients are the modules' own memory, read and written in place. Results are the same, bit for bit,
    for any number of workers. A call from one thread at a time.

    Attributes:
        reads_bytes: whether observations may be rows of bytes, in place of float32.
        is_apart: whether the critic reads other inputs than the actor.
        most_workers: how many workers have memory to compute in; without a memory of agents, at least one per core.

    Args:
        model: a packaged model that ``architecture_of`` takes.
        head_sizes: choices of each categorical head; the actor has as many outputs. Empty for actions in a Box.
        num_workers: threads, the calling one included; None means as many as torch has. At most 128 are used.
        log_std: with actions in a Box, (outputs of the actor,) float32, the logarithm of each dimension's width; None
            with choices.
        precision: of the products of all layers but the last ones; sums are float32 in any.
        of_bytes: see ``what_bytes_say``; None if observations are floats alone.
        is_apart: see above.

    Raises:
        BuildError: the library does not compile here.
        DeviceError: networks that have no kernels, for the reason that ``architecture_of`` gives, or no memory.
    """

    def __init__(
        self,
        model: nn.Module,
        head_sizes: Sequence[int],
        num_workers: int | None = None,
        log_std: nn.Parameter | None = None,
        precision: str = FLOAT32,
        of_bytes: BytesOfFeatures | None = None,
        is_apart: bool = False,
    ) -> None:
        compiled = library()
        try:
            lanes = compiled.function("fused_lanes", returns=_INT)()
            self._architecture = built = architecture_of(model, lanes, precision != FLOAT32, of_bytes, is_apart)
        except UnfitError as reason:
            raise DeviceError(f"these networks have no fused kernels: {reason}; let torch run them") from reason
        self.head_sizes, self._log_std = tuple(head_sizes), log_std
        self.reads_bytes, self.is_apart = of_bytes is not None, is_apart
        self._row_bytes = 0 if of_bytes is None else of_bytes.row_bytes
        self._made_with = self.head_sizes, num_workers, log_std, precision, of_bytes, is_apart
        expected = sum(self.head_sizes) if log_std is None else len(log_std)
        if built.num_outputs != expected or built.num_values > 1:
            raise DeviceError(
                f"an actor of {built.num_outputs} outputs and a critic of {built.num_values}: "
                f"expected {expected} outputs of the actor and 1 of the critic"
            )
        workers = min(torch.get_num_threads() if num_workers is None else num_workers, MAX_WORKERS)
        self.most_workers = max(workers, min(available_cores(), MAX_WORKERS))
        self._model = self._make(self.most_workers, workers)
        self._weights = self._architecture.weights
        self._tensors = [tensor for pair in self._weights for tensor in pair]
        self._parameters, self._addresses = (LayerParameters * len(self._weights))(), list[int]()
        self._begin_forward = compiled.function("fused_begin_forward", _POINTER, returns=_INT)
        self._begin_gradient = compiled.function("fused_begin_gradient", _POINTER, returns=_INT)
        self._end_gradient = compiled.function("fused_end_gradient", _POINTER)
        self._run_steps = compiled.function("fused_take_steps", _POINTER, returns=_INT)
        # One loop for each: the runtime learns how long a block of each takes.
        self._forward_calls = [ForwardCall(model=self._model) for _ in range(4)]
        self._run_forward = [WorkerLoop(compiled, "forward", call, workers) for call in self._forward_calls]
        self._gradient_call = GradientCall(model=self._model, parameters=ctypes.addressof(self._parameters))
        self._run_gradient = WorkerLoop(compiled, "gradient", self._gradient_call, workers)
        gradient, chunks = ctypes.addressof(self._gradient_call), self._run_gradient.address
        self._steps_call = StepsCall(gradient=gradient, chunks=chunks)
        self._run_commons = WorkerLoop(compiled, "commons", self._steps_call, workers)

    def _make(self, num_workers: int, num_learners: int) -> int:
        """The C++ side's model, freed with this object; only learners have memory for several steps at once."""
        compiled, built = library(), self._architecture
        trunks = (TrunkShape * len(built.trunks))(*(trunk.shape() for trunk in built.trunks))
        heads = (HeadShape * len(built.heads))(*(head.shape() for head in built.heads))
        sizes = (_INT * len(self.head_sizes))(*self.head_sizes)
        addresses = [ctypes.addressof(array) for array in (trunks, heads, sizes)]
        kinds = built.critic is not None, built.is_dueling
        shape = ModelShape(len(trunks), len(sizes), num_workers, num_learners, *kinds, *addresses)
        model = compiled.function("fused_make", _POINTER, returns=_POINTER)(ctypes.addressof(shape))
        if not model:
            raise DeviceError("no memory for fused networks; set trainer.fused=false")
        weakref.finalize(self, compiled.function("fused_free", _POINTER), model)
        return model

    def like(self, model: nn.Module) -> Self:
        """Make networks like these for a model of the same layers; errors as those of the constructor."""
        return type(self)(model, *self._made_with)

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        """A copy is None: copied networks are other networks, which torch runs."""
        return type(None), ()

    # ---- sizes -------------------------------------------------------------------------------------------------------
    @property
    def features(self) -> int:
        """Numbers in an observation."""
        return self._architecture.features

    @property
    def critic_features(self) -> int:
        """Numbers that the critic reads: of an observation, unless it is apart."""
        return self._architecture.critic_features

    @property
    def num_outputs(self) -> int:
        """Number of outputs of the actor."""
        return self._architecture.num_outputs

    @property
    def num_products(self) -> int:
        """Multiplications of one observation before the actor's last layer."""
        return self._architecture.num_products

    @property
    def state_size(self) -> int:
        """Numbers in one agent's recurrent state, with which it acts; 0 without a memory."""
        return self._architecture.state_size

    @property
    def critic_state_size(self) -> int:
        """Numbers in the state of a critic with a memory of its own; 0 without one."""
        return self._architecture.critic_state_size

    @property
    def values_as_it_acts(self) -> bool:
        """Whether a step gives values of states, besides the actor's outputs."""
        built = self._architecture
        return built.critic is not None and not built.is_dueling and not built.is_apart

    @property
    def is_box(self) -> bool:
        """Whether actions lie in a Box."""
        return self._log_std is not None

    # ---- forward -----------------------------------------------------------------------------------------------------
    def outputs(self, observations: Tensor) -> Tensor:
        """The actor's outputs: (..., features) -> (..., outputs) float32, without gradient."""
        rows, outputs = self._rows(observations), self._made(observations, self.num_outputs)
        self._forward(0, rows, rows.shape[:-1].numel(), 1, outputs=outputs)
        return outputs

    def value(self, inputs: Tensor) -> Tensor:
        """The critic's values: (..., features that it reads) -> (...) float32, without gradient."""
        rows, values = self._critic_rows(inputs), self._made(inputs)
        self._forward(1, rows, rows.shape[:-1].numel(), 1, values=values)
        return values

    def both(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Outputs and values of networks that read the same: (..., features) -> (..., outputs) and (...), likewise."""
        rows, outputs, values = (
            self._rows(observations),
            self._made(observations, self.num_outputs),
            self._made(observations),
        )
        self._forward(0, rows, rows.shape[:-1].numel(), 1, outputs=outputs, values=values)
        return outputs, values

    def step(self, observations: Tensor, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Advance agents with memory by one step, without gradient.

        Args:
            observations: (..., features).
            state: (..., state size) float32, before the step.

        Returns:
            Outputs (..., outputs), values (...), 0 of a critic that is apart, and the state after it.
        """
        rows = self._rows(observations)
        states = checked("state", state, torch.float32, (*observations.shape[:-1], self.state_size))
        made = {"outputs": self._made(observations, self.num_outputs), "after": torch.empty_like(states)}
        values = torch.zeros(observations.shape[:-1]) if self.is_apart else self._made(observations)
        if self.values_as_it_acts:
            made["values"] = values
        self._forward(2, rows, rows.shape[:-1].numel(), 1, states=states, **made)
        return made["outputs"], values, made["after"]

    def critic_step(self, inputs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Advance a critic with a memory of its own by one step, without gradient.

        Args:
            inputs: (..., features that it reads).
            state: (..., its state size) float32, before the step.

        Returns:
            Values (...), and the state after it.
        """
        rows, values = self._critic_rows(inputs), self._made(inputs)
        states = checked("critic's state", state, torch.float32, (*inputs.shape[:-1], self.critic_state_size))
        after = torch.empty_like(states)
        self._forward(3, rows, rows.shape[:-1].numel(), 1, states=states, values=values, after=after)
        return values, after

    def replay(
        self, observations: Tensor, state: Tensor, starts: Tensor, critic_inputs: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Advance each of S agents through several steps, without gradient.

        Args:
            observations: (T, S, features).
            state: (S, state size) float32, before the first step; behind it that of a critic that remembers apart.
            starts: (T, S) bool, where the state is zeroed before the step.
            critic_inputs: (T, S, features that it reads), of a critic that is apart.

        Returns:
            Outputs (T, S, outputs) and values (T, S).
        """
        rows, (steps, agents) = self._rows(observations), observations.shape[:2]
        states = checked("state", state, torch.float32, (agents, self.state_size + self.critic_state_size))
        begins = checked("starts", starts, torch.bool, (steps, agents))
        outputs, values = self._made(observations, self.num_outputs), self._made(observations)
        if critic_inputs is None:
            self._forward(2, rows, agents, steps, states=states, starts=begins, outputs=outputs, values=values)
            return outputs, values
        of_actor, of_critic = (
            part.contiguous() for part in states.split([self.state_size, self.critic_state_size], -1)
        )
        self._forward(2, rows, agents, steps, states=of_actor, starts=begins, outputs=outputs)
        read = self._critic_rows(critic_inputs)
        self._forward(3, read, agents, steps, states=of_critic, starts=begins, values=values)
        return outputs, values

    def _rows(self, observations: Tensor) -> Tensor:
        dtype, entries = self.row_of(observations)
        check("observations", observations, dtype, (*observations.shape[:-1], entries))
        return observations.to(dtype)

    def _critic_rows(self, inputs: Tensor) -> Tensor:
        """Rows that the critic reads: observations, or floats of its own."""
        if not self.is_apart:
            return self._rows(inputs)
        check("critic inputs", inputs, torch.float32, (*inputs.shape[:-1], self.critic_features))
        return inputs.float()

    def row_of(self, observations: Tensor) -> tuple[torch.dtype, int]:
        """The dtype and entries that rows must have: bytes if they are bytes and may be, else float32."""
        are_bytes = self.reads_bytes and observations.dtype == torch.uint8
        return (torch.uint8, self._row_bytes) if are_bytes else (torch.float32, self.features)

    def _made(self, observations: Tensor, *width: int) -> Tensor:
        return torch.empty((*observations.shape[:-1], *width))

    def _forward(self, which: int, rows: Tensor, count: int, steps: int, **tensors: Tensor) -> None:
        call, runs = self._forward_calls[which], Runs.of(rows)
        if runs is None:
            rows, runs = rows.contiguous(), Runs(1, 1)
        call.observations = Observed.of(rows)
        call.runs, call.places = runs, Places(count, steps, 1, count, None)
        for name in ("states", "starts", "outputs", "values", "after"):
            setattr(call, name, tensors[name].data_ptr() if name in tensors else None)
        if count * steps:
            self._run_forward[which](self._take_weights(call))

    def _take_weights(self, call: ForwardCall) -> int:
        """Copy weights that have changed, before a forward, and return its number of strips."""
        call.parameters = self._point_to_weights()
        return _there_is_memory(self._begin_forward(ctypes.addressof(call)))

    # ---- gradient ----------------------------------------------------------------------------------------------------
    def gradient(self, experience: Experience, index: Tensor, loss: Loss) -> Tensor:
        """The gradient of one minibatch: see ``FusedGradients``, whose errors it has."""
        return self.gradients(experience)(index, loss)

    def gradients(self, experience: Experience) -> FusedGradients:
        """Make the object that computes the gradients of an experience's minibatches."""
        return FusedGradients(self, experience)

    def _run(self, call: GradientCall) -> None:
        """Run all chunks of a gradient."""
        count = self._begin_gradient(ctypes.addressof(call))
        self._check(count, call)
        self._run_gradient(count)
        self._check(_NO_SUCH_ACTION if call.bad_action else 0, call)
        self._end_gradient(ctypes.addressof(call))

    def _take_steps(self) -> None:
        """Take all steps of a pass."""
        steps = self._steps_call
        self._run_commons(steps.minibatches)
        while steps.done < steps.minibatches:
            code = self._run_steps(ctypes.addressof(steps))
            if code > 0:
                self._run_gradient.refuse()
            self._check(code, self._gradient_call)

    def _check(self, code: int, call: GradientCall) -> None:
        """Raise what a negative code of a gradient's says."""
        if code == _NO_SUCH_ROW:
            raise StoreError(f"rows: expected at least one, each of 0 to {call.sequences - 1}")
        if code == _NO_SUCH_ACTION:
            raise StoreError(f"batch actions: outside of what {self.head_sizes} choices a head allow")
        _there_is_memory(code)

    def _point_to_weights(self) -> int:
        """Address of where the weights lie now."""
        addresses = [_address(tensor) for tensor in self._tensors]
        if addresses != self._addresses:  # telling C++ takes longer than asking torch
            self._addresses = addresses
            for native, weight, bias in zip(self._parameters, addresses[::2], addresses[1::2], strict=True):
                native.weight, native.bias = weight, bias
        return ctypes.addressof(self._parameters)

    def _point_to_gradients(self) -> None:
        """Point to the weights and to their gradients, which are made where there are none."""
        self._point_to_weights()
        for native, (weight, bias) in zip(self._parameters, self._weights, strict=True):
            native.weight_gradient, native.bias_gradient = _grad(weight), _grad(bias)
        if self._log_std is not None:
            self._gradient_call.log_std = _address(self._log_std)
            self._gradient_call.log_std_gradient = _grad(self._log_std)


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
