"""Small environments whose every number is known, runs of them, and a recording put together by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box, Discrete
from torch import Tensor

from warpworld.config import RunConfig, config_from_dict
from warpworld.drawing import Discs, Drawing, Mark, Text
from warpworld.environment import Array, Environment, Group
from warpworld.report.recording import Frame, Recording
from warpworld.runs import Run
from warpworld.trainers.building import build_policies, build_world

SPACE = Box(-np.inf, np.inf, (1,))


class Plain(Environment):
    """In PyTorch alone, without ``draw``: groups left (2 agents) and right (1).

    Agent a starts episode e (from 0) at ``100 * e + 10 * a`` and advances by 1 a step. A step pays it what its ``x``
    is. Episodes last ``length`` steps; every second one, from the first, terminates, and the others are truncated.
    """

    @dataclass(frozen=True)
    class Params:
        length: int = 3

    params: Params

    def groups(self) -> Sequence[Group]:
        return [Group("left", 2, SPACE, Discrete(2)), Group("right", 1, SPACE, Discrete(2))]

    def arrays(self) -> Sequence[Array]:
        return [
            Array("x", "float32", doc="place"),
            Array("episodes", "int32", per="env", initial=-1, on_reset="keep", doc="episodes before this one"),
            Array("table", "int32", (2,), per="world", initial=[7, 8], doc="never changes"),
        ]

    def phases(self) -> Sequence[Any]:
        return [self._step]

    def resets(self) -> Sequence[Any]:
        return [self._reset]

    def _step(self, arrays: Any, active: Tensor) -> None:
        arrays["x"] = arrays["x"] + 1.0
        arrays["rewards"] = arrays["x"].clone()
        arrays["observations"] = arrays["x"][..., None]
        ended, even = arrays["timestep"] == self.params.length, arrays["episodes"] % 2 == 0
        arrays["terminated"], arrays["truncated"] = ended & even, ended & ~even

    def _reset(self, arrays: Any, active: Tensor) -> None:
        arrays["episodes"] = arrays["episodes"] + active
        start = 100.0 * arrays["episodes"][:, None] + 10.0 * torch.arange(3)
        arrays["x"] = torch.where(active[:, None], start, arrays["x"])
        arrays["observations"] = arrays["x"][..., None]


class Drawn(Plain):
    """Draws a disc for each agent, and its timestep and the last reward as text."""

    def draw(self, arrays: Mapping[str, np.ndarray]) -> Drawing | None:
        said = f"{int(arrays['timestep'])} {float(arrays['rewards'][0]):g} {arrays['table'].tolist()}"
        return Drawing((0, 0, 400, 50), [Discs(arrays["x"], 5.0, 2.0, fill="left"), Text(10, 40, said, 8)])


class Masked(Environment):
    """Two agents in CUDA; the second one's last reward does not count. See masked.cu."""

    source = "masked.cu"

    def groups(self) -> Sequence[Group]:
        return [Group("agent", 2, SPACE, Discrete(2))]


class BadDraw(Plain):
    """Draws whatever a test says."""

    drawings: Sequence[Any] = ()  # of one call after the other, the last one from then on

    def draw(self, arrays: Mapping[str, np.ndarray]) -> Drawing | None:
        chosen = type(self).drawings
        type(self).drawings = chosen[1:] or chosen
        return chosen[0](arrays) if callable(chosen[0]) else chosen[0]


def config_of(cls: type[Environment], **env: Any) -> RunConfig:
    """A config with a policy for each group."""
    policies = {group.name: {"num_minibatches": 1} for group in cls(**env).groups()}
    trainer = {"num_envs": 2, "num_steps": 4, "total_env_steps": 80, "device": "cpu"}
    return config_from_dict(
        {"name": f"{cls.__module__}:{cls.__name__}", "env": env, "trainer": trainer, "policy": policies}
    )


def run_of(cls: type[Environment], folder: Path, checkpoints: Sequence[int] = (0,), **env: Any) -> Run:
    """A run with fresh policies as its checkpoints."""
    run = Run.create(config_of(cls, **env), folder)
    built = build_policies(run.config, build_world(run.config, num_envs=1).environment, torch.Generator())
    weights = {name: policy.state_dict() for name, policy in built.items() if policy is not None}
    for iteration in checkpoints:
        run.save_checkpoint(iteration, {"policies": weights})
    return run


def recording_of(
    *marks: Sequence[Mark],
    view: tuple[float, float, float, float] = (0, 0, 10, 10),
    seconds: float = 0.1,
    ends: Mapping[int, str] | None = None,
    about: str = "by hand",
) -> Recording:
    """A recording with a frame for each list of marks, of one agent "a" that gets 1 a step; ``ends`` by frame."""
    groups = {"a": Group("a", 1, SPACE, Discrete(2)), "b": Group("b", 2, SPACE, Discrete(2), first=1)}
    ends, frames, episode, timestep = ends or {}, [], 1, 0
    for i, listed in enumerate(marks):
        rewards, returns = np.array([1.0, 0.0, 0.5]) * (timestep > 0), np.array([1.0, 0.0, 0.5]) * timestep
        end = ends.get(i, "")
        frames.append(Frame(episode, timestep, Drawing(view, listed, seconds), rewards, returns, end))
        episode, timestep = (episode + 1, 0) if end else (episode, timestep + 1)
    return Recording("toy", about, groups, frames, True)
