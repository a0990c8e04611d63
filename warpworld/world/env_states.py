"""States of single envs: taken out of the store, written back, and copied from one env to others."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from warpworld.environment import Kernel
from warpworld.errors import StoreError
from warpworld.managers import DataManager, FunctionManager, RunKernel
from warpworld.world.env_indices import Envs, env_indices, have_common, last_of_each

if TYPE_CHECKING:
    import torch

STATES_SOURCE = Path(__file__).resolve().parent / "env_states.cu"
_LANES = (1, 128)  # of an env's copy: one where lanes take turns
_LAYOUT_BYTES = 8  # in front of each state: a number for the arrays that it holds
_OF_A_CALL = ("active", "resetting")  # which envs a call is for: written anew by each
_MISMATCH = 7  # place in a Job of the kernels


class EnvStates:
    """The part that each env has of the state arrays, as bytes.

    Kernels copy the states of all envs that a call names, on every device. Their arguments are settled here, and a
    call writes its own into a ``Job``, see the kernels' file.

    Args:
        data: a sealed store.
        kernels: ``World.kernels``.
        program: ``World.program``.

    Raises:
        BuildError: the kernels do not compile.
    """

    def __init__(
        self,
        data: DataManager,
        kernels: Callable[..., FunctionManager],
        program: Callable[[list[RunKernel]], Callable[[], None]],
    ) -> None:
        import torch

        # state arrays of envs, with a number of their layout
        self._device, self._num_envs = data["active"].device, len(data["active"])
        names = [name for name in data.names("state") if data.array(name).per != "world" and name not in _OF_A_CALL]
        sizes = [data[name][0].numel() * data[name].element_size() for name in names]
        self._width = _LAYOUT_BYTES + sum(sizes)
        layout = [(name, data.array(name).dtype, tuple(data[name].shape[1:])) for name in names]
        number = hashlib.blake2b(repr(layout).encode(), digest_size=_LAYOUT_BYTES).digest()
        # a table of parts, and the job of a call, for the kernels
        table = [[data.pointer(name), size] for name, size in zip(names, sizes, strict=True)]
        self._parts = torch.tensor(table, dtype=torch.int64).to(self._device)
        self._host_job = torch.zeros(_MISMATCH + 1, dtype=torch.int64)
        self._values = self._host_job.numpy()
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
        return self._read(env_indices("envs", envs, self._num_envs))

    def write(self, envs: Envs, states: torch.Tensor) -> None:
        """Write states back, into these envs or others; of an env that is named twice, the last state stays.

        Raises:
            StoreError: they are of a world with other arrays, or there is not one for each env.
        """
        import torch

        # a row for each env
        chosen = env_indices("envs", envs, self._num_envs)
        if states.dtype != torch.uint8 or states.shape != (len(chosen), self._width):
            dtype = str(states.dtype).removeprefix("torch.")
            raise StoreError(
                f"states: shape {tuple(states.shape)} {dtype}, expected ({len(chosen)}, {self._width}) uint8, as "
                "state() of this world returns"
            )
        # arrays of the same layout
        rows = states.to(self._device).contiguous()
        self._call("compare_layouts", chosen, rows=rows)
        if self._job[_MISMATCH]:
            raise StoreError("states: they come from a world with other arrays")
        # the last state of each env
        last = last_of_each(chosen, envs)
        if last is not None:
            chosen, rows = chosen[last], rows[torch.from_numpy(last).to(self._device)]
        self._call("write_states", chosen, rows=rows)

    def copy(self, source: int | Sequence[int], targets: Envs, reseed: bool) -> None:
        """Copy states from env to env; with ``reseed`` the targets draw random numbers of their own from here on.

        Raises:
            StoreError: there is neither one source nor one for each target.
        """
        to = env_indices("targets", targets, self._num_envs)
        sources = [source] if isinstance(source, (int, np.integer)) else source
        whence = env_indices("source", sources, self._num_envs)
        if len(whence) not in (1, len(to)):
            raise StoreError(f"source: {len(whence)} envs, expected one, or one for each of {len(to)} targets")
        last = last_of_each(to, targets)
        if last is not None:
            to, whence = to[last], whence if len(whence) == 1 else whence[last]
        if have_common(whence, to, self._num_envs):
            self._call("write_states", to, rows=self._read(whence), reseed=reseed)  # all are read before one is written
        else:
            self._call("fork_states", to, sources=whence, reseed=reseed)

    def _read(self, chosen: np.ndarray) -> torch.Tensor:
        import torch

        rows = torch.empty((len(chosen), self._width), dtype=torch.uint8, device=self._device)
        self._call("read_states", chosen, rows=rows)
        return rows

    def _call(
        self,
        kernel: str,
        chosen: np.ndarray,
        rows: torch.Tensor | None = None,
        sources: np.ndarray | None = None,
        reseed: bool = False,
    ) -> None:
        """Run a kernel on some envs.

        Args:
            kernel: its name.
            chosen: the envs' indices.
            rows: one for each of them, or one for all.
            sources: indices, likewise; the kernel reads neither or one of them.
            reseed: see ``copy``.
        """
        import torch

        def place(numbers: torch.Tensor, step: int) -> tuple[int, int]:
            return numbers.data_ptr(), step if len(numbers) == len(chosen) else 0

        envs = torch.from_numpy(chosen).to(self._device)
        whence = envs if sources is None else torch.from_numpy(sources).to(self._device)
        at_rows = (0, 0) if rows is None else place(rows, self._width)
        self._values[:] = (len(chosen), envs.data_ptr(), *at_rows, *place(whence, 1), reseed, 0)
        self._job.copy_(self._host_job)
        self._run[kernel]()
