"""PPO in one file, in the shape of CleanRL's ppo.py, on a World through Gymnasium: python examples/cleanrl_ppo.py.

It shows what a learner has to mind in each of two ways to reset:

- "next_step": behind the end of an episode comes a step that only resets. Its row is left out of the loss. The row's
  observation is the last one of the episode, so a limit's value is at hand.
- "same_step": every row counts. The value behind a limit is that of ``infos["final_obs"]``.
"""

from __future__ import annotations

import sys

import gymnasium
import numpy as np
import torch
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from torch import nn
from torch.distributions import Categorical

import warpworld  # noqa: F401  registers its environments with Gymnasium

NUM_ENVS, NUM_STEPS, EPOCHS, BATCH = 32, 64, 4, 512
GAMMA, LAMBDA, CLIP, RATE = 0.99, 0.95, 0.2, 2.5e-3


def network(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs))


def train(autoreset: str = "next_step", iterations: int = 60, seed: int = 1) -> list[float]:
    """Train on cartpole; the returns of all episodes, in order."""
    torch.manual_seed(seed)
    envs = RecordEpisodeStatistics(gymnasium.make_vec("warpworld/cartpole", NUM_ENVS, autoreset=autoreset))
    actor, critic = network(4, 2), network(4, 1)
    parameters = [*actor.parameters(), *critic.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=RATE, eps=1e-5)
    shape = (NUM_STEPS, NUM_ENVS)
    seen, acted, likely = torch.zeros(*shape, 4), torch.zeros(shape), torch.zeros(shape)
    rewards, values, counts = torch.zeros(shape), torch.zeros(shape), torch.zeros(shape, dtype=torch.bool)
    goes_on, has_next = torch.zeros(shape), torch.zeros(shape)
    returns: list[float] = []

    observation = torch.as_tensor(envs.reset(seed=seed)[0])
    resets = torch.zeros(NUM_ENVS, dtype=torch.bool)  # where the coming step only resets
    for _ in range(iterations):
        for t in range(NUM_STEPS):
            with torch.no_grad():
                choice = Categorical(logits=actor(observation))
                action = choice.sample()
                values[t] = critic(observation)[:, 0]
            seen[t], acted[t], likely[t], counts[t] = observation, action, choice.log_prob(action), ~resets
            after, reward, terminated, truncated, infos = envs.step(action.numpy())
            ended = torch.as_tensor(terminated | truncated)
            rewards[t], goes_on[t] = torch.as_tensor(reward), (~ended).float()
            if autoreset == "same_step":
                has_next[t] = goes_on[t]
                if truncated.any():
                    with torch.no_grad():
                        rewards[t, truncated] += GAMMA * critic(torch.as_tensor(infos["final_obs"][truncated]))[:, 0]
            else:
                has_next[t], resets = torch.as_tensor(~terminated).float(), ended
            observation = torch.as_tensor(after)
            if "episode" in infos:
                returns += infos["episode"]["r"][infos["_episode"]].tolist()

        with torch.no_grad():
            following, advantage = critic(observation)[:, 0], torch.zeros(NUM_ENVS)
            advantages = torch.zeros(shape)
            for t in reversed(range(NUM_STEPS)):
                error = rewards[t] + GAMMA * following * has_next[t] - values[t]
                advantage = error + GAMMA * LAMBDA * goes_on[t] * advantage
                advantages[t], following = advantage, values[t]
        rows = [row[counts] for row in (seen, acted, likely, advantages, advantages + values)]
        for _ in range(EPOCHS):
            for chosen in torch.randperm(len(rows[0])).split(BATCH):
                states, actions, before, gains, targets = (row[chosen] for row in rows)
                choice = Categorical(logits=actor(states))
                ratio = (choice.log_prob(actions) - before).exp()
                gains = (gains - gains.mean()) / (gains.std() + 1e-8)
                policy = torch.max(-gains * ratio, -gains * ratio.clamp(1 - CLIP, 1 + CLIP)).mean()
                loss = policy - 0.01 * choice.entropy().mean() + 0.5 * (critic(states)[:, 0] - targets).square().mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(parameters, 0.5)
                optimizer.step()
    return returns


if __name__ == "__main__":
    found = train(*sys.argv[1:2])
    print(
        f"mean return of the first 100 episodes {np.mean(found[:100]):.0f}, of the last 100 {np.mean(found[-100:]):.0f}"
    )
