"""Kernel files that only a CPU can run: where their headers are, what they are linked with, and on which device."""

from __future__ import annotations

import inspect
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpworld.errors import DeclarationError, DeviceError, suggest

DEVICES = ("cpu", "cuda")


@dataclass(frozen=True)
class HostCode:
    """Settings of a kernel file that is compiled with C++'s exceptions and libraries.

    Attributes:
        include_folders: absolute paths of folders in which ``#include`` looks, besides the file's own.
        link_flags: words for the linker, such as ``-lz``.
    """

    include_folders: tuple[Path, ...] = ()
    link_flags: tuple[str, ...] = ()


def host_code_of(cls: type[Any]) -> HostCode | None:
    """Settings of an environment class's file if only a CPU can run it; None where kernels run on every device.

    Raises:
        DeclarationError: ``devices`` or another of these attributes is not what it must be.
    """
    devices = _words(cls, "devices")
    wrong = next((name for name in devices if name not in DEVICES), None)
    if wrong is not None or "cpu" not in devices:
        raise DeclarationError(
            f"{cls.name}: devices={cls.devices!r}, expected ('cpu', 'cuda'), or ('cpu',) for C++ that only a CPU can "
            f"run.{suggest(wrong or '', DEVICES)}"
        )
    _check_bytes(cls)
    folders, flags = _words(cls, "include_folders"), _words(cls, "link_flags")
    if "cuda" not in devices:
        return HostCode(tuple(_folder(cls, folder) for folder in folders), flags)
    for name in ("include_folders", "link_flags", "resident_bytes"):
        if getattr(cls, name):
            raise DeclarationError(f"{cls.name}: {name} is for C++ that only a CPU can run; declare devices = ('cpu',)")
    return None


def allowed_device(cls: type[Any], device: str) -> str:
    """Name of the device that a world of an environment class runs on where ``device`` is asked for, or "auto".

    Raises:
        DeviceError: the environment's file is C++ that does not run there.
    """
    devices, asked = cls.devices, device.split(":")[0] if isinstance(device, str) else device
    if "cuda" in devices or asked not in ("auto", "cuda"):
        return device
    if asked == "auto":
        return "cpu"
    raise DeviceError(
        f"device '{device}': environment '{cls.name}' is C++ that only a CPU can run, as its "
        f"devices={devices!r} says; {cls.source_path()} has its kernels. Ask for device 'cpu' or 'auto'"
    )


def _check_bytes(cls: type[Any]) -> None:
    size = cls.resident_bytes
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise DeclarationError(
            f"{cls.name}: resident_bytes={size!r}, expected a whole number: the most bytes that an env's object saves"
        )


def _words(cls: type[Any], name: str) -> tuple[str, ...]:
    """A class attribute that is a tuple of words or paths, as text."""
    value = getattr(cls, name)
    if not isinstance(value, (tuple, list)) or not all(isinstance(each, (str, os.PathLike)) for each in value):
        raise DeclarationError(f"{cls.name}: {name}={value!r}, expected a tuple of text, for instance ('{value}',)")
    return tuple(os.fspath(each) for each in value)


def _folder(cls: type[Any], folder: str) -> Path:
    """A folder of headers, relative to the file of the class that names it."""
    path = Path(folder)
    if not path.is_absolute():
        owner = next(base for base in cls.__mro__ if "include_folders" in base.__dict__)
        path = Path(inspect.getfile(owner)).resolve().parent / folder
    if not path.is_dir():
        raise DeclarationError(f"{cls.name}: include_folders has {folder!r}, which is no folder: {path}")
    return path
