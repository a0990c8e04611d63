"""The store: one block, views of it that never move, and clear refusals."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from warpworld import Array
from warpworld.environment import DTYPES
from warpworld.errors import StoreError
from warpworld.managers.data_manager import ALIGNMENT, KINDS, DataManager, Kept

NUM_ENVS, NUM_AGENTS = 3, 2


class Allocator:
    """Counts blocks, and fills them with a pattern so that nothing is zero by luck."""

    def __init__(self) -> None:
        self.blocks: list[torch.Tensor] = []

    def __call__(self, nbytes: int) -> torch.Tensor:
        room = torch.full((nbytes + ALIGNMENT,), 0xAB, dtype=torch.uint8)
        start = -room.data_ptr() % ALIGNMENT
        self.blocks.append(room[start : start + nbytes])
        return self.blocks[-1]


def store(*arrays: Array, derived: tuple[Array, ...] = (), sealed: bool = True) -> DataManager:
    data = DataManager(Allocator(), NUM_ENVS, NUM_AGENTS)
    for array in derived:
        data.add(array, kept="derived")
    for array in arrays:
        data.add(array)
    if sealed:
        data.seal()
    return data


class TestLayout:
    def test_state_arrays_as_added_and_derived_after_them(self) -> None:
        data = store(Array("a", "bool"), Array("b", "float64"), derived=(Array("s", "int32"), Array("t", "int8")))
        assert list(data) == ["a", "b", "s", "t"]
        offsets = [data.pointer(name) for name in data]
        assert offsets == sorted(offsets)
        assert len(data) == 4
        assert "a" in data and "c" not in data

    def test_one_allocation(self) -> None:
        allocator = Allocator()
        data = DataManager(allocator, NUM_ENVS, NUM_AGENTS)
        for dtype in DTYPES:
            data.add(Array(f"x_{dtype}", dtype, (5,)))
        data.seal()
        data.seal()
        (block,) = allocator.blocks
        assert data.nbytes == block.numel()
        for name in data:
            view = data[name]
            assert block.data_ptr() <= view.data_ptr()
            assert view.data_ptr() + view.numel() * view.element_size() <= block.data_ptr() + block.numel()
            assert data.pointer(name) == view.data_ptr()
            assert view.data_ptr() % ALIGNMENT == 0

    def test_an_empty_store_seals(self) -> None:
        data = store()
        assert (data.nbytes, data.snapshot().numel(), list(data)) == (0, 0, [])

    def test_nbytes_counts_padding(self) -> None:
        assert store(Array("a", "bool"), Array("b", "uint8", (ALIGNMENT,), per="world")).nbytes == 2 * ALIGNMENT

    @pytest.mark.parametrize(
        ("array", "shape"),
        [
            (Array("x", "float32", (4, 5)), (NUM_ENVS, NUM_AGENTS, 4, 5)),
            (Array("x", "float32", per="env"), (NUM_ENVS,)),
            (Array("x", "float32", (7,), per="world"), (7,)),
            (Array("x", "float32", per="world"), ()),
        ],
    )
    def test_shapes(self, array: Array, shape: tuple[int, ...]) -> None:
        data = store(array)
        assert tuple(data["x"].shape) == shape
        assert data["x"].is_contiguous()
        assert data.array("x") is array

    def test_more_than_is_free_is_refused_before_it_is_allocated(self) -> None:
        def allocate(nbytes: int) -> torch.Tensor:
            raise AssertionError("allocated")

        data = DataManager(allocate, 1, 10_000, lambda: 4 * 2**20)
        data.add(Array("views", "uint8", (1024,)))
        message = (
            "no memory for 9.8 MB of arrays (views 9.8 MB); 4.0 MB are free, and num_envs=1 needs more: not even one "
            "env would fit; ask for fewer agents (about 4,096 of 10,000 would fit)"
        )
        with pytest.raises(StoreError) as caught:
            data.seal()
        assert str(caught.value) == message and not data.sealed

    def test_a_store_too_large_for_the_machine(self) -> None:
        def refuse(nbytes: int) -> torch.Tensor:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory")

        data = DataManager(refuse, 10**9, 100)
        data.add(Array("small", "bool", per="env"))
        data.add(Array("huge", "float32", (1000,)))
        message = (
            r"no memory for 372530.0 GB of arrays \(huge 372529.0 GB, small 953.7 MB\); ask for fewer envs or shorter "
            "rollouts than num_envs=1000000000 needs"
        )
        with pytest.raises(StoreError, match=message):
            data.seal()
        assert not data.sealed

    @pytest.mark.parametrize(
        ("free", "said"),
        [
            (50 * 2**20, r"50.0 MB are free, and num_envs=1024 needs more: num_envs=11 would fit"),
            (900 * 2**20, r"900.0 MB are free, and num_envs=1024 needs more: num_envs=224 would fit"),
            (2**40, r"1024.0 GB are free, and num_envs=1024 needs more: num_envs=1023 would fit"),  # in pieces
            (2**20, r"1.0 MB are free, and num_envs=1024 needs more: not even one env would fit"),
            (100, r"100 bytes are free, and num_envs=1024 needs more: not even one env would fit"),
        ],
    )
    def test_how_many_envs_would_fit(self, free: int, said: str) -> None:
        """1 MB of agents' numbers and 3 MB of a rollout's for each env, and 2 MB that do not depend on them."""

        def refuse(nbytes: int) -> torch.Tensor:
            raise torch.OutOfMemoryError("CUDA out of memory")

        data = DataManager(refuse, 1024, 4, lambda: free)
        data.add(Array("table", "uint8", (2 * 2**20,), per="world"))
        data.add(Array("place", "float32", (2**16,)))
        data.add(Array("rollout_place", "float32", (3, 1024, 4, 2**16), per="world"), kept="derived")
        for i in range(9):
            data.add(Array(f"word_{i}", "uint8", (2**10,), per="world"))
        message = (
            r"no memory for 4.0 GB of arrays \(rollout_place 3.0 GB, place 1.0 GB, table 2.0 MB, word_8 1.0 KB, .*"
            rf"word_4 1.0 KB, 4 others 4.0 KB\); {said}"
        )
        with pytest.raises(StoreError, match=message):
            data.seal()


class TestInitialValues:
    @pytest.mark.parametrize("dtype", DTYPES)
    def test_numbers_in_every_dtype(self, dtype: str) -> None:
        data = store(Array("x", dtype, (5,), initial=1), Array("y", dtype, initial=[[0, 1], [1, 0], [1, 1]]))
        assert data.numpy("x").dtype == np.dtype(dtype)
        assert data.numpy("x").astype(float).tolist() == np.ones((NUM_ENVS, NUM_AGENTS, 5)).tolist()
        assert data.numpy("y").astype(int).tolist() == [[0, 1], [1, 0], [1, 1]]

    @pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if np.dtype(dtype).kind in "iu"])
    def test_ends_of_the_range(self, dtype: str) -> None:
        low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
        data = store(Array("low", dtype, initial=low), Array("high", dtype, per="world", initial=high))
        assert (data.numpy("low") == low).all()
        assert data.numpy("high") == high
        for outside in (low - 1, high + 1):
            with pytest.raises(StoreError, match=f"array 'x': initial value is {outside}, "):
                store(Array("x", dtype, initial=outside))

    @pytest.mark.parametrize("initial", [np.arange(4.0), torch.arange(4.0), [0, 1, 2, 3], np.arange(4.0)[::-1][::-1]])
    def test_one_entry_broadcasts(self, initial: Any) -> None:
        expected = np.broadcast_to(np.arange(4.0), (NUM_ENVS, NUM_AGENTS, 4))
        assert store(Array("x", "float32", (4,), initial=initial)).numpy("x").tolist() == expected.tolist()

    def test_per_env_broadcasts_over_agents(self) -> None:
        data = store(Array("x", "int32", initial=np.arange(NUM_ENVS)[:, None]))
        assert data["x"].tolist() == [[0, 0], [1, 1], [2, 2]]

    def test_floats_round_and_keep_inf_and_nan(self) -> None:
        data = store(Array("x", "float16", per="world", shape=(3,), initial=[0.1, np.inf, np.nan]))
        assert data.numpy("x").tolist()[:2] == [float(np.float16(0.1)), np.inf]
        assert np.isnan(data.numpy("x")[2])

    @pytest.mark.parametrize(
        ("dtype", "initial", "message"),
        [
            ("int32", 0.5, "initial value is 0.5, which int32 does not hold"),
            ("int32", [1.0, np.nan], r"initial value is \[1.0, nan\], which int32 does not hold"),
            ("bool", 2, "initial value is 2, which bool does not hold"),
            ("float16", 1e6, "initial value is 1000000.0, which float16 does not hold"),
            ("float32", 1j, "initial value is 1j, expected numbers that float32 holds: complex128 is not a kind"),
            ("float32", "high", "initial value is 'high', expected numbers"),
            ("float32", {"a": 1}, "initial value is {'a': 1}, expected numbers"),
            ("float32", [1, 2, 3], r"initial value has shape \(3,\), expected one that broadcasts to \(3, 2, 2\)"),
            (
                "float32",
                np.zeros((4, 3, 2, 2)),
                r"initial value has shape \(4, 3, 2, 2\), expected one that broadcasts",
            ),
        ],
    )
    def test_refused(self, dtype: str, initial: Any, message: str) -> None:
        with pytest.raises(StoreError, match="array 'x': " + message):
            store(Array("x", dtype, (2,), initial=initial))


class TestAssigning:
    @pytest.mark.parametrize("dtype", DTYPES)
    def test_copies_into_place(self, dtype: str) -> None:
        data = store(Array("x", dtype), Array("y", dtype, per="world"))
        view, pointer = data["x"], data.pointer("x")
        values = np.array([[0, 1], [1, 0], [1, 1]], dtype)
        for value in (values, torch.from_numpy(values), values.tolist(), np.asfortranarray(values), values[::-1][::-1]):
            data["x"] = 0
            data["x"] = value
            assert data.numpy("x").tolist() == values.tolist()
        assert data.pointer("x") == pointer and view.data_ptr() == pointer
        assert view.tolist() == values.tolist()
        data["y"] = 1
        assert data.numpy("y").shape == () and data.numpy("y") == 1

    def test_arrays_that_may_not_be_written(self, recwarn: pytest.WarningsRecorder) -> None:
        data = store(Array("x", "float32"))
        data["x"] = np.broadcast_to(np.float32(3.0), (NUM_ENVS, NUM_AGENTS))
        assert (data["x"] == 3.0).all()
        assert not recwarn.list

    def test_part_of_itself(self) -> None:
        data = store(Array("x", "int32", initial=[[1, 2], [3, 4], [5, 6]]))
        data["x"] = data["x"].flip(0)
        assert data["x"].tolist() == [[5, 6], [3, 4], [1, 2]]

    def test_numbers_fill(self) -> None:
        data = store(Array("x", "uint64"), Array("flag", "bool"), Array("f", "float32"))
        data["x"] = 2**64 - 1
        assert (data.numpy("x") == 2**64 - 1).all()
        data["flag"] = True
        assert data["flag"].all()
        data["f"] = np.float64(0.25)
        assert (data["f"] == 0.25).all()

    @pytest.mark.parametrize(
        ("dtype", "value", "message"),
        [
            ("float32", np.zeros((2, 3), "float32"), r"has shape \(3, 2\), the value has \(2, 3\)"),
            ("float32", np.zeros((), "float32"), r"has shape \(3, 2\), the value has \(\)"),
            ("float32", torch.zeros(3, 1), r"has shape \(3, 2\), the value has \(3, 1\)"),
            ("float32", [1.0, 2.0], r"has shape \(3, 2\), the value has \(2,\)"),
            ("float32", np.zeros((3, 2)), "is float32, the value is float64; convert it first"),
            ("int32", torch.zeros(3, 2, dtype=torch.int64), "is int32, the value is int64; convert it first"),
            ("float32", np.zeros((3, 2), "U1"), "is float32, the value is <U1"),
            ("uint8", 256, ": the value is 256, which uint8 does not hold"),
            ("uint8", -1, ": the value is -1, which uint8 does not hold"),
            ("int32", 0.5, ": the value is 0.5, which int32 does not hold"),
            ("bool", 2, ": the value is 2, which bool does not hold"),
            ("float32", "high", ": the value is 'high', expected numbers"),
            ("float32", None, ": the value is None"),
            ("int32", [[1, 2], [3]], r": the value is \[\[1, 2\], \[3\]\], expected numbers"),
        ],
    )
    def test_refused(self, dtype: str, value: Any, message: str) -> None:
        data = store(Array("x", dtype, initial=1))
        with pytest.raises(StoreError, match="array 'x' ?" + message):
            data["x"] = value
        assert (data.numpy("x") == 1).all()


class TestViews:
    def test_they_alias_the_block(self) -> None:
        data = store(Array("x", "float32", initial=0), Array("y", "int32", initial=0))
        block = data.snapshot()
        data["x"][1, 1] = 5.0
        assert not torch.equal(block, data.snapshot())
        data.numpy("x")[0, 0] = 7.0  # in host memory, NumPy's is a view too
        assert data["x"].tolist() == [[7.0, 0.0], [0.0, 5.0], [0.0, 0.0]]
        assert data["x"] is data["x"]

    def test_a_kernel_s_pointer_is_the_view_s(self) -> None:
        import ctypes

        data = store(Array("x", "uint16", per="world", shape=(3,), initial=0))
        (ctypes.c_uint16 * 3).from_address(data.pointer("x"))[1] = 65535
        assert data.numpy("x").tolist() == [0, 65535, 0]

    def test_world_arrays_without_dimensions(self) -> None:
        data = store(Array("row", "int32", per="world", initial=4))
        row = data["row"]
        row.add_(1)
        assert int(data["row"]) == 5 and data.numpy("row") == 5


class TestSnapshots:
    def test_one_copy_of_the_state_arrays(self) -> None:
        data = store(
            Array("x", "float32", initial=1), Array("y", "int8", initial=2), derived=(Array("s", "int32", initial=3),)
        )
        kept = data.snapshot()
        assert kept.dtype == torch.uint8 and kept.numel() == 2 * ALIGNMENT
        for name in data:
            data[name] = 9
        data.restore(kept)
        assert (data["x"] == 1).all() and (data["y"] == 2).all()
        assert (data["s"] == 9).all()
        data["x"] = 4
        assert not torch.equal(kept, data.snapshot())  # a copy, not a view

    @pytest.mark.parametrize(
        "snapshot",
        [torch.zeros(ALIGNMENT, dtype=torch.uint8), torch.zeros(2 * ALIGNMENT), torch.zeros(0, dtype=torch.uint8)],
    )
    def test_of_another_world(self, snapshot: torch.Tensor) -> None:
        data = store(Array("x", "float32", initial=1), Array("y", "int8", initial=2))
        size = snapshot.numel() * snapshot.element_size()
        message = f"the snapshot has {size} bytes, this store's state arrays have 512: it comes from another world"
        with pytest.raises(StoreError, match=message):
            data.restore(snapshot)
        assert (data["x"] == 1).all()

    def test_arrays_in_another_order(self) -> None:
        arrays = [
            Array("x", "float32", initial=1),
            Array("y", "int8", (70,), initial=2),
            Array("z", "int32", initial=3),
        ]
        derived = Array("s", "int32", (100,))
        saved, data = store(*arrays, derived=(derived,)), store(*reversed(arrays), derived=(derived,))
        for i, array in enumerate(arrays):
            saved[array.name] = 10 + i
        data.restore(saved.snapshot(), saved.layout())
        assert [data[name].unique().tolist() for name in "xyz"] == [[10], [11], [12]]

    def test_into_another_store_of_the_same_layout(self) -> None:
        first, second = (store(Array("x", "float32", initial=i)) for i in range(2))
        first.restore(second.snapshot())
        assert (first["x"] == 1).all()


class TestRefusals:
    @pytest.mark.parametrize("sealed", [False, True])
    def test_unknown_name(self, sealed: bool) -> None:
        data = store(Array("speed", "float32"), sealed=sealed)
        for use in (lambda: data["sped"], lambda: data.array("sped"), lambda: data.pointer("sped")):
            with pytest.raises(StoreError, match=re.escape("no array 'sped'. Did you mean 'speed'?")):
                use()
        with pytest.raises(StoreError, match="no array 'sped'"):
            data["sped"] = 1

    def test_before_sealing(self) -> None:
        data = store(Array("speed", "float32"), sealed=False)
        assert not data.sealed
        for use in (lambda: data["speed"], lambda: data.pointer("speed"), lambda: data.numpy("speed")):
            with pytest.raises(StoreError, match=r"array 'speed' has no memory yet; call reset\(\) first"):
                use()
        with pytest.raises(StoreError, match="array 'speed' has no memory yet"):
            data["speed"] = 1
        for use in (data.snapshot, lambda: data.restore(torch.zeros(1, dtype=torch.uint8))):
            with pytest.raises(StoreError, match=r"the store has no memory yet; call reset\(\) first"):
                use()

    def test_adding_after_sealing(self) -> None:
        message = r"cannot add array 'y': the store is sealed; add arrays before the first reset\(\)"
        with pytest.raises(StoreError, match=message):
            store(Array("x", "float32")).add(Array("y", "float32"))

    def test_twice(self) -> None:
        with pytest.raises(StoreError, match="array 'x' is declared twice; give one of them another name"):
            store(Array("x", "float32"), Array("x", "int32"))


ARRAYS = st.tuples(
    st.sampled_from(DTYPES),
    st.lists(st.integers(1, 5), max_size=2).map(tuple),
    st.sampled_from(["agent", "env", "world"]),
    st.sampled_from(KINDS),
)


@settings(max_examples=60)
@given(st.lists(ARRAYS, min_size=1, max_size=8), st.data())
def test_writes_to_one_array_never_change_another(
    declared: list[tuple[str, tuple[int, ...], Any, Kept]], data: Any
) -> None:
    stored = DataManager(Allocator(), data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4)))
    for i, (dtype, shape, per, kept) in enumerate(declared):
        stored.add(Array(f"x{i}", dtype, shape, per=per, initial=i % 2), kept)
    stored.seal()
    before = {name: stored.numpy(name).copy() for name in stored}
    written = data.draw(st.sampled_from(list(stored)))
    stored[written].view(torch.uint8 if stored[written].ndim else stored[written].dtype).fill_(1)
    stored[written] = data.draw(st.integers(0, 1))
    for name in stored:
        if name != written:
            assert stored.numpy(name).tobytes() == before[name].tobytes()


@settings(max_examples=40)
@given(st.lists(ARRAYS, min_size=1, max_size=8), st.integers(1, 5))
def test_an_empty_copy_has_the_state_arrays_of_another_number_of_envs(
    declared: list[tuple[str, tuple[int, ...], Any, Kept]], num_envs: int
) -> None:
    stored, other = (DataManager(Allocator(), number, 3) for number in (2, num_envs))
    for i, (dtype, shape, per, kept) in enumerate(declared):
        for manager in (stored, other):
            manager.add(Array(f"x{i}", dtype, shape, per=per, initial=1, on_reset="initial"), kept)
    stored.seal()
    other.seal()
    copied = stored.empty_like(num_envs)
    assert copied.layout() == other.layout()
    copied.restore(other.snapshot(), other.layout())
    for name, _, _ in copied.layout():
        assert copied.numpy(name).tobytes() == other.numpy(name).tobytes()
