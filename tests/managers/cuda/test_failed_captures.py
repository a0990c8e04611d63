"""A capture that failed leaves a usable process: on the cuda backend, and by a model of what torch leaves behind."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tests.toys import agents, environment
from warpworld import Array, World
from warpworld.managers.cuda.torch_gpu import TorchGpu


@pytest.mark.cuda_backend
def test_a_draw_and_ten_steps_after_a_capture_that_failed() -> None:
    def phase(arrays: Any, active: torch.Tensor) -> None:
        assert arrays["x"].sum().item() >= 0
        arrays["x"] = arrays["x"] + 1.0

    world = World(environment(None, [Array("x", "float32", initial=0.0)], [agents(2)], phases=[phase], resets=[]), 3)
    world.reset()
    step = world.capture(world.step)
    assert step == world.step
    drawn = torch.rand(1000, device=world.device)
    assert 0 < float(drawn.std()) < 1
    for _ in range(10):
        step()
    assert world["x"].eq(10.0).all()
    plain = World(environment(None, [Array("x", "float32", initial=0.0)], [agents(2)], phases=[add_one], resets=[]), 3)
    plain.reset()
    replay = plain.capture(plain.step)
    assert replay != plain.step
    for _ in range(10):
        replay()
    assert plain["x"].eq(10.0).all()


def add_one(arrays: Any, active: torch.Tensor) -> None:
    arrays["x"] = arrays["x"] + 1.0


class Torch:
    """Torch's captures as version 2.11 makes them: one that does not end well is ended nowhere but in the driver."""

    def __init__(self) -> None:
        self.generator_captures = False
        self.stream: Any = "before"
        self.pools: list[object] = []  # that the allocator is to allocate from
        self.held: list[object] = []  # pools that are not released

    def draw(self) -> None:
        if self.generator_captures:
            raise RuntimeError("Offset increment outside graph capture encountered unexpectedly.")

    @contextlib.contextmanager
    def graph(self, graph: Any, pool: Any = None, stream: Any = None, capture_error_mode: str = "") -> Iterator[None]:
        self.generator_captures, before, self.stream = True, self.stream, stream
        self.pools.append(pool)
        self.held.append(pool)
        yield
        if stream.is_spoiled:
            stream.is_spoiled = False
            raise RuntimeError("CUDA error: operation failed due to a previous error during capture")
        self.generator_captures, self.stream = False, before
        self.pools.remove(pool)
        graph.pool = pool

    def end_allocation(self, device: int, pool: Any) -> None:
        if pool not in self.pools:
            raise RuntimeError("endAllocatePool: not currently recording to mempool_id")
        self.pools.remove(pool)


@pytest.fixture
def torch_211(monkeypatch: pytest.MonkeyPatch) -> Torch:
    model = Torch()
    zeros = torch.zeros
    for owner, values in (
        (torch.version, {"cuda": "13.0"}),
        (torch, {"zeros": lambda *size, **options: zeros(*size)}),
        (
            torch.cuda,
            {
                "current_device": lambda: 0,
                "synchronize": lambda device: None,
                "ExternalStream": lambda handle, device: SimpleNamespace(handle=handle, is_spoiled=False),
                "current_stream": lambda device: "before",
                "set_stream": lambda stream: setattr(model, "stream", stream),
                "CUDAGraph": lambda: SimpleNamespace(reset=lambda: None, replay=lambda: None),
                "graph_pool_handle": object,
                "graph": model.graph,
            },
        ),
        (
            torch._C,
            {
                "_cuda_getCurrentRawStream": lambda ordinal: 0,
                "_cuda_getDevice": lambda: 0,
                "_cuda_endAllocateToPool": model.end_allocation,
                "_cuda_releasePool": lambda device, pool: model.held.remove(pool),
            },
        ),
    ):
        for name, value in values.items():
            monkeypatch.setattr(owner, name, value, raising=False)
    return model


def test_nothing_is_left_of_a_capture_that_failed(torch_211: Torch, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu, model = TorchGpu(), torch_211

    def waits() -> None:
        assert model.generator_captures and model.stream.handle == 7
        model.stream.is_spoiled = True
        raise RuntimeError("CUDA error: operation not permitted when stream is capturing")

    with pytest.raises(RuntimeError, match="operation not permitted when stream is capturing"):
        gpu.capture(7, waits)
    model.draw()
    assert (model.stream, model.pools) == ("before", [])
    assert model.held == [None]  # of the capture that ended well
    replay = gpu.capture(7, lambda: None)
    assert callable(replay)
    model.draw()


def test_a_capture_that_ends_well_is_ended_once(torch_211: Torch) -> None:
    """Python's own error spoils nothing on the device."""
    gpu, model = TorchGpu(), torch_211

    def fails() -> None:
        raise KeyError("lost")

    with pytest.raises(KeyError, match="lost"):
        gpu.capture(7, fails)
    assert len(model.held) == 1 and model.pools == []
    model.draw()
