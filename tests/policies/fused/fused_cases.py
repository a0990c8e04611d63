"""Networks, rows and the float64 gradient that the fused kernels are measured by."""

from __future__ import annotations

import copy
import dataclasses
from dataclasses import dataclass

import torch
from gymnasium.spaces import Box
from torch import Tensor

from warpworld.policies import MLP, Categorical, Gaussian, Policy
from warpworld.trainers.algorithms.a2c import A2CSettings, a2c_loss
from warpworld.trainers.algorithms.experience.batch import Batch
from warpworld.trainers.algorithms.ppo import PPOSettings, ppo_loss

Settings = PPOSettings | A2CSettings


@dataclass(frozen=True)
class Case:
    """Sizes of a policy and of a minibatch for it; with ``box`` its actions are so many numbers instead of choices."""

    features: int = 4
    hidden: tuple[int, ...] = (64, 64)
    heads: tuple[int, ...] = (2,)
    activation: str = "tanh"
    rows: int = 300
    masked: bool = False
    seed: int = 0
    box: int = 0

    def policy(self) -> Policy:
        """With weights that make outputs differ."""
        with torch.random.fork_rng():
            torch.manual_seed(self.seed)
            model = MLP(
                Box(-float("inf"), float("inf"), (self.features,)),
                self.box or sum(self.heads),
                hidden_sizes=self.hidden,
                activation=self.activation,  # type: ignore[arg-type]
            )
            with torch.no_grad():
                distribution = Gaussian(self.box) if self.box else Categorical(self.heads)
                model.actor_layers[-1].weight.mul_(50)
                for parameter in distribution.parameters():
                    parameter.normal_(0, 0.5)
                for parameter in model.parameters():
                    if parameter.dim() == 1:
                        parameter.normal_(0, 0.1)
        return Policy(model, distribution)

    def batch(self, policy: Policy) -> Batch:
        """Rows whose ratios and values lie on either side of the clip limits."""
        generator = torch.Generator().manual_seed(self.seed)

        def normal(*shape: int) -> Tensor:
            return torch.randn(shape, generator=generator)

        n = self.rows
        actions, masks = self._choices(generator)
        observations = normal(n, self.features)
        with torch.no_grad():
            outputs, values = policy(observations)
            if self.box:
                actions, masks = outputs + normal(n, self.box), None
            log_probs, _ = policy.distribution.log_prob_and_entropy(outputs, actions, masks)
        return Batch(
            observations=observations,
            actions=actions if self.box else actions.int(),
            log_probs=log_probs + 0.2 * normal(n),
            advantages=3 * normal(n) + 1,
            returns=values + normal(n),
            values=values + 0.2 * normal(n),
            action_masks=masks,
        )

    def _choices(self, generator: torch.Generator) -> tuple[Tensor, Tensor | None]:
        """Actions, and which choices were allowed."""
        n = self.rows
        actions = torch.stack([torch.randint(size, (n,), generator=generator) for size in self.heads], 1)
        allowed = torch.rand(n, sum(self.heads), generator=generator) < 0.7
        first = 0
        for head, size in enumerate(self.heads):
            allowed[torch.arange(n), first + actions[:, head]] = True
            first += size
        return actions, allowed if self.masked else None


def torch_gradient(
    policy: Policy, batch: Batch, settings: Settings, dtype: torch.dtype = torch.float64
) -> tuple[Tensor, dict[str, float]]:
    """Gradient of all parameters as one vector, and diagnostics, by autograd in ``dtype``."""
    twin = copy.deepcopy(policy).to(dtype)
    floats = {name: tensor.to(dtype) for name, tensor in batch.named_tensors() if tensor.is_floating_point()}
    batch = dataclasses.replace(batch, **floats)
    outputs, values = twin(batch.observations)
    terms = twin.distribution.log_prob_and_entropy(outputs, batch.actions, batch.action_masks)
    if isinstance(settings, PPOSettings):
        loss, diagnostics = ppo_loss(*terms, values, batch, settings)
    else:
        loss, diagnostics = a2c_loss(*terms, values, batch, settings)
    loss.backward()
    return gradient_of(twin), {name: value.item() for name, value in diagnostics.items()}


def gradient_of(policy: Policy) -> Tensor:
    """Of all parameters, one behind the other; 0 where there is none."""
    gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in policy.parameters()]
    return torch.cat([gradient.flatten() for gradient in gradients]).double()
