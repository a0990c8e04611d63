"""Collective operations of several processes that train one run, and the rank of each."""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor

from warpworld.errors import ConfigError, DeviceError, ProcessError, WarpworldError
from warpworld.managers.cpu import available_cores
from warpworld.managers.cuda import explain_torch_error, first_line
from warpworld.policies import ObservationNormaliser


@dataclass(frozen=True)
class ProcessGroup:
    """Rank of this process among those that train a run, and their collective operations.

    What they do together is called by all of them, in the same order. With one process each of it is the identity and
    costs nothing; with several, ``torch.distributed`` has been initialised (``membership.py`` does it).

    Attributes:
        rank: number of this process, from 0.
        size: how many there are.
        local_rank: number of this process among those on the same machine, from 0.
        local_size: how many are on the same machine.

    Raises:
        ProcessError: in each of the collective methods: another process ended or cannot be reached any more.
        DeviceError, KernelError: likewise: this process's own GPU is full, faulted before, or is another's too.
    """

    rank: int = 0
    size: int = 1
    local_rank: int = 0
    local_size: int = 1

    @property
    def is_first(self) -> bool:
        """Whether this is the one that writes and prints."""
        return self.rank == 0

    @property
    def several(self) -> bool:
        """Whether there are others."""
        return self.size > 1

    # ---- shares ------------------------------------------------------------------------------------------------------
    def shares(self, num_envs: int) -> list[range]:
        """The envs of each process: contiguous, in the order of ranks, their numbers differing by one at most.

        Raises:
            ConfigError: there are more processes than envs.
        """
        if num_envs < self.size:
            raise ConfigError(
                f"trainer.num_envs is {num_envs}, expected at least one env for each of the {self.size} processes; "
                "num_envs is the total of all processes"
            )
        ends = [0]
        for rank in range(self.size):
            ends.append(ends[-1] + num_envs // self.size + (rank < num_envs % self.size))
        return [range(*pair) for pair in itertools.pairwise(ends)]

    def share(self, num_envs: int) -> range:
        """Range of this process's envs, as ``shares`` gives it."""
        return self.shares(num_envs)[self.rank]

    def workers(self) -> int | None:
        """Threads that step this process's envs on a CPU, if no setting gives their number; None means one per core."""
        return max(1, available_cores() // self.local_size) if self.local_size > 1 else None

    def own_name(self, name: str, rank: int) -> str:
        """Name of a process's own file, where each process writes one."""
        return f"{name}_{rank}_of_{self.size}" if self.several else name

    # ---- together ----------------------------------------------------------------------------------------------------
    def sum(self, tensor: Tensor) -> Tensor:
        """Add all processes' tensors up, in place; every process has the same bits afterwards."""
        if self.several:
            with _said_clearly():
                dist.all_reduce(tensor)
        return tensor

    def mean(self, tensor: Tensor) -> Tensor:
        """Mean over all processes, in place."""
        return self.sum(tensor.div_(self.size)) if self.several else tensor

    def smallest(self, tensor: Tensor) -> Tensor:
        """The least of all processes' numbers, in place."""
        if self.several:
            with _said_clearly():
                dist.all_reduce(tensor, op=dist.ReduceOp.MIN)
        return tensor

    def largest(self, tensor: Tensor) -> Tensor:
        """The greatest of all processes' numbers, in place."""
        if self.several:
            with _said_clearly():
                dist.all_reduce(tensor, op=dist.ReduceOp.MAX)
        return tensor

    def stack(self, tensor: Tensor) -> Tensor:
        """Gather a tensor of one shape from all processes: (size, *shape)."""
        if not self.several:
            return tensor.unsqueeze(0)
        found = [torch.empty_like(tensor) for _ in range(self.size)]
        with _said_clearly():
            dist.all_gather(found, tensor.contiguous())
        return torch.stack(found)

    def first_says(self, tensor: Tensor) -> Tensor:
        """Overwrite a tensor with that of process 0."""
        if self.several:
            whole = tensor.contiguous()
            with _said_clearly():
                dist.broadcast(whole, src=0)
            tensor.copy_(whole)
        return tensor

    def text_of_first(self, text: str) -> str:
        """Process 0's text, such as a path, in every process."""
        if not self.several:
            return text
        data = torch.tensor(list(os.fsencode(text)), dtype=torch.uint8)
        length = int(self.first_says(torch.tensor(len(data))))
        whole = self.first_says(data if self.is_first else torch.empty(length, dtype=torch.uint8))
        return os.fsdecode(bytes(whole.tolist()))

    def any(self, flag: bool) -> bool:
        """Whether any process wants to; the device is not waited for."""
        return bool(self.sum(torch.tensor([float(flag)]))) if self.several else flag

    def check_same(self, what: str, value: str) -> None:
        """Refuse to continue if something is not the same in all processes.

        Raises:
            ProcessError: in all of them: which process has another ``what`` than process 0.
        """
        if not self.several:
            return
        digest = hashlib.sha256(value.encode()).digest()[:8]
        found = self.stack(torch.tensor(int.from_bytes(digest, "big", signed=True))).tolist()
        others = [rank for rank in range(self.size) if found[rank] != found[0]]
        if others:
            raise ProcessError(
                f"process {others[0]} of {self.size} has another {what} than process 0; "
                "start all processes with the same command, and let them see the same files"
            )

    def barrier(self) -> None:
        """Wait for all the others."""
        self.any(False)

    def gather(self, tensor: Tensor, lengths: list[int]) -> list[Tensor]:
        """Send all processes' vectors of known lengths to process 0, on the host; the others get an empty list."""
        if not self.is_first:
            with _said_clearly():
                dist.send(tensor.cpu(), dst=0)
            return []
        found = [tensor.cpu(), *(torch.empty(length, dtype=tensor.dtype) for length in lengths[1:])]
        for rank in range(1, self.size):
            with _said_clearly():
                dist.recv(found[rank], src=rank)
        return found

    @contextmanager
    def one_before_others(self) -> Iterator[None]:
        """Let one process of each machine go first, so that what it compiles is there for the others."""
        if self.local_rank > 0:
            self.barrier()
        yield
        if self.local_rank == 0:
            self.barrier()

    # ---- statistics --------------------------------------------------------------------------------------------------
    def moments(self, rows: Tensor, total: int) -> tuple[Tensor, Tensor]:
        """Mean and variance over the rows of all processes.

        Args:
            rows: (own rows, features) float; may be empty.
            total: rows of all processes together, at least 1.

        Returns:
            Two of (features,): the mean, and the variance of the population.
        """
        mean = self.sum(rows.sum(0)) / total
        return mean, self.sum(((rows - mean) ** 2).sum(0)) / total

    def let_follow(self, normaliser: ObservationNormaliser, rows: Tensor, total: int, mask: Tensor | None) -> None:
        """Let a normaliser take in the rows of all processes.

        Args:
            normaliser: the same in all of them.
            rows: (own rows, features) float32.
            total: rows of all processes together, at least 1.
            mask: (own rows,) bool, which of them count, where there is one process; None counts all.
        """
        if self.several:
            normaliser.merge(total, *self.moments(rows.double(), total))
        else:
            normaliser.update(rows, mask)


ALONE = ProcessGroup()


@contextmanager
def _said_clearly() -> Iterator[None]:
    """Raise this package's error for what torch raises if a process is gone or a GPU is not fit."""
    try:
        yield
    except RuntimeError as error:
        raise explain_own_gpu(error) or ProcessError(
            "another process of this run ended or cannot be reached any more, so the run ends here too; "
            "continue from its last checkpoint with --resume"
        ) from error


def explain_own_gpu(error: Exception) -> WarpworldError | None:
    """Explanation of torch's error while processes spoke, if it is this process's own GPU's; else None."""
    if not isinstance(error, RuntimeError):
        return None
    shared = next((line for line in str(error).splitlines() if "duplicate gpu" in line.lower()), None)
    if shared is not None:  # NCCL names it, in the last of several lines
        return DeviceError(
            f"two processes of this run have the same GPU ({shared.strip()}), expected one for each; start as many "
            "processes as there are GPUs, give each another in CUDA_VISIBLE_DEVICES, or set trainer.device=cpu"
        )
    explained = explain_torch_error(error)
    if explained is None and type(error).__name__ == "AcceleratorError":
        return DeviceError(f"this process's GPU failed ({first_line(error)}); continue from the last checkpoint")
    return explained
