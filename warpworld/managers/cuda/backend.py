"""The cuda backend: ``.cu`` files through nvcc or NVRTC, launched by PyCUDA on the memory and the stream of torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from warpworld.errors import BuildError, DeviceError
from warpworld.managers import (
    INCLUDE_FOLDER,
    CheckActions,
    DataManager,
    KernelSource,
    Program,
    RunKernel,
    Step,
    WorldConstants,
    cached,
    content_key,
    cuda_entry,
    explain_failure,
)
from warpworld.managers.cuda.compiler import HOW_TO_GET_ONE, CudaCompiler, find_cuda_compiler
from warpworld.managers.cuda.driver import Driver, dotted, driver_of, load_pycuda
from warpworld.managers.cuda.faults import first_line, waits_for_launches
from warpworld.managers.cuda.launches import launches_of
from warpworld.managers.cuda.program import CudaProgram
from warpworld.managers.cuda.torch_gpu import Gpu, TorchGpu
from warpworld.managers.legal_actions import ActionBounds
from warpworld.managers.signature import read_signatures

if TYPE_CHECKING:
    import torch


# ---- compiling ------------------------------------------------------------------------------------------------------
class Module:
    """A compiled source, loaded: its kernels' functions by name."""

    def __init__(self, source: KernelSource, functions: dict[str, Any]) -> None:
        self.source, self.functions = source, functions


def _headers() -> list[bytes]:
    """Contents of the package's own headers for a CUDA compiler."""
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

    return cached(key, ".cubin", build, source.subject)


def _loaded(source: KernelSource, path: Path, driver: Driver) -> Module:
    """The module, with all functions: the driver loads code when it is asked for, which a capture must not see."""
    loaded = driver.drv.module_from_buffer(path.read_bytes())
    for each in source.filled:
        driver.fill(loaded, each)
    names = [signature.name for signature in source.signatures]
    functions = {name: loaded.get_function(cuda_entry(name)) for name in names}
    driver.keep(loaded, functions.values())
    return Module(source, functions)


def _checked(run: Program, checks: Sequence[ActionBounds]) -> Program:
    """A program that reads actions back before it runs."""

    def checked() -> None:
        for bounds in checks:
            bounds.refuse()
        run()

    return checked


# ---- the backend ----------------------------------------------------------------------------------------------------
class CudaBackend:
    """Kernels on one NVIDIA GPU, arrays in its memory.

    Args:
        gpu: memory and streams; None takes torch's current GPU.

    Raises:
        DeviceError: there is no GPU, driver or PyCUDA that works; with what to do.
    """

    name = "cuda"
    warp_size = 32
    warps_per_block = 4
    padding = 0
    side_by_side = True
    packs_envs = True
    runs_on_host = False

    def __init__(self, gpu: Gpu | None = None) -> None:
        load_pycuda()  # its message about a missing driver is clearer than torch's
        self._gpu = gpu or TorchGpu()
        self.device = self._gpu.device
        self._driver = driver_of(self._gpu.ordinal)
        self.captures = not waits_for_launches()
        self._idle: Module | None = None

    def describe(self) -> str:
        """The device and its driver, in words."""
        return f"{self.name} ({self._driver})"

    def allocate(self, nbytes: int) -> torch.Tensor:
        """A zeroed block of ``nbytes`` bytes, aligned to 256."""
        return self._gpu.allocate(nbytes)

    def free_memory(self) -> int:
        """Bytes that could be allocated; any thread may ask."""
        with self._driver.active():
            return self._gpu.free_memory()

    def build(self, source: KernelSource) -> Module:
        """Compile a source and load it, or take it from the build cache."""
        driver = self._driver
        compiler = find_cuda_compiler(newest=driver.version)
        text = source.cuda_text(self.warp_size, self.warps_per_block)
        path = _build_cubin(source, text, driver.arch, compiler)
        try:
            with driver.active():
                driver.drop_unused()
                return _loaded(source, path, driver)
        except driver.drv.Error as error:
            raise DeviceError(
                f"the NVIDIA driver (CUDA {dotted(driver.version)}) does not load what {compiler.description} made of "
                f"{source.path} for {driver.arch}: {first_line(error)}; update the driver, or remove {path}"
            ) from error

    def program(self, steps: Sequence[Step], data: DataManager, world: WorldConstants) -> Program:
        """Freeze steps against a sealed store."""
        checks = [ActionBounds(step, data) for step in steps if isinstance(step, CheckActions)]
        launches = launches_of(steps, data, world, self._idle_kernel)
        run = CudaProgram(self._gpu, self._driver, launches, data.block).frozen()
        return _checked(run, checks) if checks else run

    def one_by_one(self, steps: Sequence[Step], data: DataManager, world: WorldConstants) -> NoReturn:
        """Raise DeviceError: a launch steps all envs."""
        raise DeviceError("device 'cuda' steps all envs in a launch; see Backend.runs_on_host")

    def _idle_kernel(self) -> RunKernel:
        """A kernel that does only the world's own work, with one warp per env."""
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
        return self._gpu.capture(self._captured_stream(), run)

    def _captured_stream(self) -> int:
        """Handle of the stream that work is captured on: for work of the second stream that one."""
        second = self._driver.second.handle
        return second if self._gpu.current_stream() == second else self._driver.stream.handle

    def random_state(self) -> torch.Tensor:
        """State of torch's own generator of the GPU."""
        return self._gpu.random_state()

    def set_random_state(self, state: torch.Tensor) -> None:
        """Write back what ``random_state`` returned."""
        self._gpu.set_random_state(state)

    def warm_up(self, run: Callable[[], None]) -> None:
        """Carry out the work of ``run`` on the stream that it will be captured on."""
        self._gpu.on_stream(self._captured_stream(), run)

    def branch(self) -> Callable[[Callable[[], None]], None]:
        """Begin a branch of work on a second stream."""
        return self._gpu.branch(self._driver.second.handle)

    def wait(self) -> None:
        """Wait until the device has done all work, of both streams."""
        self._gpu.wait()
