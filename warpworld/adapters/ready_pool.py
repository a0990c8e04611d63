"""A World under EnvPool's protocol, whose batches hold the envs that are ready first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from warpworld.adapters.pool_rows import Outcome
from warpworld.adapters.rules import PROTOCOLS, Copied
from warpworld.adapters.single_steps import single_steps
from warpworld.errors import DeclarationError, StoreError
from warpworld.world import World

if TYPE_CHECKING:
    from typing_extensions import Self


class ReadyPool(Copied):
    """Envs that are stepped one at a time; a batch holds those that are ready first.

    An env that takes long holds no other back. Which envs a batch holds depends on timing, and the course of each env
    does not: it is that of a single world.

    Attributes:
        num_envs: envs in all.
        batch_size: envs that ``recv`` returns.
        observation_space: of one env; with several agents, their observations together.
        action_space: of one env.
        all_env_ids: (num_envs,) int32.
        worlds: the world, or one of each env where a step has phases in Python.
        is_async: whether a batch holds fewer than all envs.

    Args:
        world: on a CPU, and not yet sealed.
        batch_size: 1 to the number of envs; by default all of them.

    Raises:
        DeclarationError: ``batch_size`` is out of bounds, the world cannot step single envs, or torch was asked for
            deterministic algorithms.
        StoreError: the environment cannot be copied.
    """

    def __init__(self, world: World, *, batch_size: int | None = None) -> None:
        import torch

        PROTOCOLS["pool"].check(world)
        size = world.num_envs if batch_size is None else batch_size
        if not isinstance(size, (int, np.integer)) or not 1 <= size <= world.num_envs:
            raise DeclarationError(f"batch_size={size}: expected 1 to num_envs={world.num_envs}")
        if torch.are_deterministic_algorithms_enabled():
            raise DeclarationError(
                "order='ready': timing decides which envs a batch holds, and torch.use_deterministic_algorithms(True) "
                "asks for an exact run; use order='sent'"
            )
        self.num_envs, self.batch_size, self.is_async = world.num_envs, int(size), size < world.num_envs
        self._envs = single_steps(world)
        self.worlds, batch = self._envs.worlds, self._envs.rows.batch
        self.observation_space, self.action_space = batch.single_observation_space, batch.single_action_space
        self.all_env_ids = np.arange(self.num_envs, dtype=np.int32)
        self._are_held = np.ones(self.num_envs, np.bool_)  # by the caller; the others are under way, or ready
        self._is_closed = False

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Refuse to be copied: a copy would receive other batches."""
        raise StoreError(
            "order='ready': timing decides which envs a batch holds, so no copy continues as this pool does; "
            "use order='sent'"
        )

    def __len__(self) -> int:
        return self.num_envs

    # ---- batches -----------------------------------------------------------------------------------------------------
    def async_reset(self) -> None:
        """Begin new episodes in all envs, which are then ready in the order of their numbers.

        Raises:
            KernelError: a step faulted that was not received.
        """
        self._require_open()
        self._are_held[:] = True
        self._envs.reset()
        self._are_held[:] = False

    def send(self, action: Any, env_id: np.ndarray | None = None) -> None:
        """Start stepping some envs.

        Args:
            action: of each env of ``env_id``, in that order.
            env_id: envs that ``recv`` returned and that were not sent since; by default all envs.

        Raises:
            StoreError: an env is under way or named twice, there is no such env, or an action has another shape or
                kind or is illegal. None of the envs is stepped then.
        """
        self._require_open()
        ids = self._ids(env_id)
        self._envs.send(action, ids)
        self._are_held[ids] = False

    def recv(self) -> Outcome:
        """The ``batch_size`` envs that are ready first: observations, rewards, terminated, truncated and infos.

        Infos are those of ``Pool``.

        Raises:
            StoreError: fewer envs are under way.
            KernelError: a kernel faulted. Some of the envs under way have not been stepped then.
        """
        return self._received(self.batch_size)

    def _received(self, count: int) -> Outcome:
        self._require_open()
        sent = self.num_envs - int(np.count_nonzero(self._are_held))
        if sent < count:
            raise StoreError(
                f"recv(): {sent} envs are under way, and a batch has {count}; call async_reset() or send() first"
            )
        envs = self._envs.receive(count)
        self._are_held[envs] = True
        return self._envs.outcome(envs)

    # ---- as one call -------------------------------------------------------------------------------------------------
    def step(self, action: Any, env_id: np.ndarray | None = None) -> Outcome:
        """``send`` and ``recv``; if one batch holds all envs, also for some of them."""
        self.send(action, env_id)
        return self._received(self.batch_size if self.is_async or env_id is None else len(env_id))

    def reset(self, env_id: np.ndarray | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin new episodes in all envs, of which the first batch is received."""
        if env_id is not None:
            raise StoreError("reset(): env_id needs order='sent'; leave env_id out")
        self.async_reset()
        observations, *_, infos = self.recv()
        return observations, infos

    def close(self) -> None:
        """Wait for all envs under way, and free the memory; a second call does nothing."""
        if not self._is_closed:
            self._is_closed = True
            self._envs.close()

    # ---- inside ------------------------------------------------------------------------------------------------------
    def _require_open(self) -> None:
        if self._is_closed:
            raise StoreError("the pool is closed")

    def _ids(self, env_id: np.ndarray | None) -> np.ndarray:
        """Envs that the caller holds, as they are given."""
        if env_id is None and self.is_async:
            raise StoreError("send(): env_id is missing; name the envs that the actions are for")
        ids = self.all_env_ids if env_id is None else np.asarray(env_id)
        if ids.dtype.kind not in "iu" or ids.ndim != 1 or len(set(ids.tolist())) != len(ids):
            raise StoreError(f"send(): env_id is {ids.tolist()}, expected different whole numbers")
        if len(ids) and not 0 <= ids.min() <= ids.max() < self.num_envs:
            raise StoreError(f"send(): env_id is {ids.tolist()}, expected envs of 0 to {self.num_envs - 1}")
        if not self._are_held[ids].all():
            first = ids[~self._are_held[ids]][0]
            raise StoreError(f"send(): env {first} is under way; recv() it first")
        return ids
