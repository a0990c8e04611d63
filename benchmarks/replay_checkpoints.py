"""What a checkpoint of a replay costs: bytes and seconds, for a million small transitions and for Atari's frames.

    python -m benchmarks.replay_checkpoints

Agents act at random. CartPole: 1,024 envs, a ring of 2^20 transitions. Breakout by ale-py: 8 envs, frames of 84 x 84
bytes. Each line is a checkpoint: what is new, its files, and the time until they are on the disk.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from warpworld.config import config_from_dict
from warpworld.trainers.histories import SavedHistories
from warpworld.trainers.processes.distributed import ALONE
from warpworld.trainers.trainer import Trainer

CASES: dict[str, dict[str, Any]] = {
    "cartpole": {
        "name": "cartpole",
        "trainer": {"num_envs": 1024, "num_steps": 16, "total_env_steps": 2**21},
        "policy": {"agent": {"replay_size": 2**20, "learning_starts": 2**20}},
    },
    "breakout": {
        "name": "external",
        "env": {"library": "ale", "id": "breakout", "options": {"stack_num": 1}},
        "trainer": {"num_envs": 8, "num_steps": 64, "total_env_steps": 2**15},
        "policy": {"agent": {"replay_size": 2**14, "learning_starts": 2**14}},
    },
}


def measure(case: dict[str, Any], iterations: int, checkpoints: int) -> None:
    """Fill a ring, then save it every so many iterations."""
    entry = {"algorithm": "dqn", "exploration": 1.0, "batch_size": 16, **case["policy"]["agent"]}
    config = config_from_dict({**case, "policy": {"agent": entry}})
    trainer = Trainer(config)
    saved = SavedHistories(trainer.algorithms, ALONE, config.trainer.num_envs, keep=True)
    folder = Path(tempfile.mkdtemp(prefix="replay"))
    filled = entry["replay_size"] // (config.trainer.num_envs * config.trainer.num_steps)
    try:
        for number in range(checkpoints):
            until = trainer.iteration + (iterations if number else filled)
            trainer.train(None, stop=lambda until=until: trainer.iteration >= until)  # type: ignore[misc]
            trainer.world["replay_leaves_agent"].uniform_()  # as after learning: no two alike
            began, used = time.perf_counter(), time.process_time()
            saved.save(folder, trainer.iteration)
            wall, used = time.perf_counter() - began, time.process_time() - used
            count = (iterations if number else filled) * config.trainer.num_envs * config.trainer.num_steps
            rows, whole = (max(folder.glob(f"{kind}_*.npz")).stat().st_size / 1e6 for kind in ("rows", "whole"))
            print(
                f"{count:9,} new: rows {rows:7.3f} MB, whole {whole:6.3f} MB; {used:.3f} cpu s, {wall:.3f} s",
                flush=True,
            )
    finally:
        shutil.rmtree(folder)


def main() -> None:
    """Measure all cases."""
    for name, case in CASES.items():
        print(name, flush=True)
        measure(case, iterations=4, checkpoints=4)


if __name__ == "__main__":
    main()
