"""Q-networks in C++: values of choices, and gradients of the weights from those at the values."""

from __future__ import annotations

import ctypes
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from warpworld.policies.fused.calls import Observed, Places, TransitionRows, checked
from warpworld.policies.fused.networks import FusedNetworks


class FusedValues(FusedNetworks):
    """Values of choices, without a critic: a loss of them is torch's, and has a gradient at the weights.

    Backward goes through the layers once more, strip by strip, with the weights of that moment: these must be those of
    the forward, as must the observations. Observations and states get no gradient.

    Args:
        model: one of ``architecture.VALUE_NETWORKS``.
        head_sizes: choices of each head.
        num_workers: as of ``FusedNetworks``.
        log_std: None.
        precision: as of ``FusedNetworks``.
        of_bytes: as of ``FusedNetworks``; losses read features.
        is_apart: False.

    Raises:
        BuildError: as of ``FusedNetworks``.
        DeviceError: as of ``FusedNetworks``.
    """

    def outputs(self, observations: Tensor) -> Tensor:
        """Values: (..., features) float32 -> (..., choices) float32, with a gradient where one is asked for."""
        if not torch.is_grad_enabled():
            return self.evaluated(observations)
        rows = self._rows(observations).reshape(1, -1, observations.shape[-1])
        values, _ = _Walk.apply(self, rows, None, None, *self._tensors)
        return values.view(*observations.shape[:-1], -1)

    def evaluated(self, observations: Tensor) -> Tensor:
        """Values without a gradient; arguments as of ``outputs``."""
        return super().outputs(observations)

    def step(self, observations: Tensor, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Values, zeros in place of a critic's, and the state after; arguments as of ``FusedNetworks.step``."""
        lead, rows = observations.shape[:-1], self._rows(observations)
        states = checked("state", state, torch.float32, (*lead, self.state_size))
        values, after = self._made(observations, self.num_outputs), torch.empty_like(states)
        self._forward(2, rows, rows.shape[:-1].numel(), 1, states=states, outputs=values, after=after)
        return values, torch.zeros(lead), after

    def walk(self, observations: Tensor, state: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
        """Advance each of S agents through several steps; values have a gradient where one is asked for.

        Args:
            observations: (T, S, features) float32.
            state: (S, state size) float32, before the first step.
            starts: (T, S) bool, where the state is zeroed before the step.

        Returns:
            Values (T, S, choices), and the state after the last step, (S, state size).
        """
        agents = observations.shape[1]
        states = checked("state", state, torch.float32, (agents, self.state_size))
        begins = checked("starts", starts, torch.bool, observations.shape[:2])
        if torch.is_grad_enabled():
            return _Walk.apply(self, self._rows(observations), states, begins, *self._tensors)
        return self._walked(self._rows(observations), states, begins)

    def _walked(self, rows: Tensor, states: Tensor | None, starts: Tensor | None) -> tuple[Tensor, Tensor]:
        (steps, agents), given = rows.shape[:2], dict[str, Tensor]()
        values, after = self._made(rows, self.num_outputs), torch.empty(agents, self.state_size)
        if states is not None and starts is not None:
            given = {"states": states, "starts": starts, "after": after}
        self._forward(2, rows, agents, steps, outputs=values, **given)
        return values, after

    # ---- gradients ---------------------------------------------------------------------------------------------------
    def learn_transitions(self, observations: Tensor, actions: Tensor, rows: TransitionRows) -> tuple[float, float]:
        """Write the gradient of transitions' loss into the parameters' ``grad``; gives the means of loss and value.

        Args:
            observations: (B, features) float32.
            actions: (B, heads) int32.
            rows: the other columns, with their targets.
        """
        count, call = len(observations), self._gradient_call
        seen = checked("observations", observations, torch.float32, (count, self.features))
        done = checked("actions", actions, torch.int32, (count, len(self.head_sizes)))
        call.rows.observations, call.rows.actions = Observed.of(seen), done.data_ptr()
        call.of_outputs, call.transitions = None, ctypes.addressof(rows)
        call.sequences, call.places = count, Places(count, 1, 1, count, None)
        self._point_to_gradients()
        self._run(call)
        return call.diagnostics[0], call.diagnostics[1]

    def _weight_gradients(
        self, rows: Tensor, states: Tensor | None, starts: Tensor | None, of_values: Tensor
    ) -> list[Tensor]:
        """Gradients of the weights in the order of ``_tensors``, from (T, S, choices) at the values."""
        (steps, agents), call = rows.shape[:2], self._gradient_call
        rows, of_values = rows.contiguous(), of_values.contiguous()
        call.rows.observations = Observed.of(rows)
        call.of_outputs, call.transitions = of_values.data_ptr(), None
        call.sequences, call.places = agents, Places(agents, steps, 1, agents, None)
        call.states = None if states is None else states.data_ptr()
        call.starts = None if starts is None else starts.data_ptr()
        self._point_to_weights()
        lengths = [tensor.numel() for tensor in self._tensors]
        gradients = torch.empty(sum(lengths)).split(lengths)
        for native, weight, bias in zip(self._parameters, gradients[::2], gradients[1::2], strict=True):
            native.weight_gradient, native.bias_gradient = weight.data_ptr(), bias.data_ptr()
        self._run(call)
        return [gradient.view_as(tensor) for gradient, tensor in zip(gradients, self._tensors, strict=True)]


class _Walk(torch.autograd.Function):
    """Values of T steps of S agents, (T, S, choices), and the state after them, which has no gradient."""

    @staticmethod
    def forward(
        ctx: Any, networks: FusedValues, rows: Tensor, states: Tensor | None, starts: Tensor | None, *weights: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Arguments as of ``FusedValues.walk``, with None for networks without a memory, and the weights."""
        ctx.networks, ctx.read = networks, (rows, states, starts)
        values, after = networks._walked(rows, states, starts)
        ctx.mark_non_differentiable(after)
        return values, after

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_values: Tensor, of_after: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients of the weights."""
        return None, None, None, None, *ctx.networks._weight_gradients(*ctx.read, of_values)
