"""DDPG, TD3 and SAC as one would write them down: separate networks and optimisers, after CleanRL's files."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.distributions import Normal
from torch.nn import functional

from warpworld.policies.networks.actor_critics import ActorCritics


@dataclass(frozen=True)
class Batch:
    """What an update learns from; actions in units in which -1 and 1 are the Box's ends."""

    seen: Tensor
    actions: Tensor
    returns: Tensor
    discounts: Tensor
    following: Tensor
    normals: Tensor


def plain_actor(model: ActorCritics) -> nn.Sequential:
    """All layers but what is done to the last one's outputs."""
    encoder, head = model.actor_layers
    (last,) = head.children()
    return nn.Sequential(*map(copy.deepcopy, encoder), copy.deepcopy(last)).requires_grad_()


def plain_critics(model: ActorCritics) -> list[nn.Sequential]:
    """The perceptrons of the batch one by one."""
    ensemble = model.critics.ensemble
    found = []
    for number in range(len(ensemble.weights[0])):
        layers: list[nn.Module] = []
        for weight, bias in zip(ensemble.weights, ensemble.biases, strict=True):
            layer = nn.Linear(weight.shape[1], weight.shape[2], device=weight.device)
            layer.load_state_dict({"weight": weight[number].t(), "bias": bias[number, 0]})
            layers += [layer, copy.deepcopy(ensemble.activation)]
        found.append(nn.Sequential(*layers[:-1]))
    return found


def value(critic: nn.Module, seen: Tensor, actions: Tensor) -> Tensor:
    return critic(torch.cat((seen, actions), 1)).squeeze(1)


def adam(modules: list[nn.Sequential], rate: float) -> torch.optim.Adam:
    return torch.optim.Adam([each for module in modules for each in module.parameters()], lr=rate, eps=1e-8)


def step(optimizer: torch.optim.Adam, loss: Tensor) -> None:
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def follow(targets: list[nn.Sequential], modules: list[nn.Sequential], tau: float) -> None:
    for target, module in zip(targets, modules, strict=True):
        for slow, quick in zip(target.parameters(), module.parameters(), strict=True):
            slow.data.copy_(tau * quick.data + (1 - tau) * slow.data)


class Reference:
    """What these algorithms share."""

    def __init__(self, model: ActorCritics, rate: float, actor_rate: float, tau: float) -> None:
        self.actor, self.critics, self.tau = plain_actor(model), plain_critics(model), tau
        self.target_actor, self.target_critics = copy.deepcopy(self.actor), copy.deepcopy(self.critics)
        self.of_actor, self.of_critics = adam([self.actor], actor_rate), adam(self.critics, rate)
        self.updates = 0

    def learn_values(self, batch: Batch, targets: Tensor) -> None:
        losses = [functional.mse_loss(value(critic, batch.seen, batch.actions), targets) for critic in self.critics]
        step(self.of_critics, torch.stack(losses).sum())


class PlainDDPG(Reference):
    """With ``td3`` TD3."""

    def update(self, batch: Batch, td3: bool, policy_delay: int) -> None:
        with torch.no_grad():
            actions = self.target_actor(batch.following).tanh()
            if td3:
                actions = (actions + (0.2 * batch.normals[0]).clamp(-0.5, 0.5)).clamp(-1, 1)
            values = [value(critic, batch.following, actions) for critic in self.target_critics]
            targets = batch.returns + batch.discounts * torch.stack(values).min(0).values
        self.learn_values(batch, targets)
        self.updates += 1
        if not td3 or self.updates % policy_delay == 0:
            step(self.of_actor, -value(self.critics[0], batch.seen, self.actor(batch.seen).tanh()).mean())
            follow([self.target_actor], [self.actor], self.tau)
            follow(self.target_critics, self.critics, self.tau)


@dataclass
class PlainSAC(Reference):
    """With a learnt temperature."""

    model: ActorCritics
    rate: float
    actor_rate: float
    tau: float
    log_alpha: Tensor = field(init=False)

    def __post_init__(self) -> None:
        super().__init__(self.model, self.rate, self.actor_rate, self.tau)
        self.log_alpha = torch.zeros(1, device=next(self.actor.parameters()).device, requires_grad=True)
        self.of_alpha = torch.optim.Adam([self.log_alpha], lr=self.rate, eps=1e-8)

    def draw(self, seen: Tensor, normals: Tensor) -> tuple[Tensor, Tensor]:
        """CleanRL's, but for its epsilon in the logarithm, and in units of the Box."""
        means, log_stds = self.actor(seen).chunk(2, 1)
        log_stds = -5 + 0.5 * 7 * (log_stds.tanh() + 1)
        drawn = means + log_stds.exp() * normals
        log_probs = Normal(means, log_stds.exp()).log_prob(drawn) - torch.log1p(-(drawn.tanh() ** 2))
        return drawn.tanh(), log_probs.sum(1)

    def update(self, batch: Batch) -> None:
        alpha = self.log_alpha.exp().item()
        with torch.no_grad():
            actions, log_probs = self.draw(batch.following, batch.normals[0])
            values = [value(critic, batch.following, actions) for critic in self.target_critics]
            soft = torch.stack(values).min(0).values - alpha * log_probs
            targets = batch.returns + batch.discounts * soft
        self.learn_values(batch, targets)
        actions, log_probs = self.draw(batch.seen, batch.normals[1])
        lowest = torch.stack([value(critic, batch.seen, actions) for critic in self.critics]).min(0).values
        step(self.of_actor, (alpha * log_probs - lowest).mean())
        target = -batch.actions.shape[1]
        step(self.of_alpha, (-self.log_alpha.exp() * (log_probs.detach() + target)).mean())
        follow(self.target_critics, self.critics, self.tau)
