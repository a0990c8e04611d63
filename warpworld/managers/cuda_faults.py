"""What the CUDA driver reports, in words that say what happened and what to do."""

from __future__ import annotations

from warpworld.errors import KernelError

SYNC_VARIABLE = "WARPWORLD_CUDA_SYNC"

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
    """The error to raise where the driver refused a launch, or reported a fault at one.

    Args:
        error: what PyCUDA raised.
        kernel: the one that was being launched.
        shape: of the launch, in words.
    """
    said = " ".join(str(error).split())
    what = next((words for text, words in _FAULTS.items() if text in said), said)
    return KernelError(f"kernel '{kernel}' ({shape}): {what} [{said}]; the GPU is lost to this process: start it anew")


def explain_earlier_fault(error: Exception) -> KernelError:
    """The error to raise where a fault shows, but not in which kernel: launches are not waited for.

    Args:
        error: what PyCUDA or torch raised.
    """
    said = " ".join(str(error).split())
    what = next((words for text, words in _FAULTS.items() if text in said), said)
    return KernelError(
        f"a kernel that was launched before faulted: {what} [{said.split(' CUDA kernel errors might')[0]}]; start anew "
        f"with {SYNC_VARIABLE}=1 to learn which: every launch is then waited for"
    )


def is_fault(error: Exception) -> bool:
    """Whether an exception of torch's is a fault on the GPU."""
    return isinstance(error, RuntimeError) and "CUDA error" in str(error) and any(t in str(error) for t in _FAULTS)
