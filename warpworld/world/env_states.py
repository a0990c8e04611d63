"""States of single envs: taken out of the store, written back, and copied from one env to others."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from warpworld.environment import Kernel
from warpworld.errors import StoreError
from warpworld.managers import DataManager, FunctionManager, RunKernel
from warpworld.world.beside_the_store import BesideTheStore
from warpworld.world.env_indices import EnvIndices, Envs, EnvSelection, last_of_each

if TYPE_CHECKING:
    import torch

STATES_SOURCE = Path(__file__).resolve().parent / "env_states.cu"
_LANES = (1, 128)  # of an env's copy: one where lanes take turns
_LAYOUT_BYTES = 8  # in front of each state: a number for the arrays that it holds
_OF_A_CALL = ("active", "resetting")  # which envs a call is for: written anew by each
_JOB = struct.Struct("8q")  # a Job of the kernels; its last number is the mismatch


class EnvStates:
    """The part that each env has of the state arrays, as bytes.

    Kernels copy the states of all envs that a call names, on every device. Their arguments are settled here, and a
    call writes its own into a ``Job``, see the kernels' file.

    Args:
        data: a sealed store.
        kernels: ``World.kernels``.
        program: ``World.program``.
        residents: objects of envs, or what these keep elsewhere, whose states the store gets where they are read.

    Raises:
        BuildError: the kernels do not compile.
    """

    def __init__(
        self,
        data: DataManager,
        kernels: Callable[..., FunctionManager],
        program: Callable[[list[RunKernel]], Callable[[], None]],
        residents: BesideTheStore | None = None,
    ) -> None:
        import torch

        self._residents = residents

        # state arrays of envs, with a number of their layout
        self._device, self._num_envs = data["active"].device, len(data["active"])
        self._indices = EnvIndices(self._num_envs, self._device)
        self._empty, self._bytes, self._is_host = torch.empty, torch.uint8, self._device.type == "cpu"
        names = [name for name in data.names("state") if data.array(name).per != "world" and name not in _OF_A_CALL]
        sizes = [data[name][0].numel() * data[name].element_size() for name in names]
        self._width = _LAYOUT_BYTES + sum(sizes)
        layout = [(name, data.array(name).dtype, tuple(data[name].shape[1:])) for name in names]
        number = hashlib.blake2b(repr(layout).encode(), digest_size=_LAYOUT_BYTES).digest()
        # a table of parts, and the job of a call, for the kernels
        table = [[data.pointer(name), size] for name, size in zip(names, sizes, strict=True)]
        self._parts = torch.tensor(table, dtype=torch.int64).to(self._device)
        self._host_job = torch.zeros(_JOB.size // 8, dtype=torch.int64)
        self._written = self._host_job.numpy().data.cast("B")
        self._job = self._host_job.to(self._device)  # the same memory on a CPU
        # the kernels
        scalars = {
            "job": self._job.data_ptr(),
            "parts": self._parts.data_ptr(),
            "num_parts": len(names),
            "layout": int.from_bytes(number, "little"),
        }
        own = {"random_key", "random_stream"}
        functions = kernels(STATES_SOURCE, {"NUM_AGENTS": 1}, scalars, writable=own)
        functions.build([Kernel(name, threads_per_env=_LANES) for name in functions.signatures])
        self._run = {name: program([functions.step(name, 0, own_env_only=False)]) for name in functions.signatures}

    def read(self, envs: Envs) -> torch.Tensor:
        """(envs, bytes) uint8: a copy of their states."""
        chosen = self._indices.chosen("envs", envs)
        if self._residents:
            self._residents.save(chosen.indices)
        return self._read(chosen)

    def write(self, envs: Envs, states: torch.Tensor) -> None:
        """Write states back, into these envs or others; of an env that is named twice, the last state stays.

        Raises:
            StoreError: they are of a world with other arrays, or there is not one for each env.
        """
        # a row for each env
        chosen = self._indices.chosen("envs", envs)
        if states.dtype is not self._bytes or states.shape != (chosen.count, self._width):
            dtype = str(states.dtype).removeprefix("torch.")
            raise StoreError(
                f"states: shape {tuple(states.shape)} {dtype}, expected ({chosen.count}, {self._width}) uint8, as "
                "state() of this world returns"
            )
        # arrays of the same layout
        rows = states.to(self._device).contiguous()
        self._call("compare_layouts", chosen, rows)
        if self._has_mismatch():
            raise StoreError("states: they come from a world with other arrays")
        # the last state of each env
        last = last_of_each(chosen.indices, envs) if chosen.kept is not None else None
        if last is not None:
            chosen, rows = self._indices.of_indices(chosen.indices[last]), rows[last.tolist()]
        self._call("write_states", chosen, rows)
        if self._residents:
            self._residents.load(chosen.indices)

    def copy(self, source: int | Sequence[int], targets: Envs, reseed: bool) -> None:
        """Copy states from env to env; with ``reseed`` the targets draw random numbers of their own from here on.

        Raises:
            StoreError: there is neither one source nor one for each target.
        """
        reseed = bool(reseed)  # one of NumPy's cannot be packed
        to = self._indices.chosen("targets", targets)
        if isinstance(source, (int, np.integer)):
            source = range(int(source), int(source) + 1)  # one of NumPy's may be the largest of its dtype
        sources = self._indices.chosen("source", source)
        if sources.count not in (1, to.count):
            raise StoreError(f"source: {sources.count} envs, expected one, or one for each of {to.count} targets")
        last = last_of_each(to.indices, targets) if to.kept is not None else None
        if last is not None:
            to = self._indices.of_indices(to.indices[last])
            sources = sources if sources.count == 1 else self._indices.of_indices(sources.indices[last])
        if self._residents:
            self._residents.save(sources.indices)
        if sources.overlaps(to, self._num_envs):
            self._call("write_states", to, self._read(sources), reseed=reseed)  # all are read before one is written
        else:
            self._call("fork_states", to, sources=sources, reseed=reseed)
        if self._residents:
            self._residents.load(to.indices)

    def _read(self, chosen: EnvSelection) -> torch.Tensor:
        rows = self._empty(chosen.count, self._width, dtype=self._bytes, device=self._device)
        self._call("read_states", chosen, rows)
        return rows

    def _has_mismatch(self) -> bool:
        """Whether the last call has found states of other arrays."""
        return bool(_JOB.unpack_from(self._written)[-1] if self._is_host else self._job[-1])

    def _call(
        self,
        kernel: str,
        chosen: EnvSelection,
        rows: torch.Tensor | None = None,
        sources: EnvSelection | None = None,
        reseed: bool = False,
    ) -> None:
        """Run a kernel on some envs.

        Args:
            kernel: its name.
            chosen: the envs.
            rows: one for each of them, or one for all.
            sources: envs, likewise; the kernel reads neither or one of them.
            reseed: see ``copy``.
        """
        count, address, stride = chosen.count, 0, 0
        if rows is not None:
            address, stride = rows.data_ptr(), self._width if rows.shape[0] == count else 0
        sources = chosen if sources is None else sources
        step = 1 if sources.count == count else 0
        _JOB.pack_into(self._written, 0, count, chosen.address, address, stride, sources.address, step, reseed, 0)
        if not self._is_host:
            self._job.copy_(self._host_job)
        self._run[kernel]()
