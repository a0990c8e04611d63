"""Installs what the tests of the cuda backend need on a machine without a GPU; `make cuda-tools` runs it.

PyCUDA comes from its sources, linked against an empty library that is called as the driver is: which driver it then
meets, a GPU's or the stand-in, is decided when it is loaded. NVRTC, and nvcc where none is on PATH, come from PyPI.
What cannot be had is said; tests that need it then say so as well.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONSTRAINTS = ROOT / "constraints.txt"
NEEDED_HEADERS = ("cuda.h", "cudaProfiler.h")
HEADER_PACKAGES = ("nvidia-cuda-runtime", "nvidia-cuda-profiler-api")
NVCC_PACKAGES = ("cuda-toolkit[nvcc,crt,cccl,nvvm]",)

# PyCUDA's sources are compiled one after the other otherwise.
SIDE_BY_SIDE = """\
import os
from concurrent.futures import ThreadPoolExecutor

import setuptools
from distutils.ccompiler import CCompiler


def compile_side_by_side(
    self, sources, output_dir=None, macros=None, include_dirs=None, debug=0, extra_preargs=None, extra_postargs=None,
    depends=None,
):
    macros, objects, extra_postargs, flags, build = self._setup_compile(
        output_dir, macros, include_dirs, sources, depends, extra_postargs
    )
    compiler_arguments = self._get_cc_args(flags, debug, extra_preargs)

    def compile_one(unit):
        if unit in build:
            self._compile(unit, *build[unit], compiler_arguments, extra_postargs, flags)

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(pool.map(compile_one, objects))
    return objects


CCompiler.compile = compile_side_by_side
"""

SETTINGS = """\
CUDA_ENABLE_CURAND = False
CUDA_INC_DIR = [{include!r}]
CUDADRV_LIB_DIR = [{library!r}]
"""


class CannotBeHadError(Exception):
    """Something is missing on this machine, or cannot be fetched."""


def say(text: str) -> None:
    print(f"cuda-tools: {text}", flush=True)


def run(command: Sequence[str | os.PathLike[str]], **environment: str) -> None:
    """Run a command quietly; its last lines are said if it fails."""
    result = subprocess.run(
        command, capture_output=True, text=True, errors="replace", check=False, env={**os.environ, **environment}
    )
    if result.returncode:
        lines = (result.stdout + result.stderr).strip().splitlines()[-12:]
        raise CannotBeHadError("\n  ".join([f"`{' '.join(map(str, command))}` failed:", *lines]))


def pip(*arguments: str, **environment: str) -> None:
    run([sys.executable, "-m", "pip", *arguments, "--disable-pip-version-check"], **environment)


def install(*requirements: str) -> None:
    pip("install", "--no-compile", "--constraint", str(CONSTRAINTS), *requirements)


def pinned(package: str) -> str:
    """``package==version`` as constraints.txt has it."""
    for line in CONSTRAINTS.read_text().splitlines():
        if line.startswith(f"{package}=="):
            return line.split(" ")[0]
    raise CannotBeHadError(f"{CONSTRAINTS} has no line for {package}")


# ---- headers --------------------------------------------------------------------------------------------------------
def toolkits() -> Iterator[Path]:
    """Folders that a CUDA toolkit may lie in, the user's choice first."""
    for variable in ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"):
        if os.environ.get(variable):
            yield Path(os.environ[variable])
    nvcc = shutil.which("nvcc")
    if nvcc:
        yield Path(nvcc).resolve().parent.parent
    yield Path("/usr/local/cuda")
    yield from sorted(Path("/usr/local").glob("cuda-*"), reverse=True)
    yield Path("/opt/cuda")
    yield Path(sysconfig.get_path("purelib")) / "nvidia" / "cu13"


def find_headers() -> Path | None:
    """The folder of a toolkit that holds the headers which PyCUDA needs."""
    for toolkit in toolkits():
        for folder in (toolkit / "include", toolkit / f"targets/{platform.machine()}-linux/include"):
            if all((folder / name).is_file() for name in NEEDED_HEADERS):
                return folder
    return None


def cuda_headers() -> Path:
    found = find_headers()
    if found is None:
        say(f"no {' and '.join(NEEDED_HEADERS)} here: installing {' and '.join(HEADER_PACKAGES)}")
        install(*HEADER_PACKAGES)
        found = find_headers()
    if found is None:
        raise CannotBeHadError(f"{', '.join(HEADER_PACKAGES)} are installed, but hold no {NEEDED_HEADERS}")
    return found


# ---- PyCUDA ---------------------------------------------------------------------------------------------------------
def empty_driver(folder: Path) -> None:
    """Something to link against: a library without a function in it, of the driver's name."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None or shutil.which("g++") is None:
        raise CannotBeHadError("gcc and g++ are needed to build PyCUDA; on Debian and Ubuntu: apt-get install g++")
    folder.mkdir()
    (folder / "empty.c").write_text("void pycuda_is_linked_against_nothing(void) {}\n")
    run([compiler, "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", folder / "empty.c", "-o", folder / "libcuda.so"])


def unpack_sources(folder: Path) -> Path:
    """PyCUDA's sources, fetched into ``folder``."""
    pip("download", "--no-deps", "--no-build-isolation", "--no-binary", "pycuda", "-d", str(folder), pinned("pycuda"))
    (archive,) = folder.glob("pycuda-*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    return folder / archive.name.removesuffix(".tar.gz")


def join_sources(folder: Path) -> None:
    """Make one source of all in a folder: their headers, which are the same, take longer to read than all else."""
    sources = sorted(folder.rglob("*.cpp"))
    joined = [source.rename(source.with_suffix(".ipp")) for source in sources]
    (folder / "joined.cpp").write_text("".join(f'#include "{part.relative_to(folder)}"\n' for part in joined))


def build_wheel(headers: Path, scratch: Path) -> Path:
    """Build PyCUDA; without the linker's word, no library is recorded of which no function is used at link time."""
    empty_driver(scratch / "lib")
    sources = unpack_sources(scratch)
    join_sources(sources / "bpl-subset" / "bpl_subset" / "libs" / "python" / "src")
    (sources / "siteconf.py").write_text(SETTINGS.format(include=str(headers), library=str(scratch / "lib")))
    (sources / "compile_side_by_side.py").write_text(SIDE_BY_SIDE)
    setup = sources / "setup.py"
    first = "from __future__ import annotations\n"
    setup.write_text(setup.read_text().replace(first, f"{first}import compile_side_by_side\n", 1))
    # the flags of an interpreter's own build, often -O3 and more, would double the time that this takes
    flags = {"LDFLAGS": f"-Wl,--no-as-needed {os.environ.get('LDFLAGS', '')}", "CFLAGS": "-O1 -g0 -w"}
    built = scratch / "wheel"
    pip("wheel", "--no-deps", "--no-build-isolation", "-w", str(built), str(sources), PYTHONPATH=str(sources), **flags)
    (wheel,) = built.glob("pycuda-*.whl")
    return wheel


def kept_wheels() -> Path:
    """Where wheels built before are kept, for other checkouts on this machine too."""
    users = os.environ.get("XDG_CACHE_HOME")
    recipe = [Path(__file__).read_text(), pinned("pycuda"), pinned("numpy"), sys.version, platform.platform()]
    key = hashlib.sha256("\0".join(recipe).encode()).hexdigest()[:16]
    return (Path(users) if users else Path.home() / ".cache") / "warpworld" / "pycuda" / key


def wheel_of_pycuda() -> Path:
    kept = kept_wheels()
    found = sorted(kept.glob("pycuda-*.whl"))
    if found:
        return found[0]
    headers = cuda_headers()
    say(f"building PyCUDA with the headers in {headers}; this takes a minute or two")
    with tempfile.TemporaryDirectory(prefix="pycuda-") as scratch:
        wheel = build_wheel(headers, Path(scratch))
        kept.mkdir(parents=True, exist_ok=True)
        part = kept / f"{wheel.name}.{os.getpid()}"
        shutil.copyfile(wheel, part)
        os.replace(part, kept / wheel.name)
    return kept / wheel.name


# ---- the three parts ------------------------------------------------------------------------------------------------
def install_pycuda() -> None:
    if importlib.util.find_spec("pycuda"):
        return say("PyCUDA is installed")
    install(str(wheel_of_pycuda()))
    say("PyCUDA: installed")


def install_nvrtc() -> None:
    install("nvidia-cuda-nvrtc")
    say("NVRTC: installed")


def install_nvcc() -> None:
    found = shutil.which("nvcc")
    if found:
        return say(f"nvcc: {found}")
    install(*NVCC_PACKAGES)
    say("nvcc: installed from PyPI")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stamp", type=Path, help="a file to touch when all is installed")
    stamp, complete = parser.parse_args().stamp, True
    for part in (install_pycuda, install_nvrtc, install_nvcc):
        try:
            part()
        except (CannotBeHadError, OSError) as error:
            complete = False
            say(f"{part.__name__.removeprefix('install_')} cannot be had, tests that need it do not run: {error}")
    if complete and stamp:
        stamp.touch()


if __name__ == "__main__":
    main()
