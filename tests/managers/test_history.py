"""How arrays are kept: state is in snapshots, derived is not, and history is not even read where nobody asks for it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import warpworld
from tests.narrow_device import NarrowBackend
from warpworld import Array, World
from warpworld.environment import get_environment
from warpworld.errors import StoreError
from warpworld.managers.data_manager import ALIGNMENT, DataManager

pytestmark = pytest.mark.cpu_backend

NUM_ENVS, ROWS = 6, 4000
RING = Array("ring", "float32", (ROWS, NUM_ENVS, 4), per="world", initial=-1.0)
OBSERVED = (NUM_ENVS, 1, 4)


class Work(TorchDispatchMode):
    """What torch does: which operations touch some bytes, and how many bytes it makes."""

    def __init__(self, watched: torch.Tensor) -> None:
        super().__init__()
        self._first, self._end = watched.data_ptr(), watched.data_ptr() + watched.nbytes
        self.touching: list[str] = []
        self.made = 0

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = operation(*args, **(kwargs or {}))
        if any(each.alias_info is not None and not each.alias_info.is_write for each in operation._schema.returns):
            return result  # a view
        for tensor in (each for each in args if isinstance(each, torch.Tensor)):
            end = tensor.data_ptr() + tensor.numel() * tensor.element_size()
            if tensor.data_ptr() < self._end and end > self._first:
                self.touching.append(str(operation))
        if isinstance(result, torch.Tensor) and all(result is not each for each in args):
            self.made += result.nbytes
        return result


def store() -> DataManager:
    """A sealed store with a large history between small arrays."""
    data = DataManager(lambda nbytes: torch.zeros(nbytes, dtype=torch.uint8), NUM_ENVS, 1)
    data.add(Array("place", "float32", initial=1.0))
    data.add(RING, kept="history")
    data.add(Array("rewards", "float32", initial=2.0), kept="derived")
    data.add(Array("slot", "int32", per="world", initial=0))
    data.seal()
    return data


# ---- the layout -----------------------------------------------------------------------------------------------------
def test_state_lies_before_derived_and_derived_before_history() -> None:
    data = store()
    assert list(data) == data.names() == ["place", "slot", "rewards", "ring"]
    addresses = [data.pointer(name) for name in data]
    assert addresses == sorted(addresses)
    assert data.names("state") == ["place", "slot"]
    assert data.names("history") == ["ring"]
    assert data.names("history", "state") == ["place", "slot", "ring"]
    assert [name for name, _, _ in data.layout()] == ["place", "slot"]
    assert list(data.empty_like(3)) == ["place", "slot"]


def test_history_starts_with_its_initial_value() -> None:
    assert bool((store()["ring"] == -1.0).all())


@pytest.mark.parametrize(("kept", "hint"), [("histori", " Did you mean 'history'?"), ("rollout", ""), (True, "")])
def test_other_ways_to_keep_an_array(kept: Any, hint: str) -> None:
    data = DataManager(lambda nbytes: torch.zeros(nbytes, dtype=torch.uint8), NUM_ENVS, 1)
    with pytest.raises(StoreError) as raised:
        data.add(RING, kept=kept)
    expected = f"array 'ring': kept={kept!r}, expected 'state', 'derived', 'scratch' or 'history'.{hint}"
    assert str(raised.value) == expected
    assert "ring" not in data


# ---- snapshots ------------------------------------------------------------------------------------------------------
def test_snapshots_hold_state_only() -> None:
    data = store()
    snapshot = data.snapshot()
    assert snapshot.nbytes == 2 * ALIGNMENT
    for name in data:
        data[name] = 9
    data.restore(snapshot, data.layout())
    assert [float(data[name].flatten()[0]) for name in data] == [1.0, 0.0, 9.0, 9.0]


@pytest.mark.long
def test_snapshots_and_sums_leave_history_alone() -> None:
    data = store()
    with Work(data["ring"]) as work:
        snapshot = data.snapshot()
        data.snapshot(out=snapshot)
        data.restore(snapshot)
        assert data.matches(snapshot)
        sums = data.checksums()
        data.empty_like(NUM_ENVS)
    assert work.touching == []
    assert len(sums) == 3
    assert 0 < work.made < 100 * ALIGNMENT < data["ring"].nbytes
    with Work(data["ring"]) as work:  # the oracle sees what it looks for
        data["ring"].clone()
    assert len(work.touching) == 1 and work.made == data["ring"].nbytes


def test_sums_see_every_other_array() -> None:
    data = store()
    before = data.checksums()
    for i, name in enumerate(data.names("state", "derived")):
        data[name].flatten()[-1] += 1
        assert (data.checksums() != before).nonzero().flatten().tolist() == [i]
        data[name].flatten()[-1] -= 1


# ---- captured steps -------------------------------------------------------------------------------------------------
def recorded(**device: Any) -> World:
    """A world whose observations are recorded into a ring, at the row that ``slot`` holds."""
    world = World(get_environment("cartpole")(episode_length=7), NUM_ENVS, seed=3, **device)
    world.add(Array("ring", "float32", (ROWS, *OBSERVED), per="world", initial=-1.0), kept="history")
    world.add(Array("slot", "int32", per="world", initial=0))
    world.record("observations", "ring", row="slot")
    world.reset()
    return world


@contextmanager
def no_warnings(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with caplog.at_level(logging.WARNING, logger="warpworld"):
        yield
    assert caplog.messages == []


def test_the_check_of_a_graph_neither_copies_nor_reads_history(caplog: pytest.LogCaptureFixture) -> None:
    world = recorded(backend=NarrowBackend(1))
    with no_warnings(caplog), Work(world["ring"]) as work:
        step = world.capture(world.step)
    assert step != world.step  # it was captured
    assert work.touching == []
    assert work.made < world["ring"].nbytes // 4


def test_rows_that_the_trials_wrote_are_written_again(caplog: pytest.LogCaptureFixture) -> None:
    """Row by row the ring is that of a world whose steps are not captured; no other row is written."""
    expected, world = recorded(device="cpu"), recorded(backend=NarrowBackend(1))
    for _ in range(3):
        expected.step()
        expected["slot"].add_(1)
    world.step()
    world["slot"].add_(1)
    with no_warnings(caplog):
        step = world.capture(world.step)
    assert int(world["slot"]) == 1
    assert torch.equal(world["ring"][0], expected["ring"][0])
    assert torch.equal(world["ring"][1], expected["ring"][1])  # a trial's, where the next step will write
    for _ in range(2):
        step()
        world["slot"].add_(1)
    assert torch.equal(world["ring"], expected["ring"])
    assert bool((world["ring"][:3] != -1.0).all()) and bool((world["ring"][3:] == -1.0).all())


def test_a_world_s_snapshot_is_of_its_state() -> None:
    world, plain = recorded(device="cpu"), warpworld.make("cartpole", num_envs=NUM_ENVS, device="cpu")
    plain.reset()
    assert world.snapshot().nbytes == plain.snapshot().nbytes + ALIGNMENT  # the slot
    assert "ring" not in [name for name, _, _ in world.data.layout()]
