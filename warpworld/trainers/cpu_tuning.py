"""Settings of the whole process that make torch quicker on the cpu: the command line asks for them, not the library."""

from __future__ import annotations

import ctypes
import logging

import torch

logger = logging.getLogger(__name__)

PROBE_ERROR = 1e-6  # of a product, relative; float32 is off by 1e-7, bfloat16 by 1e-3

_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD = -1, -2, -3  # malloc.h
_LARGEST_FROM_HEAP = 32 << 20  # the most that glibc takes for M_MMAP_THRESHOLD
_KEPT = 512 << 20


def tune_for_cpu(device: torch.device) -> None:
    """Apply ``quick_products`` and ``keep_freed_memory``, where they work, if a run's device is the cpu.

    On a GPU the precision of the first would round products to TF32, whatever ``trainer.precision`` is.
    """
    if device.type == "cpu":
        quick_products()
        keep_freed_memory()


def quick_products() -> bool:
    """Let torch multiply with oneDNN (``set_float32_matmul_precision("medium")``), if that stays exact here.

    On most processors it does and is up to twice as quick; where there are units for bfloat16 it may round, which a
    product of known numbers shows. Then nothing is changed.

    Returns:
        Whether it is set.
    """
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    if _error_of_product() < PROBE_ERROR:
        return True
    torch.set_float32_matmul_precision(before)
    logger.debug("products stay at float32 precision '%s': 'medium' rounds on this processor", before)
    return False


def _error_of_product() -> float:
    """Relative error, in the L2 norm, of products such as those of a small network."""
    generator = torch.Generator().manual_seed(0)
    a, b = torch.randn(512, 64, generator=generator), torch.randn(64, 64, generator=generator)
    exact = a.double() @ b.double()
    linear = torch.nn.functional.linear(a, b.t().contiguous())
    return max(float((product - exact).norm() / exact.norm()) for product in (a @ b, linear))


def keep_freed_memory() -> bool:
    """Make glibc's malloc keep freed memory: otherwise each minibatch asks the kernel for the same pages again.

    Returns:
        Whether this C library has such a setting.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return False
    mallopt.argtypes, mallopt.restype = [ctypes.c_int, ctypes.c_int], ctypes.c_int
    settings = ((_M_MMAP_THRESHOLD, _LARGEST_FROM_HEAP), (_M_TRIM_THRESHOLD, _KEPT), (_M_TOP_PAD, _KEPT // 8))
    return all([mallopt(option, value) for option, value in settings])
