"""A ``.cu`` file with everything the build adds to it: constants before the author's text, entry points after it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path

from warpworld.environment import MAX_THREADS_PER_ENV, HostCode
from warpworld.managers.device_variables import Filled
from warpworld.managers.kernel_calls import call_of, declared, host_entry, maker, structs_of
from warpworld.managers.signature import Signature, Struct
from warpworld.managers.source_text import TEXTS, source_text, without_comments

_PACKAGE = Path(__file__).resolve().parent.parent
INCLUDE_FOLDER = _PACKAGE / "cuda"
# The package's own kernels stand beside the Python that launches them; those of environments are elsewhere.
OWN_FOLDERS = tuple(_PACKAGE / name for name in ("policies", "trainers", "world"))
TOOLKIT = INCLUDE_FOLDER / "cpu" / "toolkit"  # CUDA's own headers, as a CPU has them

# Stand for the lines that the build writes behind the author's, in compilers' messages.
SIGNATURE_FILE, STRUCTS_FILE = "warpworld-signatures", "warpworld-structs"
CONSTANTS_FILE, ENTRIES_FILE = "warpworld-constants", "warpworld-kernels"

# A constant of a file: how many of its blocks a multiprocessor must hold. Without it compilers save registers for one
# block more, where that costs no more than a few spills.
LEAST_BLOCKS = "WW_LEAST_BLOCKS"
SMALL_WARPS = 16  # of a multiprocessor, in blocks of up to two, where the kernels of a file differ in threads
PACKED_BLOCKS = 4  # of a multiprocessor, of kernels whose envs share warps beside others that have more threads

VECTORS = "WW_VECTORS"  # macro of a file whose envs may run side by side on a CPU
ENVS_AT_ONCE = 64  # of vectors on a CPU: four of 16 floats

_INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
# Variables that a macro makes, managed ones, and those of a function that keep their value.
_HIDDEN_VARIABLES = re.compile(
    r"^\s*#\s*define\b.*\b__(device|constant|managed)__|\b__managed__\b"
    r"|\bstatic\s+(?!const\b|constexpr\b|inline\b|__device__|__forceinline__|__host__)",
    re.MULTILINE,
)
_WARP_WORDS = re.compile(
    r"__(syncwarp|shfl\w*_sync|ballot_sync|any_sync|all_sync|match_\w+_sync|reduce_\w+_sync|syncthreads_\w+)\b|"
    r"\bcooperative_groups\b"
)
# Names of a thread's place in its block or warp, or of the block: they change their meaning where envs share one.
_BLOCK_WORDS = re.compile(
    r"\b(threadIdx|blockIdx|blockDim|gridDim|warpSize|__shared__|__syncthreads\w*|__activemask|__match_\w+|"
    r"__reduce_\w+_sync|cooperative_groups|asm)\b"
)

# Names by which an env's threads meet, or share memory: they mean all of them, and so not some that take turns.
_BARRIER_WORDS = re.compile(r"\b(sync_env|ENV_SHARED)\b")
_OF_THE_WORDS = ("warpworld.cuh", "context.cuh", "random.cuh")  # headers that name such words, and use none

# Macro that asks for a chapter of CUDA's functions -> the chapter's words, or what may put one together. And one that
# says that some kernels are inline by the author's own word.
_CHAPTERS = {
    "WW_ROUNDING_WORDS": re.compile(r"__\w+_r[nzud]\b|##"),
    "WW_SIMD_WORDS": re.compile(r"__v\w+[24]\b|__vi\w+|##"),
    "WW_SPECIAL_WORDS": re.compile(
        r"\b(r?norm\w*|erfc?inv\w*|erfcx\w*|cyl_bessel\w*|(sin|cos|sincos)pif?|rhypotf?)\b|##"
    ),
    VECTORS: re.compile(r"\bENVS_IN_VECTORS\b"),
    "WW_INLINE_KERNELS": re.compile(
        r"inline(__)?\b[^;{}]*\b__global__|\b__global__\b[^;{}]*\b(__)?inline(__)?\b|#\s*define\b.*\binline(__)?\b"
    ),
}

# What makes the author's kernels device functions, and what undoes it, as CUDA's own headers have it: NVRTC knows no
# push_macro.
_AS_DEVICE_FUNCTIONS = """\
#undef __global__
#undef __launch_bounds__
#define __global__ __device__ __forceinline__
#define __launch_bounds__(...)
"""
_AS_KERNELS = """\
#undef __global__
#undef __launch_bounds__
#define __global__ __attribute__((global))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
"""

_SAME_TYPE = """\
template <class ww_a, class ww_b> struct ww_same { static constexpr bool ww_value = false; };
template <class ww_a> struct ww_same<ww_a, ww_a> { static constexpr bool ww_value = true; };
template <class ww_a> struct ww_element { using ww_type = ww_a; };
template <class ww_a, decltype(sizeof(0)) ww_n> struct ww_element<ww_a[ww_n]> : ww_element<ww_a> {};
"""


@dataclass(frozen=True)
class KernelSource:
    """Kernel file to compile, with its constants, threads and checks.

    Attributes:
        path: the author's file.
        text: its contents.
        constants: macros that the build defines: whole numbers, floats and bools.
        signatures: its kernels, in order.
        threads: lanes of an env, for each kernel; more than a block has threads take turns, see ``threads_of_block``.
        envs_per_warp: 0, or how many envs share a warp.
        checked: whether every access of memory is reported to the check runtime; on a CPU only.
        includes: headers that come before the text.
        filled: variables that the host fills after loading.
        behind: files of the package that come behind the text.
        host: of a file that only a CPU can run, where its headers and libraries are.
    """

    path: Path
    text: str
    constants: Mapping[str, int | float | bool]
    signatures: tuple[Signature, ...]
    threads: tuple[int, ...]
    envs_per_warp: int = 0
    checked: bool = False
    includes: tuple[Path, ...] = ()
    filled: tuple[Filled, ...] = ()
    behind: tuple[Path, ...] = ()
    host: HostCode | None = None

    def with_kernels(self, names: Collection[str], envs_per_warp: int) -> KernelSource:
        """Make a source with entry points for some of the kernels, built for ``envs_per_warp`` envs to a warp."""
        kept = [(s, n) for s, n in zip(self.signatures, self.threads, strict=True) if s.name in names]
        signatures, threads = tuple(s for s, _ in kept), tuple(n for _, n in kept)
        constants = {LEAST_BLOCKS: PACKED_BLOCKS, **self.constants} if envs_per_warp else self.constants
        return replace(self, signatures=signatures, threads=threads, constants=constants, envs_per_warp=envs_per_warp)

    def included(self) -> Iterator[tuple[Path, bytes]]:
        """Path and contents of every file that comes with the author's file and that can be found."""
        return iter(self._included)

    @cached_property
    def _included(self) -> list[tuple[Path, bytes]]:
        """Headers and their contents, read once: a build asks for them several times."""
        found: dict[Path, bytes] = {}
        todo = [(self.path.parent, self._include_text() + self.text + self._text_behind())]
        while todo:
            folder, text = todo.pop()
            for quote, name in _includes_of(text):
                beside = [folder] if quote == '"' else []  # as compilers search
                folders = (*beside, INCLUDE_FOLDER, self.path.parent, *(self.host.include_folders if self.host else ()))
                path = next((each / name for each in folders if (each / name).is_file()), None)
                resolved = None if path is None else path.resolve()
                if path is not None and resolved is not None and resolved not in found:
                    found[resolved] = path.read_bytes()
                    todo.append((path.parent, found[resolved].decode(errors="replace")))
        return list(found.items())

    @property
    def subject(self) -> str:
        """Name of the file, with up to three of its own kernels."""
        names = [signature.name for signature in self.signatures if signature.path == self.path]
        more = [f"{len(names) - 3} more"] if len(names) > 3 else []
        return f"{self.path.name} ({', '.join([*names[:3], *more])})" if names else self.path.name

    def host_folders(self) -> list[Path]:
        """Folders in which a host compiler looks for included files."""
        return [INCLUDE_FOLDER, self.path.parent, TOOLKIT, *(self.host.include_folders if self.host else ())]

    def filling(self) -> tuple[str, ...]:
        """Digests of what variables are filled with.

        The loader takes a file that it loads twice for one library, and two worlds with other contents must not share
        theirs: each needs a file of its own.
        """
        return tuple(each.digest for each in self.filled)

    def uses_warp_words(self) -> bool:
        """Whether the author's code mentions warps."""
        return any(_mentions(_WARP_WORDS, text) for text in self._author_texts)

    def uses_header_words_only(self) -> bool:
        """Whether the author's code mentions neither blocks nor warps, so that several envs can share them."""
        return not any(_mentions(words, text) for words in (_WARP_WORDS, _BLOCK_WORDS) for text in self._author_texts)

    def keeps_state(self) -> bool:
        """Whether the author's code may have variables that launches share, besides those that declarations show."""
        return any(_mentions(_HIDDEN_VARIABLES, text) for text in self._author_texts)

    def barrier_word(self) -> str | None:
        """A word of the file or of its headers by which the threads of a block meet, share or know their place."""
        words = (_BARRIER_WORDS, _BLOCK_WORDS, _WARP_WORDS)
        texts = [
            self.text,
            *(data.decode(errors="replace") for path, data in self.included() if _has_kernel_code(path)),
        ]
        found = (pattern.search(without_comments(text)) for text in texts for pattern in words)
        return next((match[0] for match in found if match), None)

    @cached_property
    def _author_texts(self) -> list[str]:
        """The author's file and the files of the author's that it includes, without comments."""
        own = [data for path, data in self.included() if path in self.includes or INCLUDE_FOLDER not in path.parents]
        return [without_comments(text) for text in (self.text, *(data.decode(errors="replace") for data in own))]

    def place_of(self, word: str) -> str:
        """File and line where the author first writes a word; the file alone where that is not found."""
        texts = [(self.path, self.text), *((path, data.decode(errors="replace")) for path, data in self.included())]
        for path, text in texts:
            found = re.search(rf"\b{re.escape(word)}\b", source_text(path, text).code)
            if found and INCLUDE_FOLDER not in path.parents:
                return f"{path}:{text.count(chr(10), 0, found.start()) + 1}"
        return str(self.path)

    @cached_property
    def envs_at_once(self) -> int:
        """Number of envs that a CPU may run side by side, in vectors, before it notes how far it has come.

        More than one where the author's ``ENVS_IN_VECTORS`` asks for it, and each env has one thread.
        """
        one = self.checked or self.host or self.envs_per_warp or self.uses_warp_words()
        if one or max(self.threads, default=1) > 1:
            return 1
        return ENVS_AT_ONCE if any(_mentions(_CHAPTERS[VECTORS], text) for text in self._author_texts) else 1

    def host_text(self, warp_size: int) -> str:
        """The C++ that the cpu backend compiles, with warps of ``warp_size`` lanes."""
        packed = self.envs_per_warp > 0
        threads = [warp_size] * len(self.threads) if packed else self.threads
        # settings that headers read
        settings = f"#define WW_WARP_SIZE {warp_size}\n#define WW_MAX_THREADS_PER_ENV {max(threads, default=1)}\n"
        if packed:
            settings += f"#define WW_ENVS_PER_WARP {self.envs_per_warp}\n"
        if self.checked:
            settings += "#define WW_CHECK\n"
        if self.host:
            settings += "#define WW_HOST_CODE\n"
        if packed or self.checked or self.uses_warp_words():
            settings += "#define WW_WARP_SCHEDULER\n"
        if self.envs_at_once > 1:
            settings += f"#define WW_ENVS_AT_ONCE {self.envs_at_once}\n"
        chapters = (m for m, words in _CHAPTERS.items() if any(_mentions(words, text) for text in self._author_texts))
        settings += "".join(f"#define {macro}\n" for macro in chapters)
        # entries behind the author's text
        entries = "".join(host_entry(s, n) for s, n in zip(self.signatures, threads, strict=True))
        return (
            f'{settings}#include "cpu/module.hpp"\n{self._before_author()}{self._author_text()}{self._assertions()}'
            f'#line 1 "{ENTRIES_FILE}"\n{entries}{self._addresses()}'
        )

    def cuda_text(self, warp_size: int, warps_per_block: int) -> str:
        """The CUDA C++ of the same kernels, where envs that share warps run ``warps_per_block`` of them to a block.

        The author's kernels become device functions, and each is called from a ``__global__`` function that carries the
        context; ``cuda_entry`` names it.
        """
        settings = f"#define WW_WARP_SIZE {warp_size}\n#define WW_WARPS_PER_BLOCK {warps_per_block}\n"
        settings += f"#define WW_ENVS_PER_WARP {self.envs_per_warp}\n"
        if any(map(takes_turns, self.threads)):
            settings += "#define WW_TURNS 1\n"
        elif len(set(self.threads)) == 1:  # else the kernels ask their launch
            settings += f"#define WW_THREADS_PER_ENV {self.threads[0]}\n"
        entries = "".join(self._cuda_entry(i, warp_size) for i in range(len(self.signatures)))
        return (
            f"{settings}{self._before_author()}{_AS_DEVICE_FUNCTIONS}{self._author_text()}{_AS_KERNELS}"
            f"{self._assertions()}"
            f'#line 1 "{ENTRIES_FILE}"\n{entries}'
        )

    def _cuda_entry(self, i: int, warp_size: int) -> str:
        signature, lanes = self.signatures[i], self.threads[i]
        threads = threads_of_block(lanes, warp_size)
        # launch bounds, which limit the registers of a thread
        bounds = "WW_BLOCK" if self.envs_per_warp else str(threads)
        if LEAST_BLOCKS in self.constants:
            bounds += f", {LEAST_BLOCKS}"
        elif len(set(self.threads)) > 1 and lanes <= 2 * warp_size:
            bounds += f", {SMALL_WARPS // -(-lanes // warp_size)}"
        # the call, in turns where agents outnumber a block's threads
        call = f"WW_TAKE_TURNS({lanes}, {threads}) {call_of(signature)}" if takes_turns(lanes) else call_of(signature)
        start = "ww_take_turn(0, (int)blockDim.x); " if any(map(takes_turns, self.threads)) else ""
        listed = ", ".join(["const __grid_constant__ ww_launch launch", *declared(signature.leaves)])
        return (
            f'extern "C" __global__ void __launch_bounds__({bounds}) {cuda_entry(signature.name)}({listed}) {{\n'
            f"  {start}ww_enter(launch);\n  {call};\n}}\n"
        )

    def _before_author(self) -> str:
        """Constants come after the system's headers, which must not see them."""
        defines = "".join(f"#define {name} {_literal(value)}\n" for name, value in self.constants.items())
        return f'{_SAME_TYPE}{defines}#include "warpworld.cuh"\n'

    def _author_text(self) -> str:
        quoted = str(self.path).replace("\\", "\\\\").replace('"', '\\"')
        return f'{self._include_text()}#line 1 "{quoted}"\n{self.text}\n{self._text_behind()}'

    def _text_behind(self) -> str:
        return "".join(f'#include "{path}"\n' for path in self.behind)

    def _include_text(self) -> str:
        return "".join(f'#include "{path}"\n' for path in self.includes)

    def _assertions(self) -> str:
        lines = ""
        for signature in self.signatures:
            types = ", ".join(parameter.declaration for parameter in signature.parameters)
            same = f"ww_same<decltype({signature.name}), void({types})>::ww_value"
            lines += f'static_assert({same}, "signature of {signature.name}");\n'
        makers = "".join(map(maker, self.structs()))
        return (
            f'#line 1 "{SIGNATURE_FILE}"\n{lines}#line 1 "{STRUCTS_FILE}"\n{makers}'
            f'#line 1 "{CONSTANTS_FILE}"\n{self._assertions_of_filled()}'
        )

    def structs(self) -> list[Struct]:
        """The structs that kernels take, each behind those that are its fields."""
        return structs_of([parameter for signature in self.signatures for parameter in signature.parameters])

    def _assertions_of_filled(self) -> str:
        """Assertions that the host's contents fit; a line for each variable."""
        lines = ""
        for each in self.filled:
            same = f"ww_same<ww_element<decltype({each.name})>::ww_type, {each.type}>::ww_value"
            fits = f"{same} && sizeof({each.name}) == {each.values.nbytes}"
            lines += f'static_assert({fits}, "contents of {each.name}");\n'
        return lines

    def _addresses(self) -> str:
        """Addresses of the variables that the host fills."""
        exported = 'extern "C" __attribute__((visibility("default")))'
        return "".join(
            f"{exported} void* const {host_address(each.name)} = (void*)&{each.name};\n" for each in self.filled
        )


@lru_cache(16 * TEXTS)
def _mentions(words: re.Pattern[str], text: str) -> bool:
    """Whether a text has one of some words."""
    return words.search(text) is not None


@lru_cache(TEXTS)
def _includes_of(text: str) -> list[tuple[str, str]]:
    """The quote and the name of each file that a text includes."""
    return _INCLUDE.findall(text)


def takes_turns(lanes: int) -> bool:
    """Whether an env has more lanes than a block has threads."""
    return lanes > MAX_THREADS_PER_ENV


def threads_of_block(lanes: int, warp_size: int) -> int:
    """Threads of the block that runs an env: one for each lane, or whole warps with equal shares of the turns."""
    if not takes_turns(lanes):
        return lanes
    share = -(-lanes // -(-lanes // MAX_THREADS_PER_ENV))
    return min(-(-share // warp_size) * warp_size, MAX_THREADS_PER_ENV)


def is_own_kernel(path: Path) -> bool:
    """Whether a kernel file is the package's own, and no environment's."""
    return any(folder in path.parents for folder in OWN_FOLDERS)


def _has_kernel_code(path: Path) -> bool:
    """Whether a header holds kernels' own code, and not the words that both backends give them."""
    return INCLUDE_FOLDER not in path.parents or (
        path.name not in _OF_THE_WORDS and path.parent.name not in ("cpu", "gpu")
    )


def cuda_entry(kernel: str) -> str:
    """Name of the function in ``cuda_text`` that runs a kernel."""
    return f"ww_entry_{kernel}"


def host_address(variable: str) -> str:
    """Name of what ``host_text`` exports: the address of a variable that the host fills."""
    return f"ww_address_of_{variable}"


def _literal(value: int | float | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    text = f"{value!r}f" if isinstance(value, float) else str(value)
    return f"({text})" if text.startswith("-") else text
