"""Updates of all algorithms: behind their rollout, or beside the next one."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from types import TracebackType
from typing import Any

import torch
from torch import Tensor

from warpworld.errors import ConfigError
from warpworld.trainers.algorithms import Algorithm, Progress
from warpworld.trainers.measurements import Measurements, Metrics
from warpworld.trainers.overlap.acting_policies import ActingPolicies
from warpworld.trainers.overlap.beside import Beside
from warpworld.trainers.spans import UPDATE, span


class Updates:
    """The updates of a run's algorithms from one rollout at a time.

    Use it in a ``with`` block. Without overlap ``finish`` runs them. With it ``begin`` also starts them beside the next
    rollout. They read the same numbers either way.

    Attributes:
        seconds: of each algorithm's latest update, as metrics.
        waited: seconds that the caller has waited for updates since ``begin``.

    Args:
        algorithms: by policy.
        measurements: takes what updates give.
        products: contexts of the run's precision.
        acting: copies of the policies that act; None without overlap.
        beside: runs updates beside rollouts.
        random_state: gives the state of torch's generator of the device.
        wait: waits for the device.
        together: gives a context in which updates may be begun only, and then run as one CUDA graph at its end; with
            a list of those.
    """

    def __init__(
        self,
        algorithms: Mapping[str, Algorithm],
        measurements: Measurements,
        products: Callable[[], AbstractContextManager[Any]],
        acting: ActingPolicies | None,
        beside: Beside,
        random_state: Callable[[], Tensor],
        wait: Callable[[], None],
        together: Callable[[], AbstractContextManager[Sequence[object] | None]] = nullcontext,
    ) -> None:
        self._algorithms, self._measurements, self._products = algorithms, measurements, products
        self._acting, self._beside, self._together = acting, beside, together
        self._random_state, self._wait = random_state, wait
        self._progress: Progress | None = None
        self._random: Tensor | None = None  # state of torch's generator when updates were begun
        self.seconds = Metrics()
        self.waited = 0.0

    @property
    def overlap(self) -> bool:
        """Whether updates may run beside a rollout."""
        return self._acting is not None

    @property
    def are_due(self) -> bool:
        """Whether there is a rollout that is not learnt from."""
        return self._progress is not None

    @property
    def torch_threads(self) -> int:
        """Threads of torch that the run has."""
        shared = self._beside.torch_threads
        return torch.get_num_threads() if shared is None else shared

    # ---- threads -----------------------------------------------------------------------------------------------------
    def __enter__(self) -> None:
        """Let updates run beside rollouts."""
        if self._acting is not None:
            self._beside.open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End an update that still runs, since what ran beside it failed; an error of its own comes first."""
        found = self._beside.close()
        if found is not None and not isinstance(error, KeyboardInterrupt):
            raise found from error

    # ---- updates -----------------------------------------------------------------------------------------------------
    def take(self, fraction: float, env_steps: int, generator: torch.Generator) -> None:
        """Take over the rollout that has just been recorded; with overlap another one may follow at once.

        Args:
            fraction: of the run that is done, in [0, 1].
            env_steps: env steps done.
            generator: on the CPU, what permutations are drawn from.
        """
        progress = self._progress = Progress(fraction, env_steps, generator)
        if self._acting is None:
            return
        self._acting.advance()
        for name, algorithm in self._algorithms.items():
            algorithm.take(progress, self._acting.acted[name])

    def begin(self, is_timed: bool) -> None:
        """Begin the updates that are due, beside what follows, if they may run beside it.

        Args:
            is_timed: whether ``seconds`` are wanted.
        """
        self.waited = 0.0
        if self.overlap and self._progress is not None:
            self._random = self._random_state()
            self._beside.start(self._next(is_timed))

    def join(self) -> None:
        """Wait for updates that were begun.

        Raises:
            ConfigError: something drew from torch's global generator meanwhile, so that the order of draws is open.
            BaseException: what they raised.
        """
        began = time.perf_counter()
        self._beside.join()
        self.waited += time.perf_counter() - began
        random, self._random = self._random, None
        if random is not None and not torch.equal(random, self._random_state()):
            raise ConfigError(
                "trainer.overlap is true, but a model or an environment draws from torch's global generator, which "
                "rollouts and updates would share in no fixed order; let it draw from a torch.Generator of its own, or "
                "set trainer.overlap to false"
            )

    def finish(self, is_timed: bool) -> None:
        """Run the updates that are due, and wait for them; ``is_timed`` says whether ``seconds`` are wanted."""
        began = time.perf_counter()
        if self.overlap:  # where updates beside a rollout run
            self._beside.start(self._next(is_timed))
            self._beside.join()
        else:
            self._next(is_timed)()
        self.waited += time.perf_counter() - began

    def _next(self, is_timed: bool) -> Callable[[], None]:
        """The updates that are due; they are due no more."""
        assert self._progress is not None
        progress, self._progress = self._progress, None
        return partial(self._learn, progress, is_timed)

    def _learn(self, progress: Progress, is_timed: bool) -> None:
        self.seconds = Metrics()
        began, spent, found = time.perf_counter(), dict[str, float](), dict[str, Mapping[str, Tensor]]()
        with self._products(), self._together() as begun:
            for name, algorithm in self._algorithms.items():
                own_began = time.perf_counter()
                with span(UPDATE, name):
                    found[name] = algorithm.learn(progress)
                if is_timed:
                    self._wait()
                    spent[name] = time.perf_counter() - own_began
            are_common = bool(begun)
        for name, algorithm in self._algorithms.items():
            self._measurements.take(name, found[name], algorithm.charts())
        if not is_timed:
            return
        self._wait()  # for those that have just run together
        whole = time.perf_counter() - began
        self.seconds = {f"perf/{name}/update_s": whole if are_common else own for name, own in spent.items()}
