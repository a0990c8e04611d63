"""Bytes and operations that an env step cannot do without: of a world by itself, of a rollout, of an iteration.

Bytes are counted in the store. Observations, actions, rewards, ends and masks count once: a step writes or reads them.
What is declared read-only counts once, and all other state twice: it is read and written. Arrays of the whole world are
shared by all envs and count for nothing. A rollout writes its rows once; each pass of an update reads them once.
Activations count for nothing, since kernels may keep them in registers, and neither do replays and optimisers.

Operations are those of products of weights: 2 for each weight and row forward, as many again for the gradient of the
inputs and for that of the weights (Kaplan et al. 2020, arXiv 2001.08361, section 2.1). Acting needs the actor alone,
and each pass of an on-policy update the critic too.

In three places less is counted than the work takes: a weight of a convolution counts once a row; of an update from a
replay only the acting network counts; and in self-play the envs in which an opponent plays do not count.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from warpworld import World
from warpworld.cli.profile.launch_nodes import moved_once
from warpworld.environment import Array
from warpworld.policies.layers.precision import FLOAT32
from warpworld.trainers.algorithms.off_policy import OffPolicy
from warpworld.trainers.trainer import Trainer
from warpworld.world.per_env_arrays import per_env_arrays
from warpworld.world.reserved import ON_REQUEST, reserved_arrays

from .limit import lines_of, operations

BESIDES = ("critic", "mixer")  # in the names of weights that acting does not need
LEARNT = 3  # times the operations of a pass forward: that, and both gradients


@dataclass(frozen=True)
class Needs:
    """Bytes and operations that one env step takes.

    Attributes:
        bytes: moved between memory and the device's cores.
        flop: of products; a multiplication and an addition count as two.
        lane_operations: of views, see limit.py; a multiplication with its addition counts as one.
        precision: of the products, "float32" or "bf16".
    """

    bytes: float
    flop: float = 0.0
    lane_operations: float = 0.0
    precision: str = FLOAT32


# ---- worlds ----------------------------------------------------------------------------------------------------------
def of_world(world: World) -> Needs:
    """A step with actions from elsewhere."""
    once = moved_once(world)
    return Needs(sum(_moved(array, world.num_agents, once) for array in world_arrays(world)))


def of_view(world: World) -> Needs:
    """A step of a world with eyes: the views of all agents come to it."""
    environment = world.environment
    params = environment.params
    lanes = operations(lines_of(environment), params.res, params.fov)
    return replace(of_world(world), lane_operations=world.num_agents * lanes)


def world_arrays(world: World) -> list[Array]:
    """The arrays of the world itself that each env has a part of; not those that a trainer adds to its store."""
    declared = [
        *reserved_arrays(world.groups, world.constants),
        *world.environment.arrays(),
        *per_env_arrays(world.environment, world.num_envs),
    ]
    names = {array.name for array in declared if array.per != "world"} | set(ON_REQUEST)
    return [world.data.array(name) for name in world.data.names("state") if name in names]


def _moved(array: Array, agents: int, once: Collection[str]) -> int:
    """Bytes that a step of one env moves."""
    is_once = array.read_only or array.name in once
    return _size(array, 1, agents) * (1 if is_once else 2)


def _size(array: Array, num_envs: int, agents: int) -> int:
    return math.prod(array.full_shape(num_envs, agents)) * np.dtype(array.dtype).itemsize


# ---- training --------------------------------------------------------------------------------------------------------
def of_rollout(trainer: Trainer) -> Needs:
    """A step of a rollout: the world's, recurrent policies' memories, what is recorded, and the actors' products."""
    world, precision = trainer.world, trainer.config.trainer.precision
    steps = world.num_envs * trainer.config.trainer.num_steps
    memory = sum(_size(world.data.array(name), 1, world.num_agents) for name in _named(trainer, "recurrent_state_"))
    moved = of_world(world).bytes + 2 * memory + _recorded(trainer) / steps
    return Needs(moved, sum(rows * acting for rows, acting, _ in _products(trainer).values()), precision=precision)


def of_iteration(trainer: Trainer) -> Needs:
    """A step of a whole iteration: that of the rollout, and its share of what algorithms learn."""
    rollout, products = of_rollout(trainer), _products(trainer)
    steps = trainer.config.trainer.num_envs * trainer.config.trainer.num_steps
    moved, flop = rollout.bytes, rollout.flop
    for name, algorithm in trainer.algorithms.items():
        rows, acting, whole = products[name]
        if isinstance(algorithm, OffPolicy):
            flop += LEARNT * acting * _drawn_rows(algorithm) / steps
        else:
            flop += LEARNT * whole * rows * algorithm.num_epochs  # type: ignore[attr-defined]
    passes = [getattr(algorithm, "num_epochs", 0) for algorithm in trainer.algorithms.values()]
    return replace(rollout, bytes=moved + max(passes, default=0) * _recorded(trainer) / steps, flop=flop)


def _named(trainer: Trainer, prefix: str) -> list[str]:
    return [name for name in trainer.world.data if name.startswith(prefix)]


def _recorded(trainer: Trainer) -> int:
    """Bytes of a rollout's rows."""
    world = trainer.world
    rows = [name for name in _named(trainer, "rollout_") if name in world.data.names("derived")]
    return sum(_size(world.data.array(name), world.num_envs, world.num_agents) for name in rows)


def _products(trainer: Trainer) -> dict[str, tuple[float, int, int]]:
    """Agents of an env that a policy plays in the mean, and FLOP of a row forward, its actor's and all; by policy."""
    found = {}
    for name, policy in trainer.policies.items():
        entry = trainer.config.policy[name]
        self_play = getattr(entry, "self_play", None)
        own = 1.0 - self_play.share if self_play else 1.0
        agents = own * sum(trainer.world.groups[group].size for group in entry.groups)
        acting, whole = (0, 0) if policy is None else flop_of(policy)
        found[name] = agents, acting, whole
    return found


def flop_of(policy: Any) -> tuple[int, int]:
    """FLOP of one row forward: of what acts, and of all weights."""
    weights = {name: weight.numel() for name, weight in policy.named_parameters() if weight.ndim > 1}
    acting = sum(count for name, count in weights.items() if not any(part in name for part in BESIDES))
    return 2 * acting, 2 * sum(weights.values())


def _drawn_rows(algorithm: OffPolicy) -> int:
    """Rows that an iteration learns from: of batches of transitions, of windows of them, or of whole teams."""
    settings = algorithm.settings
    agents = algorithm.sizes.agents // settings.per_env(algorithm.sizes)
    return settings.updates * settings.batch_size * agents * getattr(settings, "train_length", 1)
