"""Time that the host spends on a launch and on the replay of a graph.

A frozen launch is timed beside the bare call of PyCUDA that it must end in, of a kernel that does nothing and takes
arguments of as many bytes: the difference is our own. For a rollout of one graph both are reported: the
replay, and the whole of ``collect()``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import warpworld
from warpworld.managers.program import RunKernel

from .cases import GRAPH_STEPS, TAG_GRIDWORLD, build_trainer, replay_of
from .clock import measure_host
from .part import Context
from .pycuda_launch import ARGUMENT_BYTES, bare_launch

IDLE = Path(__file__).with_name("idle.cu")


def measure_launches(context: Context) -> None:
    """All of them."""
    calls, batches = context.size(200, 5), context.size(25, 3)

    def host(call: Callable[[], object], calls: int = calls) -> float:
        return measure_host(call, context.device, calls, batches).median

    frozen = host(_frozen_launch(context.device))
    context.report(launch_seconds=frozen)
    if context.device == "cuda":
        bare = host(bare_launch())
        context.report(argument_bytes=ARGUMENT_BYTES, pycuda_launch_seconds=bare, own_seconds=frozen - bare)
    world = warpworld.make("tag_gridworld", num_envs=32, device=context.device)
    world.reset()
    context.report(world_step_seconds=host(world.step))
    for graphs in (True, False) if context.device == "cuda" else (False,):
        case = TAG_GRIDWORLD.smaller(32, GRAPH_STEPS)
        trainer = build_trainer(case, context.device, graph_steps=None if graphs else 0)
        for _ in range(3):
            trainer.collector.collect()
        # few at a time, as each is many launches where there is no graph
        name = "rollout_replayed_seconds" if graphs else "rollout_eager_seconds"
        context.report(**{name: host(trainer.collector.collect, calls=min(calls, 10))})
        if replay := replay_of(trainer):
            context.report(graph_steps=GRAPH_STEPS, replay_seconds=host(replay, calls=10))
    context.report(headline=_headline(context))


def _frozen_launch(device: str) -> Callable[[], None]:
    """A program of one launch."""
    world, step = idle_step(device)
    return world.program([step])


def idle_step(device: str) -> tuple[warpworld.World, RunKernel]:
    """A world, and the launch of idle.cu in it."""
    world = warpworld.make("tag_gridworld", num_envs=1, device=device)
    functions = world.kernels(IDLE, {})
    functions.build([])
    index = world.kernel_index()
    world.reset()
    return world, functions.step("idle", index)


def _headline(context: Context) -> str:
    figures = context.figures
    said = [f"launch {figures['launch_seconds'] * 1e6:.2f} µs"]
    if "own_seconds" in figures:
        said.append(f"of it our own {figures['own_seconds'] * 1e6:.2f}")
    if "replay_seconds" in figures:
        said.append(f"replay of {GRAPH_STEPS} steps {figures['replay_seconds'] * 1e6:.1f}")
        said.append(f"rollout of one graph {figures['rollout_replayed_seconds'] * 1e6:.1f}")
    return ", ".join([*said, f"rollout without {figures['rollout_eager_seconds'] * 1e6:.0f}"])
