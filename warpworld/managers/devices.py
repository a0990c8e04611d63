"""Devices by name: a name stands for a loader, which opens the device's backend when it is asked for.

Nothing else in the package lists devices. ``register_device("mine", load)`` adds one, known as ``device="mine"``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from warpworld.errors import DeviceError, suggest

if TYPE_CHECKING:
    from warpworld.managers.backend import Backend

logger = logging.getLogger(__name__)

# Takes the number of workers that step envs on a CPU, None for one per core.
Loader = Callable[[int | None], "Backend"]

AUTO = "auto"
_FIRST_CHOICE, _SECOND_CHOICE = "cuda", "cpu"  # of "auto"


def _load_cpu(num_workers: int | None) -> Backend:
    from warpworld.managers.cpu import CpuBackend  # a backend's libraries are imported when it is used

    return CpuBackend(num_workers)


def _load_cuda(_: int | None) -> Backend:
    from warpworld.managers.cuda import CudaBackend

    return CudaBackend()


_loaders: dict[str, Loader] = {"cpu": _load_cpu, "cuda": _load_cuda}


def register_device(name: str, loader: Loader) -> None:
    """Make a device known as ``name``; it replaces an earlier one of that name.

    Args:
        name: letters, digits and underscores, a letter first; "auto" is taken.
        loader: called for each world that is made on the device, with the number of CPU workers asked for (None: one
            per core). It returns the backend, or raises DeviceError with what is missing and what to do.

    Raises:
        DeviceError: the name or the loader cannot be used.
    """
    if not isinstance(name, str) or not name.isidentifier() or name == AUTO:
        raise DeviceError(f"device name {name!r}: expected letters, digits and underscores, and not {AUTO!r}")
    if not callable(loader):
        raise DeviceError(f"device '{name}': the loader is {loader!r}, expected a function that returns a backend")
    _loaders[name] = loader


@contextmanager
def device_for_now(name: str, loader: Loader) -> Iterator[None]:
    """Make a device known meanwhile; arguments and errors as of ``register_device``."""
    before = dict(_loaders)
    register_device(name, loader)
    try:
        yield
    finally:
        _loaders.clear()
        _loaders.update(before)


def device_names() -> tuple[str, ...]:
    """Names of devices: "auto", the packaged devices, then the registered ones."""
    return (AUTO, *_loaders)


def open_backend(device: str = AUTO, num_workers: int | None = None) -> Backend:
    """The backend of a device.

    Args:
        device: the name of a device, or "auto" for cuda where it can be used and cpu elsewhere.
        num_workers: threads that step envs on a CPU; None means one per core.

    Raises:
        DeviceError: there is no such device, or it cannot be used here.
    """
    names = device_names()
    if device not in names:
        raise DeviceError(f"device {device!r}: expected one of {', '.join(names)}.{suggest(str(device), names)}")
    if device == AUTO:
        try:
            return _loaders[_FIRST_CHOICE](num_workers)
        except DeviceError as error:
            logger.info("device auto: %s, since %s", _SECOND_CHOICE, str(error).partition(";")[0])
        device = _SECOND_CHOICE
    try:
        return _loaders[device](num_workers)
    except DeviceError as error:
        raise DeviceError(f"device '{device}' cannot be used: {error}") from error


def describe_devices() -> list[str]:
    """A line for each device, that of "auto" first: what it is, or why it cannot be used."""
    usable: dict[str, str] = {}
    unusable: list[str] = []
    for name, load in _loaders.items():
        try:
            usable[name] = load(None).describe()
        except DeviceError as error:
            unusable.append(f"device {name}: not usable, {error}")
    chosen = next((name for name in (_FIRST_CHOICE, _SECOND_CHOICE) if name in usable), None)
    best = [f"device {AUTO}: {usable.pop(chosen)}"] if chosen else []
    return [*best, *(f"device {name}: {words}" for name, words in usable.items()), *unusable]
