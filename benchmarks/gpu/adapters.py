"""Arrays that other libraries see through an adapter: the store itself where nothing need be copied."""

from __future__ import annotations

import numpy as np
import torch

import warpworld

from .part import Context

NUM_ENVS = 16
CUDA, CPU = 2, 1  # device types of DLPack


def prove(context: Context) -> None:
    """All of it, on the device and for an adapter that returns views in host memory."""
    _tensors(context)
    _views(context)
    context.holds("an adapter's world, DLPack and views in host memory have the store's addresses")


def _tensors(context: Context) -> None:
    """The world behind a vector env is on the device, and what DLPack hands on is its memory; a step is seen there."""
    envs = warpworld.make("tag_gridworld", NUM_ENVS, api="gymnasium", device=context.device)
    envs.reset(seed=0)
    own = {name: envs.world[name] for name in ("observations", "rewards", "timestep")}
    handed_on = {name: torch.from_dlpack(tensor) for name, tensor in own.items()}
    envs.step(envs.action_space.sample())
    store = envs.world.data.block
    for name, tensor in handed_on.items():
        _expect(context, tensor.data_ptr() == own[name].data_ptr(), f"DLPack copies '{name}'")
        _expect(
            context, tensor.device.type == context.device, f"'{name}' is on {tensor.device}, expected {context.device}"
        )
        inside = store.data_ptr() <= tensor.data_ptr() < store.data_ptr() + store.numel()
        _expect(context, inside, f"'{name}' is not in the store")
        _expect(context, torch.equal(tensor, envs.world[name]), f"a step is not seen in '{name}'")
    _expect(context, bool((handed_on["timestep"] == 1).all()), "a step is not seen through DLPack")
    kind = own["observations"].__dlpack_device__()[0]
    _expect(context, int(kind) == (CUDA if context.device == "cuda" else CPU), f"DLPack's device type is {int(kind)}")
    context.report(dlpack_arrays=list(handed_on))


def _views(context: Context) -> None:
    """Check that two steps with ``copy=False`` return one array: in host memory the store, on a GPU its one copy."""
    envs = warpworld.make("cartpole", NUM_ENVS, api="gymnasium", device=context.device, copy=False)
    envs.reset(seed=0)
    actions = np.zeros(NUM_ENVS, np.int64)
    first, second = (envs.step(actions)[0] for _ in range(2))
    _expect(context, np.shares_memory(first, second), "an adapter that should not copy returned another array")
    expected = envs.world["observations"].to("cpu").numpy().reshape(second.shape)
    _expect(context, np.array_equal(second, expected), "an adapter's array is not the step's")
    address = envs.world["observations"].data_ptr()
    if context.device == "cpu":
        _expect(
            context,
            second.ctypes.data == address,
            f"an adapter's array is at {second.ctypes.data}, the store's at {address}",
        )
    context.report(views_checked=True)


def _expect(context: Context, holds: bool, otherwise: str) -> None:
    if not holds:
        context.wrong(otherwise)
