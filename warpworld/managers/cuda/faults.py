"""Errors of the CUDA driver, as messages that state what happened and what to do."""

from __future__ import annotations

import os
from collections.abc import Mapping

from warpworld.errors import DeviceError, KernelError, WarpworldError

SYNC_VARIABLE = "WARPWORLD_CUDA_SYNC"


def waits_for_launches() -> bool:
    """Whether every launch is to be waited for, so that a fault names its kernel.

    Raises:
        DeviceError: the environment variable says neither yes nor no.
    """
    said = os.environ.get(SYNC_VARIABLE) or "0"
    if said not in ("0", "1"):
        raise DeviceError(f"{SYNC_VARIABLE}={said!r}: expected 0 or 1")
    return said == "1"


# What a driver's message holds -> what happened. https://docs.nvidia.com/cuda/cuda-driver-api, CUresult
_FAULTS = {
    "illegal memory access": "it read or wrote memory that is not its own (an index out of bounds, a wrong pointer)",
    "misaligned address": "it read or wrote at an address that is not a multiple of the type's size",
    "device-side assert": "an assert() in it failed; the assertion is printed above",
    "illegal instruction": "it executed an illegal instruction",
    "timed out and was terminated": "it ran longer than the driver allows on a GPU with a display",
    "unspecified launch failure": "it faulted (a bad pointer, __trap(), or a stack that is too small)",
}
_REFUSALS = {
    "too many resources requested": "it needs more registers or shared memory than a block can have",
    "stream is capturing": "a CUDA graph that is being captured cannot hold what was done",
}


def explain_launch(error: Exception, kernel: str, shape: str, waited: bool) -> KernelError:
    """The error to raise where PyCUDA raised one at a launch: it was refused, or a fault showed.

    Args:
        error: what PyCUDA raised.
        kernel: the one that was launched.
        shape: of the launch, in words.
        waited: whether every launch is waited for, so that a fault is this kernel's.
    """
    fault = _found(error, _FAULTS)
    if fault and not waited:
        return explain_earlier_fault(error, f", noticed at the launch of '{kernel}' ({shape})")
    if fault:
        lost = "; this process cannot use the GPU any more: start again"
        return KernelError(f"kernel '{kernel}' ({shape}): {fault} [{first_line(error)}]{lost}")
    what = _found(error, _REFUSALS) or "the driver refused the launch"
    return KernelError(f"kernel '{kernel}' ({shape}) was not launched: {what} [{first_line(error)}]")


def explain_earlier_fault(error: Exception, noticed: str = "") -> KernelError:
    """The error to raise where a fault shows, but not in which kernel: launches are not waited for.

    Args:
        error: what PyCUDA or torch raised.
        noticed: where, in words.
    """
    return KernelError(
        f"a kernel that was launched before{noticed}: {_found(error, _FAULTS)} [{first_line(error)}]; start again with "
        f"{SYNC_VARIABLE}=1 to find out which: every launch is then waited for"
    )


def explain_torch_error(error: RuntimeError) -> WarpworldError | None:
    """Explanation of an error of torch's that is the GPU's; None for any other.

    Args:
        error: what torch raised while it waited for the GPU, or asked it for memory.
    """
    if type(error).__name__ == "OutOfMemoryError":
        return DeviceError(
            f"the GPU's memory is full ({first_line(error)}); ask for fewer envs, shorter rollouts or more minibatches"
        )
    if "CUDA error" in str(error) and any(text in str(error) for text in _FAULTS):
        return explain_earlier_fault(error)
    return None


def _found(error: Exception, table: Mapping[str, str]) -> str:
    """The explanation of the first text in a table that the error contains, or nothing."""
    return next((words for text, words in table.items() if text in str(error)), "")


def first_line(error: Exception) -> str:
    """The message of an exception, without the advice that follows."""
    return str(error).strip().partition("\n")[0]
