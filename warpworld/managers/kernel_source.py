"""A ``.cu`` file with everything the build adds to it: constants before the author's text, entry points after it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from warpworld.managers.signature import Signature

INCLUDE_FOLDER = Path(__file__).resolve().parent.parent / "cuda"

# Stands for the lines that the build writes, in compilers' messages.
SIGNATURE_FILE = "warpworld-signatures"

_INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
_WARP_WORDS = re.compile(r"__(syncwarp|shfl\w*_sync|ballot_sync|any_sync|all_sync)\b")

_SAME_TYPE = """\
template <class A, class B> struct ww_same { static constexpr bool value = false; };
template <class A> struct ww_same<A, A> { static constexpr bool value = true; };
"""


@dataclass(frozen=True)
class KernelSource:
    """One file to compile.

    Attributes:
        path: the author's file.
        text: its contents.
        constants: macros that the build defines: whole numbers, floats and bools.
        signatures: its kernels, in order.
        threads: threads of a block, for each kernel.
        envs_per_warp: 0, or how many envs share a warp.
    """

    path: Path
    text: str
    constants: Mapping[str, int | float | bool]
    signatures: tuple[Signature, ...]
    threads: tuple[int, ...]
    envs_per_warp: int = 0

    def included(self) -> Iterator[tuple[Path, bytes]]:
        """Path and contents of every file that the author's file includes and that can be found."""
        seen: set[Path] = set()
        todo = [(self.path.parent, self.text)]
        while todo:
            folder, text = todo.pop()
            for quote, name in _INCLUDE.findall(text):
                candidates = [folder / name] if quote == '"' else []
                for path in (*candidates, INCLUDE_FOLDER / name):
                    if path.is_file() and path.resolve() not in seen:
                        seen.add(path.resolve())
                        data = path.read_bytes()
                        yield path.resolve(), data
                        todo.append((path.parent, data.decode(errors="replace")))
                        break

    def uses_warp_words(self) -> bool:
        """Whether the author's file, or a file of the author's that it includes, speaks of warps."""
        texts = [self.text, *(data.decode(errors="replace") for path, data in self.included() if INCLUDE_FOLDER not in path.parents)]
        return any(_WARP_WORDS.search(_without_comments(text)) for text in texts)

    def host_text(self) -> str:
        """The C++ that the cpu backend compiles."""
        packed = self.envs_per_warp > 0
        threads = [32] * len(self.threads) if packed else self.threads
        defines = self._defines() + f"#define WW_MAX_THREADS_PER_ENV {max(threads, default=1)}\n"
        if packed:
            defines += f"#define WW_ENVS_PER_WARP {self.envs_per_warp}\n"
        if packed or self.uses_warp_words():
            defines += "#define WW_WARP_SCHEDULER\n"
        entries = "".join(f"WW_KERNEL({s.name}, {n})\n" for s, n in zip(self.signatures, threads, strict=True))
        return (
            f'{defines}#include "cpu/module.hpp"\n#include "warpworld.cuh"\n{self._author_text()}'
            f'{self._assertions()}#line 1 "warpworld-kernels"\n{entries}'
        )

    def cuda_text(self) -> str:
        """The CUDA C++ of the same kernels: the author's become device functions, called from kernels that carry the context."""
        defines = self._defines() + f"#define WW_ENVS_PER_WARP {self.envs_per_warp}\n"
        hidden = ("__global__", "__launch_bounds__")
        push = "".join(f'#pragma push_macro("{word}")\n#undef {word}\n' for word in hidden)
        push += "#define __global__ __device__ __forceinline__\n#define __launch_bounds__(...)\n"
        pop = "".join(f'#pragma pop_macro("{word}")\n' for word in reversed(hidden))
        entries = "".join(self._cuda_entry(i) for i in range(len(self.signatures)))
        return (
            f'{defines}#include "warpworld.cuh"\n{push}{self._author_text()}{pop}{self._assertions()}'
            f'#line 1 "warpworld-kernels"\n{entries}'
        )

    def _cuda_entry(self, i: int) -> str:
        signature, threads = self.signatures[i], self.threads[i]
        bounds = "WW_BLOCK" if self.envs_per_warp else str(threads)
        # a0, a1, ...: an array may be called like a kernel
        declared = "".join(f", {p.declaration} a{n}" for n, p in enumerate(signature.parameters))
        passed = ", ".join(f"a{n}" for n in range(len(signature.parameters)))
        return (
            f'extern "C" __global__ void __launch_bounds__({bounds}) ww_{signature.name}'
            f"(const ww_context context, const int kernel_index{declared}) {{\n"
            f"  ww_enter(context, kernel_index);\n  {signature.name}({passed});\n}}\n"
        )

    def _defines(self) -> str:
        return "".join(f"#define {name} {_literal(value)}\n" for name, value in self.constants.items())

    def _author_text(self) -> str:
        quoted = str(self.path).replace("\\", "\\\\").replace('"', '\\"')
        return f'#line 1 "{quoted}"\n{self.text}\n'

    def _assertions(self) -> str:
        lines = [
            f"static_assert(ww_same<decltype({s.name}), void({', '.join(p.declaration for p in s.parameters)})>::value, "
            f'"signature of {s.name}");\n'
            for s in self.signatures
        ]
        return f'#line 1 "warpworld-templates"\n{_SAME_TYPE}#line 1 "{SIGNATURE_FILE}"\n{"".join(lines)}'


def _literal(value: int | float | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value!r}f" if value >= 0 else f"({value!r}f)"
    return str(value) if value >= 0 else f"({value})"


def _without_comments(text: str) -> str:
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
