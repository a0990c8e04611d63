"""Objects of a C++ class that hold the state of envs: made and destroyed with their world, saved and loaded by it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from warpworld.environment import Array, Kernel
from warpworld.managers import DataManager, FunctionManager, RunKernel, Step

KERNELS = ("make_residents", "try_residents", "save_residents", "load_residents", "destroy_residents")
_LANES = 1  # of an env, in each of them


def add_resident_arrays(data: DataManager, most_bytes: int) -> None:
    """Add the arrays of a world whose envs have objects that save up to ``most_bytes`` bytes each."""
    data.add(
        Array("resident_state", "uint8", (most_bytes,), per="env", initial=0, doc="what the env's object has saved")
    )
    data.add(Array("resident_size", "int32", per="env", initial=0, doc="bytes of that"))
    own = Array("residents", "uint64", per="env", initial=0, doc="address of the env's object")
    data.add(own, kept="derived")  # in no snapshot, since addresses are of this process


def resident_kernels() -> list[Kernel]:
    """The kernels behind an environment's file, see ``residents.cu``."""
    return [Kernel(name, threads_per_env=_LANES) for name in KERNELS]


class Saving(Protocol):
    """An object that writes states of envs into the store."""

    def save(self) -> None:
        """Write those of all envs."""


class Residents:
    """The objects of a world's envs; none before ``make`` and after ``destroy``.

    The store holds what they have saved: ``save`` writes it, and ``load`` reads it. Methods that take the store's
    contents save first, and methods that replace them load afterwards.

    Args:
        data: a sealed store.
        functions: the environment's kernels, built with those of ``resident_kernels``.
        program: ``World.program``.
    """

    def __init__(
        self,
        data: DataManager,
        functions: FunctionManager,
        program: Callable[[list[Step]], Callable[[], None]],
    ) -> None:
        def frozen(name: str, active_only: bool = False) -> Callable[[], None]:
            step: RunKernel = functions.step(name, 0, active_only=active_only)
            return program([step])

        self._data = data
        self._make, self._try, self._save, self._load, self._destroy = map(frozen, KERNELS)
        self._save_some, self._load_some = (frozen(name, True) for name in ("save_residents", "load_residents"))
        self._made = self._saved = False

    def make(self) -> None:
        """Make an object for each env.

        Raises:
            KernelError: one cannot be made.
        """
        self._made = True  # some may be, where one cannot
        self._make()

    def try_states(self) -> None:
        """Save each object, load it into another one and save that.

        Raises:
            KernelError: they do not save the same, or more than fits the store.
        """
        self._try()

    def save(self, envs: np.ndarray | None = None) -> None:
        """Write the states of objects into the store.

        Args:
            envs: indices, whose; None for all.
        """
        if not self._saved:  # by now objects hold more than after the first reset
            self._saved = True
            self._try()
        self._run(self._save, self._save_some, envs)

    def load(self, envs: np.ndarray | None = None) -> None:
        """Make objects as the store says; arguments as of ``save``."""
        self._run(self._load, self._load_some, envs)

    def copy_from(self, other: Saving, copy: Callable[[], None]) -> None:
        """Run what copies the contents of another world's store, and make these objects as its are."""
        other.save()
        own = self._data["residents"].clone()
        copy()
        self._data["residents"] = own
        self.load()

    def destroy(self) -> None:
        """Destroy the objects; a second call does nothing."""
        if self._made:
            self._made = False
            self._destroy()

    def _run(self, every: Callable[[], None], some: Callable[[], None], envs: np.ndarray | None) -> None:
        if envs is None:
            every()
        else:
            active = np.zeros(len(self._data["active"]), bool)
            active[envs] = True
            self._data["active"] = active
            some()
