"""What is installed: the wheel's contents and metadata, and a run from an installed wheel outside the repository."""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Sequence
from email.message import Message
from email.parser import HeaderParser
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import warpworld

ROOT = Path(__file__).resolve().parents[1]


def run(command: Sequence[str | Path], cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command that must succeed, with nothing of this process's Python path."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "COV_", "PYTEST_", "WARPWORLD_"))
    }
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=kept | variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, f"{command} failed with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done


def files(root: Path) -> set[str]:
    """Paths under ``root`` of all files but compiled Python."""
    return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file() and path.suffix != ".pyc"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel, built from a copy of the tree so that nothing stale from an earlier build gets into it."""
    tree = tmp_path_factory.mktemp("tree")
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    for name in ("warpworld", "configs", "benchmarks"):
        shutil.copytree(ROOT / name, tree / name)
    out = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    run([*pip, "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", out, tree], cwd=out)
    (built,) = out.glob("warpworld-*.whl")
    return built


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    """The wheel's metadata."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return HeaderParser().parsestr(archive.read(name).decode())


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment holding the wheel."""
    return install(wheel, tmp_path_factory.mktemp("installed"))


def install(wheel: Path, where: Path) -> Path:
    """Install a wheel into a fresh environment, which sees its dependencies in that of the tests."""
    run([sys.executable, "-m", "venv", "--without-pip", where], cwd=where)
    (site,) = where.glob("lib/python*/site-packages")
    hosts = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    (site / "host.pth").write_text("\n".join(hosts))
    pip: list[str | Path] = [
        sys.executable,
        "-m",
        "pip",
        "--disable-pip-version-check",
        "--python",
        where / "bin" / "python",
    ]
    run([*pip, "install", "--quiet", "--no-deps", "--no-index", "--ignore-installed", wheel], cwd=where)
    return where


def names(requirements: Iterable[str], extra: str = "") -> set[str]:
    """Canonical names of those requirements that hold for ``extra``, or for no extra at all."""
    parsed = (Requirement(text) for text in requirements)
    return {
        canonicalize_name(requirement.name)
        for requirement in parsed
        if ("extra" in str(requirement.marker)) == bool(extra)
        and (requirement.marker is None or requirement.marker.evaluate({"extra": extra}))
    }


def listed(name: str) -> list[str]:
    """The requirements in a file at the root, without those of the files that it includes."""
    lines = (line.partition("#")[0].strip() for line in (ROOT / name).read_text().splitlines())
    return [line for line in lines if line and not line.startswith("-")]


@pytest.mark.long
def test_wheel_carries_the_files_of_the_package_and_no_others(wheel: Path) -> None:
    sources = {f"warpworld/{name}" for name in files(ROOT / "warpworld")}
    sources |= {f"warpworld/configs/{name}" for name in files(ROOT / "configs")}
    with zipfile.ZipFile(wheel) as archive:
        carried = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert carried == sources
    assert {".cu", ".cuh", ".hpp", ".yaml"} <= {Path(name).suffix for name in carried}


@pytest.mark.long
def test_metadata(metadata: Message) -> None:
    assert metadata["Name"] == "warpworld"
    assert metadata["Requires-Python"] == ">=3.10"
    version = re.search(r'^__version__ = "(.+)"$', (ROOT / "warpworld" / "version.py").read_text(), re.MULTILINE)
    assert version is not None
    assert metadata["Version"] == version[1]
    assert {"cuda", "gym", "test", "video", "wandb", "compiler"} <= set(metadata.get_all("Provides-Extra") or [])
    requirements = metadata.get_all("Requires-Dist") or []
    assert names(requirements, "cuda") == {"pycuda"}
    assert names(requirements, "gym") == {"gym"}
    assert names(requirements, "adapters") == {"dm-env", "pettingzoo", "stable-baselines3"}
    assert names(requirements, "compiler") == {"ziglang"}
    assert names(requirements, "export") == {"onnx", "onnxruntime", "onnxscript"}
    assert names(requirements) & {"pycuda", "gym", "ziglang"} == set()


@pytest.mark.long
def test_requirement_files_name_what_is_needed(metadata: Message) -> None:
    needed = names(metadata.get_all("Requires-Dist") or [])
    for extra in ("test", "adapters", "board", "export", "sweep"):
        needed |= names(metadata.get_all("Requires-Dist") or [], extra)
    on_cpu = names(listed("requirements-cpu.txt"))
    assert needed - on_cpu == set()
    assert "pycuda" not in on_cpu
    assert {"pycuda", "torch", "numpy", "pyyaml", "gym", "pytest"} == names(listed("requirements.txt"))
    assert "-r requirements-cpu.txt" in (ROOT / "requirements.txt").read_text().splitlines()


def test_every_requirement_is_pinned() -> None:
    pins = [Requirement(line) for line in listed("constraints.txt")]
    assert all(re.fullmatch(r"==[0-9][0-9a-z.]*", str(pin.specifier)) for pin in pins)
    pinned = {canonicalize_name(pin.name) for pin in pins}
    assert names([line for path in ROOT.glob("requirements*.txt") for line in listed(path.name)]) - pinned == set()


# What neither `import warpworld` nor a command that only prints may load: each takes longer than all the rest.
HEAVY = {
    *("torch", "numpy", "gymnasium", "pydantic", "matplotlib", "pycuda", "gym", "rich", "tensorboardX"),
    *("tree_sitter_cuda", "ziglang"),
}


def test_the_citation_is_of_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == warpworld.__version__


IMPORT = """
import json, sys
started = []
watched = ("subprocess.Popen", "os.system", "os.posix_spawn", "os.fork", "os.exec")
sys.addaudithook(lambda event, args: started.append(event) if event in watched else None)
import warpworld
print(json.dumps({"started": started, "modules": sorted(sys.modules)}))
"""


def test_import_is_light() -> None:
    done = run([sys.executable, "-c", IMPORT], cwd=ROOT)
    assert len(done.stdout.splitlines()) == 1, "importing warpworld printed something"
    assert done.stderr == ""
    seen = json.loads(done.stdout)
    assert seen["started"] == []
    assert HEAVY & set(seen["modules"]) == set()


COMMAND = """
import contextlib, json, sys
from warpworld.cli.main import main
with contextlib.suppress(SystemExit):
    main(sys.argv[1:])
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


@pytest.mark.parametrize("words", [["list"], ["--help"], ["--version"], ["train", "--help"]], ids=" ".join)
def test_commands_that_only_print_load_no_library(words: list[str]) -> None:
    loaded = json.loads(run([sys.executable, "-c", COMMAND, *words], cwd=ROOT).stderr)
    assert HEAVY & set(loaded) == set()


@pytest.mark.heavy
@pytest.mark.cpu_backend
def test_training_begins_without_torch_s_compiler(tmp_path: Path) -> None:
    small = ["trainer.num_envs=8", "trainer.num_steps=4", "trainer.total_env_steps=32", "trainer.device=cpu"]
    words = ["train", "cartpole", "--run", str(tmp_path / "run"), *small]
    loaded = json.loads(run([sys.executable, "-c", COMMAND, *words], cwd=ROOT).stderr.splitlines()[-1])
    assert "torch.optim" in loaded
    assert {"torch._dynamo", "torch._inductor", "sympy"} & set(loaded) == set()


@pytest.mark.parametrize("first", ["warpworld", "gymnasium"])
def test_gymnasium_knows_the_environments_in_either_order_of_imports(first: str) -> None:
    second = {"warpworld": "gymnasium", "gymnasium": "warpworld"}[first]
    program = f"import {first}, {second}, gymnasium; print('warpworld/cartpole' in gymnasium.registry)"
    assert run([sys.executable, "-c", program], cwd=ROOT).stdout.strip() == "True"


@pytest.mark.long
def test_installed_package_runs_outside_the_repository(installed: Path, tmp_path: Path) -> None:
    python = installed / "bin" / "python"
    where = run([python, "-c", "import warpworld; print(warpworld.__file__)"], cwd=tmp_path).stdout.strip()
    assert Path(where).is_relative_to(installed)
    shown = run([python, "-m", "warpworld", "list"], cwd=tmp_path).stdout
    for name in ("cartpole", "tag_continuous", "tag_gridworld"):
        assert name in shown


@pytest.mark.heavy
@pytest.mark.long
def test_installed_policies_play(installed: Path, tmp_path: Path) -> None:
    package = next(installed.glob("lib/python*/site-packages/warpworld"))
    before = files(package)
    command = [installed / "bin" / "warpworld", "watch", "--pretrained", "minatar_breakout", "--steps", "3", "--no-gif"]
    sooner = {"WARPWORLD_CACHE": str(tmp_path / "cache"), "WARPWORLD_CXXFLAGS": "-O0"}
    done = run(command, cwd=tmp_path, **sooner)
    assert "minatar_breakout, iteration 1,220, actions drawn, seed 0: 1 episode of 3 steps" in done.stdout
    assert (tmp_path / "replay.html").is_file()
    assert files(package) == before  # nothing is written into the package


@pytest.mark.exhaustive
@pytest.mark.heavy
@pytest.mark.long
def test_installed_command_measures(installed: Path, tmp_path: Path) -> None:
    words = ["bench", "cartpole", "--envs", "8", "--device", "cpu", "--seconds", "0.001", "--save", "rows.json"]
    run([installed / "bin" / "warpworld", *words], cwd=tmp_path, WARPWORLD_CACHE=str(tmp_path / "cache"))
    saved = json.loads((tmp_path / "rows.json").read_text())
    assert saved["commit"] is None
    assert [row["side"] for row in saved["rows"]] == ["cartpole"]


@pytest.mark.heavy
@pytest.mark.long
def test_gymnasium_makes_what_is_installed(installed: Path, tmp_path: Path) -> None:
    program = (
        "import gymnasium; env = gymnasium.make_vec('warpworld:warpworld/cartpole', num_envs=5, device='cpu'); "
        "print(env, env.reset(seed=1)[0].shape)"
    )
    done = run([installed / "bin" / "python", "-c", program], cwd=tmp_path, WARPWORLD_CACHE=str(tmp_path / "cache"))
    assert done.stdout.strip() == "VectorEnv(warpworld/cartpole, num_envs=5) (5, 4)"


@pytest.mark.slow
def test_installed_command_trains(installed: Path, tmp_path: Path) -> None:
    package = next(installed.glob("lib/python*/site-packages/warpworld"))
    before = files(package)
    small = ["trainer.device=cpu", "trainer.num_envs=8", "trainer.num_steps=32", "trainer.total_env_steps=1024"]
    cache = tmp_path / "cache"  # empty: the kernels are built from the installed sources
    sooner = {"XDG_CACHE_HOME": str(cache), "WARPWORLD_CXXFLAGS": "-O0"}
    run([installed / "bin" / "warpworld", "train", "cartpole", *small], cwd=tmp_path, **sooner)
    (folder,) = (tmp_path / "runs").iterdir()
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert rows[-1]["env_steps"] == 1024
    assert (folder / "config.yaml").is_file()
    assert list(folder.glob("*.png"))
    assert list((folder / "checkpoints").iterdir())
    assert {path.name for path in tmp_path.iterdir()} == {"cache", "runs"}
    assert files(package) == before


@pytest.mark.heavy
@pytest.mark.long
def test_pytest_finds_the_fixture_of_the_installed_package(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "test_walk.py").write_text(
        "def test_clean(check_environment):\n    assert check_environment('cartpole', steps=3).clean\n"
        "def test_unknown(check_environment):\n    check_environment('cartpol')\n"
    )
    command = [str(installed / "bin" / "python"), "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_walk.py"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PYTHONPATH"))}
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)
    assert result.returncode == 1, result.stdout
    assert "1 failed, 1 passed" in result.stdout
    assert "unknown environment 'cartpol'. Did you mean 'cartpole'?" in result.stdout


@pytest.mark.exhaustive
@pytest.mark.slow
def test_mypy_checks_a_users_program_against_the_installed_package(installed: Path, tmp_path: Path) -> None:
    program = shutil.copy(ROOT / "tests" / "users_program.py", tmp_path)
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import warpworld\n\nwarpworld.trian()\nwarpworld.check(5)\n")
    mypy = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file=",
        "--python-executable",
        installed / "bin" / "python",
    ]
    found = subprocess.run([*mypy, program, wrong], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert found.stdout.splitlines() == [
        """wrong.py:3: error: Module has no attribute "trian"; maybe "train"?  [attr-defined]""",
        """wrong.py:4: error: Argument 1 to "check" has incompatible type "int"; """
        """expected "str | type[Environment] | Environment | World"  [arg-type]""",
        "Found 2 errors in 1 file (checked 2 source files)",
    ]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the compiled kernels are for x86-64")
@pytest.mark.cpu_backend
@pytest.mark.heavy
@pytest.mark.long
def test_a_wheel_with_compiled_kernels_needs_no_compiler(tmp_path: Path) -> None:
    asked = ["cartpole", "--levels", "x86-64-v3", "--no-checks", "--jobs", "1", "--dist", tmp_path]
    run([sys.executable, "-m", "tools.build_wheel", *asked], cwd=ROOT)
    (wheel,) = tmp_path.glob("warpworld-*-py3-none-manylinux_2_*_x86_64.whl")
    with zipfile.ZipFile(wheel) as archive:
        carried = [name for name in archive.namelist() if name.endswith(".so")]
        assert not any(str(ROOT).encode() in archive.read(name) for name in carried)
    assert {Path(name).parts[:2] for name in carried} == {("warpworld", "prebuilt")}
    # a machine with nothing but this environment
    environment = tmp_path / "environment"
    environment.mkdir()
    commands = install(wheel, environment) / "bin"
    bare = {"PATH": str(commands), "WARPWORLD_CACHE": str(tmp_path / "cache"), "CXX": ""}
    small = ["trainer.device=cpu", "trainer.num_envs=8", "trainer.num_steps=32", "trainer.total_env_steps=1024"]
    run([commands / "warpworld", "train", "cartpole", *small], cwd=tmp_path, **bare)
    with pytest.raises(AssertionError, match=r"no C\+\+ compiler found .* for its own configurations as they are"):
        run([commands / "warpworld", "train", "chain", "trainer.device=cpu"], cwd=tmp_path, **bare)


CROSS, EMULATOR, LIBRARIES = "aarch64-linux-gnu-g++", "qemu-aarch64", "/usr/aarch64-linux-gnu"
LOAD = """
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char** paths) {
  for (int i = 1; i < count; ++i) if (!dlopen(paths[i], RTLD_NOW | RTLD_GLOBAL)) { puts(dlerror()); return 1; }
  puts("all");
}
"""


@pytest.mark.slow
@pytest.mark.skipif(not (shutil.which(CROSS) and shutil.which(EMULATOR)), reason=f"{CROSS} and {EMULATOR} are not here")
@pytest.mark.cpu_backend
def test_libraries_for_aarch64_load_under_emulation(tmp_path: Path) -> None:
    asked = ["cartpole", "--levels", "aarch64", "--compiler", CROSS, "--no-checks", "--jobs", "1", "--dist", tmp_path]
    run([sys.executable, "-m", "tools.build_wheel", *asked], cwd=ROOT)
    (wheel,) = tmp_path.glob("warpworld-*-py3-none-manylinux_2_*_aarch64.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "wheel")
    libraries = sorted((tmp_path / "wheel").rglob("*.so"))
    runtime = [path for path in libraries if path.parent.name.startswith("any-")]
    (tmp_path / "load.cpp").write_text(LOAD)
    run([CROSS, tmp_path / "load.cpp", "-o", tmp_path / "load", "-ldl"], cwd=tmp_path)
    others = [path for path in libraries if path not in runtime]
    done = run([EMULATOR, "-L", LIBRARIES, tmp_path / "load", *runtime, *others], cwd=tmp_path)
    assert len(runtime) == 1 and len(others) >= 4
    assert done.stdout == "all\n"
