"""The store, the kernels, and the two backends that they live on."""

from typing import TYPE_CHECKING

from warpworld.lazy import lazy_names

if TYPE_CHECKING:
    from warpworld.managers.array_values import converted as converted
    from warpworld.managers.array_values import torch_dtype as torch_dtype
    from warpworld.managers.backend import Backend as Backend
    from warpworld.managers.binding import READ_ONLY as READ_ONLY
    from warpworld.managers.build_cache import cache_folder as cache_folder
    from warpworld.managers.build_cache import cached as cached
    from warpworld.managers.build_cache import content_key as content_key
    from warpworld.managers.compiler_errors import explain_failure as explain_failure
    from warpworld.managers.compiler_errors import first_error as first_error
    from warpworld.managers.copies import check_copies as check_copies
    from warpworld.managers.copies import copy_fields as copy_fields
    from warpworld.managers.data_manager import DataManager as DataManager
    from warpworld.managers.data_manager import Kept as Kept
    from warpworld.managers.data_manager import aligned as aligned
    from warpworld.managers.function_manager import FunctionManager as FunctionManager
    from warpworld.managers.kernel_source import INCLUDE_FOLDER as INCLUDE_FOLDER
    from warpworld.managers.kernel_source import LEAST_BLOCKS as LEAST_BLOCKS
    from warpworld.managers.kernel_source import TOOLKIT as TOOLKIT
    from warpworld.managers.kernel_source import KernelSource as KernelSource
    from warpworld.managers.kernel_source import cuda_entry as cuda_entry
    from warpworld.managers.kernel_source import host_address as host_address
    from warpworld.managers.kernel_source import is_own_kernel as is_own_kernel
    from warpworld.managers.kernel_source import takes_turns as takes_turns
    from warpworld.managers.numbers import Number as Number
    from warpworld.managers.numbers import Scalar as Scalar
    from warpworld.managers.numbers import scalar_of as scalar_of
    from warpworld.managers.program import AUTORESET as AUTORESET
    from warpworld.managers.program import Agents as Agents
    from warpworld.managers.program import Argument as Argument
    from warpworld.managers.program import Autoreset as Autoreset
    from warpworld.managers.program import BeginReset as BeginReset
    from warpworld.managers.program import BeginStep as BeginStep
    from warpworld.managers.program import CheckActions as CheckActions
    from warpworld.managers.program import Copy as Copy
    from warpworld.managers.program import EndStep as EndStep
    from warpworld.managers.program import KeepFinal as KeepFinal
    from warpworld.managers.program import Needs as Needs
    from warpworld.managers.program import OneByOne as OneByOne
    from warpworld.managers.program import Program as Program
    from warpworld.managers.program import Repeat as Repeat
    from warpworld.managers.program import RunHostFunction as RunHostFunction
    from warpworld.managers.program import RunKernel as RunKernel
    from warpworld.managers.program import Step as Step
    from warpworld.managers.program import Work as Work
    from warpworld.managers.program import WorldConstants as WorldConstants
    from warpworld.managers.shortage import amount as amount
    from warpworld.managers.source_text import SourceText as SourceText
    from warpworld.managers.source_text import parse as parse
    from warpworld.managers.source_text import text_of as text_of
    from warpworld.managers.source_text import walk as walk
else:
    __getattr__, __dir__ = lazy_names(__name__)
