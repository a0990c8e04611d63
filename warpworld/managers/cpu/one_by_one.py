"""Steps of single envs on the cpu backend's workers, received in the order in which they are ready."""

from __future__ import annotations

import ctypes
import weakref

import numpy as np

from warpworld.managers.cpu.native_runtime import NativeReady, runtime
from warpworld.managers.cpu.program import CpuProgram


class OneByOne:
    """A step of all envs, taken env by env: see ``managers.OneByOne``, whose methods these are.

    Args:
        program: the step; no kernel of it touches other envs' parts, and each env has a block of its own.
        num_envs: envs in it.
    """

    def __init__(self, program: CpuProgram, num_envs: int) -> None:
        self._program, self._native = program, runtime()
        self._rings = [np.zeros(num_envs, np.int32) for _ in range(2)]
        self._nanoseconds = np.full(num_envs, np.inf, np.float32)  # of no step yet: it may take long
        self._received = np.zeros(num_envs, np.int32)
        pointers = [array.ctypes.data for array in (*self._rings, self._nanoseconds)]
        self._ready = NativeReady(program.address, num_envs, *pointers)
        self._address = ctypes.addressof(self._ready)
        # workers use all of it until they have left; these references keep it until then
        weakref.finalize(self, _leave, self._address, self._ready, self._rings, self._nanoseconds, program)

    def send(self, envs: np.ndarray) -> None:
        """Let envs be stepped that are not under way."""
        self._program.check_actions(envs)
        sent = np.ascontiguousarray(envs, np.int32)
        if self._native.ww_send(self._address, sent.ctypes.data, len(sent)):
            self._program.refuse()

    def receive(self, count: int) -> np.ndarray:
        """Wait for so many of the envs under way."""
        if self._native.ww_receive(self._address, self._received.ctypes.data, count):
            self._program.refuse()
        return self._received[:count].copy()

    def settle(self) -> None:
        """Wait for all envs under way, and let all envs be ready, in order."""
        if self._native.ww_make_ready(self._address):
            self._program.refuse()

    def close(self) -> None:
        """Wait for all envs under way; workers look for no more of them."""
        _leave(self._address)


def _leave(address: int, *_kept: object) -> None:
    runtime().ww_leave_ready(address)
