"""The CUDA driver through PyCUDA, in the context that torch uses. The only file that imports PyCUDA."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import threading
import weakref
from collections.abc import Iterable, Iterator
from typing import Any

from warpworld.errors import BindError, DeviceError
from warpworld.managers.cuda.faults import first_line
from warpworld.managers.device_variables import Filled

NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING: does not wait for the default stream, so that it can be captured
OLDEST = (7, 0)  # compute capability: warps whose lanes may wait for some of them only


class Driver:
    """GPU in the context that torch uses too, with streams of our own: PyCUDA launches on no other than its own.

    A context belongs to a GPU, and what is called without one, or in another GPU's, fails. Each thread has a current
    one of its own, which it gets when it first uses CUDA. PyCUDA keeps a stack of contexts for each thread besides, and
    ends the process if a thread ends while something is on it: so nothing stays there.

    Attributes:
        drv: PyCUDA's module.
        ordinal: the GPU's number.
        name: what the GPU is called.
        capability: its compute capability.
        version: of CUDA, which the driver is for.
        is_only: whether the process sees no other GPU.
        stream: for work that is captured.
        second: for work that runs beside that of torch's current stream, and is captured on this one. Torch has memory
            for cuBLAS by stream, which two graphs that run at once must not share.
        turn: held while a program is launched, so that the launches of two threads do not mix.

    Args:
        ordinal: the GPU's number.

    Raises:
        DeviceError: there is no PyCUDA, driver or GPU that works; with what to do.
    """

    def __init__(self, ordinal: int) -> None:
        self.drv = load_pycuda()
        # the context, the one that torch uses
        try:
            self.drv.init()
            device = self.drv.Device(ordinal)
            self._context = device.retain_primary_context()
        except self.drv.Error as error:
            raise DeviceError(
                f"the NVIDIA driver finds no GPU number {ordinal} that it can use ({first_line(error)}); "
                "see the output of nvidia-smi"
            ) from error
        self._calls = ctypes.CDLL("libcuda.so.1")  # for what PyCUDA does not wrap
        self.turn = threading.RLock()
        self._unused: list[Any] = []  # modules whose functions are no longer used
        # facts about the GPU
        self.ordinal = ordinal
        self.name = device.name()
        self.capability: tuple[int, int] = device.compute_capability()
        self.version: tuple[int, int] = divmod(self.drv.get_driver_version() // 10, 100)
        self.is_only = self.drv.Device.count() == 1
        # the least that is needed
        if self.capability < OLDEST:
            raise DeviceError(
                f"the GPU {self.name} has compute capability {dotted(self.capability)}, expected at least "
                f"{dotted(OLDEST)} (Volta); use device=cpu"
            )
        # streams of this context
        self.adopt_thread()
        with self.active():
            self.stream, self.second = self.drv.Stream(NON_BLOCKING), self.drv.Stream(NON_BLOCKING)

    def __str__(self) -> str:
        return f"{self.name}, {self.arch}, driver for CUDA {dotted(self.version)}"

    @property
    def arch(self) -> str:
        """Compilers' name of the GPU's architecture."""
        return f"sm_{self.capability[0]}{self.capability[1]}"

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        """Make this GPU's context the calling thread's; in the end its own is current again."""
        self._context.push()
        try:
            yield
        finally:
            self.drv.Context.pop()

    def adopt_thread(self) -> bool:
        """Give a thread without a context this GPU's, for as long as it lives; whether it had none."""
        current = ctypes.c_void_p()
        self._calls.cuCtxGetCurrent(ctypes.byref(current))
        if current.value is not None:
            return False
        return bool(self._calls.cuCtxSetCurrent(ctypes.c_void_p(self._context.handle)) == 0)

    def keep(self, module: Any, functions: Iterable[Any]) -> None:
        """Hold a module until ``drop_unused``, which comes after its functions are gone.

        PyCUDA unloads a module where its last function is freed, and any thread may do that: the one that happens to
        collect garbage. In a thread other than the context's it leaves the module loaded for good, with a warning.
        """
        for function in functions:
            weakref.finalize(function, self._unused.append, module).atexit = False

    def drop_unused(self) -> None:
        """Unload the modules whose functions are gone; this GPU's context is the calling thread's."""
        self._unused.clear()

    def fill(self, module: Any, variable: Filled) -> None:
        """Write the contents of a module's variable, and wait until they are there."""
        try:
            address, _ = module.get_global(variable.name)  # of as many bytes as its contents: the build has checked it
        except self.drv.LogicError as error:
            raise BindError(
                f"constant '{variable.name}' is not in what the compiler made of the file: no kernel reads it, so "
                f"leave it out of constants(), or it is in a namespace, so move it to file scope ({first_line(error)})"
            ) from error
        self.drv.memcpy_htod(address, variable.values.reshape(-1))
        self.drv.Context.synchronize()


@functools.cache
def driver_of(ordinal: int) -> Driver:
    """Return the driver of a GPU; there is one for each GPU and process."""
    return Driver(ordinal)


def load_pycuda() -> Any:
    """The module ``pycuda.driver``.

    Raises:
        DeviceError: there is no driver or no PyCUDA; with what to do.
    """
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise DeviceError(
            f"there is no NVIDIA driver here; install it, or use device=cpu; under WSL see that /usr/lib/wsl/lib is in "
            f"LD_LIBRARY_PATH ({error})"
        ) from error
    try:
        import pycuda.driver as drv
    except ModuleNotFoundError as error:
        raise DeviceError('PyCUDA is not installed; run: pip install "warpworld[cuda]", or use device=cpu') from error
    except ImportError as error:
        raise DeviceError(
            f"PyCUDA cannot be loaded; rebuild it for this CUDA version, or use device=cpu ({error})"
        ) from error
    return drv


def dotted(version: tuple[int, int]) -> str:
    """A version in the usual notation."""
    return f"{version[0]}.{version[1]}"
