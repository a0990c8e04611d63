"""The worlds and trainers that the tables are about: WarpDrive's runs of Tag, and CartPole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

import warpworld
from warpworld.config import RunConfig, config_from_dict
from warpworld.environment import get_environment
from warpworld.policies.layers.precision import FLOAT32
from warpworld.trainers.algorithms.algorithm import Algorithm
from warpworld.trainers.algorithms.off_policy import OffPolicy
from warpworld.trainers.algorithms.on_policy import OnPolicy
from warpworld.trainers.algorithms.updates import CapturedUpdates
from warpworld.trainers.algorithms.updates.update_parts import UpdateParts
from warpworld.trainers.trainer import Trainer

from ..worlds import DRAWS, random_actions

GRAPH_STEPS = 16  # env steps of a graph of a world by itself
MOST_ACTIONS = 50_000_000  # of all sets together
STEPS_PER_DRAW = GRAPH_STEPS  # env steps that a set stays


@dataclass(frozen=True)
class Case:
    """A world, and how it is learnt in.

    Attributes:
        name: of the environment.
        params: its parameters.
        num_envs: envs that step together.
        num_steps: steps of a rollout.
        hidden_sizes: of actor and critic each.
        policies: groups that each policy plays.
        learning_rate: by policy.
        max_grad_norm: longest gradient.
        recurrent: cell of a memory as wide as the last hidden layer; None for none.
    """

    name: str
    params: Mapping[str, Any]
    num_envs: int
    num_steps: int = 16
    hidden_sizes: tuple[int, ...] = (64, 64)
    policies: Mapping[str, tuple[str, ...]] | None = None
    learning_rate: float = 1e-3
    max_grad_norm: float = 0.5
    recurrent: str | None = None

    def smaller(self, num_envs: int, num_steps: int, **params: Any) -> Case:
        """The same with other sizes."""
        return replace(self, num_envs=num_envs, num_steps=num_steps, params={**self.params, **params})


# The parameters, nets and learning settings of WarpDrive's run configurations, at 2000 envs. WarpDrive's rollouts of
# tag_gridworld have 100 steps; 96 is a whole number of graphs.
TAG_GRIDWORLD = Case(
    name="tag_gridworld",
    params={
        "num_taggers": 4,
        "grid_length": 100,
        "episode_length": 100,
        "wall_hit_penalty": 0.1,
        "tag_reward_for_tagger": 10.0,
        "tag_penalty_for_runner": 5.0,
        "step_cost_for_tagger": 0.01,
        "use_full_observation": True,
        "start": "fixed",
    },
    num_envs=2000,
    num_steps=96,
    hidden_sizes=(32, 32),
    policies={"shared": ("tagger", "runner")},
    max_grad_norm=3.0,
)
TAG_CONTINUOUS = Case(
    name="tag_continuous",
    params={
        "num_taggers": 10,
        "num_runners": 100,
        "grid_length": 20.0,
        "episode_length": 500,
        "max_acceleration": 0.1,
        "min_acceleration": -0.1,
        "max_turn": 2.356,
        "min_turn": -2.356,
        "num_acceleration_levels": 20,
        "num_turn_levels": 20,
        "use_full_observation": False,
        "num_other_agents_observed": 10,
        "observe_own_state": False,
        "tagging_distance": 0.02,
        "tag_reward_for_tagger": 10.0,
        "tag_penalty_for_runner": -10.0,
        "end_of_game_reward_for_runner": 1.0,
        "runner_exits_game_after_tagged": True,
        "start": "fixed",
        "start_seed": 274880,
    },
    num_envs=2000,
    num_steps=16,
    hidden_sizes=(256, 256),
    policies={"runner": ("runner",), "tagger": ("tagger",)},
)
THOUSAND_AGENTS = TAG_CONTINUOUS.smaller(2000, 16, num_taggers=50, num_runners=950, grid_length=60.0, start="random")
THOUSAND_ON_A_GRID = TAG_GRIDWORLD.smaller(2000, 16, num_taggers=999, use_full_observation=False, start="random")
# Beyond a block's threads, with as many agents together as the case above has.
THOUSANDS_ON_A_GRID = tuple(
    THOUSAND_ON_A_GRID.smaller(2_000_000 // agents, 16, num_taggers=agents - 1) for agents in (2000, 10_000)
)
CARTPOLE = Case("cartpole", {}, num_envs=65536, policies={"agent": ("agent",)})


def config_of(
    case: Case,
    device: str,
    iterations: int,
    graph_steps: int | None = None,
    learns: bool = True,
    fused: bool = True,
    precision: str = FLOAT32,
) -> RunConfig:
    """The run of a case by A2C: one pass over each rollout in one piece, as WarpDrive does it.

    Args:
        case: what is run.
        device: "cuda" or "cpu".
        iterations: length of the run.
        graph_steps: steps of a CUDA graph at most; None for as many as a run has by default, 0 for no graphs.
        learns: False makes all policies act at random.
        fused: run plain networks without torch.
        precision: of products.
    """
    trainer: dict[str, Any] = {
        "num_envs": case.num_envs,
        "num_steps": case.num_steps,
        "total_env_steps": case.num_envs * case.num_steps * iterations,
        "device": device,
        "fused": fused,
        "precision": precision,
    }
    if graph_steps is not None:
        trainer["graph_steps"] = graph_steps
    entry: dict[str, Any] = {"algorithm": "random"}
    if learns:
        model: dict[str, Any] = {"type": "mlp", "hidden_sizes": list(case.hidden_sizes), "activation": "relu"}
        if case.recurrent is not None:
            model |= {"recurrent": case.recurrent, "recurrent_size": case.hidden_sizes[-1]}
        entry = {
            "algorithm": "a2c",
            "model": model,
            "learning_rate": case.learning_rate,
            "anneal_lr": False,
            "gamma": 0.98,
            "num_minibatches": 1,
            "ent_coef": 0.05,
            "vf_coef": 1.0,
            "max_grad_norm": case.max_grad_norm,
        }
    policies = {name: {**entry, "groups": list(groups)} for name, groups in (case.policies or {}).items()}
    saving = {"checkpoint_every": 10**6}
    return config_from_dict(
        {"name": case.name, "env": dict(case.params), "trainer": trainer, "policy": policies, "saving": saving}
    )


def build_trainer(case: Case, device: str, iterations: int = 10**6, **options: Any) -> Trainer:
    """A trainer of a case; see ``config_of``."""
    return Trainer(config_of(case, device, iterations, **options))


def rollout_of(trainer: Trainer) -> Callable[[], None]:
    """A call that takes a trainer's next rollout, with its networks' products in the run's precision."""

    def collect() -> None:
        with trainer._products():  # the first call captures the graph, and its products with it
            trainer.collector.collect()

    return collect


def is_graph(call: Callable[[], None]) -> bool:
    """Whether a call replays a CUDA graph."""
    return isinstance(getattr(call, "__self__", None), torch.cuda.CUDAGraph)


def replay_of(trainer: Trainer) -> Callable[[], None] | None:
    """What replays its rollouts' graph; None without one: a capture may be given up, and there is none at first."""
    captured = vars(trainer.collector.acting()).get("replay")  # once there was a rollout
    return captured if captured is not None and is_graph(captured) else None


def replays(trainer: Trainer) -> bool:
    """Whether its rollouts, of which there has been one, are replayed as a CUDA graph."""
    return replay_of(trainer) is not None


def updates_replay(trainer: Trainer) -> bool:
    """Whether the updates of all its policies, of which there have been some, are replayed as CUDA graphs."""
    updates = [_updates(algorithm) for algorithm in trainer.algorithms.values()]
    return bool(updates) and all(found and all(map(is_graph, found)) for found in updates)


def _updates(algorithm: Algorithm) -> list[Callable[[], None]]:
    """The parts of an algorithm's updates, each a CUDA graph or a function; none where there was no update."""
    if isinstance(algorithm, OffPolicy):
        return list(algorithm._runs.values())
    assert isinstance(algorithm, OnPolicy)
    updates = algorithm.updates
    run = (updates._replay or _replay_together(updates)) if isinstance(updates, CapturedUpdates) else None
    parts = getattr(run, "__self__", None)
    if isinstance(parts, UpdateParts):
        return [parts.first, parts.another, parts.last]
    return [] if run is None else [run]


def _replay_together(updates: CapturedUpdates) -> Callable[[], None] | None:
    """The graph that holds these updates beside those of other policies; None where there is none."""
    return updates._together._replay if updates in updates._together._known else None


def build_world(case: Case, device: str) -> warpworld.World:
    """A world of a case, reset."""
    world = warpworld.World(get_environment(case.name)(**case.params), case.num_envs, device)
    world.reset()
    return world


class Steps:
    """Steps of a world by itself, with random actions that are copied into place every few steps."""

    def __init__(self, world: warpworld.World, graphs: bool = True) -> None:
        """Draw the sets of actions, on the world's device; fewer of them where there are many agents.

        Args:
            world: a world that is reset.
            graphs: replay the steps of a set as a CUDA graph.
        """
        self.world = world
        self._steps = world.capture(self._step_by_step) if graphs else self._step_by_step
        count = max(1, min(DRAWS, MOST_ACTIONS // (world.num_envs * world.num_agents)))
        self._sets = [random_actions(world, np.random.default_rng(seed)) for seed in range(count)]
        self._number = 0

    def __call__(self) -> None:
        """``STEPS_PER_DRAW`` steps."""
        for name, values in self._sets[self._number % len(self._sets)].items():
            self.world[name].copy_(values)
        self._number += 1
        self._steps()

    @property
    def replayed(self) -> bool:
        """Whether the steps are a CUDA graph: a capture may be given up."""
        return is_graph(self._steps)

    def _step_by_step(self) -> None:
        for _ in range(STEPS_PER_DRAW):
            self.world.step()
