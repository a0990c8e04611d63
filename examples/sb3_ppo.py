"""Stable-Baselines3's PPO on a World.

pip install "warpworld[adapters]"
python examples/sb3_ppo.py
"""

from __future__ import annotations

from typing import Any

import warpworld


def train(total_steps: int = 200_000, num_envs: int = 64) -> float:
    """Train on cartpole; returns the mean return of the episodes that ended last."""
    import numpy as np
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import VecMonitor

    env: Any = VecMonitor(warpworld.make("cartpole", num_envs, device="cpu", api="sb3"))
    model = PPO("MlpPolicy", env, n_steps=32, batch_size=256, learning_rate=1e-3, device="cpu", seed=0)
    model.learn(total_steps)
    assert model.ep_info_buffer is not None
    return float(np.mean([episode["r"] for episode in model.ep_info_buffer]))


if __name__ == "__main__":
    print(f"mean return: {train():.0f} of 500")
