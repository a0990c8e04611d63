"""Steps that a device repeats without Python: captured into a graph once, checked, then replayed."""

from __future__ import annotations

import logging
from collections.abc import Callable

from warpworld.errors import DeviceError, WarpworldError, said
from warpworld.managers.backend import Backend
from warpworld.managers.data_manager import DataManager

logger = logging.getLogger(__name__)


def captured(backend: Backend, data: DataManager, run: Callable[[], None]) -> Callable[[], None]:
    """A function that does what ``run`` does, without Python where the backend captures graphs.

    The graph is checked before it is trusted: capturing must leave the store as it was, and the first replay must
    leave in it, bit for bit, what ``run`` does. Where it does not, ``run`` itself is returned, with a warning.

    For this ``run`` is tried twice. Afterwards the state arrays are as before, and scratch arrays hold what ``run``
    wrote. History is neither copied nor compared nor restored: it would cost as much memory again. The trials write the
    rows that the first call will write, since the arrays that hold the rows' numbers are state, and that call writes
    them again with the same contents. Until then those rows are not of steps that were taken: do not read them in
    between, nor from within ``run`` before it has written them.

    Args:
        backend: of the store.
        data: a sealed store, which ``run`` works on.
        run: puts work on the device, the same in each call: it does not wait for the device, and keeps nothing in
            Python.

    Raises:
        DeviceError: ``run`` does what a graph cannot hold.
    """
    import torch

    if not backend.captures:
        return run
    try:
        before, expected = data.snapshot(), data.snapshot()
    except torch.cuda.OutOfMemoryError:
        logger.warning("steps run one by one: there is no memory to check a CUDA graph with")
        return run
    random = backend.random_state()  # of torch's own generator: a model may draw from it
    backend.warm_up(run)  # whatever is made at the first call is made now: a capture must not see it
    data.snapshot(out=expected)
    expected_sums = data.checksums()
    data.restore(before)
    try:
        replay = backend.capture(run)
    except WarpworldError:
        raise
    except Exception as error:
        raise DeviceError(
            f"the steps cannot be captured into a CUDA graph: {said(error)}; a model or a Python phase may wait for "
            "the device: mark such a phase with @warpworld.eager_phase, or set trainer.graph_steps=0"
        ) from error
    if not data.matches(before):
        logger.warning("steps run one by one: some of them ran, instead of being captured into a CUDA graph")
        data.restore(before)
        backend.set_random_state(random)
        return run
    backend.set_random_state(random)
    replay()
    sums = data.checksums()
    names = data.names("state", "scratch")
    wrong = [name for name, same in zip(names, (sums == expected_sums).tolist(), strict=True) if not same]
    if wrong or not data.matches(expected):
        logger.warning(
            "steps run one by one: as a CUDA graph they do something else to %s; see trainer.graph_steps",
            ", ".join(wrong) or "the store",
        )
        replay = run
    data.restore(before)
    backend.set_random_state(random)
    return replay
