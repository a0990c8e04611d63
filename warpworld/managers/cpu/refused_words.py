"""CUDA's words and headers that a kernel cannot have on a CPU, each with the reason and what to write."""

from __future__ import annotations

import re

from warpworld.errors import suggest
from warpworld.managers import TOOLKIT

_GPU_ONLY = "put it and what uses it under `#ifdef __CUDACC__`, which a CPU leaves out, with another way under #else"
_OF_THE_WORLD = "memory, streams and launches are the world's; remove it, or put it under `#ifdef __CUDACC__`"

# what a word looks like -> why a CPU has none
_WORDS = {
    r"__activemask|coalesced_threads|coalesced_group": (
        "which lanes the hardware runs together is not defined on a CPU, where agents take turns; "
        "pass the mask of the lanes that you mean"
    ),
    r"(__)?(shfl|ballot|any|all)(_up|_down|_xor)?": (
        "warp operations without `_sync` left CUDA with compute capability 7.0; use the word with `_sync` and a mask"
    ),
    r"this_grid|grid_group|this_cluster|cluster_group|this_multi_grid|__cluster\w+|\w*[cC]lusterDim|clusterIdx": (
        "an env is one block, and blocks do not wait for each other"
    ),
    r"labeled_partition|binary_partition|memcpy_async|invoke_one\w*": (
        "of cooperative groups a CPU has blocks and tiles; write it with `tiled_partition<N>` and shuffles"
    ),
    r"tex\w+|surf\w+|cudaTextureObject_t|cudaSurfaceObject_t": (
        "a CPU has no textures and surfaces; read the array itself"
    ),
    r"curandState\w*|curandDirection\w*|curand_\w+|skipahead\w*": (
        "of cuRAND a CPU has Philox4x32-10: curandStatePhilox4_32_10_t with curand, curand_uniform and curand_normal; "
        "random.cuh has Random::agent()"
    ),
    r"wmma|nvcuda|__nv_fp8\w*|__nv_fp4\w*|__nv_cvt_\w+": (
        f"a CPU has no tensor cores and no floats of 8 bits; {_GPU_ONLY}"
    ),
    r"__nv_atomic_\w+|__NV_\w+": "use atomicAdd, atomicCAS and their like, which both backends have",
    r"__is(Global|Shared|Local|Constant|GridConstant)|__cvta_\w+": (
        "a CPU has one memory, whose addresses do not say what shares them"
    ),
    r"__(fadd2|fmul2|ffma2)_\w+": f"pairs of floats at once are of compute capability 10.0; {_GPU_ONLY}",
    r"cu(da)?[A-Z]\w*": f"CUDA's API for the host is not on a CPU: {_OF_THE_WORLD}",
}

# how a header's name begins -> why a CPU has none, and what to do
_HEADERS = {
    ("cub/", "thrust/", "cuda/", "nv/"): (
        "CUDA's C++ libraries are not on a CPU; use the words of kernels, and std for constants and types, or "
        f"{_GPU_ONLY}"
    ),
    ("mma.h", "cuda_fp8", "cuda_fp6", "cuda_fp4"): (
        f"a CPU has no tensor cores and no floats of 8 bits or less; {_GPU_ONLY}"
    ),
    ("curand",): "of cuRAND a CPU has curand_kernel.h with Philox4x32-10",
    ("cooperative_groups/",): ("of cooperative groups a CPU has cooperative_groups.h and cooperative_groups/reduce.h"),
    ("cuda_pipeline", "cuda_awbarrier"): f"a CPU copies no memory asynchronously; {_GPU_ONLY}",
    ("nvtx3/", "cupti", "nvml", "cublas", "cusparse", "cufft", "cudnn", "nccl"): (
        "libraries of the host are not used by kernels; remove it, or put it under `#ifdef __CUDACC__`"
    ),
    ("helper_", "cutil"): "it is of CUDA's samples, not of CUDA; put it beside the file",
}
_MISSING_HEADER = re.compile(r"error: '?([^':]+?)'?(?: file not found|: No such file or directory)")
_UNKNOWN_WORD = re.compile(
    r"(?:undeclared identifier|unknown type name|no member named) '(\w+)'|'(?:\w+::)*(\w+)' (?:was not "
    r"declared|does not name a type|is not a member|has not been declared)"
)
_LAUNCH = re.compile(r"<<<")


def why_not_on_cpu(log: str, first: str, line: str) -> str:
    """The reason for a CPU's refusal of a word of CUDA's, with what to write; empty where there is none.

    Args:
        log: all that the compiler printed.
        first: its first error.
        line: what the author wrote there.
    """
    header = _MISSING_HEADER.search(first)
    if header:
        return _of_header(header[1])
    if _LAUNCH.search(line):
        return f"kernels are launched by the world, and `<<< >>>` is not C++: {_OF_THE_WORLD}"
    if re.search(r"\basm\b", line) or "Assembler messages" in log:
        return f"asm holds the instructions of a GPU; {_GPU_ONLY}"
    word = _UNKNOWN_WORD.search(first)
    return of_word(next(filter(None, word.groups()))) if word else ""


def of_word(word: str) -> str:
    """The reason why a CPU does not have this word; empty where it is none of CUDA's."""
    return next((reason for pattern, reason in _WORDS.items() if re.fullmatch(pattern, word)), "")


def _of_header(name: str) -> str:
    for starts, reason in _HEADERS.items():
        if name.startswith(starts):
            return reason
    known = sorted(str(path.relative_to(TOOLKIT)) for path in TOOLKIT.rglob("*.h*"))
    return f"it is not beside the file, nor a header of warpworld's or CUDA's.{suggest(name, known)}"
