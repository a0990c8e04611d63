"""WarpDrive's own envs under WarpDrive's own trainer: rl-warp-drive 2.7.1 from PyPI, where it is installed.

Three speeds: env kernels and resets alone, the trainer's rollouts, and whole iterations of A2C as its ``train()`` runs
them. Device synchronisations around them are its own, but for one at either end.
"""

from __future__ import annotations

import copy
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from .clock import Timing
from .warpdrive_shims import prepare, raise_heap_limit, remember_first_observation

WARM_UP = 2  # iterations that do not count; the last one is left out too, as it logs and saves


@dataclass(frozen=True)
class Run:
    """What it is asked to do.

    Attributes:
        name: "tag_gridworld" or "tag_continuous".
        env: parameters of its env.
        num_envs: envs that step together.
        num_steps: steps of a rollout.
        policies: for each policy its settings, as its YAML files have them.
        iterations: that are timed.
    """

    name: str
    env: Mapping[str, Any]
    num_envs: int
    num_steps: int
    policies: Mapping[str, Mapping[str, Any]]
    iterations: int

    @property
    def config(self) -> dict[str, Any]:
        """Its run configuration."""
        batch, episode = self.num_envs * self.num_steps, self.env["episode_length"]
        iterations = self.iterations + WARM_UP + 1
        never = 10**9
        return {
            "name": self.name,
            "env": dict(self.env),
            "trainer": {
                "num_envs": self.num_envs,
                "train_batch_size": batch,
                "num_episodes": -(-iterations * batch // episode),
                "env_backend": "pycuda",
                "seed": 1,
            },
            "policy": copy.deepcopy({name: dict(policy) for name, policy in self.policies.items()}),
            "saving": {
                "metrics_log_freq": never,
                "model_params_save_freq": never,
                "basedir": tempfile.mkdtemp(prefix="warpdrive-run-"),
                "name": self.name,
                "tag": "benchmark",
            },
        }


@dataclass
class Speeds:
    """What was found.

    Attributes:
        timings: seconds of a step of all envs ("simulation"), of a rollout ("inference"), of an iteration ("training").
        num_agents: agents of an env.
        way: which of its parts were driven.
        shims: what was done so that it runs.
        failure: why its trainer was not driven; None where it was.
    """

    timings: dict[str, Timing]
    num_agents: int
    way: str
    shims: list[str]
    failure: str | None = None


def measure(run: Run) -> Speeds:
    """Time a run; its trainer's where that runs, else its kernels alone."""
    shims = prepare()
    from warp_drive.utils import autoinit_pycuda  # noqa: F401  makes torch's primary context PyCUDA's

    shims.append(raise_heap_limit())
    wrapper = _wrapped_env(run)
    shims.append(remember_first_observation(wrapper))
    agents = _agents_of(run, wrapper.env)
    way, failure = "its own trainer, TrainerA2C, with its own loop", None
    try:
        timings = _time_training(_trainer(run, wrapper, agents))
    except Exception as error:
        timings, way, failure = {}, "its kernels alone", f"{type(error).__name__}: {error}"
        traceback.print_exc()  # the part keeps the last lines
        wrapper = _wrapped_env(run)
        remember_first_observation(wrapper)
        _push_placeholders(run, wrapper, agents)
    timings["simulation"] = _time_steps(wrapper, run)
    return Speeds(timings, wrapper.n_agents, way, shims, failure)


def _wrapped_env(run: Run) -> Any:
    """Its env in its wrapper, compiled for its device."""
    from example_envs.tag_continuous.tag_continuous import TagContinuous
    from example_envs.tag_gridworld.tag_gridworld import CUDATagGridWorld
    from warp_drive.env_wrapper import EnvWrapper

    env = {"tag_gridworld": CUDATagGridWorld, "tag_continuous": TagContinuous}[run.name](**run.env)
    wrapper = EnvWrapper(env, num_envs=run.num_envs, env_backend="pycuda")
    if run.name == "tag_gridworld":  # its kernel reads the moves from a constant, which nobody else fills
        wrapper.env.cuda_data_manager.add_shared_constants({"kIndexToActionArr": wrapper.env.step_actions})
        wrapper.env.cuda_function_manager.initialize_shared_constants(
            wrapper.env.cuda_data_manager, constant_names=["kIndexToActionArr"]
        )
    return wrapper


def _agents_of(run: Run, env: Any) -> dict[str, list[int]]:
    """The agents of each policy."""
    if len(run.policies) == 1:
        return {next(iter(run.policies)): [*env.taggers, *env.runners]}
    return {"tagger": list(env.taggers), "runner": list(env.runners)}


def _trainer(run: Run, wrapper: Any, agents: dict[str, list[int]]) -> Any:
    from warp_drive.training.trainers.trainer_a2c import TrainerA2C

    return TrainerA2C(env_wrapper=wrapper, config=run.config, policy_tag_to_agent_id_map=agents, verbose=False)


def _push_placeholders(run: Run, wrapper: Any, agents: dict[str, list[int]]) -> None:
    """The arrays that its kernels work on, as its trainer makes them."""
    from warp_drive.managers.pycuda_managers.pycuda_function_manager import PyCUDASampler
    from warp_drive.training.utils.data_loader import create_and_push_data_placeholders

    wrapper.reset_all_envs()
    create_and_push_data_placeholders(
        env_wrapper=wrapper,
        action_sampler=PyCUDASampler(wrapper.cuda_function_manager),
        policy_tag_to_agent_id_map=agents,
        training_batch_size_per_env=run.num_steps,
    )


def _time_training(trainer: Any) -> dict[str, Timing]:
    """Its ``train()``, whose rollouts and updates are timed as they pass."""
    rollouts, updates = _timed(trainer, "_generate_rollout_batch"), _timed(trainer, "_update_model_params")
    trainer.train()
    pairs = list(zip(rollouts, updates, strict=True))[WARM_UP:-1]
    return {
        "inference": Timing.of([rollout for rollout, _ in pairs]),
        "training": Timing.of([rollout + update for rollout, update in pairs]),
    }


def _timed(trainer: Any, name: str) -> list[float]:
    """Put a clock around a method of one object; returns the list that its seconds go to."""
    method, seconds = getattr(trainer, name), []

    def timed(*arguments: Any) -> Any:
        torch.cuda.synchronize()
        start = time.perf_counter()
        result = method(*arguments)
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
        return result

    setattr(trainer, name, timed)
    return seconds


def _time_steps(wrapper: Any, run: Run, windows: int = 7, steps: int = 200) -> Timing:
    """Env kernel, and the resets of the envs that ended, as its rollout asks for them; the actions stay."""
    done = wrapper.cuda_data_manager.data_on_device_via_torch("_done_")
    steps = min(steps, 10 * run.num_steps)

    def step() -> None:
        wrapper.step_all_envs()
        if done.any():
            wrapper.reset_only_done_envs()

    return Timing.of([_seconds(step, steps) for _ in range(windows + 1)][1:])


def _seconds(call: Callable[[], None], calls: int) -> float:
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(calls):
        call()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / calls
