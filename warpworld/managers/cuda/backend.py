"""The cuda backend: ``.cu`` files through nvcc or NVRTC, launched by PyCUDA on the memory and the stream of torch.

The only file that imports PyCUDA. ``$WARPWORLD_CUDA_SYNC=1`` waits for every launch, so that a fault names its kernel.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpworld.errors import BindError, BuildError, DeviceError, KernelError
from warpworld.managers.build_cache import cached, content_key
from warpworld.managers.compiler_errors import explain_failure
from warpworld.managers.cuda.compiler import HOW_TO_GET_ONE, CudaCompiler, find_cuda_compiler
from warpworld.managers.cuda.faults import explain_earlier_fault, explain_launch, first_line, waits_for_launches
from warpworld.managers.cuda.launches import Launch, launches_of
from warpworld.managers.cuda.torch_gpu import Gpu, TorchGpu
from warpworld.managers.data_manager import DataManager
from warpworld.managers.device_variables import Filled
from warpworld.managers.kernel_source import INCLUDE_FOLDER, KernelSource, cuda_entry
from warpworld.managers.program import Program, RunKernel, Step, WorldConstants
from warpworld.managers.signature import read_signatures

if TYPE_CHECKING:
    import torch

NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING: does not wait for the default stream, so that it can be captured
OLDEST = (7, 0)  # compute capability: warps whose lanes may wait for some of them only


# ---- the driver -----------------------------------------------------------------------------------------------------
class Driver:
    """PyCUDA in the context that torch uses, with a stream of our own: PyCUDA launches on no other than its own."""

    def __init__(self, ordinal: int) -> None:
        if threading.current_thread() is not threading.main_thread():
            # PyCUDA's stack of contexts is the thread's own, and one that is not empty when its thread ends, ends all
            raise DeviceError("the first world on cuda is to be made in the main thread; others may step it then")
        self.drv = _pycuda()
        try:
            self.drv.init()
            device = self.drv.Device(ordinal)
            context = device.retain_primary_context()
        except self.drv.Error as error:
            raise DeviceError(
                f"the NVIDIA driver finds no GPU number {ordinal} that it can use ({first_line(error)}); "
                "see what nvidia-smi says"
            ) from error
        context.push()  # PyCUDA keeps a stack of its own, and ends the process if something is left on it
        atexit.register(context.pop)
        self.name = device.name()
        self.capability: tuple[int, int] = device.compute_capability()
        self.version: tuple[int, int] = divmod(self.drv.get_driver_version() // 10, 100)
        if self.capability < OLDEST:
            raise DeviceError(
                f"the GPU {self.name} has compute capability {_dotted(self.capability)}, expected at least "
                f"{_dotted(OLDEST)} (Volta); use device=cpu"
            )
        self.stream = self.drv.Stream(NON_BLOCKING)

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

    @property
    def arch(self) -> str:
        """What compilers call the GPU's architecture."""
        return f"sm_{self.capability[0]}{self.capability[1]}"


@functools.cache
def _driver(ordinal: int) -> Driver:
    """One for each device and process: contexts are pushed once."""
    return Driver(ordinal)


def _pycuda() -> Any:
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
            f"PyCUDA cannot be loaded; build it anew for this CUDA, or use device=cpu ({error})"
        ) from error
    return drv


# ---- compiling ------------------------------------------------------------------------------------------------------
class Module:
    """A compiled source, loaded: its kernels' functions by name."""

    def __init__(self, source: KernelSource, functions: dict[str, Any]) -> None:
        self.source, self.functions = source, functions


def _headers() -> list[bytes]:
    """All that the package's own headers say to a CUDA compiler."""
    folder = INCLUDE_FOLDER
    return [path.read_bytes() for path in sorted((*folder.glob("*.cuh"), *folder.glob("gpu/**/*"))) if path.is_file()]


def _build_cubin(source: KernelSource, text: str, arch: str, compiler: CudaCompiler) -> Path:
    """Path of a source's machine code, in the build cache; ``text`` is the source's CUDA C++."""
    included = [data for _, data in source.included()]
    key = content_key(["cubin", text, compiler.description, arch, *compiler.all_flags(), *included, *_headers()])

    def build(scratch: Path, target: Path) -> None:
        log = compiler.build_cubin(text, arch, [INCLUDE_FOLDER, source.path.parent], scratch, target)
        if "gpu architecture" in log.lower() or "--gpu-architecture" in log:
            raise BuildError(
                f"{compiler.description} knows no {arch}, which this GPU is; {HOW_TO_GET_ONE} of a version that does",
                log,
            )
        if log:
            raise explain_failure(source, log)

    return cached(key, ".cubin", build)


# ---- the backend ----------------------------------------------------------------------------------------------------
class CudaBackend:
    """Kernels on one NVIDIA GPU, arrays in its memory.

    Args:
        gpu: memory and streams; None takes torch's current GPU.

    Raises:
        DeviceError: there is no GPU, driver or PyCUDA that works; says which and what to do.
    """

    name = "cuda"
    warp_size = 32
    warps_per_block = 4
    padding = 0
    side_by_side = True
    packs_envs = True

    def __init__(self, gpu: Gpu | None = None) -> None:
        _pycuda()  # what it says of a missing driver is clearer than what torch does
        self._gpu = gpu or TorchGpu()
        self.device = self._gpu.device
        self._driver = _driver(self.device.index or 0)
        self.captures = not waits_for_launches()
        self._idle: Module | None = None

    def describe(self) -> str:
        """The device and its driver, in words."""
        driver = self._driver
        return f"cuda ({driver.name}, {driver.arch}, driver for CUDA {_dotted(driver.version)})"

    def allocate(self, nbytes: int) -> torch.Tensor:
        """A zeroed block of ``nbytes`` bytes, aligned to 256."""
        return self._gpu.allocate(nbytes)

    def free_memory(self) -> int:
        """Bytes that could be allocated."""
        return self._gpu.free_memory()

    def build(self, source: KernelSource) -> Module:
        """Compile a source and load it, or take it from the build cache."""
        driver = self._driver
        compiler = find_cuda_compiler(newest=driver.version)
        text = source.cuda_text(self.warp_size, self.warps_per_block)
        path = _build_cubin(source, text, driver.arch, compiler)
        names = [signature.name for signature in source.signatures]
        try:
            # all functions now: the driver loads code when it is asked for, which a captured graph must not see
            loaded = driver.drv.module_from_buffer(path.read_bytes())
            for each in source.filled:
                driver.fill(loaded, each)
            return Module(source, {name: loaded.get_function(cuda_entry(name)) for name in names})
        except driver.drv.Error as error:
            raise DeviceError(
                f"the NVIDIA driver (CUDA {_dotted(driver.version)}) does not load what {compiler.description} made of "
                f"{source.path} for {driver.arch}: {first_line(error)}; update the driver, or remove {path}"
            ) from error

    def program(self, steps: Sequence[Step], data: DataManager, world: WorldConstants) -> Program:
        """Freeze steps against a sealed store."""
        launches = launches_of(steps, data, world, self._idle_kernel)
        return _Program(self._gpu, self._driver, launches).frozen()

    def _idle_kernel(self) -> RunKernel:
        """A kernel of nothing but what the world does before it, one warp to an env."""
        if self._idle is None:
            path = INCLUDE_FOLDER / "gpu" / "world.cu"
            text = path.read_text()
            signatures = tuple(read_signatures(path, text).values())
            one_warp = self.warp_size
            self._idle = self.build(KernelSource(path, text, {"NUM_AGENTS": one_warp}, signatures, (one_warp,)))
        return RunKernel(self._idle, "idle", (), threads=self.warp_size, envs_per_block=1, index=0)

    def capture(self, run: Callable[[], None]) -> Callable[[], None]:
        """A function that repeats the work of ``run``, which is called but not carried out.

        ``run`` must have been called under ``warm_up`` before; it may only launch, without waiting for the device,
        allocating memory of the driver's or reading Python state that changes.
        """
        return self._gpu.capture(self._driver.stream.handle, run)

    def random_state(self) -> torch.Tensor:
        """State of torch's own generator of the GPU."""
        return self._gpu.random_state()

    def set_random_state(self, state: torch.Tensor) -> None:
        """Write back what ``random_state`` returned."""
        self._gpu.set_random_state(state)

    def warm_up(self, run: Callable[[], None]) -> None:
        """Carry out the work of ``run`` on the stream that it will be captured on."""
        self._gpu.on_stream(self._driver.stream.handle, run)


# ---- programs -------------------------------------------------------------------------------------------------------
class _Program:
    """Launches in order, on the stream that torch is on."""

    def __init__(self, gpu: Gpu, driver: Driver, launches: Sequence[Launch]) -> None:
        self._gpu, self._drv, self._own, self._launches = gpu, driver.drv, driver.stream, launches

    def frozen(self) -> Program:
        """A plain function, which Python calls faster than an object."""
        if waits_for_launches():
            return self._wait_for_each
        launches = [(each.function._launch_kernel, each.grid, each.block, each.arguments) for each in self._launches]
        current_stream, drv_error = self._gpu.current_stream, self._drv.Error
        # torch's default stream is the driver's, and None is PyCUDA's word for it
        streams = {0: None, self._own.handle: self._own}

        def launch_on(stream: Any) -> None:
            try:
                for launch, grid, block, arguments in launches:
                    launch(grid, block, arguments, 0, stream)
            except drv_error as error:
                raise self._explained(error, arguments) from error

        def run() -> None:
            handle = current_stream()
            if handle in streams:
                launch_on(streams[handle])
            else:
                self._gpu.beside(self._own.handle, lambda: launch_on(self._own))

        return run

    def _explained(self, error: Exception, arguments: bytes, waited: bool = False) -> KernelError:
        """What an error at the launch with these arguments says."""
        launch = next(each for each in self._launches if each.arguments is arguments)
        return explain_launch(error, launch.kernel, str(launch), waited)

    def _wait_for_each(self) -> None:
        """Nothing else is under way, so that any stream will do."""
        try:
            self._drv.Context.synchronize()
        except self._drv.Error as error:
            raise explain_earlier_fault(error) from error
        for each in self._launches:
            try:
                each.function._launch_kernel(each.grid, each.block, each.arguments, 0, None)
                self._drv.Context.synchronize()
            except self._drv.Error as error:
                raise self._explained(error, each.arguments, waited=True) from error


def _dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"
