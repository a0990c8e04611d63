"""The build cache: files appear whole or not at all, built once however many processes ask."""

from __future__ import annotations

import hashlib
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cases import seldom
from warpworld import make
from warpworld.cli import main
from warpworld.errors import BuildError
from warpworld.managers import build_cache
from warpworld.managers.build_cache import cache_folder, cached, content_key
from warpworld.managers.cpu.host_compiler import find_compiler
from warpworld.managers.tools import run_tool
from warpworld.private_folder import private_folder

ROOT = Path(__file__).resolve().parents[2]

# Asks for a file whose builder is slow, and writes what it got.
ASK = """
import sys, time
from pathlib import Path
from warpworld.managers.build_cache import cached

def build(scratch, target):
    print("building", flush=True)
    with open(target, "w") as file:
        for _ in range(10):
            file.write("x" * 1000)
            file.flush()
            time.sleep(float(sys.argv[2]))

path = cached(sys.argv[1], ".so", build)
print(path.read_text() == "x" * 10_000, flush=True)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own, where the runtime is compiled anew, as soon as may be."""
    monkeypatch.setenv("WARPWORLD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("WARPWORLD_CXXFLAGS", "-O0")
    return tmp_path / "cache"


def ask(key: str, seconds: float) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-c", ASK, key, str(seconds / 10)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment)


def write(text: str, scratch: Path, target: Path) -> None:
    (scratch / "left behind").write_text("a temporary file")
    target.write_text(text)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_built_once_and_kept(folder: Path) -> None:
    built = []

    def build(scratch: Path, target: Path) -> None:
        built.append(target)
        write("a", scratch, target)

    first, second = cached("key", ".so", build), cached("key", ".so", build)
    assert first == second == folder / "key.so"
    assert len(built) == 1
    assert first.read_text() == "a"
    assert names(folder) == ["key.so", "key.so.sha256"]  # no lock, no scratch folder


@pytest.mark.long
def test_processes_at_once_build_once(folder: Path) -> None:
    processes = [ask("key", 0.5) for _ in range(5)]
    said = [process.communicate(timeout=60)[0].split() for process in processes]
    assert sorted(len(words) for words in said) == [1, 1, 1, 1, 2]
    assert all(words[-1] == "True" for words in said)
    assert names(folder) == ["key.so", "key.so.sha256"]


def test_different_keys_are_built_side_by_side(folder: Path) -> None:
    slow = ask("slow", 20)
    assert slow.stdout is not None
    assert slow.stdout.readline() == "building\n"
    assert ask("quick", 0).communicate(timeout=60)[0].split() == ["building", "True"]
    slow.kill()
    slow.communicate()


def test_a_killed_builder_leaves_nothing_half_written(folder: Path) -> None:
    process = ask("key", 20)
    assert process.stdout is not None
    assert process.stdout.readline() == "building\n"
    waiting = ask("key", 0.01)  # would wait for the other one
    time.sleep(0.2)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert waiting.communicate(timeout=60)[0].split() == ["building", "True"]
    assert names(folder) == ["key.so", "key.so.sha256"]


def test_a_failed_build_leaves_nothing(folder: Path) -> None:
    def build(scratch: Path, target: Path) -> None:
        target.write_text("half")
        raise BuildError("it does not compile")

    for _ in range(2):
        with pytest.raises(BuildError, match="it does not compile"):
            cached("key", ".so", build)
        assert not (folder / "key.so").exists()
    assert cached("key", ".so", lambda scratch, target: write("a", scratch, target)).read_text() == "a"


# ---- damaged files --------------------------------------------------------------------------------------------------
CONTENTS = bytes(range(256)) * 40


def half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def nothing(path: Path) -> None:
    path.write_bytes(b"")


def garbage(path: Path) -> None:
    path.write_bytes(b"\xa5" * path.stat().st_size)


def one_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def gone(path: Path) -> None:
    path.unlink()


def of_another(path: Path) -> None:
    path.write_text("0" * 64)


DAMAGES = [half, nothing, garbage, one_bit]


def build_contents(scratch: Path, target: Path) -> None:
    target.write_bytes(CONTENTS)


@pytest.mark.parametrize("suffix", [".so", ".cubin"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_built_anew(
    damage: Callable[[Path], None], suffix: str, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = cached("key", suffix, build_contents)
    damage(path)
    assert path.read_bytes() != CONTENTS
    assert cached("key", suffix, build_contents).read_bytes() == CONTENTS
    assert caplog.messages == [f"{path} is damaged and is rebuilt"]
    assert cached("key", suffix, must_not_build) == path


@pytest.mark.parametrize("damage", [half, nothing, gone, of_another])
def test_a_file_without_its_digest_is_built_anew(damage: Callable[[Path], None], folder: Path) -> None:
    damage(folder / f"{cached('key', '.so', build_contents).name}.sha256")
    built = []

    def build(scratch: Path, target: Path) -> None:
        built.append(target)
        build_contents(scratch, target)

    cached("key", ".so", build)
    assert len(built) == 1
    assert names(folder) == ["key.so", "key.so.sha256"]
    assert cached("key", ".so", must_not_build)


def test_the_digest_is_sha256sum_s(folder: Path) -> None:
    path = cached("key", ".so", build_contents)
    expected = f"{hashlib.sha256(CONTENTS).hexdigest()}  key.so\n"
    assert path.with_name("key.so.sha256").read_text() == expected


def test_a_build_is_on_the_disk_before_it_has_its_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that goes down leaves no name without contents."""
    done: list[tuple[str, str]] = []
    sync, replace = os.fsync, os.replace

    def note_sync(descriptor: int) -> None:
        done.append(("sync", Path(os.readlink(f"/proc/self/fd/{descriptor}")).name))
        sync(descriptor)

    def note_replace(source: Path, target: Path) -> None:
        done.append(("name", target.name))
        replace(source, target)

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(os, "replace", note_replace)
    cached("key", ".so", build_contents)
    digest = "key.so.sha256"
    files = [("sync", digest), ("name", digest), ("sync", "key.so"), ("name", "key.so")]
    assert done == [*files, ("sync", folder.name)]


def must_not_build(scratch: Path, target: Path) -> None:
    raise AssertionError("it is there")


STEP = """
import warpworld
world = warpworld.make("cartpole", num_envs=3, device="cpu", num_workers=1)
world.reset()
world.step()
print(world["clock"].tolist())
"""
LOAD = """
from warpworld.managers.cpu.native_runtime import ABI, runtime
print(runtime().ww_abi() == ABI)
"""


@pytest.mark.heavy
@pytest.mark.cpu_backend
@pytest.mark.parametrize(
    ("program", "damage", "libraries"),
    [(STEP, half, 2), pytest.param(LOAD, nothing, 1, marks=seldom), pytest.param(LOAD, garbage, 1, marks=seldom)],
    ids=["half of a world's", "nothing of the runtime", "garbage"],
)  # a world needs two libraries: the runtime's and its kernels'
@pytest.mark.long
def test_damaged_libraries_do_not_end_the_process(
    program: str, damage: Callable[[Path], None], libraries: int, folder: Path
) -> None:
    """What is left of one that was cut short faults where it is loaded, with SIGBUS."""

    def run() -> str:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        words = [sys.executable, "-c", program]
        result = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
        assert result.returncode == 0, result
        return result.stdout

    expected = run()
    built = {path: path.stat().st_size for path in folder.iterdir() if path.suffix == ".so"}
    assert len(built) == libraries
    for path in built:
        damage(path)
    assert run() == expected
    assert {path: path.stat().st_size for path in built} == built


# ---- where it is ----------------------------------------------------------------------------------------------------
def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("WARPWORLD_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(BuildError, match=r"cannot keep compiled kernels in .*/file/cache: .*set WARPWORLD_CACHE"):
        cached("key", ".so", lambda scratch, target: None)


def test_where_the_cache_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cache_folder() == tmp_path / "cache"
    monkeypatch.setenv("WARPWORLD_CACHE", "~/kernels")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "kernels"
    monkeypatch.delenv("WARPWORLD_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "mine"))
    assert cache_folder() == tmp_path / "mine" / "warpworld"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == tmp_path / ".cache" / "warpworld"


def test_a_user_without_a_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("WARPWORLD_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    monkeypatch.setattr(build_cache, "private_folder", lambda: tmp_path)
    build_cache._fallback.cache_clear()
    with caplog.at_level("WARNING"):
        assert cache_folder() == cache_folder() == tmp_path / "cache"
    assert caplog.messages == [
        f"there is no home folder; compiled kernels are kept in {tmp_path}/cache. WARPWORLD_CACHE names another folder"
    ]


@pytest.mark.parametrize("home", ["file", "/proc"])  # an administrator may write into any folder, but into no such one
def test_a_home_that_cannot_be_written(
    home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.delenv("WARPWORLD_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / home))
    monkeypatch.setattr(build_cache, "private_folder", lambda: tmp_path)
    build_cache._fallback.cache_clear()
    with caplog.at_level("WARNING"):
        assert cache_folder() == cache_folder() == tmp_path / "cache"
    assert caplog.messages == [
        f"'{tmp_path / home}/.cache/warpworld' cannot be written; compiled kernels are kept in {tmp_path}/cache. "
        "WARPWORLD_CACHE names another folder"
    ]


def test_the_private_folder_is_no_other_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    private_folder.cache_clear()
    own = private_folder()
    assert own == tmp_path / f"warpworld-{os.getuid()}" and own.stat().st_mode & 0o777 == 0o700
    own.chmod(0o777)  # others could put libraries there
    private_folder.cache_clear()
    assert private_folder() != own
    private_folder.cache_clear()


@pytest.mark.parametrize(
    "printed", ["collect2: fatal error: final link failed: No space left on device", "ld terminated with signal 7"]
)
def test_a_full_disk_has_its_name(printed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warpworld.managers.tools.LEAST_FREE", 1 << 62)
    tool = [sys.executable, "-c", f"import sys; sys.exit({printed!r})", "-o", str(tmp_path / "out.so")]
    with pytest.raises(BuildError, match=r"cannot keep .*: No space left on device; free some .* TMPDIR"):
        cached("key", ".so", lambda scratch, target: run_tool(tool) and None)


def test_keys_tell_parts_apart() -> None:
    keys = [content_key(parts) for parts in (["ab", "c"], ["a", "bc"], ["abc"], ["ab", "c", ""], ["ab", b"d"])]
    assert len(set(keys)) == 5
    assert content_key(["ab", "c"]) == content_key([b"ab", b"c"])


@pytest.fixture
def slow_compiler(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A compiler that takes longer than the cache waits before it logs; its kernel file is the value."""
    real = find_compiler().command[0]
    compiler = tmp_path / "slow_compiler"
    compiler.write_text(f'#!/bin/sh\ncase "$*" in *--version*) ;; *) sleep 0.3 ;; esac\nexec {real} -O0 "$@"\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    monkeypatch.setattr(build_cache, "PATIENCE", 0.1)
    (tmp_path / "slow.cu").write_text(
        "".join(f'extern "C" __global__ void {name}(float* x) {{}}\n' for name in ("first", "second", "third", "step"))
    )
    (tmp_path / "slow.py").write_text(
        "from gymnasium.spaces import Box, Discrete\n"
        "from warpworld import Array, Environment, Group\n\n\n"
        "class Slow(Environment):\n"
        '    source = "slow.cu"\n\n'
        "    def groups(self):\n"
        '        return [Group("agent", 1, Box(0, 1, (1,)), Discrete(2))]\n\n'
        "    def arrays(self):\n"
        '        return [Array("x", "float32", initial=0, on_reset="initial")]\n\n'
        "    def phases(self):\n"
        '        return ["first"]\n\n'
        "    def resets(self):\n"
        "        return []\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return f"compiling slow.cu (first, second, third, 1 more); the result is kept in {folder}"


@pytest.mark.cpu_backend
@pytest.mark.heavy
@pytest.mark.long
def test_a_command_prints_that_it_compiles(slow_compiler: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "slow.py", "--envs", "2", "--steps", "2", "--device", "cpu"]) == 0
    assert capsys.readouterr().err.splitlines().count(slow_compiler) == 1


@pytest.mark.cpu_backend
@pytest.mark.heavy
@pytest.mark.long
@pytest.mark.parametrize(("terminal", "level"), [(True, logging.WARNING), (False, logging.INFO)])
def test_make_logs_that_it_compiles(
    slow_compiler: str, terminal: bool, level: int, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    caplog.set_level(logging.INFO, "warpworld")
    make("slow.py", num_envs=2, device="cpu").reset()
    assert [each.levelno for each in caplog.records if each.getMessage() == slow_compiler] == [level]


def test_a_short_build_is_not_announced(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(build_cache, "PATIENCE", 60.0)
    caplog.set_level(logging.INFO, "warpworld")
    cached("key", ".so", build_contents)
    assert not caplog.records


def test_a_process_that_waits_for_another_s_build_says_so(
    folder: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build_cache, "PATIENCE", 0.1)
    caplog.set_level(logging.INFO, "warpworld")
    folder.mkdir()
    with build_cache._locked(folder / "key.lock"):
        waiting = threading.Thread(target=cached, args=("key", ".so", build_contents, "kernels of one"))
        waiting.start()
        waiting.join(0.3)
        assert [each.getMessage() for each in caplog.records] == [
            f"compiling kernels of one; the result is kept in {folder}"
        ]
    waiting.join()
