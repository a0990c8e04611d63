"""A World under EnvPool's protocol: batches of envs are sent actions and received in turn."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any

import numpy as np

from warpworld.adapters.pool_rows import Outcome, Rows
from warpworld.adapters.rules import PROTOCOLS, Copied
from warpworld.adapters.views import in_order
from warpworld.errors import DeclarationError, StoreError
from warpworld.world import World

if TYPE_CHECKING:
    from typing_extensions import Self


class Pool(Copied):
    """Envs in batches: one batch is stepped while a policy works on the next.

    ``send`` hands the actions of a batch to a thread that steps it, ``recv`` waits for the batch that was sent first.
    Batches come back in the order sent, and every env follows the trajectory that it has in a single world. If one
    batch holds all envs, ``step`` and ``reset`` also accept some of them.

    Attributes:
        num_envs: envs in all.
        batch_size: envs of a batch.
        observation_space: of one env; with several agents, their observations together.
        action_space: of one env.
        all_env_ids: (num_envs,) int32.
        is_async: whether a batch holds fewer than all envs.

    Args:
        world: not yet sealed; its parts are made from it.
        batch_size: a divisor of the number of envs; by default all of them.

    Raises:
        DeclarationError: ``batch_size`` is not a divisor, or a batch cannot hold the world's agents.
    """

    _bound = ("_rows", "_batches", "_thread", "_sent")

    def __init__(self, world: World, *, batch_size: int | None = None) -> None:
        PROTOCOLS["pool"].check(world)
        # batches of equal size
        size = world.num_envs if batch_size is None else batch_size
        if not isinstance(size, (int, np.integer)) or size < 1 or world.num_envs % size:
            raise DeclarationError(f"batch_size={size} does not divide num_envs={world.num_envs}")
        # a world for each batch
        self.num_envs, self.batch_size, self.is_async = world.num_envs, int(size), size < world.num_envs
        starts = range(0, self.num_envs, self.batch_size)
        self.worlds = [world.part(first, self.batch_size) for first in starts] if self.is_async else [world]
        self._sent: deque[tuple[int, Future[None]]] = deque()  # numbers of batches
        self._bind()
        # spaces and numbers of envs
        self.observation_space = self._batches[0].single_observation_space
        self.action_space = self._batches[0].single_action_space
        self.all_env_ids = np.arange(self.num_envs, dtype=np.int32)
        self._ids = np.split(self.all_env_ids.copy(), len(self.worlds))
        self._is_closed = False

    def _bind(self) -> None:
        self._rows = [Rows(world) for world in self.worlds]
        self._batches = [rows.batch for rows in self._rows]
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="warpworld-pool")

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Copy the whole, as ``Copied`` does; batches that were sent are waited for, and can be received from both."""
        wait([future for _, future in self._sent])
        copied = super().__deepcopy__(memo)
        copied._sent = deque((number, _same(future)) for number, future in self._sent)
        return copied

    def __len__(self) -> int:
        return self.num_envs

    # ---- batches in turn ---------------------------------------------------------------------------------------------
    def async_reset(self) -> None:
        """Begin new episodes in all envs, after the batches already sent; each is received in its turn."""
        while self._sent:
            self._sent.popleft()[-1].result()
        for number in range(len(self._ids)):
            self._submit(number, self._reset_of(number))

    def send(self, action: Any, env_id: np.ndarray | None = None) -> None:
        """Start stepping a batch.

        Args:
            action: of each env of ``env_id``, in that order.
            env_id: the envs of one batch, as ``recv`` returned them; by default all, if they are one batch.

        Raises:
            StoreError: they are not a batch, they were sent already, or the actions have another shape or kind.
        """
        number, order = self._batch_of(env_id)
        batch = self._batches[number]
        batch.write(in_order(action, order, batch.single_action_space))
        self._submit(number, batch.step)

    def recv(self) -> Outcome:
        """The batch that was sent first: observations, rewards, terminated, truncated and infos.

        Infos hold "env_id", "elapsed_step" and, where the environment has them, "agent_mask", "agent_terminated" and
        "agent_truncated", (envs, agents) bool.

        Raises:
            StoreError: nothing was sent, or an action was illegal.
            KernelError: a kernel faulted.
        """
        if not self._sent:
            raise StoreError("recv(): nothing was sent; call async_reset() or send() first")
        number, future = self._sent.popleft()
        future.result()
        return self._outcome(number, self._ids[number])

    # ---- as one call -------------------------------------------------------------------------------------------------
    def step(self, action: Any, env_id: np.ndarray | None = None) -> Outcome:
        """``send`` and ``recv``; if one batch holds all envs, also for some of them."""
        if env_id is None or self.is_async or len(env_id) == self.num_envs:
            self.send(action, env_id)
            return self.recv()
        chosen = self._chosen(env_id)
        batch, world = self._batches[0], self.worlds[0]
        batch.write_some(action, chosen)
        batch.step_some(_mask(world, chosen))
        return self._outcome(0, chosen)

    def reset(self, env_id: np.ndarray | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin new episodes: in all envs, of which the first batch is received; or in some, if they are one batch."""
        if env_id is None:
            self.async_reset()
            observations, *_, infos = self.recv()
            return observations, infos
        if self.is_async:
            raise StoreError("reset(): env_id needs batch_size=num_envs; leave env_id out")
        chosen = self._chosen(env_id)
        self._thread.submit(self.worlds[0].reset, _mask(self.worlds[0], chosen)).result()
        self._batches[0].pull()
        observations, *_, infos = self._outcome(0, chosen)
        return observations, infos

    def close(self) -> None:
        """Wait for what was sent, and free the memory."""
        self._is_closed = True
        self._thread.shutdown()
        self._sent.clear()
        for world in self.worlds:
            world.close()

    # ---- inside ------------------------------------------------------------------------------------------------------
    def _submit(self, number: int, run: Callable[[], None]) -> None:
        if self._is_closed:
            raise StoreError("the pool is closed")
        self._sent.append((number, self._thread.submit(run)))

    def _reset_of(self, number: int) -> Callable[[], None]:
        world, batch = self.worlds[number], self._batches[number]

        def reset() -> None:
            world.reset()
            batch.pull()

        return reset

    def _batch_of(self, env_id: np.ndarray | None) -> tuple[int, np.ndarray]:
        """The number of a batch that is not under way, and the order in which its envs lie in ``env_id``."""
        if env_id is None:
            if self.is_async:
                raise StoreError(f"send(): env_id is missing; name the {self.batch_size} envs that the actions are for")
            number, order = 0, np.arange(self.num_envs)
        else:
            ids = np.asarray(env_id)
            number, order = int(ids.min()) // self.batch_size if ids.size else 0, np.argsort(ids, kind="stable")
            if number >= len(self._ids) or not np.array_equal(ids[order], self._ids[number]):
                raise StoreError("send(): env_id is not a batch; send together the envs that recv() returned together")
        if any(number == sent for sent, _ in self._sent):
            first, last = self._ids[number][0], self._ids[number][-1]
            raise StoreError(f"send(): envs {first}-{last} are still stepping; recv() them first")
        return number, order

    def _chosen(self, env_id: np.ndarray) -> np.ndarray:
        ids = np.asarray(env_id)
        if ids.dtype.kind not in "iu" or ids.ndim != 1 or len(set(ids.tolist())) != len(ids):
            raise StoreError(f"env_id: {ids.tolist()}, expected different whole numbers")
        if not len(ids) or ids.min() < 0 or ids.max() >= self.num_envs:
            raise StoreError(f"env_id: {ids.tolist()}, expected envs of 0 to {self.num_envs - 1}")
        if self._sent:
            raise StoreError("envs are still stepping; recv() them first")
        return ids.astype(np.int32)

    def _outcome(self, number: int, ids: np.ndarray) -> Outcome:
        some = slice(None) if len(ids) == self.batch_size else ids - self._ids[number][0]
        return self._rows[number].outcome(some, ids)


def _same(done: Future[None]) -> Future[None]:
    """Another future that has ended in the same way."""
    copied: Future[None] = Future()
    error = done.exception()
    if error is None:
        copied.set_result(None)
    else:
        copied.set_exception(error)
    return copied


def _mask(world: World, chosen: np.ndarray) -> Any:
    import torch

    mask = torch.zeros(world.num_envs, dtype=torch.bool)
    mask[torch.from_numpy(chosen).long()] = True
    return mask.to(world.device)
