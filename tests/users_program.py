"""A program as a user writes it: mypy checks it strictly against the installed package, and nothing runs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box, Discrete

import warpworld
from warpworld import Array, Environment, Group, Kernel, Run, Trainer, WarpworldError, World, masked_phase
from warpworld.blocks import RGB, BlockEnvironment, BlockParams, RandomSpawns, SimpleMovement
from warpworld.checking import Report
from warpworld.drawing import Discs, Drawing, Rectangles
from warpworld.report.recording import Recording, record_run
from warpworld.trainers.evaluate import evaluate


@warpworld.register("walk")
class Walk(Environment):
    """Walk along a line."""

    source = "walk.cu"
    infos = ("x",)

    @dataclass(frozen=True)
    class Params:
        """Numbers that kernels take by name."""

        walkers: int = 3
        side: float = 10.0

    params: Params

    def groups(self) -> Sequence[Group]:
        return [Group("walker", self.params.walkers, observation=Box(0.0, 1.0, (1,)), action=Discrete(3))]

    def arrays(self) -> Sequence[Array]:
        return [Array("x", "float32", bounds=(0, self.params.side), doc="position, metres")]

    def phases(self) -> Sequence[Any]:
        return ["step", Kernel("late"), self.pay]

    @masked_phase
    def pay(self, arrays: Mapping[str, torch.Tensor], active: torch.Tensor) -> None:
        arrays["rewards"].copy_(arrays["x"] / self.params.side)

    def draw(self, arrays: Mapping[str, np.ndarray]) -> Drawing:
        line = Rectangles(0.0, 0.4, self.params.side, 0.2, fill="ground")
        return Drawing((0.0, 0.0, self.params.side, 1.0), [line, Discs(arrays["x"], 0.5, 0.2, fill="walker")])


class Room(BlockEnvironment):
    """Agents that look around."""

    blocks = (SimpleMovement(), RGB(), RandomSpawns())

    @dataclass(frozen=True)
    class Params(BlockParams):
        """Where they are."""

        plans: str = "box"

    def groups(self) -> Sequence[Group]:
        return [Group("guest", 2, self.observation(), self.action())]


def play() -> float:
    with warpworld.make("walk", num_envs=8, device="cpu", walkers=2) as world:
        world.reset(seed=1)
        world["actions"] = torch.zeros(8, 2, 1, dtype=torch.int32)
        world.step()
        rewards: torch.Tensor = world["rewards"]
        seen = world.observations("walker")
        assert isinstance(seen, torch.Tensor)  # a dict of them for a Dict space
        return float(rewards.sum() + seen.sum())


def step_others() -> bool:
    envs = warpworld.make("cartpole", num_envs=4, api="gymnasium")
    envs.reset(seed=1)
    _, _, terminated, _, _ = envs.step(envs.action_space.sample())
    single = warpworld.make("cartpole", api="single")
    single.reset()
    return bool(np.asarray(terminated).any())


def train(folder: Path) -> float:
    returns: list[float] = []
    run: Run = warpworld.train(
        "tag_gridworld",
        ["trainer.num_envs=64"],
        on_iteration=lambda metrics: returns.append(metrics["charts/tagger/episodic_return"]),
        directory=folder,
    )
    policy = warpworld.load_policy(run, "tagger")
    world = World(Walk(walkers=2), num_envs=4, device="cpu")
    played = warpworld.rollout(world, {"walker": policy}, steps=10, seed=1)
    recording: Recording = record_run(run, greedy=True)
    written = warpworld.export_policy(policy, folder / "walk.onnx")
    print(written, run.path, run.checkpoints(), recording.episodes)
    return evaluate(run, episodes=10)["tagger"]["mean_return"] + len(played)


def train_step_by_step() -> int:
    trainer = Trainer(warpworld.load_config("cartpole", ["trainer.num_envs=64"]))
    run = trainer.create_run()
    trainer.train(run, stop=lambda: trainer.env_steps > 100)
    if run is not None:  # it is None in processes other than the first
        run.close()
    return trainer.iteration


def look_for_mistakes() -> bool:
    try:
        report: Report = warpworld.check(Walk, num_envs=3, steps=10)
    except WarpworldError as error:
        print(error)
        return False
    for finding in report.findings:
        print(finding.place.line, finding.message)
    with warpworld.Trace(World(Walk(), 1), env=0, path="walk.csv") as trace:
        trace.reset()
    return report.clean
