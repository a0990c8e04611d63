"""Libraries that a wheel brings compiled: the same results, no compiler asked, and a plain word where there is none."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.toys import HEADER, agents, environment
from tools.build_wheel import drop_repeated
from warpworld import Array, World
from warpworld.errors import BuildError, KernelError
from warpworld.managers.cpu import LEVELS, host_compiler, recorded_libraries, shipped
from warpworld.managers.cpu import library_source as sources
from warpworld.managers.cpu.shipped import Level

pytestmark = pytest.mark.cpu_backend

VARIABLES = ("CXX", "WARPWORLD_CXXFLAGS", "WARPWORLD_KERNELFLAGS", "WARPWORLD_DEBUG")

STEP = """
extern "C" __global__ void step(float* x, const float* limit) {
  Random random = Random::agent();
  const int i = agent_index();
  x[i] = sqrtf(x[i] * 1.0001f + random.uniform(0.0f, 1.0f)) / 1.1f;
  if (x[i] > limit[i]) __trap();
}
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that stands for the package's, without the tests' flags for kernels."""
    folder = tmp_path / "package"
    folder.mkdir()
    install(folder, monkeypatch)
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    return folder


def install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a folder be the package's."""
    monkeypatch.setattr(shipped, "PACKAGE", folder)
    monkeypatch.setattr(sources, "PACKAGE", folder)
    monkeypatch.setattr(shipped, "FOLDER", folder / "prebuilt")


def stepped(folder: Path, text: str = STEP, limit: float = 1e9) -> bytes:
    """The bytes of x after steps of a world of the text's kernel, which lies in a folder."""
    (folder / "toy.cu").write_text(HEADER + text)
    arrays = [Array("x", "float32", initial=0.5), Array("limit", "float32", initial=limit)]
    world = World(environment(folder / "toy.cu", arrays, groups=[agents(5)], resets=()), 40)
    world.reset()
    for _ in range(20):
        world.step()
    return world["x"].numpy().tobytes()


def ship(folder: Path, levels: Sequence[Level] | None = None) -> bytes:
    """Compile the toy for levels, else for this processor's, as a wheel has it; what it computes as compiled here."""
    with recorded_libraries() as libraries:
        result = stepped(folder)
    library = next(each for each in libraries if "toy" in each.subject)
    for level in shipped.own_levels() if levels is None else levels:
        target = folder / "prebuilt" / level.folder(library.is_native) / f"{library.portable_key()}.so"
        target.parent.mkdir(parents=True)
        library.build_for(level, target, folder)
    return result


@pytest.fixture
def hidden_compilers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """Hides every compiler from the call on, and what was compiled before."""

    def hide() -> None:
        monkeypatch.setenv("PATH", "")
        monkeypatch.setenv("WARPWORLD_CACHE", str(tmp_path / "empty"))
        monkeypatch.setattr(host_compiler, "_zig", lambda: None)
        host_compiler._find.cache_clear()

    yield hide
    host_compiler._find.cache_clear()


@pytest.mark.parametrize("level", [level.name for level in LEVELS])
def test_a_library_from_the_wheel_computes_the_same_bits_without_a_compiler(
    level: str, package: Path, hidden_compilers: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    own = [each for each in shipped.own_levels() if each.name == level]
    if not own:
        pytest.skip("this processor does not run such code")
    monkeypatch.setattr(shipped, "own_levels", lambda: own)
    compiled = ship(package)
    hidden_compilers()
    assert stepped(package) == compiled


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the levels are of x86-64")
def test_a_kernel_that_is_the_same_for_two_levels_is_shipped_once(
    package: Path, hidden_compilers: Callable[[], None]
) -> None:
    levels = [level for level in LEVELS if level.machine == "x86_64"]
    compiled = ship(package, levels)
    best, middle, lowest = (package / "prebuilt" / level.name for level in levels)
    (kernel,) = (path.name for path in best.iterdir())
    (best / "another.so").write_bytes(b"another")
    assert drop_repeated(package / "prebuilt") == 1
    left = [sorted(path.name for path in folder.iterdir()) for folder in (best, middle, lowest)]
    assert left == [["another.so"], [kernel], [kernel]]
    hidden_compilers()
    assert stepped(package) == compiled


def test_a_package_may_lie_elsewhere_than_where_it_was_compiled(
    package: Path, hidden_compilers: Callable[[], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = ship(package)
    moved = package.rename(tmp_path / "elsewhere")
    install(moved, monkeypatch)
    hidden_compilers()
    assert stepped(moved) == compiled
    trap = (moved / "toy.cu").read_text().splitlines().index("  if (x[i] > limit[i]) __trap();") + 1
    with pytest.raises(KernelError, match=rf"^{moved}/toy\.cu:{trap}: kernel 'step'"):
        stepped(moved, limit=0.1)


def test_an_edited_copy_is_compiled(package: Path, hidden_compilers: Callable[[], None]) -> None:
    compiled = ship(package)
    edited = STEP.replace("1.1f", "1.2f")
    assert stepped(package, edited) != compiled
    hidden_compilers()
    with pytest.raises(
        BuildError, match=r"^no C\+\+ compiler found .* compiled for its own configurations as they are"
    ):
        stepped(package, edited)


def test_a_processor_below_all_levels_is_said(
    package: Path, hidden_compilers: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    ship(package)
    monkeypatch.setattr(shipped, "processor", lambda: "flags\t\t: sse2 avx")
    shipped.own_levels.cache_clear()
    hidden_compilers()
    try:
        with pytest.raises(BuildError, match=r"no C\+\+ compiler found .* are for processors with avx2, "):
            stepped(package)
    finally:
        shipped.own_levels.cache_clear()


@pytest.mark.parametrize("variable", VARIABLES)
def test_a_library_is_compiled_where_the_user_says_how(
    variable: str, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = ship(package)
    for library in (package / "prebuilt").rglob("*.so"):
        library.write_text("no library")
    with pytest.raises(BuildError, match="cannot load the compiled"):
        stepped(package)
    value = {"CXX": host_compiler.find_compiler().command[0], "WARPWORLD_DEBUG": "1"}.get(variable, "-DNOTHING")
    monkeypatch.setenv(variable, value)
    assert stepped(package) == compiled
