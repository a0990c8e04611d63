"""How long off-policy learning takes from nothing to a known return, beside Stable-Baselines3: CPU seconds of one core.

Both systems have the same sizes of network, batch and replay and as many gradient steps for a step of the env; those of
Stable-Baselines3 are run with its own defaults as well. They are evaluated greedily every so many env steps, which
is not counted.
"""

from __future__ import annotations

import importlib.util
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
import torch

from warpworld.config import load_config
from warpworld.trainers.play import play
from warpworld.trainers.trainer import Trainer

from .rows import LearningTimeRow

NAME = "off-policy"
SEEDS = (1, 2, 3)
EPISODES = 100  # of an evaluation


@dataclass(frozen=True)
class Task:
    """What is learnt.

    Attributes:
        config: of warpworld, a packaged one.
        env: Gymnasium's name of the same environment.
        algorithm: the class of Stable-Baselines3.
        wanted: mean return of greedy episodes at which the clock stops.
        every: env steps between two evaluations.
        limit: env steps after which a system has failed.
        theirs: arguments of Stable-Baselines3's class, by the name of the variant.
    """

    config: str
    env: str
    algorithm: str
    wanted: float
    every: int
    limit: int
    theirs: dict[str, dict[str, Any]]


TASKS = {
    "CartPole, dqn, 475": Task(
        config="cartpole_dqn",
        env="CartPole-v1",
        algorithm="DQN",
        wanted=475.0,
        every=12_800,
        limit=400_000,
        theirs={
            # the settings that its collection of tuned ones has for this env
            "Stable-Baselines3, tuned": dict(
                learning_rate=2.3e-3, batch_size=64, buffer_size=100_000, learning_starts=1000, gamma=0.99,
                target_update_interval=10, train_freq=256, gradient_steps=128, exploration_fraction=1 / 50,
                exploration_final_eps=0.04, policy_kwargs={"net_arch": [256, 256]},
            ),
        },
    ),
    "Pendulum, sac, -160": Task(
        config="pendulum_sac",
        env="Pendulum-v1",
        algorithm="SAC",
        wanted=-160.0,
        every=1_000,
        limit=20_000,
        theirs={
            "Stable-Baselines3, our sizes": dict(learning_rate=1e-3, policy_kwargs={"net_arch": [64, 64]}),
            "Stable-Baselines3, tuned": dict(learning_rate=1e-3),
        },
    ),
}  # fmt: skip
Training = Callable[[int], tuple[int, float]]  # seed -> env steps and CPU seconds to what is wanted; infinite if not


def rows(seconds: float) -> Iterator[LearningTimeRow]:
    """Measure every system on every task; ``seconds`` is not used, since a training has a length of its own."""
    torch.set_num_threads(1)
    for name, task in TASKS.items():
        systems: dict[str, Training] = {"warpworld": lambda seed, task=task: _ours(task, seed)}  # type: ignore[misc]
        if importlib.util.find_spec("stable_baselines3") is not None:
            for variant, settings in task.theirs.items():
                systems[variant] = lambda seed, task=task, own=settings: _theirs(task, own, seed)  # type: ignore[misc]
        for system, train in systems.items():
            found = [train(seed) for seed in SEEDS]
            steps, cpu = zip(*found, strict=True)
            yield LearningTimeRow(name, system, statistics.median(steps), statistics.median(cpu), max(cpu))


class _Clock:
    """CPU seconds of this process, without what is done under ``paused``."""

    def __init__(self) -> None:
        self._began, self._paused = time.process_time(), 0.0

    def seconds(self) -> float:
        return time.process_time() - self._began - self._paused

    def paused(self, work: Callable[[], float]) -> float:
        began = time.process_time()
        done = work()
        self._paused += time.process_time() - began
        return done


# ---- warpworld -------------------------------------------------------------------------------------------------------
def _ours(task: Task, seed: int) -> tuple[int, float]:
    clock = _Clock()
    own = [f"trainer.seed={seed}", "trainer.num_workers=1", "trainer.torch_threads=1"]
    trainer = Trainer(load_config(task.config, [*own, f"trainer.total_env_steps={task.limit}"]))
    reached: list[float] = []

    def greedy() -> float:
        played = play(trainer.config, trainer.policies, EPISODES, seed=9, greedy=True)
        return float(played.returns["agent"].mean())

    def is_enough() -> bool:
        if trainer.env_steps and trainer.env_steps % task.every == 0 and clock.paused(greedy) >= task.wanted:
            reached.append(clock.seconds())
        return bool(reached)

    trainer.train(None, stop=is_enough)
    return trainer.env_steps, reached[0] if reached else float("inf")


# ---- Stable-Baselines3 -----------------------------------------------------------------------------------------------
def _theirs(task: Task, settings: dict[str, Any], seed: int) -> tuple[int, float]:
    import stable_baselines3
    from stable_baselines3.common.callbacks import BaseCallback

    clock, reached = _Clock(), list[float]()

    class UntilWanted(BaseCallback):
        def _on_step(self) -> bool:
            if self.num_timesteps % task.every == 0 and clock.paused(lambda: _return_of(task, model)) >= task.wanted:
                reached.append(clock.seconds())
            return not reached

    model = getattr(stable_baselines3, task.algorithm)("MlpPolicy", task.env, seed=seed, device="cpu", **settings)
    model.learn(task.limit, callback=UntilWanted())
    return model.num_timesteps, reached[0] if reached else float("inf")


def _return_of(task: Task, model: Any) -> float:
    """Mean return of greedy episodes, all at once."""
    envs = gymnasium.make_vec(task.env, EPISODES, vectorization_mode="sync")
    observations, _ = envs.reset(seed=9)
    returns, running = np.zeros(EPISODES), np.ones(EPISODES, dtype=bool)
    while running.any():
        actions, _ = model.policy.predict(observations, deterministic=True)
        observations, rewards, terminated, truncated, _ = envs.step(actions)
        returns += rewards * running
        running &= ~(terminated | truncated)
    envs.close()
    return float(returns.mean())
