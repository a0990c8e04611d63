"""Envs that are stepped one at a time and are ready in any order: by workers in C++, or in threads of Python."""

from __future__ import annotations

import weakref
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from queue import SimpleQueue
from typing import Any, Protocol

import numpy as np

from warpworld.adapters.pool_rows import Outcome, Rows, joined
from warpworld.adapters.views import in_batches_of_one
from warpworld.environment import Kernel
from warpworld.errors import DeclarationError
from warpworld.managers import OneByOne
from warpworld.world import World


class SingleSteps(Protocol):
    """Envs of which any may be stepped while others are under way.

    Attributes:
        rows: describe an env's spaces.
        worlds: all envs in one, or one of each env.
    """

    rows: Rows
    worlds: list[World]

    def reset(self) -> None:
        """Wait for all envs under way, begin new episodes in all, and let all be ready, in order.

        Raises:
            WarpworldError: of a step that was not received.
        """

    def send(self, actions: Any, envs: np.ndarray) -> None:
        """Let envs (indices) be stepped, none of which is under way, with actions in their order.

        Raises:
            StoreError: actions have another shape or kind, or are illegal; none of the envs is stepped.
        """

    def receive(self, count: int) -> np.ndarray:
        """Wait for so many of the envs under way, in the order in which they are ready: (count,) int32.

        Raises:
            WarpworldError: of a step.
        """

    def outcome(self, envs: np.ndarray) -> Outcome:
        """Results of envs that are not under way."""

    def close(self) -> None:
        """Wait for all envs under way, and free the memory."""


def single_steps(world: World) -> SingleSteps:
    """The envs of a world, one at a time.

    Args:
        world: not yet sealed; it is closed where each env gets a world of its own.

    Raises:
        DeclarationError: it is on a GPU, or a kernel touches other envs' parts.
        StoreError: the environment cannot be copied.
    """
    if world.device.type != "cpu":
        raise DeclarationError(
            f"order='ready' needs device='cpu', and this world is on {world.device.type}, where a launch steps all "
            "envs; use order='sent'"
        )
    environment = world.environment
    for phase in (*environment.phases(), *environment.resets()):
        if isinstance(phase, Kernel) and not phase.own_env_only:
            raise DeclarationError(
                f"{environment.name}: order='ready' steps each env by itself, and kernel '{phase.name}' touches other "
                "envs (own_env_only=False); use order='sent'"
            )
    return ByWorkers(world) if world.has_single_steps else InThreads(world)


class ByWorkers:
    """Envs of one world, which its workers step; see ``SingleSteps``.

    Args:
        world: not yet sealed.
    """

    def __init__(self, world: World) -> None:
        self.worlds, self.rows = [world], Rows(world, copies=False)
        self._steps = world.one_by_one()
        weakref.finalize(self, _wait, self._steps, world)  # where it is not closed

    def reset(self) -> None:
        """Begin new episodes in all envs."""
        self._steps.settle()
        self.worlds[0].reset()

    def send(self, actions: Any, envs: np.ndarray) -> None:
        """Let envs be stepped."""
        self.rows.batch.write_some(actions, envs)
        self._steps.send(envs)

    def receive(self, count: int) -> np.ndarray:
        """Wait for some of the envs under way."""
        return self._steps.receive(count)

    def outcome(self, envs: np.ndarray) -> Outcome:
        """Results of envs that are not under way."""
        return self.rows.outcome(envs, envs)

    def close(self) -> None:
        """Free the memory."""
        self._steps.close()
        self.worlds[0].close()


def _wait(steps: OneByOne, _world: World) -> None:
    """Wait for envs under way, before the memory of their world is freed."""
    steps.close()


class InThreads:
    """Envs that have a world of their own each and step in threads of Python; see ``SingleSteps``.

    Args:
        world: not yet sealed; it is closed.
    """

    def __init__(self, world: World) -> None:
        self.worlds = [world.part(env, 1) for env in range(world.num_envs)]
        self._threads = ThreadPoolExecutor(world.num_workers, thread_name_prefix="warpworld-env")
        world.close()
        self._rows = list(self._threads.map(Rows, self.worlds))
        self.rows = self._rows[0]
        self._done: SimpleQueue[tuple[int, BaseException | None]] = SimpleQueue()
        self._ready: list[int] = []  # of those, taken and not received
        self._under_way = 0

    def reset(self) -> None:
        """Begin new episodes in all envs."""
        error = self._settle()
        if error is not None:
            raise error
        list(self._threads.map(lambda world: world.reset(), self.worlds))
        self._ready = list(range(len(self.worlds)))

    def send(self, actions: Any, envs: np.ndarray) -> None:
        """Let envs be stepped."""
        space = self.rows.batch.single_action_space
        for env, action in zip(envs, in_batches_of_one(actions, len(envs), space), strict=True):
            self._rows[env].batch.write(action)
        for env in envs.tolist():
            self._under_way += 1
            self._threads.submit(self._rows[env].batch.step).add_done_callback(partial(self._put, env))

    def _put(self, env: int, step: Future[None]) -> None:
        self._done.put((env, step.exception()))

    def receive(self, count: int) -> np.ndarray:
        """Wait for some of the envs under way."""
        while len(self._ready) < count:
            error = self._take()
            if error is not None:
                self._settle()
                raise error
        received, self._ready = self._ready[:count], self._ready[count:]
        return np.array(received, np.int32)

    def _take(self) -> BaseException | None:
        """Wait for an env; its error."""
        env, error = self._done.get()
        self._under_way -= 1
        self._ready.append(env)
        return error

    def _settle(self) -> BaseException | None:
        """Wait for all envs under way; the first of their errors."""
        errors = [self._take() for _ in range(self._under_way)]
        return next((error for error in errors if error is not None), None)

    def outcome(self, envs: np.ndarray) -> Outcome:
        """Results of envs that are not under way."""
        return joined([self._rows[env].outcome(slice(None), envs[k : k + 1]) for k, env in enumerate(envs.tolist())])

    def close(self) -> None:
        """Free the memory."""
        self._settle()
        self._threads.shutdown()
        for world in self.worlds:
            world.close()
