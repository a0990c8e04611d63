"""Policies with a memory or with several parts to see, their rows, and the float64 gradient to measure kernels by."""

from __future__ import annotations

import copy
import dataclasses
from dataclasses import dataclass
from typing import Any

import torch
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete, Space
from torch import Tensor

from tests.policies.fused.fused_cases import gradient_of
from warpworld.config import ModelConfig
from warpworld.environment import Group
from warpworld.policies import Policy, build_policy
from warpworld.policies.layers.cells import MinGRU
from warpworld.trainers.algorithms.experience.batch import Batch
from warpworld.trainers.algorithms.experience.sequences import Experience, Sequences
from warpworld.trainers.algorithms.mappo import MAPPO, MAPPOSettings
from warpworld.trainers.algorithms.ppo import PPOSettings, ppo_loss

VECTOR = Box(-1.0, 1.0, (5,))
PIXELS = Dict({"far": Box(0.0, 1.0, (2, 17)), "near": Box(0.0, 1.0, (3, 20)), "speed": Box(-1.0, 1.0, (4,))})
CHOICES = MultiDiscrete([3, 2])
KINDS = ("lstm", "gru", "mingru", "three mingrus")
STATE = Box(-1.0, 1.0, (7,))  # what central critics read
CENTRAL = ((None, "plain"), ("gru", "plain"), *((kind, "remembering") for kind in KINDS))
PERCEPTRON = {"type": "mlp", "hidden_sizes": (16, 24)}
BRANCHES = {
    **{"type": "multi_input", "channels": (6, 10), "kernel_sizes": (4, 3), "strides": (2, 2)},
    **{"branch_size": 12, "hidden_sizes": (24,)},
}


def policy_of(
    kind: str | None = None, seen: Space = VECTOR, action: Space = CHOICES, critic: str | None = None, **model: Any
) -> Policy:
    """One whose biases and last layers are not what they are at first, so that a lost one would show.

    With ``critic`` a central one reads the state of a team of three, "plain" or "remembering".
    """
    name, layers = ("mingru", 3) if kind == "three mingrus" else (kind, 1)
    shape = PERCEPTRON if seen is VECTOR else BRANCHES
    recurrent = {"recurrent": name, "recurrent_layers": layers, "recurrent_size": 16}
    kinds: dict[str | None, dict[str, Any]] = {None: {}, "shared": {"shared": True}}
    settings = ModelConfig(**{**shape, **kinds.get(kind, recurrent), **model})
    group, seed = Group("a", 3, observation=seen, action=action), torch.Generator().manual_seed(1)
    if critic is None:
        policy = build_policy(settings, group, seed)
    else:
        of_critic = {"critic_hidden_sizes": (20, 12), "recurrent_critic": critic == "remembering"}
        policy = MAPPO.build_networks(MAPPOSettings(model=settings, **of_critic), group, seed, STATE)
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape, generator=generator))
    return policy


@dataclass(frozen=True)
class Seen:
    """T steps of S agents, with beginnings of episodes.

    Attributes:
        observations: (T, S, entries), rows as the policy sees them.
        states: (S, state size), before the first step; behind it that of a central critic.
        starts: (T, S) bool.
        critic_inputs: (T, S, numbers), of a central critic.
    """

    observations: Tensor
    states: Tensor
    starts: Tensor
    critic_inputs: Tensor | None = None

    @staticmethod
    def random(policy: Policy, steps: int, agents: int) -> Seen:
        generator = torch.Generator().manual_seed(3)
        memory, read = getattr(policy.model, "memory", None), policy.critic_input
        state_size = policy.state_size + (0 if memory is None else memory.state_size)
        return Seen(
            _rows(policy, steps, agents, generator),
            torch.randn(agents, max(state_size, 1), generator=generator),
            torch.rand(steps, agents, generator=generator) < 0.2,
            None if read is None else torch.randn(steps, agents, *read.shape, generator=generator),
        )

    def experience(self, policy: Policy, is_masked: bool = False) -> Experience:
        """Rows whose ratios and values lie on either side of the clip limits."""
        generator = torch.Generator().manual_seed(4)
        rows, read = self.observations.transpose(0, 1).flatten(0, 1), self.critic_inputs
        read = None if read is None else read.transpose(0, 1).flatten(0, 1)

        def normal(*shape: int) -> Tensor:
            return torch.randn(shape, generator=generator)

        n, distribution = len(rows), policy.distribution
        blank = Batch(rows, *(torch.zeros(n, 1), *(torch.zeros(n) for _ in range(4))), critic_inputs=read)
        with torch.no_grad():
            outputs, values = self._as_experience(policy, blank).evaluated(policy)
        heads = getattr(distribution, "head_sizes", ())
        choices = [torch.randint(size, (n,), generator=generator) for size in heads]
        actions = torch.stack(choices, 1).int() if heads else outputs + normal(*outputs.shape)
        log_probs, _ = distribution.log_prob_and_entropy(outputs, actions, None)
        batch = Batch(
            observations=rows,
            actions=actions,
            log_probs=(log_probs + 0.2 * normal(n)).detach(),
            advantages=3 * normal(n) + 1,
            returns=values + normal(n),
            values=values + 0.2 * normal(n),
            mask=torch.rand(n, generator=generator) < 0.7 if is_masked else None,
            critic_inputs=read,
        )
        return self._as_experience(policy, batch)

    def _as_experience(self, policy: Policy, batch: Batch) -> Experience:
        return Sequences(batch, self.states, self.starts.t()) if policy.state_size else batch


def _rows(policy: Policy, steps: int, agents: int, generator: torch.Generator) -> Tensor:
    """Observations as rollouts keep them: floats, or bytes, of which flags are 0 or 1."""
    if policy.preprocessing is None:
        features = sum(part.numel() for part in _sample(policy))
        return torch.randn(steps, agents, features, generator=generator)
    parts = list[Tensor]()
    for part in policy.preprocessing.rows.parts:
        shape = steps, agents, part.numbers
        if part.is_float:
            parts.append(torch.randn(shape, generator=generator).to(getattr(torch, part.dtype)).view(torch.uint8))
        else:
            parts.append(torch.randint(2 if part.dtype == "bool" else 256, shape, generator=generator).to(torch.uint8))
    return torch.cat(parts, -1)


def _sample(policy: Policy) -> list[Tensor]:
    """An observation, part by part."""
    assert policy.spaces is not None
    seen = policy.spaces.observation.sample()
    return [torch.as_tensor(part) for part in (seen.values() if isinstance(seen, dict) else [seen])]


def exact_gradient(policy: Policy, experience: Experience, settings: PPOSettings) -> tuple[Tensor, dict[str, float]]:
    """Gradient of all parameters as one vector, and diagnostics, by autograd in float64."""
    twin = copy.deepcopy(policy).double()
    for module in twin.modules():
        if isinstance(module, MinGRU):
            module.native = None
    floats = {name: tensor.double() for name, tensor in experience.rows.named_tensors() if tensor.is_floating_point()}
    experience = experience.with_columns(**floats)
    if isinstance(experience, Sequences):
        experience = dataclasses.replace(experience, states=experience.states.double())
    outputs, values = experience.evaluated(twin)
    rows = experience.rows
    terms = twin.distribution.log_prob_and_entropy(outputs, rows.actions, rows.action_masks)
    loss, diagnostics = ppo_loss(*terms, values, rows, settings)
    loss.backward()
    return gradient_of(twin), {name: value.item() for name, value in diagnostics.items()}


__all__ = ["CENTRAL", "KINDS", "PIXELS", "VECTOR", "Discrete", "Seen", "exact_gradient", "policy_of"]
