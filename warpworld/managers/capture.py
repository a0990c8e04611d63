"""Steps that a device repeats without Python: captured into a graph once, checked, then replayed."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from warpworld.errors import WarpworldError, said
from warpworld.managers.backend import Backend
from warpworld.managers.data_manager import DataManager

if TYPE_CHECKING:
    import torch

logger = logging.getLogger(__name__)
TRIES = 3  # of work that may vary: a number may come out the same twice by chance


def captured(
    backend: Backend, data: DataManager, run: Callable[[], None], tensors: Sequence[torch.Tensor] = ()
) -> Callable[[], None]:
    """A function that does what ``run`` does, without Python where the backend captures graphs.

    The graph is checked before it is trusted: capturing must leave store and tensors as they were, and the first replay
    must leave in them, bit for bit, what ``run`` does. Where it does not, or where ``run`` does what a graph cannot
    hold, ``run`` itself is returned, with a warning. Results that differ from run to run are no fault of the graph:
    cuDNN adds the gradients of convolutions up in any order. If several runs differ among themselves in the same
    arrays, and several replays too, the graph is kept, with a warning.

    For this ``run`` is tried twice or more. Afterwards the state arrays are as before, and derived arrays hold what
    ``run`` wrote. Scratch is left alone, since it means nothing between launches, and may depend on the order of
    threads. History is neither copied nor compared nor restored: it would cost as much memory again. The trials write
    the rows that the first call will write, since the arrays that hold the rows' numbers are state, and that call
    writes them again with the same contents. Until then those rows are not of steps that were taken: do not read them
    in between, nor from within ``run`` before it has written them.

    Args:
        backend: of the store.
        data: a sealed store, which ``run`` works on.
        run: puts work on the device, the same in each call: it does not wait for the device, and keeps nothing in
            Python.
        tensors: what it writes besides the store's arrays; restored like state.
    """
    import torch

    if not backend.captures:
        return run
    backend.wait()  # the trials change what a branch of work might still read
    # memory to check a graph with
    work = "updates" if tensors else "steps"
    try:
        trial = _Trial(backend, data, tensors)
    except torch.cuda.OutOfMemoryError:
        logger.warning("%s run one by one: there is no memory to check a CUDA graph with", work)
        return run
    # results without a graph
    backend.warm_up(run)  # whatever is made at the first call is made now: a capture must not see it
    trial.expect()
    # the graph, whose capture must change nothing
    try:
        replay = backend.capture(run)
    except WarpworldError:
        raise
    except Exception as error:
        logger.warning(
            "%s run one by one: a CUDA graph cannot hold %s (%s); a model or a Python phase that waits for the device "
            "does this: mark such a phase with @warpworld.eager_phase, or set trainer.graph_steps=0",
            work,
            _what_fails(backend, run) or "what was done",
            said(error),
        )
        trial.undo()
        return run
    if not trial.is_undone():
        logger.warning("%s run one by one: some of them ran, instead of being captured into a CUDA graph", work)
        trial.undo()
        return run
    # results with it
    trial.undo()
    replay()
    wrong = trial.differences()
    trial.undo()
    if wrong and wrong <= _varying(trial, lambda: backend.warm_up(run)) & _varying(trial, replay):
        _warn_once(f"{work} give other results in {', '.join(sorted(wrong))} each time, with a CUDA graph and without")
    elif wrong:
        names = ", ".join(sorted(wrong))
        logger.warning(
            "%s run one by one: as a CUDA graph they give other results in %s; see trainer.graph_steps", work, names
        )
        return run
    return replay


def _varying(trial: _Trial, run: Callable[[], None]) -> set[str]:
    """Arrays that differ between runs from one state: all that work on the device which adds up in any order makes.

    Work that depends on what Python changes from call to call varies, too, but a graph of it does not.
    """
    run()
    trial.expect()
    found = set[str]()
    for _ in range(TRIES):
        run()
        found |= trial.differences()
        trial.undo()
    return found


class _Trial:
    """Tries of some work from one state: what one left, and in what a later one differs from it.

    Args:
        backend: of the store.
        data: a sealed store, which the work writes.
        tensors: what it writes besides.
    """

    def __init__(self, backend: Backend, data: DataManager, tensors: Sequence[torch.Tensor]) -> None:
        self._backend, self._data, self._tensors = backend, data, tensors
        self._before, self._expected = _Kept(data, tensors), _Kept(data, tensors)
        self._random = backend.random_state()  # of torch's own generator: a model may draw from it

    def expect(self) -> None:
        """Keep what the latest try has left, for ``differences``, and undo it."""
        self._expected.keep()
        self._sums = self._data.checksums()
        self.undo()

    def undo(self) -> None:
        """Write back what was there before; derived arrays hold what the latest try wrote."""
        self._before.restore()
        self._backend.set_random_state(self._random)

    def is_undone(self) -> bool:
        """Whether state and tensors are as before the first try."""
        return self._before.state_matches() and self._before.tensors_match()

    def differences(self) -> set[str]:
        """The arrays in which the latest try differs from the kept one, bit for bit; of tensors that one does."""
        names = self._data.names("state", "derived")
        same = (self._data.checksums() == self._sums).tolist()
        found = {name for name, is_same in zip(names, same, strict=True) if not is_same}
        if not found and not self._expected.state_matches():
            found.add("the store")  # sums may agree by chance
        return found if self._expected.tensors_match() else found | {"what is learnt"}


def _what_fails(backend: Backend, run: Callable[[], None]) -> str:
    """Name of torch's operation that a graph does not hold, by a second capture; empty if that finds none.

    The first capture notes no operations: the mode that does this imports torch's compiler, which takes seconds.
    """
    from torch.utils._python_dispatch import TorchDispatchMode

    class Operations(TorchDispatchMode):
        latest = ""

        def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.latest = str(operation.overloadpacket)
            return operation(*args, **(kwargs or {}))

    operations = Operations()

    def noted() -> None:
        with operations:
            run()

    try:
        backend.capture(noted)
    except Exception:
        return operations.latest
    return ""


class _Kept:
    """A copy of the state arrays and of some tensors, as they are when it is made."""

    def __init__(self, data: DataManager, tensors: Sequence[torch.Tensor]) -> None:
        self._data, self._tensors = data, tensors
        self._snapshot = data.snapshot()
        self._copies = [tensor.detach().clone() for tensor in tensors]

    def keep(self) -> None:
        """Copy them as they are now."""
        self._data.snapshot(out=self._snapshot)
        for copy, tensor in zip(self._copies, self._tensors, strict=True):
            copy.copy_(tensor.detach())

    def restore(self) -> None:
        """Write the copies back."""
        self._data.restore(self._snapshot)
        for copy, tensor in zip(self._copies, self._tensors, strict=True):
            tensor.detach().copy_(copy)

    def state_matches(self) -> bool:
        """Whether the state arrays hold what was copied, bit for bit; waits for the device."""
        return self._data.matches(self._snapshot)

    def tensors_match(self) -> bool:
        """Whether the tensors hold what was copied, bit for bit; waits for the device."""
        return all(_same_bits(copy, tensor) for copy, tensor in zip(self._copies, self._tensors, strict=True))


def _same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors of one shape hold the same bits: NaN is equal to itself."""
    import torch

    return torch.equal(one.reshape(-1).view(torch.uint8), other.detach().reshape(-1).view(torch.uint8))


@functools.cache
def _warn_once(text: str) -> None:
    """Log a warning once in a process: graphs are captured anew where policies change."""
    logger.warning(text)
