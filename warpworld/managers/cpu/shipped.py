"""Libraries that a wheel brings compiled, for processors of a few levels: such a machine needs no compiler.

A wheel has them in the folder ``prebuilt``, one folder for each level and one file for each library, named by a hash of
what it was compiled from. A library of other contents is compiled here. ``tools/build_wheel.py`` writes the folder.
"""

from __future__ import annotations

import os
import platform
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from warpworld.managers.cpu.cpuinfo import processor

PACKAGE = Path(__file__).resolve().parents[2]
FOLDER = PACKAGE / "prebuilt"
RECORDED = "/warpworld"  # the package's folder in what the libraries say of their lines
COMPILED_BY_USERS = ("CXX", "WARPWORLD_CXXFLAGS")  # variables of users who want what they compile

_V3 = ("avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe")
_V4 = (*_V3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")
_WIDE = "-mprefer-vector-width=512"


@dataclass(frozen=True)
class Level:
    """Processors that run the same machine code.

    Attributes:
        name: of its folder.
        machine: as ``platform.machine`` has it.
        flags: what a compiler is given for it.
        needs: features of the processor, as the kernel of the system names them.
    """

    name: str
    machine: str
    flags: tuple[str, ...]
    needs: tuple[str, ...]

    def folder(self, native: bool) -> str:
        """Name of the folder of a library that is compiled for the level, or for all processors of the machine."""
        return self.name if native else f"any-{self.machine}"


LEVELS = (  # the best one first
    Level("x86-64-v4-bf16", "x86_64", ("-march=x86-64-v4", "-mavx512bf16", _WIDE), (*_V4, "avx512_bf16")),
    Level("x86-64-v4", "x86_64", ("-march=x86-64-v4", _WIDE), _V4),
    Level("x86-64-v3", "x86_64", ("-march=x86-64-v3",), _V3),
    Level("aarch64", "aarch64", ("-march=armv8-a",), ()),
)


@cache
def own_levels() -> tuple[Level, ...]:
    """The levels whose code this processor runs, the best one first."""
    lines = re.findall(r"^(?:flags|Features)\s*:(.*)$", processor(), re.MULTILINE)
    features = set(lines[0].split()) if lines else set[str]()
    return tuple(each for each in LEVELS if each.machine == platform.machine() and features.issuperset(each.needs))


def shipped(key: str, native: bool) -> Path | None:
    """The library that the wheel has for this processor, if any.

    Args:
        key: of what it is compiled from, the same on every machine.
        native: whether it is compiled for one level.
    """
    if any(map(os.environ.get, COMPILED_BY_USERS)) or not FOLDER.is_dir():
        return None
    paths = (FOLDER / level.folder(native) / f"{key}.so" for level in own_levels())
    return next((path for path in paths if path.is_file()), None)


def why_not_shipped() -> str:
    """Sentence behind the error that there is no compiler: what the wheel has libraries for; empty without any."""
    if not FOLDER.is_dir():
        return ""
    if not own_levels():
        lowest = [level for level in LEVELS if level.machine == platform.machine()]
        needed = f"with {', '.join(lowest[-1].needs)}" if lowest else "of other machines"
        return f"; the kernels that this package brings compiled are for processors {needed}"
    return "; this package brings kernels compiled for its own configurations as they are, and for no others"


def installed_file(recorded: str) -> str:
    """The file on this machine that a library's lines name."""
    inside = recorded.removeprefix(f"{RECORDED}/").lstrip("/")  # padded to the length of the name that it stands for
    return str(PACKAGE / inside) if recorded.startswith(f"{RECORDED}/") else recorded
