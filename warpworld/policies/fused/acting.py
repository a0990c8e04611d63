"""Acting in C++: a policy's networks as a step of a world's program."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from warpworld.managers import RunHostFunction
from warpworld.policies.fused.calls import ActingCall, Observed, Places, Runs, check, checked
from warpworld.policies.fused.library import library

if TYPE_CHECKING:
    from warpworld.policies.fused.networks import FusedNetworks

_ROWS_TOGETHER = 12  # row_block of matmul.hpp
_BLOCKS_OF_WORKER = 16  # below, envs are shared one by one: rows are computed in vain then, but no worker lacks envs
_MANY_PRODUCTS = 1 << 16  # of a row, from which rows in vain take longer than workers that wait


class FusedActing:
    """The actor's outputs for the agents of a range of envs; with a memory their states advance, too.

    Attributes:
        step: writes them, in a program of a world whose envs these are.

    Args:
        networks: whose actor.
        observations: (envs, agents, features) float32, or bytes that the networks read, in the store; see ``takes``.
        outputs: (envs, agents, outputs) float32, in the store: of the same envs.
        first_env: the first of them.
        num_envs: of the world.
        remembered: with a memory, states (envs, agents, state size) and values (envs, agents) of the critic, which are
            left where a step gives none; both float32, contiguous, in the store.
    """

    def __init__(
        self,
        networks: FusedNetworks,
        observations: Tensor,
        outputs: Tensor,
        first_env: int,
        num_envs: int,
        remembered: tuple[Tensor, Tensor] | None = None,
    ) -> None:
        envs, agents = observations.shape[:2]
        dtype, entries = networks.row_of(observations)
        check("observations", observations, dtype, (envs, agents, entries))
        check("outputs", outputs, torch.float32, (envs, agents, networks.num_outputs))
        self._networks, self._keep = networks, (observations, outputs, remembered)
        call = self._call = ActingCall(agents=agents, first_env=first_env, end_env=first_env + envs)
        call.envs_per_block = _envs_per_block(networks, agents, num_envs)
        forward = call.forward
        forward.model, forward.places = networks._model, Places(envs * agents, 1, 1, envs * agents, None)
        forward.observations, forward.outputs = Observed.of(observations), outputs.data_ptr()
        forward.runs = Runs.of(observations)
        if remembered is not None:
            states = checked("states", remembered[0], torch.float32, (envs, agents, networks.state_size))
            forward.states = forward.after = states.data_ptr()  # a strip reads its rows before it writes them
            if networks.values_as_it_acts:
                values = checked("values", remembered[1], torch.float32, (envs, agents))
                forward.values = values.data_ptr()
        self.step = RunHostFunction(library().kernel("acting"), call, call.envs_per_block, networks.most_workers)

    @staticmethod
    def takes(observations: Tensor) -> bool:
        """Whether observations lie as C++ reads them."""
        return Runs.of(observations) is not None

    def begin(self) -> None:
        """Take in the weights; call it when they have changed."""
        self._networks._take_weights(self._call.forward)


def _envs_per_block(networks: FusedNetworks, agents: int, num_envs: int) -> int:
    """Number of envs that act together."""
    whole = _ROWS_TOGETHER // math.gcd(_ROWS_TOGETHER, agents)  # envs whose rows are multiplied together
    if num_envs >= _BLOCKS_OF_WORKER * whole * networks.most_workers:
        return whole
    if networks.num_products < _MANY_PRODUCTS:
        return 1
    return min(whole, -(-num_envs // networks.most_workers))
