"""Messages of compilers as errors at the author's own file and line."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from warpworld.errors import BindError, BuildError
from warpworld.managers.kernel_source import (
    CONSTANTS_FILE,
    ENTRIES_FILE,
    INCLUDE_FOLDER,
    SIGNATURE_FILE,
    STRUCTS_FILE,
    KernelSource,
    cuda_entry,
)

TOO_MUCH_SHARED = "uses too much shared data"  # in the words of ptxas
HALVES_FILE = str(INCLUDE_FOLDER / "half.cuh")
_NVCC_PLACE = re.compile(r"^(.+)\((\d+)\): ", re.MULTILINE)  # g++ and clang++ write file:line:column
_ERROR = re.compile(r"\berror(?: #\S+)?:")
_OF_LINKER = re.compile(
    r"^\S*(?:ld|ld\.\w+|lld): (?!.*\bwarning\b)(.+)$", re.MULTILINE
)  # which the compiler's own line follows
_SIXTEEN = re.compile(r"\b(__half2?|half2?|__nv_bfloat162?)\b")
_NO_HALVES = re.compile(  # between quotes of any kind
    r"\W(?:__)?half2?\W (?:was not declared|is undefined|does not name a type)|unknown type name \W(?:__)?half2?\W"
)
_GUTTER = re.compile(r"^ *\d* \| ?")  # of g++ and clang++, with the line's number
_CARET = re.compile(r"^[ \t~]*\^[ ~^-]*$")  # NVRTC keeps tabs
_TOO_MUCH_SHARED = re.compile(
    rf"function '{cuda_entry('')}(\w+)' {TOO_MUCH_SHARED} \((0x[0-9a-f]+) bytes, (0x[0-9a-f]+) max\)"
)


def first_error(log: str) -> str:
    """The compiler's first error line, or its first line."""
    lines = _NVCC_PLACE.sub(r"\1:\2: ", log).splitlines()
    linker = _OF_LINKER.search(log)
    if linker:
        return linker[1]
    return next((line for line in lines if _ERROR.search(line)), lines[0] if lines else "")


def explain_failure(
    source: KernelSource, log: str, why_not: Callable[[str, str, str], str] | None = None
) -> BuildError | BindError:
    """The error to raise where a source does not compile.

    Args:
        source: what was compiled.
        log: what the compiler printed.
        why_not: why a word of CUDA's is not there, of the log, its first error and the author's line; empty where it
            does not know.
    """
    first = first_error(log)
    # faults in lines that the framework adds
    at_signature = re.match(rf"{SIGNATURE_FILE}:(\d+):", first)
    if at_signature:
        kernel = source.signatures[min(int(at_signature.group(1)), len(source.signatures)) - 1]
        return BindError(
            f"{kernel.path}:{kernel.line}: kernel '{kernel.name}' is not what the compiler sees there; it may be "
            "inside an #if, or have macros or typedefs in its parameters: write it out plainly"
        )
    at_struct = re.match(rf"{STRUCTS_FILE}:(\d+):", first)
    if at_struct:
        structs = source.structs()
        struct = structs[min(int(at_struct.group(1)), len(structs)) - 1]
        return BindError(
            f"{struct.path}:{struct.line}: struct '{struct.name}' is not what the compiler sees there; it may be "
            "inside an #if, a function or a namespace, or have typedefs or private fields: write it out plainly "
            f"({first})"
        )
    at_constant = re.match(rf"{CONSTANTS_FILE}:(\d+):", first)
    if at_constant:
        filled = source.filled[min(int(at_constant.group(1)), len(source.filled)) - 1]
        if re.search(r"not declared|undeclared|is undefined", first):
            return BindError(
                f"{source.path}: constant '{filled.name}' is not at file scope, where the host finds variables: move "
                f"it out of its namespace, function or #if ({first})"
            )
        return BindError(
            f"{source.path}: constant '{filled.name}' is given {filled.values.size} numbers of {filled.values.dtype}; "
            f"the compiler sees a variable of another type or size ({first})"
        )
    # too much shared memory, which has no line
    shared = _TOO_MUCH_SHARED.search(log)
    if shared:
        name, asked, most = shared.group(1), int(shared.group(2), 16), int(shared.group(3), 16)
        kernel = next(signature for signature in source.signatures if signature.name == name)
        return BuildError(
            f"{kernel.path}:{kernel.line}: kernel '{name}' shares {asked} bytes among a block's threads, which may "
            f"share {most}: ask for less with ENV_SHARED or __shared__, or for fewer agents",
            log,
        )
    # an open bracket, found in the framework's lines behind the file
    if ENTRIES_FILE in log and first.startswith((ENTRIES_FILE, str(INCLUDE_FOLDER / "cpu"))):
        return BuildError(
            f"{source.path}: the file ends inside of something; a '}}' or a ')' is missing ({first})", log
        )
    # faults in the author's lines
    count = len(_ERROR.findall(log))
    more = f" (and {count - 1} more)" if count > 1 else ""
    place, text = _place_and_text(first)
    reason = why_not(log, first, _line_at(place)) if why_not else ""
    if place and source.host and re.search(r"No such file|file not found", first):
        reason = "it is neither beside the file nor in include_folders, which names folders of headers"
    if reason and not place:  # of an assembler, which knows no lines of the author's
        return BuildError(f"{source.place_of('asm')}: {reason}", log)
    if not place and _OF_LINKER.search(log):
        return BuildError(f"{source.path}: the linker says: {text}", log)
    place, picture = _pictured(place, log)
    return BuildError(f"{place}{text}{f'; {reason}' if reason else _of_halves(first, log)}{more}{picture}", log)


def _place_and_text(first: str) -> tuple[str, str]:
    """``file:line:column`` and what is wrong there, without the word error between them."""
    found = re.match(r"(.+?:\d+(?::\d+)?): (?:fatal |catastrophic )?error(?: #\S+)?: (.*)", first)
    return (found[1], f": {found[2]}") if found else ("", first)


def _pictured(place: str, log: str) -> tuple[str, str]:
    """The place with a column, and the source line of the first error above a caret, as far as the log shows them."""
    lines = log.splitlines()
    at = next((i for i, line in enumerate(lines) if _ERROR.search(line)), len(lines))
    echo = [_GUTTER.sub("", line) for line in lines[at + 1 : at + 3]]
    if len(echo) < 2 or not _CARET.match(echo[1]):
        return place, ""
    shown, offset = echo[0].rstrip(), echo[1].index("^")
    own = _line_at(place).rstrip()
    if shown[offset:] and own.endswith(shown[offset:]):  # nvcc shows lines with their macros replaced, and no column
        shown, offset = own, len(own) - len(shown[offset:])
        place = f"{place.removesuffix(_column_of(place))}:{offset + 1}"
    indent = len(shown) - len(shown.lstrip())
    text = shown.strip().replace("\t", " ")  # so that the caret stands under its column
    return place, f"\n  {text}\n  {' ' * (offset - indent)}^"


def _column_of(place: str) -> str:
    """``:column`` at the end of a place, or nothing."""
    found = re.search(r":\d+(:\d+)$", place)
    return found[1] if found else ""


def _line_at(place: str) -> str:
    """The line of the author's file; nothing where it cannot be read."""
    path, _, number = place.removesuffix(_column_of(place)).rpartition(":")
    try:
        return Path(path).read_text(errors="replace").splitlines()[int(number) - 1]
    except (OSError, IndexError, ValueError):
        return ""


def _of_halves(first: str, log: str) -> str:
    """Advice for a kernel that lacks their header or used an operator that halves do not have; else empty."""
    if _NO_HALVES.search(log):
        return "; write `#include <half.cuh>` above for numbers of 16 bits"
    if "deleted" in first and HALVES_FILE in log:
        return "; a __half is only stored: make it a float with __half2float, and a half of a float with __float2half"
    if "ambiguous" in first and _SIXTEEN.search(first):
        return "; the result of a 16-bit float and another number could be either: convert one of the two"
    return ""
