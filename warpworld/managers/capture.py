"""Steps that a device repeats without Python: captured into a graph once, checked, then replayed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from warpworld.errors import WarpworldError, said
from warpworld.managers.backend import Backend
from warpworld.managers.data_manager import DataManager

if TYPE_CHECKING:
    import torch

logger = logging.getLogger(__name__)


def captured(
    backend: Backend, data: DataManager, run: Callable[[], None], tensors: Sequence[torch.Tensor] = ()
) -> Callable[[], None]:
    """A function that does what ``run`` does, without Python where the backend captures graphs.

    The graph is checked before it is trusted: capturing must leave store and tensors as they were, and the first replay
    must leave in them, bit for bit, what ``run`` does. Where it does not, or where ``run`` does what a graph cannot
    hold, ``run`` itself is returned, with a warning.

    For this ``run`` is tried twice. Afterwards the state arrays are as before, and derived arrays hold what ``run``
    wrote. History is neither copied nor compared nor restored: it would cost as much memory again. The trials write the
    rows that the first call will write, since the arrays that hold the rows' numbers are state, and that call writes
    them again with the same contents. Until then those rows are not of steps that were taken: do not read them in
    between, nor from within ``run`` before it has written them.

    Args:
        backend: of the store.
        data: a sealed store, which ``run`` works on.
        run: puts work on the device, the same in each call: it does not wait for the device, and keeps nothing in
            Python.
        tensors: what it writes besides state and derived arrays; restored like these.
    """
    import torch

    if not backend.captures:
        return run
    try:
        before, expected = _Kept(data, tensors), _Kept(data, tensors)
    except torch.cuda.OutOfMemoryError:
        logger.warning("steps run one by one: there is no memory to check a CUDA graph with")
        return run
    random = backend.random_state()  # of torch's own generator: a model may draw from it
    backend.warm_up(run)  # whatever is made at the first call is made now: a capture must not see it
    expected.keep()
    expected_sums = data.checksums()
    before.restore()
    operations = _operations()
    try:
        replay = backend.capture(operations.noting(run))
    except WarpworldError:
        raise
    except Exception as error:
        logger.warning(
            "%s one by one: a CUDA graph cannot hold %s (%s); a model or a Python phase that waits for the device does "
            "this: mark such a phase with @warpworld.eager_phase, or set trainer.graph_steps=0",
            "updates run" if tensors else "steps run",
            operations.latest or "what was done",
            said(error),
        )
        before.restore()
        backend.set_random_state(random)
        return run
    if not before.matches():
        logger.warning("steps run one by one: some of them ran, instead of being captured into a CUDA graph")
        before.restore()
        backend.set_random_state(random)
        return run
    backend.set_random_state(random)
    replay()
    sums = data.checksums()
    names = data.names("state", "derived")
    wrong = [name for name, same in zip(names, (sums == expected_sums).tolist(), strict=True) if not same]
    if wrong or not expected.matches():
        logger.warning(
            "steps run one by one: as a CUDA graph they give other results in %s; see trainer.graph_steps",
            ", ".join(wrong) or ("what is learnt" if tensors else "the store"),
        )
        replay = run
    before.restore()
    backend.set_random_state(random)
    return replay


def _operations() -> Any:
    """Knows torch's latest operation, whose name tells what a graph does not hold."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Operations(TorchDispatchMode):
        latest = ""

        def noting(self, run: Callable[[], None]) -> Callable[[], None]:
            def noted() -> None:
                with self:
                    run()

            return noted

        def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.latest = str(operation.overloadpacket)
            return operation(*args, **(kwargs or {}))

    return Operations()


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

    def matches(self) -> bool:
        """Whether they are what the copies are, bit for bit; waits for the device."""
        pairs = zip(self._copies, self._tensors, strict=True)
        return self._data.matches(self._snapshot) and all(_same_bits(copy, tensor) for copy, tensor in pairs)


def _same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors of one shape hold the same bits: NaN is equal to itself."""
    import torch

    return torch.equal(one.reshape(-1).view(torch.uint8), other.detach().reshape(-1).view(torch.uint8))
