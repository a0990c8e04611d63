"""The store: one allocation in which all named arrays of a world lie, at the same addresses for the world's life."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from warpworld.environment import Array
from warpworld.errors import StoreError, suggest

if TYPE_CHECKING:
    import torch

ALIGNMENT = 256  # bytes; what cudaMalloc gives, and a multiple of a cache line


def _torch_dtype(name: str) -> torch.dtype:
    import torch

    return getattr(torch, name)


class DataManager:
    """Named arrays in one block of device memory.

    Arrays are added, then the store is sealed: the block is allocated and every array becomes a torch view of it. The
    persistent arrays come first and the scratch arrays (rollout rows, what can be made again) after them, so that a
    snapshot is one copy.

    Args:
        allocate: takes a number of bytes, returns that many as a one-dimensional uint8 tensor.
        num_envs: envs of the world.
        num_agents: agents of an env.
    """

    def __init__(self, allocate: Callable[[int], torch.Tensor], num_envs: int, num_agents: int) -> None:
        self._allocate = allocate
        self._num_envs, self._num_agents = num_envs, num_agents
        self._arrays: dict[str, Array] = {}
        self._scratch: set[str] = set()
        self._views: dict[str, torch.Tensor] = {}
        self._block: torch.Tensor | None = None
        self._persistent_bytes = 0

    # ---- before sealing -----------------------------------------------------------------------------------------------
    def add(self, array: Array, scratch: bool = False) -> None:
        """Add an array to the layout.

        Args:
            array: its declaration.
            scratch: leave it out of snapshots.

        Raises:
            StoreError: the store is sealed, or has an array of that name.
        """
        if self.sealed:
            raise StoreError(f"cannot add array '{array.name}': the store is sealed; add arrays before the first reset()")
        if array.name in self._arrays:
            raise StoreError(f"array '{array.name}' is declared twice; give one of them another name")
        self._arrays[array.name] = array
        if scratch:
            self._scratch.add(array.name)

    def seal(self) -> None:
        """Lay all arrays out, allocate the block and write the initial values. Nothing moves afterwards."""
        if self.sealed:
            return
        import torch

        order = sorted(self._arrays.values(), key=lambda array: array.name in self._scratch)  # stable: as added
        offsets, end, self._persistent_bytes = {}, 0, 0
        for array in order:
            offsets[array.name] = end
            end += -(-self._bytes_of(array) // ALIGNMENT) * ALIGNMENT
            if array.name not in self._scratch:
                self._persistent_bytes = end
        block = self._allocate(max(end, ALIGNMENT))
        self._block = block
        self._arrays = {array.name: array for array in order}
        for array in order:
            start = offsets[array.name]
            flat = block[start : start + self._bytes_of(array)].view(_torch_dtype(array.dtype))
            view = flat.view(array.full_shape(self._num_envs, self._num_agents))
            self._views[array.name] = view
            if array.initial is not None:
                view.copy_(torch.as_tensor(self._initial(array)).to(block.device))

    def _initial(self, array: Array) -> np.ndarray:
        shape = array.full_shape(self._num_envs, self._num_agents)
        try:
            return np.broadcast_to(np.asarray(array.initial, dtype=array.dtype), shape).copy()
        except (ValueError, TypeError, OverflowError) as error:
            raise StoreError(
                f"array '{array.name}': initial value of shape {np.shape(array.initial)} does not fit {shape} {array.dtype}: {error}"
            ) from error

    def _bytes_of(self, array: Array) -> int:
        shape = array.full_shape(self._num_envs, self._num_agents)
        return int(np.prod(shape, dtype=np.int64)) * np.dtype(array.dtype).itemsize

    # ---- at any time --------------------------------------------------------------------------------------------------
    @property
    def sealed(self) -> bool:
        """Whether the block is allocated."""
        return self._block is not None

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays together, padding included."""
        return sum(-(-self._bytes_of(array) // ALIGNMENT) * ALIGNMENT for array in self._arrays.values())

    def __contains__(self, name: object) -> bool:
        return name in self._arrays

    def __iter__(self) -> Iterator[str]:
        """Names of the arrays, in layout order once sealed."""
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def array(self, name: str) -> Array:
        """The declaration of ``name``."""
        try:
            return self._arrays[name]
        except KeyError:
            raise StoreError(f"no array '{name}'.{suggest(name, self._arrays)}") from None

    # ---- after sealing ------------------------------------------------------------------------------------------------
    def __getitem__(self, name: str) -> torch.Tensor:
        """The array as a torch view of the store: the memory that kernels read and write."""
        self.array(name)
        if not self.sealed:
            raise StoreError(f"array '{name}' has no memory yet; call reset() first")
        return self._views[name]

    def __setitem__(self, name: str, value: Any) -> None:
        """Copy ``value`` into the array. Shape and dtype must be equal; a Python number fills the array."""
        import torch

        view = self[name]
        if isinstance(value, (bool, int, float)):
            if isinstance(value, float) and not view.dtype.is_floating_point:
                raise StoreError(f"array '{name}' is {self.array(name).dtype}: the number {value} does not fit")
            view.fill_(value)
            return
        tensor = torch.as_tensor(value)
        if tuple(tensor.shape) != tuple(view.shape):
            raise StoreError(f"array '{name}' has shape {tuple(view.shape)}, the value has {tuple(tensor.shape)}")
        if tensor.dtype != view.dtype:
            given = str(tensor.dtype).removeprefix("torch.")
            raise StoreError(f"array '{name}' is {self.array(name).dtype}, the value is {given}; convert it first")
        view.copy_(tensor)

    def pointer(self, name: str) -> int:
        """Address of the array's first entry, as kernels get it."""
        return self[name].data_ptr()

    def numpy(self, name: str) -> np.ndarray:
        """The array for NumPy: a view where the store lies in host memory, else a copy."""
        return self[name].cpu().numpy()

    def snapshot(self) -> torch.Tensor:
        """A copy of all persistent arrays, as bytes."""
        return self._persistent().clone()

    def restore(self, snapshot: torch.Tensor) -> None:
        """Write a snapshot of a store of the same layout back.

        Raises:
            StoreError: its size is another one.
        """
        part = self._persistent()
        if snapshot.numel() != part.numel():
            raise StoreError(
                f"the snapshot has {snapshot.numel()} bytes, this store's persistent arrays have {part.numel()}: it is of another world"
            )
        part.copy_(snapshot)

    def _persistent(self) -> torch.Tensor:
        if self._block is None:
            raise StoreError("the store has no memory yet; call reset() first")
        return self._block[: self._persistent_bytes]
