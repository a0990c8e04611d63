"""The store: one allocation in which all named arrays of a world lie, at the same addresses for the world's life."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from warpworld.environment import Array
from warpworld.errors import ShortageError, StoreError, suggest
from warpworld.managers.array_values import as_tensor, initial_value, torch_dtype, write
from warpworld.managers.shortage import explain_shortage

if TYPE_CHECKING:
    import torch

# How an array is kept. "state" is what the future depends on: snapshots and checkpoints hold it. "derived" is rewritten
# before it is read, such as the rows of a rollout. "scratch" is what threads share within a launch: it means nothing
# between launches. "history" is a record too large to copy, such as a ring of transitions. The check of a CUDA graph
# leaves the last two alone.
Kept = Literal["state", "derived", "scratch", "history"]
KINDS: tuple[Kept, ...] = get_args(Kept)  # in the order in which they lie in the block

ALIGNMENT = 256  # bytes; what cudaMalloc gives, and a multiple of a cache line


def aligned(nbytes: int) -> int:
    """Bytes from the start of an array of ``nbytes`` to that of the next, without padding."""
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


class DataManager:
    """Named arrays in one block of device memory.

    Arrays are added, then the store is sealed: the block is allocated and every array becomes a torch view of it. Those
    kept as state come first, then the other kinds in the order of ``KINDS``, so that a snapshot is one copy.

    Args:
        allocate: takes a number of bytes, returns that many as a one-dimensional uint8 tensor.
        num_envs: envs of the world.
        num_agents: agents of an env.
        free_memory: how many bytes could be allocated, None where that is not known; for what is reported where there
            are too few.
        padding: bytes that are left free behind each array, a multiple of ``ALIGNMENT``.
    """

    def __init__(
        self,
        allocate: Callable[[int], torch.Tensor],
        num_envs: int,
        num_agents: int,
        free_memory: Callable[[], int | None] = lambda: None,
        padding: int = 0,
    ) -> None:
        self._allocate, self.free_memory, self._padding = allocate, free_memory, padding
        self._num_envs, self._num_agents = num_envs, num_agents
        self._arrays: dict[str, Array] = {}
        self._kept: dict[str, Kept] = {}
        self._views: dict[str, torch.Tensor] = {}
        self._block: torch.Tensor | None = None
        self._is_closed = False
        self._ends = dict.fromkeys(KINDS, 0)  # where the arrays of a kind end in the block

    # ---- before sealing ---------------------------------------------------------------------------------------------
    def add(self, array: Array, kept: Kept | None = None) -> None:
        """Add an array to the layout.

        Args:
            array: its declaration.
            kept: "state", "derived", "scratch" or "history", see ``Kept``; None is "scratch" for an array that is
                declared so, and "state" for others.

        Raises:
            StoreError: the store is sealed, or has an array of that name, or there is no such way to keep one.
        """
        # the way to keep it
        if kept is None:
            kept = "scratch" if array.scratch else "state"
        if kept not in KINDS:
            raise StoreError(
                f"array '{array.name}': kept={kept!r}, expected 'state', 'derived', 'scratch' or 'history'."
                f"{suggest(str(kept), KINDS)}"
            )
        # a store that is open, and a new name
        if self.sealed:
            raise StoreError(
                f"cannot add array '{array.name}': the store is sealed; add arrays before the first reset()"
            )
        if array.name in self._arrays:
            raise StoreError(f"array '{array.name}' is declared twice; give one of them another name")
        self._arrays[array.name] = array
        self._kept[array.name] = kept

    def seal(self) -> None:
        """Lay all arrays out, allocate the block and write the initial values. Nothing moves afterwards."""
        if self.sealed:
            return
        if self._is_closed:
            raise StoreError("the world is closed")

        # offsets: arrays that are kept alike lie together
        order = [self._arrays[name] for name in self.names()]
        offsets, end = {}, 0
        for kind in KINDS:
            for name in self.names(kind):
                offsets[name] = end
                end += self._room_of(self._arrays[name])
            self._ends[kind] = end
        # the block, where memory suffices
        free = self.free_memory()
        if free is not None and end > free:  # a system may promise more, and end the process when it is used
            raise ShortageError(self._shortage(end))
        try:
            block = self._allocate(max(end, ALIGNMENT))
        except (MemoryError, RuntimeError) as error:
            raise ShortageError(self._shortage(end)) from error
        # views, with initial values; `data` gives each array its own count of writes, which autograd compares: a thread
        # may write one array while another thread learns from others
        self._arrays = {array.name: array for array in order}
        for array in order:
            start = offsets[array.name]
            flat = block[start : start + self._bytes_of(array)].view(torch_dtype(array.dtype))
            view = flat.view(array.full_shape(self._num_envs, self._num_agents))
            self._views[array.name] = view.data
            if array.initial is not None:
                write(view, initial_value(array, tuple(view.shape)))
        self._block = block

    def _shortage(self, nbytes: int) -> str:
        """Error for a lack of so many bytes."""
        sizes = {name: self._bytes_of(array) for name, array in self._arrays.items()}
        # a rollout or a history has a dimension of envs of its own
        growing = [
            name for name, array in self._arrays.items() if array.per != "world" or self._num_envs in array.shape
        ]
        return explain_shortage(nbytes, sizes, growing, self._num_envs, self._num_agents, self.free_memory())

    def _bytes_of(self, array: Array) -> int:
        return math.prod(array.full_shape(self._num_envs, self._num_agents)) * np.dtype(array.dtype).itemsize

    def _room_of(self, array: Array) -> int:
        """Bytes from the start of an array to that of the next."""
        return aligned(self._bytes_of(array)) + self._padding

    def close(self) -> None:
        """Let go of the memory; it is freed once no view of it and no program on it is left."""
        self._views, self._block, self._is_closed = {}, None, True

    # ---- at any time ------------------------------------------------------------------------------------------------
    @property
    def sealed(self) -> bool:
        """Whether the block is allocated."""
        return self._block is not None

    @property
    def closed(self) -> bool:
        """Whether the memory was given back."""
        return self._is_closed

    @property
    def block(self) -> torch.Tensor:
        """The memory of all arrays. Whatever holds addresses in it must hold it too, or it may be freed meanwhile."""
        if self._block is None:
            raise self._without_memory("the store")
        return self._block

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays together, padding included."""
        return sum(map(self._room_of, self._arrays.values()))

    def __contains__(self, name: object) -> bool:
        return name in self._arrays

    def __iter__(self) -> Iterator[str]:
        """Names of the arrays, in layout order once sealed."""
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __repr__(self) -> str:
        return f"<DataManager: {len(self)} arrays, {self.nbytes / 1e6:.3g} MB>"

    def names(self, *kinds: Kept) -> list[str]:
        """Names of the arrays that are kept in these ways, of all if none is given, in layout order."""
        return [name for kind in KINDS if kind in (kinds or KINDS) for name, kept in self._kept.items() if kept == kind]

    def array(self, name: str) -> Array:
        """The declaration of ``name``."""
        try:
            return self._arrays[name]
        except KeyError:
            raise StoreError(f"no array '{name}'.{suggest(name, self._arrays)}") from None

    # ---- after sealing ----------------------------------------------------------------------------------------------
    def __getitem__(self, name: str) -> torch.Tensor:
        """The array as a torch view of the store: the memory that kernels read and write."""
        self.array(name)
        if not self.sealed:
            raise self._without_memory(f"array '{name}'")
        return self._views[name]

    def _without_memory(self, what: str) -> StoreError:
        if self._is_closed:
            return StoreError("the world is closed")
        return StoreError(f"{what} has no memory yet; call reset() first")

    def __setitem__(self, name: str, value: Any) -> None:
        """Copy ``value`` into the array. A Python number fills it; else shape and dtype must be the array's.

        Lists of numbers are read in the array's dtype.

        Raises:
            StoreError: the value has another shape, dtype or byte order, a number that the dtype does not hold, or no
                numbers at all.
        """
        import torch

        # the value as a tensor
        view, array = self[name], self.array(name)
        tensor = as_tensor(array, value)
        # its dtype and shape
        if tensor.dtype != view.dtype:
            given = str(tensor.dtype).removeprefix("torch.")
            raise StoreError(f"array '{name}' is {array.dtype}, the value is {given}; convert it first")
        is_number = not isinstance(value, (torch.Tensor, np.ndarray)) and tensor.ndim == 0
        if tensor.shape != view.shape and not is_number:
            raise StoreError(f"array '{name}' has shape {tuple(view.shape)}, the value has {tuple(tensor.shape)}")
        if is_number:
            write(view, tensor.numpy())
        else:
            view.copy_(tensor)

    def pointer(self, name: str) -> int:
        """Address of the array's first entry, as kernels get it."""
        return self[name].data_ptr()

    def numpy(self, name: str) -> np.ndarray:
        """The array for NumPy: a view where the store lies in host memory, else a copy."""
        return self[name].cpu().numpy()

    def snapshot(self, out: torch.Tensor | None = None) -> torch.Tensor:
        """A copy of the state arrays, as bytes; ``out``, an earlier snapshot, is written over if it is given."""
        return self._up_to("state").clone() if out is None else out.copy_(self._up_to("state"))

    def checksums(self) -> torch.Tensor:
        """(arrays,) int64: a number for each array that changes with its contents as good as always.

        Those of ``names("state", "derived")``: scratch means nothing, and history would take too long to read.
        """
        import torch

        words = self._up_to("derived").view(torch.int64)
        lengths = [self._room_of(self._arrays[name]) // 8 for name in self.names("state", "derived")]
        return torch.stack([part.sum() for part in words.split(lengths)])

    def matches(self, snapshot: torch.Tensor) -> bool:
        """Whether the state arrays hold what they held at a snapshot, bit for bit; waits for the device."""
        import torch

        return torch.equal(self._up_to("state").view(torch.int64), snapshot.view(torch.int64))

    def layout(self) -> list[tuple[str, str, list[int]]]:
        """Name, dtype and shape of each state array, in the order in which they lie in a snapshot."""
        arrays = [self._arrays[name] for name in self.names("state")]
        return [(array.name, array.dtype, list(array.full_shape(self._num_envs, self._num_agents))) for array in arrays]

    def empty_like(self, num_envs: int) -> DataManager:
        """A sealed store of the same state arrays, for another number of envs, in host memory and not filled."""
        import torch

        copied = DataManager(lambda nbytes: torch.zeros(nbytes, dtype=torch.uint8), num_envs, self._num_agents)
        for name in self.names("state"):
            copied.add(dataclasses.replace(self._arrays[name], initial=None, on_reset="keep"))
        copied.seal()
        return copied

    def add_all_of(self, other: DataManager) -> None:
        """Add the arrays that ``other`` has and this store has not, kept as they are there."""
        for name, array in other._arrays.items():
            if name not in self:
                self.add(array, other._kept[name])

    def copy_from(self, other: DataManager) -> None:
        """Copy the contents of all arrays, however they are kept, of a store that was laid out in the same way."""
        self.block.copy_(other.block)

    def restore(self, snapshot: torch.Tensor, layout: Sequence[Sequence[Any]] | None = None) -> None:
        """Write a snapshot of a store of the same state arrays back.

        Args:
            snapshot: what ``snapshot`` returned.
            layout: what ``layout`` returned then; it distinguishes arrays of the same size, and their order may differ.

        Raises:
            StoreError: the snapshot is of other arrays; the store is as it was.
        """
        import torch

        part = self._up_to("state")
        # a snapshot of the same arrays
        if layout is not None:
            self._check_layout(layout)
        if snapshot.dtype != part.dtype or snapshot.shape != part.shape:
            raise StoreError(
                f"the snapshot has {snapshot.numel() * snapshot.element_size()} bytes, this store's state arrays "
                f"have {part.numel()}: it comes from another world"
            )
        # its parts in the order of this store
        rooms = {name: self._room_of(self._arrays[name]) for name, _, _ in self.layout()}
        order = list(rooms) if layout is None else [entry[0] for entry in layout]
        if order != list(rooms):
            parts = dict(zip(order, snapshot.split([rooms[name] for name in order]), strict=True))
            snapshot = torch.cat([parts[name] for name in rooms])
        part.copy_(snapshot)

    def _check_layout(self, layout: Sequence[Sequence[Any]]) -> None:
        saved = {name: f"{dtype} {tuple(shape)}" for name, dtype, shape in layout}
        own = {name: f"{dtype} {tuple(shape)}" for name, dtype, shape in self.layout()}
        for name in saved | own:
            if saved.get(name) != own.get(name):
                raise StoreError(
                    f"array '{name}' is {saved.get(name, 'missing')} in the snapshot, "
                    f"{own.get(name, 'missing')} in this world: the snapshot comes from another world"
                )
        if len(saved) < len(layout):
            raise StoreError("the snapshot lists an array twice; something other than warpworld wrote or changed it")

    def _up_to(self, kind: Kept) -> torch.Tensor:
        """The bytes of the arrays of a kind and of those that lie before them."""
        return self.block[: self._ends[kind]]
