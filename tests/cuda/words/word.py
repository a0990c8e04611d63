"""A word of CUDA's as data, and the kernel that applies many of them to samples."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

SAMPLES = 48
DTYPES = {
    **{"char": "int8", "signed char": "int8", "unsigned char": "uint8", "short": "int16", "unsigned short": "uint16"},
    **{
        "int": "int32",
        "unsigned": "uint32",
        "long": "int64",
        "long long": "int64",
        "unsigned long long": "uint64",
        "bool": "bool",
    },
    **{"float": "float32", "double": "float64", "__half": "float16", "__nv_bfloat16": "uint16"},
}


@dataclass(frozen=True)
class Word:
    """One function.

    Attributes:
        returned: its type; "void" where all that it returns is written through pointers.
        name: what it is called.
        takes: types of its arguments; pointers, which come last, are results.
        oracle: the exact result of the arguments as Python's numbers, or a tuple of all results.
        ulp: by how many units in the last place a float may differ; 0: it is the exact result, rounded to nearest.
        domain: least and greatest of samples that are floats; None: any bits.
    """

    returned: str
    name: str
    takes: tuple[str, ...]
    oracle: Callable[..., Any]
    ulp: float = 0
    domain: tuple[float, float] | None = None

    @property
    def arguments(self) -> list[str]:
        return [each for each in self.takes if not each.endswith("*")]

    @property
    def results(self) -> list[str]:
        returned = [] if self.returned == "void" else [self.returned]
        return returned + [each.removesuffix("*") for each in self.takes if each.endswith("*")]

    def line(self, place: int) -> str:
        """Statements that apply it to the samples at its place of the kernel's arrays."""
        given = [f"get<{each}>(a[{i}])" for i, each in enumerate(self.arguments)]
        pointers = [each.removesuffix("*") for each in self.takes if each.endswith("*")]
        declared = "".join(f"{each} p{i}; " for i, each in enumerate(pointers))
        call = f"{self.name}({', '.join([*given, *(f'&p{i}' for i in range(len(pointers)))])})"
        kept = [f"b[{i + (self.returned != 'void')}] = bits(p{i});" for i in range(len(pointers))]
        first = f"{call};" if self.returned == "void" else f"b[0] = bits(({self.returned}){call});"
        return f"  EACH({place}) {{ {declared}{first} {' '.join(kept)} }}\n"


def word(signature: str, oracle: Callable[..., Any], ulp: float = 0, domain: tuple[float, float] | None = None) -> Word:
    """A row of a table, of a signature such as ``float __fadd_rd(float, float)``."""
    found = re.fullmatch(r"(.+?) (\w+)\((.*)\)", signature)
    assert found, signature
    takes = tuple(each.strip() for each in found[3].split(",") if each.strip())
    return Word(found[1], found[2], takes, oracle, ulp, domain)


PRELUDE = f"""
template <class T> __device__ T get(unsigned long long bits) {{
  T value;
  memcpy(&value, &bits, sizeof value);
  return value;
}}
template <class T> __device__ unsigned long long bits(T value) {{
  unsigned long long result = 0;
  memcpy(&result, &value, sizeof value);
  return result;
}}
#define EACH(word) for (int i = 0; i < {SAMPLES}; i++) \\
  if (const unsigned long long* a = given + ((word) * {SAMPLES} + i) * 4) \\
    if (unsigned long long* b = found + ((word) * {SAMPLES} + i) * 4)
"""


def kernel_text(words: Sequence[Word], headers: Sequence[str] = ()) -> str:
    """A file whose kernel applies the words to all samples: ``given`` and ``found`` are (words, samples, 4)."""
    includes = "".join(f"#include <{header}>\n" for header in headers)
    signature = 'extern "C" __global__ void apply(const unsigned long long* given, unsigned long long* found) {\n'
    return f"{includes}{PRELUDE}{signature}{''.join(each.line(i) for i, each in enumerate(words))}}}\n"


def samples(each: Word, seed: int) -> list[np.ndarray]:
    """``SAMPLES`` values of each argument: ends of its type, and random ones."""
    random = np.random.default_rng(seed)
    return [_of_type(kind, each.domain, random) for kind in each.arguments]


def _of_type(kind: str, domain: tuple[float, float] | None, random: np.random.Generator) -> np.ndarray:
    dtype = np.dtype(DTYPES.get(kind, "uint32" if "4" in kind or "2" in kind else kind))
    if kind == "__nv_bfloat16":
        floats = _of_type("float", domain, random)
        return (floats.view(np.uint32) >> 16).astype(np.uint16)
    if dtype.kind == "f" and domain is not None:
        return random.uniform(*domain, SAMPLES).astype(dtype)
    bits = random.integers(0, 2**63, SAMPLES, dtype=np.uint64) * np.uint64(2) + random.integers(0, 2, SAMPLES).astype(
        np.uint64
    )
    values = np.ascontiguousarray(bits).view(np.uint8).reshape(SAMPLES, 8)[:, : dtype.itemsize].copy().view(dtype)[:, 0]
    if dtype.kind == "f":
        values[:16] = (random.standard_normal(16) * 10.0 ** random.integers(-3, 4, 16)).astype(dtype)
        values = np.where(np.isfinite(values), values, dtype.type(1.5))
        values[16:20] = dtype.type([0.0, -0.0, 1.0, -2.5])
    else:
        ends = np.iinfo(dtype)
        values[:6] = random.permutation(np.array([ends.min, ends.max, 0, 1, ends.max // 2, ends.max - 1], dtype))
        values[6:14] = random.integers(0, 33, 8).astype(dtype)
    return values


def packed(columns: Sequence[np.ndarray]) -> np.ndarray:
    """Samples as the kernel takes them: (SAMPLES, 4) words of 64 bits."""
    given = np.zeros((SAMPLES, 4), np.uint64)
    for i, column in enumerate(columns):
        given.view(np.uint8).reshape(SAMPLES, 4, 8)[:, i, : column.itemsize] = column.view(np.uint8).reshape(
            SAMPLES, -1
        )
    return given


def unpacked(found: np.ndarray, kind: str, column: int) -> np.ndarray:
    """A column of the results, in the type that it is of."""
    dtype = np.dtype(DTYPES.get(kind, "uint32"))
    data = np.ascontiguousarray(found[:, column]).view(np.uint8).reshape(SAMPLES, 8)
    return data[:, : dtype.itemsize].copy().view(dtype)[:, 0]


def as_numbers(kind: str, column: np.ndarray) -> list[Any]:
    """Samples as Python's numbers: floats exactly, whole numbers as int."""
    if kind == "__nv_bfloat16":
        return [float(x) for x in (column.astype(np.uint32) << 16).view(np.float32)]
    return [each.item() for each in column]
