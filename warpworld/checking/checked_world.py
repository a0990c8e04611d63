"""A world of a check, and the bytes that its resets leave unwritten."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from warpworld.checking.accesses import Accesses
from warpworld.checking.check_backend import CheckBackend, KernelStoppedError
from warpworld.checking.native import FORWARD
from warpworld.environment import Environment, Kernel, observation_arrays
from warpworld.managers import RunKernel
from warpworld.world import World

KernelCall = Callable[[RunKernel], None]


class CheckedWorld:
    """A world that is stepped on the check backend.

    Attributes:
        world: see above.
        envs: its envs, among those of the check.
        backend: its backend.
        accesses: reports its accesses.
        before_kernel, after_kernel: called before and after each kernel, in order.
        resets: what its resets run.
        left: by array, the first byte that a reset has left as it was, and the step; of arrays without observations,
            as a kernel of the episode before had written it.
        stopped: the kernel that was ended, after which the world is stepped no more.

    Args:
        environment: what kind of world.
        num_envs: how many envs.
        seed: of its random numbers.
        first_env: global index of env 0.
        order: in which agents run.
        watching: whether accesses are looked at.
        envs_per_warp: 0 for one env a block.
        speaks: whether what its kernels print is seen.
    """

    def __init__(
        self,
        environment: Environment,
        num_envs: int,
        seed: int,
        first_env: int = 0,
        order: int = FORWARD,
        watching: bool = True,
        envs_per_warp: int = 0,
        speaks: bool = False,
    ) -> None:
        entries = [*environment.phases(), *environment.resets()]
        self._all_kernels = not any(callable(entry) for entry in entries)
        self.backend = CheckBackend(order, watching, python_writes=not self._all_kernels, speaks=speaks)
        self.world = World(
            environment, num_envs, seed=seed, first_env=first_env, envs_per_warp=envs_per_warp, backend=self.backend
        )
        self.envs = slice(first_env, first_env + num_envs)
        self.kernels: dict[int, str] = {}
        self.accesses = Accesses(self.backend, self.world.data, self.kernels)
        self.before_kernel: list[KernelCall] = []
        self.after_kernel: list[KernelCall] = []
        self.left: dict[str, tuple[int, int]] = {}
        self.stopped: KernelStoppedError | None = None
        self._reset_began = 0  # when the resets of this move began; 0 if there are none
        observations = observation_arrays(self.world.groups)
        self.observations = [array.name for array in observations]
        self._own = [
            array.name
            for array in (*environment.arrays(), *observations)
            if array.on_reset == "kernel" and array.per != "world" and not array.read_only and not array.scratch
        ]
        self.resets = [entry.name if isinstance(entry, Kernel) else entry for entry in environment.resets()]
        self.backend.observer = _Watcher(self)

    def move(self, act: Callable[[CheckedWorld], None]) -> None:
        """Carry out a step or a reset, unless a kernel was ended."""
        if self.stopped is not None:
            return
        self._reset_began = 0
        try:
            act(self)
        except KernelStoppedError as stopped:
            self.stopped = stopped
            return
        if self._reset_began:
            self._end_episodes(self._reset_began)

    def close(self) -> None:
        """Free the check runtime's records of the world."""
        if self.backend.runtime is not None:
            self.backend.runtime.close()

    def writable(self, step: RunKernel) -> list[str]:
        """The arrays that a kernel may write, and what objects have saved where it takes their addresses."""
        source = step.module.source
        signature = next(signature for signature in source.signatures if signature.name == step.name)
        arguments = zip(signature.leaves, step.arguments, strict=True)
        bound = {argument.array: leaf.parameter.const for leaf, argument in arguments if argument.array is not None}
        saved = ["resident_state"] if bound.pop("residents", None) is not None else []
        return [array for array, is_const in bound.items() if not is_const] + saved

    def began_reset(self) -> None:
        """Called before the first reset kernel of a move."""
        if not self._reset_began and self.backend.runtime is not None:
            self._reset_began = self.backend.runtime.now()

    def _end_episodes(self, began: int) -> None:
        """Note the bytes that the resets of this move have not written: they are of the episodes before."""
        runtime = self.backend.runtime
        if runtime is None or not self._all_kernels:
            return
        envs = np.flatnonzero(self.world.data.numpy("active"))
        for index, array in enumerate(runtime.arrays):
            for env in envs if array.name in self._own else ():
                by_kernels = array.name not in self.observations
                first = runtime.reset(index, int(env) * array.env_bytes, array.env_bytes, began, by_kernels)
                if first is not None:
                    self.left.setdefault(array.name, (first, self.backend.world_step))


class _Watcher:
    """Called by the backend for each launch."""

    def __init__(self, checked: CheckedWorld) -> None:
        self._checked = checked

    def before_kernel(self, step: RunKernel) -> None:
        self._checked.kernels[step.index] = step.name
        if step.active_only:
            self._checked.began_reset()
        for call in self._checked.before_kernel:
            call(step)

    def after_kernel(self, step: RunKernel) -> None:
        self._checked.world.save_residents()
        for call in self._checked.after_kernel:
            call(step)
