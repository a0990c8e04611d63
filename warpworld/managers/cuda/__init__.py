"""The backend that runs kernels on an NVIDIA GPU."""

from typing import TYPE_CHECKING

from warpworld.lazy import lazy_names

if TYPE_CHECKING:
    from warpworld.managers.cuda.backend import CudaBackend as CudaBackend
    from warpworld.managers.cuda.faults import explain_torch_error as explain_torch_error
    from warpworld.managers.cuda.faults import first_line as first_line
else:
    __getattr__, __dir__ = lazy_names(__name__)
