"""What the CUDA driver reports, in words that say what happened and what to do."""

from __future__ import annotations

import os

from warpworld.errors import DeviceError, KernelError, WarpworldError

SYNC_VARIABLE = "WARPWORLD_CUDA_SYNC"


def waits_for_launches() -> bool:
    """Whether every launch is to be waited for, so that a fault names its kernel."""
    return os.environ.get(SYNC_VARIABLE, "0") not in ("", "0")


# What a driver's message holds -> what happened. https://docs.nvidia.com/cuda/cuda-driver-api, CUresult
_FAULTS = {
    "illegal memory access": "it read or wrote memory that is not its own (an index out of bounds, a wrong pointer)",
    "misaligned address": "it read or wrote at an address that is no multiple of the type's size",
    "device-side assert": "an assert() in it failed; the assertion is printed above",
    "illegal instruction": "it executed an illegal instruction",
    "trap": "it ended itself by __trap()",
    "launch timed out": "it ran longer than the driver allows on a GPU with a display",
    "timed out and was terminated": "it ran longer than the driver allows on a GPU with a display",
    "unspecified launch failure": "it faulted (a bad pointer, or a stack that is too small)",
    "too many resources requested": "it needs more registers or shared memory than a block can have",
    "out of resources": "it needs more registers or shared memory than a block can have",
    "stream is capturing": "something that a CUDA graph cannot hold was done while the graph was captured",
}


def explain_fault(error: Exception, kernel: str, shape: str) -> KernelError:
    """The error to raise where a launch was refused, or faulted while it was waited for.

    Args:
        error: what PyCUDA raised.
        kernel: the one that was launched.
        shape: of the launch, in words.
    """
    return KernelError(f"kernel '{kernel}' ({shape}): {_in_words(error)}; the GPU is lost to this process: start anew")


def explain_earlier_fault(error: Exception) -> KernelError:
    """The error to raise where a fault shows, but not in which kernel: launches are not waited for.

    Args:
        error: what PyCUDA or torch raised.
    """
    return KernelError(
        f"a kernel that was launched before: {_in_words(error)}; start anew with {SYNC_VARIABLE}=1 to learn which: "
        "every launch is then waited for"
    )


def explain_torch_error(error: RuntimeError) -> WarpworldError | None:
    """What an error of torch's means that is the GPU's, None for any other.

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


def _in_words(error: Exception) -> str:
    said = first_line(error)
    what = next((words for text, words in _FAULTS.items() if text in said), "it failed")
    return f"{what} [{said}]"


def first_line(error: Exception) -> str:
    """What an exception says, without the advice that follows."""
    return str(error).strip().partition("\n")[0]
