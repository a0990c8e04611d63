"""PPO from TorchRL's parts on a World: python examples/torchrl_ppo.py.

TorchRL takes a vector environment whose envs are reset in the same step, and finds by itself what an episode ended
with.
"""

from __future__ import annotations

import torch
from tensordict.nn import TensorDictModule
from torch import nn
from torch.distributions import Categorical
from torchrl.collectors import Collector
from torchrl.envs import GymWrapper, RewardSum
from torchrl.modules import ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

import warpworld

NUM_ENVS, NUM_STEPS, EPOCHS, BATCH = 32, 64, 4, 512


def network(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs))


def train(iterations: int = 60, seed: int = 1) -> list[float]:
    """Train on cartpole; the returns of all episodes, in order."""
    torch.manual_seed(seed)
    world = warpworld.make("cartpole", NUM_ENVS, api="gymnasium", autoreset="same_step", seed=seed)
    env = GymWrapper(world, categorical_action_encoding=True).append_transform(RewardSum())
    scores = TensorDictModule(network(4, 2), in_keys=["observation"], out_keys=["logits"])
    actor = ProbabilisticActor(scores, in_keys=["logits"], distribution_class=Categorical, return_log_prob=True)
    critic = ValueOperator(network(4, 1), in_keys=["observation"])
    advantage = GAE(gamma=0.99, lmbda=0.95, value_network=critic)
    objective = ClipPPOLoss(actor, critic, clip_epsilon=0.2, entropy_coeff=0.01, critic_coeff=0.5)
    optimizer = torch.optim.Adam(objective.parameters(), lr=2.5e-3)
    frames = NUM_ENVS * NUM_STEPS
    collector = Collector(
        *(env, actor),
        **dict(frames_per_batch=frames, total_frames=iterations * frames, auto_register_policy_transforms=False),
    )
    returns: list[float] = []
    for data in collector:
        with torch.no_grad():
            advantage(data)
        returns += data["next", "episode_reward"][data["next", "done"]].tolist()
        rows = data.reshape(-1)
        for _ in range(EPOCHS):
            for chosen in torch.randperm(len(rows)).split(BATCH):
                losses = objective(rows[chosen])
                loss = losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(objective.parameters(), 0.5)
                optimizer.step()
    collector.shutdown()
    return returns


if __name__ == "__main__":
    found = torch.tensor(train())
    print(f"mean return of the first 100 episodes {found[:100].mean():.0f}, of the last 100 {found[-100:].mean():.0f}")
