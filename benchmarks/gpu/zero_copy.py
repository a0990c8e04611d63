"""Kernels and torch work on one memory: each sees what the other wrote, and nothing is copied or allocated."""

from __future__ import annotations

from pathlib import Path

import torch

import warpworld
from warpworld import Array, World

from .cases import TAG_GRIDWORLD, build_trainer
from .clock import synchronise
from .part import Context, SkippedError
from .trace import record

PROBE = Path(__file__).with_name("probe.cu")
STAY, RIGHT = 0, 1  # actions of tag_gridworld
NUM_STEPS = 100


def prove(context: Context) -> None:
    """All of it."""
    _addresses(context)
    _writes(context)
    said = "kernels and torch have the same addresses and see each other's writes"
    if context.device == "cuda":
        _allocations(context)
        _copies(context)
        said += "; a step allocates nothing, a rollout copies nothing to or from the host"
    context.holds(said)


def _addresses(context: Context) -> None:
    """A kernel writes down the pointers that it was given."""
    world = warpworld.make("tag_gridworld", num_envs=4, device=context.device)
    world.add(Array("probe", "int64", (2,), per="world", initial=0))
    functions = world.kernels(PROBE, {})
    functions.build([])
    index = world.kernel_index()
    world.reset()
    world.program([functions.step("probe", index)])()
    found, expected = world["probe"].tolist(), [world[name].data_ptr() for name in ("observations", "actions")]
    context.report(kernel_pointers=found, torch_pointers=expected)
    if found != expected:
        context.wrong(f"a kernel has its arrays at {found}, torch at {expected}")


def _writes(context: Context) -> None:
    """Actions that torch writes move the agents; where they then are, torch sees; and the other way round."""
    world = warpworld.make(
        "tag_gridworld",
        num_envs=8,
        device=context.device,
        num_taggers=2,
        grid_length=20,
        starting_location_x=(5, 6, 7),
        starting_location_y=(1, 9, 17),
    )
    world.reset()
    views = {name: world[name] for name in ("actions", "loc_x", "timestep")}
    pointers = {name: view.data_ptr() for name, view in views.items()}
    views["actions"].fill_(RIGHT)
    world.step()
    _expect(context, views["loc_x"], [6, 7, 8], "after torch wrote the actions")
    views["loc_x"].copy_(torch.tensor([10, 11, 12], dtype=torch.int32, device=world.device))
    world.step()
    _expect(context, views["loc_x"], [11, 12, 13], "after torch wrote the places")
    if views["timestep"].tolist() != [2] * 8 or pointers != {name: world[name].data_ptr() for name in views}:
        context.wrong("the arrays have moved, or a step was lost")
    context.report(writes_seen=not context.findings)


def _expect(context: Context, places: torch.Tensor, expected: list[int], when: str) -> None:
    if places.tolist() != [expected] * len(places):
        context.wrong(f"{when}, agents are at {places[0].tolist()}, expected {expected}")


def _allocations(context: Context) -> None:
    """Stepping allocates no byte on the device, through torch or past it."""
    world = _stepped_world(context.device)
    before = _taken()
    for _ in range(NUM_STEPS):
        world.step()
    synchronise(context.device)
    more = [after - then for after, then in zip(_taken(), before, strict=True)]
    context.report(bytes_allocated_by_torch=more[0], bytes_taken_from_device=more[1])
    if any(more):
        context.wrong(f"{NUM_STEPS} steps took {more[0]} bytes through torch and {more[1]} of the device's memory")


def _stepped_world(device: str) -> World:
    world = warpworld.make("tag_gridworld", num_envs=2000, device=device)
    world.reset()
    for _ in range(10):
        world.step()
    synchronise(device)
    return world


def _taken() -> tuple[int, int]:
    free, total = torch.cuda.mem_get_info()
    return torch.cuda.memory_allocated(), total - free


def _copies(context: Context) -> None:
    """A rollout moves nothing between host and device; copies within the device are counted."""
    trainer = build_trainer(TAG_GRIDWORLD.smaller(200, 32), context.device)
    for _ in range(2):
        trainer.collector.collect()
    events, *_ = record(trainer.collector.collect, context.device)
    copies = [event.name for event in events if event.category == "gpu_memcpy"]
    across = [name for name in copies if "HtoD" in name or "DtoH" in name]
    kernels = sum(event.category == "kernel" for event in events)
    context.report(copies_between_host_and_device=len(across), copies_within_device=len(copies) - len(across))
    context.report(kernels_of_rollout=kernels)
    if not kernels:
        raise SkippedError("all holds but what is said of copies: the profiler sees nothing of the device here")
    if across:
        context.wrong(f"a rollout of 32 steps copies {len(across)} times between host and device: {across[0]}")
