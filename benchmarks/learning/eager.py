"""PPO as it is usually written in torch: the baseline of what a learner costs. Formulas and settings are CleanRL's."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import torch
from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv
from torch import Tensor, nn
from torch.distributions import Categorical

import warpworld

FEATURES, ACTIONS, WIDTH = 4, 2, 64
GAMMA, GAE_LAMBDA, CLIP, ENT_COEF, VF_COEF, MAX_GRAD_NORM = 0.99, 0.95, 0.2, 0.01, 0.5, 0.5
LEARNING_RATE, ADAM_EPS = 2.5e-4, 1e-5


class Env(Protocol):
    """Many CartPoles."""

    num_envs: int

    def observations(self) -> Tensor: ...

    def step(self, actions: Tensor) -> tuple[Tensor, Tensor]:
        """Rewards and ends, (num_envs,) float each."""


class OurCartPole:
    """warpworld's, through torch views of the store."""

    def __init__(self, num_envs: int) -> None:
        self.num_envs = num_envs
        self.world = warpworld.make("cartpole", num_envs=num_envs, device="cpu")
        self.world.reset()

    def observations(self) -> Tensor:
        return self.world["observations"][:, 0].clone()

    def step(self, actions: Tensor) -> tuple[Tensor, Tensor]:
        self.world["actions"][:, 0, 0] = actions.int()
        self.world.step()
        ends = self.world["terminated"] | self.world["truncated"]
        return self.world["rewards"][:, 0].clone(), ends.float()


class GymnasiumCartPole:
    """Gymnasium's, written in NumPy for many envs."""

    def __init__(self, num_envs: int) -> None:
        self.num_envs = num_envs
        self.env = CartPoleVectorEnv(num_envs=num_envs)
        self.seen, _ = self.env.reset(seed=1)

    def observations(self) -> Tensor:
        return torch.from_numpy(np.asarray(self.seen, np.float32))

    def step(self, actions: Tensor) -> tuple[Tensor, Tensor]:
        self.seen, rewards, terminated, truncated, _ = self.env.step(actions.numpy())
        ends = np.asarray(terminated | truncated, np.float32)
        return torch.from_numpy(np.asarray(rewards, np.float32)), torch.from_numpy(ends)


def network(outputs: int) -> nn.Sequential:
    return nn.Sequential(
        *(nn.Linear(FEATURES, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH), nn.Tanh()), nn.Linear(WIDTH, outputs)
    )


class PPO:
    """Two networks, Adam, and a rollout in plain tensors."""

    def __init__(self, env: Env, num_steps: int, update_epochs: int, num_minibatches: int) -> None:
        self.env, self.num_steps = env, num_steps
        self.update_epochs, self.num_minibatches = update_epochs, num_minibatches
        self.actor, self.critic = network(ACTIONS), network(1)
        self.parameters = [*self.actor.parameters(), *self.critic.parameters()]
        self.optimizer = torch.optim.Adam(self.parameters, lr=LEARNING_RATE, eps=ADAM_EPS)
        rows = num_steps, env.num_envs
        self.observations, self.actions = torch.zeros(*rows, FEATURES), torch.zeros(rows, dtype=torch.long)
        self.log_probs, self.values, self.rewards, self.ends = (torch.zeros(rows) for _ in range(4))

    @torch.no_grad()
    def rollout(self) -> None:
        for t in range(self.num_steps):
            seen = self.env.observations()
            distribution = Categorical(logits=self.actor(seen))
            actions = distribution.sample()
            self.observations[t], self.actions[t] = seen, actions
            self.log_probs[t], self.values[t] = distribution.log_prob(actions), self.critic(seen).squeeze(-1)
            self.rewards[t], self.ends[t] = self.env.step(actions)
        self.advantages = torch.zeros_like(self.rewards)
        following, advantage = self.critic(self.env.observations()).squeeze(-1), torch.zeros(self.env.num_envs)
        for t in reversed(range(self.num_steps)):
            going_on = 1.0 - self.ends[t]
            delta = self.rewards[t] + GAMMA * following * going_on - self.values[t]
            advantage = delta + GAMMA * GAE_LAMBDA * going_on * advantage
            self.advantages[t], following = advantage, self.values[t]
        self.returns = self.advantages + self.values

    def update(self) -> None:
        rows: list[Any] = [self.observations.flatten(0, 1)]
        columns = self.actions, self.log_probs, self.advantages, self.returns, self.values
        rows += [column.flatten() for column in columns]
        for _ in range(self.update_epochs):
            for part in torch.randperm(len(rows[0])).chunk(self.num_minibatches):
                loss = self.loss(*(column[part] for column in rows))
                self.optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.parameters, MAX_GRAD_NORM)
                self.optimizer.step()

    def loss(
        self, seen: Tensor, actions: Tensor, old: Tensor, advantages: Tensor, returns: Tensor, values: Tensor
    ) -> Any:
        distribution = Categorical(logits=self.actor(seen))
        ratio = (distribution.log_prob(actions) - old).exp()
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        policy_loss = torch.max(-advantages * ratio, -advantages * ratio.clamp(1 - CLIP, 1 + CLIP)).mean()
        new = self.critic(seen).squeeze(-1)
        clipped = values + (new - values).clamp(-CLIP, CLIP)
        value_loss = 0.5 * torch.max((new - returns) ** 2, (clipped - returns) ** 2).mean()
        return policy_loss - ENT_COEF * distribution.entropy().mean() + VF_COEF * value_loss
