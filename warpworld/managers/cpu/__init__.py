"""The backend that runs kernels on the host's cores."""

from typing import TYPE_CHECKING

from warpworld.lazy import lazy_names

if TYPE_CHECKING:
    from warpworld.managers.cpu.backend import CpuBackend as CpuBackend
    from warpworld.managers.cpu.cpuinfo import processor as processor
    from warpworld.managers.cpu.host_compiler import HOST_CODE_FLAGS as HOST_CODE_FLAGS
    from warpworld.managers.cpu.host_compiler import HOST_CODE_WRAPPED as HOST_CODE_WRAPPED
    from warpworld.managers.cpu.host_compiler import KERNEL_FLAGS as KERNEL_FLAGS
    from warpworld.managers.cpu.host_compiler import HostCompiler as HostCompiler
    from warpworld.managers.cpu.host_compiler import find_compiler as find_compiler
    from warpworld.managers.cpu.host_compiler import require_cpp_library as require_cpp_library
    from warpworld.managers.cpu.host_compiler import source_line as source_line
    from warpworld.managers.cpu.host_compiler import source_lines as source_lines
    from warpworld.managers.cpu.host_compiler import users_kernel_flags as users_kernel_flags
    from warpworld.managers.cpu.lanes import LEARNING as LEARNING
    from warpworld.managers.cpu.lanes import STEPPING as STEPPING
    from warpworld.managers.cpu.lanes import busy as busy
    from warpworld.managers.cpu.lanes import learn_in_this_thread as learn_in_this_thread
    from warpworld.managers.cpu.lanes import set_busy as set_busy
    from warpworld.managers.cpu.library_source import LibrarySource as LibrarySource
    from warpworld.managers.cpu.library_source import does_not_compile as does_not_compile
    from warpworld.managers.cpu.library_source import recorded_libraries as recorded_libraries
    from warpworld.managers.cpu.module import Module as Module
    from warpworld.managers.cpu.native_library import NativeLibrary as NativeLibrary
    from warpworld.managers.cpu.native_library import WorkerLoop as WorkerLoop
    from warpworld.managers.cpu.native_runtime import ErrorCode as ErrorCode
    from warpworld.managers.cpu.native_runtime import contents_of as contents_of
    from warpworld.managers.cpu.native_runtime import headers as headers
    from warpworld.managers.cpu.native_runtime import runtime as runtime
    from warpworld.managers.cpu.one_by_one import OneByOne as OneByOne
    from warpworld.managers.cpu.program import CpuProgram as CpuProgram
    from warpworld.managers.cpu.refused_words import why_not_on_cpu as why_not_on_cpu
    from warpworld.managers.cpu.shipped import LEVELS as LEVELS
    from warpworld.managers.cpu.shipped import Level as Level
    from warpworld.managers.cpu.shipped import installed_file as installed_file
    from warpworld.managers.cpu.workers import MAX_WORKERS as MAX_WORKERS
    from warpworld.managers.cpu.workers import available_cores as available_cores
else:
    __getattr__, __dir__ = lazy_names(__name__)
