"""Measures how fast a config simulates, collects and trains with given settings."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from warpworld.config import LearnerConfig, RunConfig, config_from_dict, endless
from warpworld.errors import WarpworldError
from warpworld.trainers import Times, Trainer, timed_iterations

WARM_UP = 1  # iterations that do not count
LEAST = 3  # iterations that count


@dataclass(frozen=True)
class Speeds:
    """Measurements with one setting.

    Attributes:
        simulation: env steps per second with random actions.
        rollout: env steps per second of collecting, policies included.
        training: env steps per second of whole iterations.
        device: cpu or cuda.
        num_agents: in an env.
        nbytes: of the store.
        free: bytes that could still be allocated, None where that is not known.
        envs_per_warp: how many envs share a warp.
    """

    simulation: float
    rollout: float
    training: float
    device: str
    num_agents: int
    nbytes: int
    free: int | None
    envs_per_warp: int = 0


def measure(config: RunConfig, changes: Mapping[str, Any], seconds: float) -> Speeds:
    """Train for a moment with some settings changed, once at random and once as configured; nothing is written.

    Args:
        config: of the run.
        changes: values of settings of the section ``trainer``, by name, and of policies as "num_minibatches".
        seconds: of each of the two, about.

    Raises:
        WarpworldError: the settings do not fit, or the environment is at fault; the message begins with the changes.
    """
    try:
        simulated = _run(_at_random(_changed(config, changes)), seconds)
        trained = _run(_changed(config, changes), seconds)
    except WarpworldError as error:
        what = ", ".join(f"{key}={value}" for key, value in changes.items())
        raise type(error)(f"with {what}: {error}") from error
    return Speeds(
        simulation=simulated.rate(simulated.times.rollouts),
        rollout=trained.rate(trained.times.rollouts),
        training=trained.rate(trained.times.totals),
        device=trained.device,
        num_agents=trained.num_agents,
        nbytes=trained.nbytes,
        free=trained.free,
        envs_per_warp=trained.envs_per_warp,
    )


@dataclass(frozen=True)
class _Timed:
    """Seconds of some iterations, and what ran."""

    env_steps: int
    times: Times
    device: str
    num_agents: int
    nbytes: int
    free: int | None
    envs_per_warp: int

    def rate(self, seconds: list[float]) -> float:
        """Env steps per second, by the median of the faster half: other programs only ever make iterations slower."""
        return self.env_steps / statistics.median(sorted(seconds)[: -(-len(seconds) // 2)])


def _run(config: RunConfig, seconds: float) -> _Timed:
    """Run iterations for some seconds, at least ``LEAST`` that count."""
    trainer = Trainer(config)
    data, sizes = trainer.world.data, config.trainer
    try:
        times = timed_iterations(trainer, seconds, LEAST, WARM_UP)
        nbytes, free = data.nbytes, data.free_memory()
    finally:
        trainer.world.close()
    return _Timed(
        env_steps=sizes.num_envs * sizes.num_steps,
        times=times,
        device=trainer.world.device.type,
        num_agents=trainer.world.num_agents,
        nbytes=nbytes,
        free=free,
        envs_per_warp=trainer.world.envs_per_warp,
    )


def _changed(config: RunConfig, changes: Mapping[str, Any]) -> RunConfig:
    """The config with other settings, without an end, and without what is done now and then."""
    data = endless(config).to_dict()  # at first: an iteration may be longer than the run would be
    of_policies = {key: value for key, value in changes.items() if key not in data["trainer"]}
    data["trainer"] |= {key: value for key, value in changes.items() if key in data["trainer"]}
    for name, entry in config.policy.items():
        if isinstance(entry, LearnerConfig) and entry.train:
            own = data["policy"][name]
            own |= {key: value for key, value in of_policies.items() if key in own}
    return config_from_dict(data)


def _at_random(config: RunConfig) -> RunConfig:
    """Config with policies that act at random."""
    data = config.to_dict()
    data["policy"] = {
        name: {"groups": list(entry.groups), "algorithm": "random"} for name, entry in config.policy.items()
    }
    return config_from_dict(data)
