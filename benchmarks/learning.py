"""PPO end to end on CartPole: rollout, returns and update, by warpworld and by PPO as it is usually written in torch.

Rows with a memory show what a recurrent cell of 128 behind the first layers costs.

Every system is measured in a process of its own: memory and products are tuned for a whole process.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from warpworld.config import load_config
from warpworld.trainers.cpu_tuning import tune_for_cpu
from warpworld.trainers.trainer import Trainer

from . import eager
from .rows import LearningRow

NAME = "ppo"
WARM_UP = 3  # iterations that do not count


@dataclass(frozen=True)
class Setting:
    """How much is collected, and how often it is gone over, in 4 minibatches each time."""

    num_envs: int
    num_steps: int
    update_epochs: int


SETTINGS = (Setting(1024, 32, 4), Setting(4096, 32, 1))
NUM_MINIBATCHES = 4


def _iterations(setting: Setting, seconds: float, speed: float = 5e5) -> int:
    """About so many that they take ``seconds`` at so many env steps a second."""
    return max(8, int(seconds * speed / (setting.num_envs * setting.num_steps)))


def of_warpworld(
    setting: Setting, seconds: float, fused: bool, recurrent: str = "null", speed: float = 5e5
) -> list[tuple[float, float]]:
    """Seconds of the rollout and of the update of each iteration, of a training run."""
    tune_for_cpu()
    iterations = _iterations(setting, seconds, speed) + WARM_UP
    steps = setting.num_envs * setting.num_steps
    overrides = {
        "trainer.num_envs": setting.num_envs,
        "trainer.num_steps": setting.num_steps,
        "trainer.total_env_steps": iterations * steps,
        "trainer.device": "cpu",
        "trainer.fused": str(fused).lower(),
        "policy.agent.update_epochs": setting.update_epochs,
        "policy.agent.num_minibatches": NUM_MINIBATCHES,
        "policy.agent.model.recurrent": recurrent,
    }
    trainer = Trainer(load_config("cartpole", [f"{key}={value}" for key, value in overrides.items()]))
    seen: list[tuple[float, float]] = []
    trainer.train(
        None,  # it leaves nothing behind
        on_iteration=lambda metrics: seen.append((metrics["perf/rollout_s"], metrics["perf/update_s"])),
    )
    return seen[WARM_UP:]


def of_eager(setting: Setting, seconds: float, make_env: Callable[[int], Any]) -> list[tuple[float, float]]:
    """The same of PPO in plain torch."""
    ppo = eager.PPO(make_env(setting.num_envs), setting.num_steps, setting.update_epochs, NUM_MINIBATCHES)
    seen = []
    for _ in range(max(8, _iterations(setting, seconds) // 2) + WARM_UP):
        start = time.perf_counter()
        ppo.rollout()
        collected = time.perf_counter()
        ppo.update()
        seen.append((collected - start, time.perf_counter() - collected))
    return seen[WARM_UP:]


SYSTEMS: dict[str, Callable[[Setting, float], list[tuple[float, float]]]] = {
    "torch as usual, gymnasium": lambda setting, seconds: of_eager(setting, seconds, eager.GymnasiumCartPole),
    "torch as usual, our world": lambda setting, seconds: of_eager(setting, seconds, eager.OurCartPole),
    "warpworld, fused: false": lambda setting, seconds: of_warpworld(setting, seconds, fused=False),
    "warpworld": lambda setting, seconds: of_warpworld(setting, seconds, fused=True),
    "warpworld, MinGRU": lambda setting, seconds: of_warpworld(setting, seconds, True, "mingru", 1e5),
    "warpworld, LSTM": lambda setting, seconds: of_warpworld(setting, seconds, True, "lstm", 3e4),
}


def rows(seconds: float) -> Iterator[LearningRow]:
    """Measure each system in both settings; ``seconds`` is the length of one of five windows."""
    for number, setting in enumerate(SETTINGS):
        for system in SYSTEMS:
            command = [sys.executable, "-m", __spec__.name, system, str(number), str(5 * seconds)]
            environment = dict(os.environ)
            if system.startswith("torch as usual"):  # the command line's own, which is not how torch is usually run
                environment.pop("OMP_WAIT_POLICY", None)
            printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment).stdout
            times = json.loads(printed.splitlines()[-1])
            totals = [rollout + update for rollout, update in times]
            middle = statistics.median(totals)
            quarters = statistics.quantiles(totals, n=4)
            yield LearningRow(
                world=f"{NAME}, cartpole",
                system=system,
                num_envs=setting.num_envs,
                num_steps=setting.num_steps,
                update_epochs=setting.update_epochs,
                num_minibatches=NUM_MINIBATCHES,
                threads=torch.get_num_threads(),
                seconds_per_iteration=middle,
                rollout_share=statistics.median(rollout / (rollout + update) for rollout, update in times),
                spread=(quarters[2] - quarters[0]) / middle,
            )


if __name__ == "__main__":
    print(json.dumps(SYSTEMS[sys.argv[1]](SETTINGS[int(sys.argv[2])], float(sys.argv[3]))))
