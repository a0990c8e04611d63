"""Several processes that train one run together: how they meet, share work, and end."""

from warpworld.trainers.processes.distributed import ALONE, ProcessGroup

__all__ = [
    "ALONE",
    "ProcessGroup",
]
