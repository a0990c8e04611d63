"""States that envs keep outside of the store: taken into arrays of it, and put back, by the environment."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from warpworld.environment import Array, Environment
from warpworld.errors import StoreError
from warpworld.managers import DataManager
from warpworld.world.residents import Saving

OUTSIDE_STATE, OUTSIDE_SIZE = "outside_state", "outside_size"


def add_outside_arrays(data: DataManager, most_bytes: int) -> None:
    """Add the arrays of a world whose envs keep up to ``most_bytes`` bytes each outside of the store."""
    doc = "what the env keeps outside of the store"
    data.add(Array(OUTSIDE_STATE, "uint8", (most_bytes,), per="env", initial=0, doc=doc))
    data.add(Array(OUTSIDE_SIZE, "int32", per="env", initial=0, doc="bytes of that"))


class OutsideStates:
    """States that a world's envs keep outside of the store, behind the methods of ``Residents``.

    Args:
        data: a sealed store with the arrays of ``add_outside_arrays``.
        environment: takes the states, and puts them back.
    """

    def __init__(self, data: DataManager, environment: Environment) -> None:
        self._data, self._environment = data, environment

    def make(self) -> None:
        """Do nothing: the environment has made its envs in ``open``."""

    def destroy(self) -> None:
        """Do nothing: the environment's ``close`` lets go of its envs."""

    def try_states(self) -> None:
        """Do nothing: an environment that says it has states has tried them."""

    def save(self, envs: np.ndarray | None = None) -> None:
        """Write states into the store.

        Args:
            envs: indices, whose; None for all.

        Raises:
            StoreError: one cannot be taken, or has more bytes than there is room for.
        """
        import torch

        chosen = self._chosen(envs)
        room = self._data[OUTSIDE_STATE].shape[1]
        rows = np.zeros((len(chosen), room), np.uint8)
        states = self._environment.save_envs(chosen)
        for row, env, state in zip(rows, chosen, states, strict=True):
            if len(state) > room:
                raise StoreError(
                    f"{self._environment.name}: the state of env {env} has {len(state):,} bytes, and there is room for "
                    f"{room:,}; set env.state_bytes={2 * len(state)}, also of a run that is resumed"
                )
            row[: len(state)] = np.frombuffer(state, np.uint8)
        sizes = np.array([len(state) for state in states], np.int32)
        device = self._data[OUTSIDE_STATE].device
        self._data[OUTSIDE_STATE][chosen] = torch.from_numpy(rows).to(device)
        self._data[OUTSIDE_SIZE][chosen] = torch.from_numpy(sizes).to(device)

    def load(self, envs: np.ndarray | None = None) -> None:
        """Put back the states that are in the store; arguments as of ``save``.

        Raises:
            StoreError: one is of other envs or of another version, or damaged.
        """
        chosen = self._chosen(envs)
        rows, sizes = self._data[OUTSIDE_STATE][chosen].cpu().numpy(), self._data[OUTSIDE_SIZE][chosen].cpu().tolist()
        self._environment.load_envs(chosen, [row[:size].tobytes() for row, size in zip(rows, sizes, strict=True)])

    def copy_from(self, other: Saving, copy: Callable[[], None]) -> None:
        """Run what copies the contents of another world's store, and make these envs as its are."""
        other.save()
        copy()
        self.load()

    def _chosen(self, envs: np.ndarray | None) -> list[int]:
        return list(range(len(self._data[OUTSIDE_SIZE]))) if envs is None else np.asarray(envs).tolist()
