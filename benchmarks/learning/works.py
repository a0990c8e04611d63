"""What is measured: works, the settings of each, and the systems that do it."""

from __future__ import annotations

import dataclasses
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch

from warpworld.managers.products import products_of
from warpworld.trainers.timing import Times

from . import eager
from .ours import Task, of_warpworld
from .settings import Setting
from .usual import of_jax, of_torch

Measure = Callable[[Setting, float], Times]  # in so many seconds, about


@dataclass(frozen=True)
class System:
    """Who does a work.

    Attributes:
        measure: in a process of its own.
        task: what it trains, or an equal of it, whose operations are counted.
        counts_values: whether its update computes the values of the rollout's rows, if they are not recorded.
        library: that must be installed.
        is_usual: whether torch is to be left as it is usually run.
        needs_bf16: whether it multiplies in bfloat16, which not every processor does.
    """

    measure: Measure
    task: Task
    counts_values: bool = True
    library: str | None = None
    is_usual: bool = False
    needs_bf16: bool = False

    @property
    def can_run(self) -> bool:
        """Whether it can be measured here."""
        if self.needs_bf16 and not products_of(torch.device("cpu"), "bf16")[0]:
            return False
        return self.library is None or importlib.util.find_spec(self.library) is not None


@dataclass(frozen=True)
class Work:
    """What is learnt.

    Attributes:
        title: for the table.
        settings: in which it is measured.
        systems: by name; the first is what the others are compared with.
    """

    title: str
    settings: Sequence[Setting]
    systems: Mapping[str, System]


LONG_AND_WIDE = Setting(1024, 32, 4, 4), Setting(4096, 32, 1, 4)


def _cartpole(cell: str | None = None) -> Task:
    return Task("cartpole", "agent", (f"policy.agent.model.recurrent={cell or 'null'}",))


def _ours(task: Task, fused: bool = True) -> System:
    return System(of_warpworld(task, fused), task)


def _reduced(task: Task) -> System:
    reduced = dataclasses.replace(task, overrides=(*task.overrides, "trainer.precision=bf16"))
    return System(of_warpworld(reduced), task, needs_bf16=True)


def _jax(network: str, cell: str | None = None) -> System:
    return System(of_jax(network), _cartpole(cell), counts_values=False, library="jax")


def _torch(make_env: Callable[[int], eager.Env]) -> System:
    return System(of_torch(make_env), _cartpole(), counts_values=False, is_usual=True)


def _boxed(config: str) -> Task:
    return Task(config, "agent", ("policy.agent.model.hidden_sizes=[64,64]",))


_TAG = Task("tag_gridworld", "*")
_SEEING = Task("deathmatch", "fighter", ("policy.fighter.model.type=multi_input",))
WORKS = {
    "plain": Work(
        "PPO, 2 x 64",
        LONG_AND_WIDE,
        {
            "warpworld": _ours(_cartpole()),
            "warpworld, precision: bf16": _reduced(_cartpole()),
            "warpworld, fused: false": _ours(_cartpole(), fused=False),
            "JAX, jitted": _jax("plain"),
            "torch, our world": _torch(eager.OurCartPole),
            "torch, gymnasium": _torch(eager.GymnasiumCartPole),
        },
    ),
    "mingru": Work(
        "PPO, MinGRU 128",
        LONG_AND_WIDE,
        {
            "warpworld": _ours(_cartpole("mingru")),
            "warpworld, precision: bf16": _reduced(_cartpole("mingru")),
            "JAX, associative scan": _jax("mingru", "mingru"),
            "JAX, scan": _jax("mingru, stepped", "mingru"),  # on a CPU the quicker one
        },
    ),
    "lstm": Work(
        "PPO, LSTM 128",
        LONG_AND_WIDE,
        {
            "warpworld": _ours(_cartpole("lstm")),
            "warpworld, precision: bf16": _reduced(_cartpole("lstm")),
            "JAX, scan": _jax("lstm", "lstm"),
        },
    ),
    "gaussian": Work(
        "PPO on a Box",
        LONG_AND_WIDE[:1],
        {"warpworld, cartpole": _ours(_boxed("cartpole")), "warpworld, pendulum": _ours(_boxed("pendulum"))},
    ),
    "deathmatch": Work(
        "deathmatch, 1-D conv",
        (Setting(128, 16, 4, 4),),
        {
            "warpworld": _ours(_SEEING),
            "warpworld, precision: bf16": _reduced(_SEEING),
            "warpworld, fused: false": _ours(_SEEING, fused=False),
        },
    ),
    "tag_gridworld": Work(
        "tag_gridworld",
        (Setting(400, 100, 4, 40),),
        {"warpworld": _ours(_TAG), "warpworld, precision: bf16": _reduced(_TAG)},
    ),
}
