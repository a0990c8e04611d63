"""Settings that hold for all tests."""

import functools
import gc
import itertools
import os
import signal
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests import quick
from tests.order import order_for_workers
from tests.stages import COLLECTED, note_of_time

if TYPE_CHECKING:
    from tests.stand_in.driver import StandIn

# Compiled kernels are kept from one run of the tests to the next, apart from the user's own.
os.environ.setdefault("WARPWORLD_CACHE", str(Path(__file__).resolve().parent.parent / ".pytest_cache" / "kernels"))
# Tests compile more kernels than they run: they are compiled in a third of the time, with nothing optimised. The
# package's own C++, such as networks, is compiled once for all tests, as users' is.
# `make test-optimised` runs some tests as users' kernels are compiled, and `make exhaustive` more of them.
os.environ.setdefault("WARPWORLD_KERNELFLAGS", "-O0")
# Tests run side by side; with a thread per core each, torch's would fight for the cores. Read when torch is loaded.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# The first example of a test may compile a kernel, so no example has a deadline.
settings.register_profile("warpworld", settings(), deadline=None)
settings.load_profile("warpworld")


STAND_IN = pytest.StashKey["StandIn"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("warpworld")
    group.addoption("--device", choices=("cpu", "cuda", "narrow"), default="cpu", help="where tests make their worlds")
    group.addoption(
        "--stand-in", action="store_true", help="the cuda backend through PyCUDA, on a driver that needs no GPU"
    )
    group.addoption("--exhaustive", action="store_true", help="the tests marked so, too; with -m exhaustive no others")
    group.addoption("--quick", action="store_true", help="the first case of each test that takes no time")
    group.addoption(
        "--first-cases", action="store_true", help="the first case of each test; with --stand-in all that only it runs"
    )


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as shells leave it to what they start in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.stash[COLLECTED] = []
    if config.getoption("quick"):
        quick.keep_folder(config)
    if config.getoption("stand_in"):
        from tests.stand_in.plugin import use_stand_in

        as_cuda, exhaustive = config.getoption("device") == "cuda", config.getoption("exhaustive")
        config.stash[STAND_IN] = use_stand_in(as_cuda, exhaustive)
    elif config.getoption("device") == "cuda":
        from tests.stand_in.plugin import use_gpu

        use_gpu()
    elif config.getoption("device") == "narrow":
        from tests.narrow_device import use_narrow_device

        use_narrow_device()


def pytest_report_header(config: pytest.Config) -> str | None:
    if STAND_IN not in config.stash:
        return None
    nvcc = os.environ["STAND_IN_REAL_NVCC"]
    return f"stand-in: kernels are compiled by {nvcc} too" if nvcc else "stand-in: NOT compiled for a GPU: no nvcc here"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without a search for garbage: nearly all that is made stays, and each search would visit all of it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Load no file of a folder that ``--quick`` leaves out: loading takes longer than most tests."""
    return True if config.getoption("quick") and quick.is_left_out(config, collection_path) else None


def pytest_itemcollected(item: pytest.Item) -> None:
    """Keep all tests, before any is left out, for tests/test_stages.py."""
    item.config.stash[COLLECTED].append(item)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Note a test that takes longer than its marks allow."""
    yield from note_of_time(item)


@pytest.hookimpl(trylast=True)  # after -m and -k
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is not asked for or not about the backend in use, and skip what needs something not here."""
    if config.getoption("quick"):
        quick.keep_quick_tests(config, items)
    on_stand_in = STAND_IN in config.stash
    if on_stand_in or config.getoption("device") != "cpu":
        about_cpu = [item for item in items if item.get_closest_marker("cpu_backend")]
        items[:] = [item for item in items if not item.get_closest_marker("cpu_backend")]
        config.hook.pytest_deselected(items=about_cpu)
    if not config.getoption("exhaustive"):
        left_out = [item for item in items if item.get_closest_marker("exhaustive")]
        items[:] = [item for item in items if not item.get_closest_marker("exhaustive")]
        config.hook.pytest_deselected(items=left_out)
    if config.getoption("quick") or config.getoption("first_cases"):
        quick.keep_first_cases(config, items, whole=("cuda_backend", "stand_in") if on_stand_in else ())
    for item in items:
        if item.get_closest_marker("cuda_backend") and not on_stand_in and config.getoption("device") != "cuda":
            item.add_marker(pytest.mark.skip(reason="needs the cuda backend; make test-cuda runs it"))
        if item.get_closest_marker("stand_in") and not on_stand_in:
            item.add_marker(pytest.mark.skip(reason="needs --stand-in; make test-cuda runs it"))
        if item.get_closest_marker("gpu") and (on_stand_in or not has_gpu()):
            item.add_marker(pytest.mark.skip(reason="no CUDA device"))
    if hasattr(config, "workerinput"):  # of pytest-xdist
        items[:] = order_for_workers(items, config.workerinput["workercount"])


@functools.cache
def has_gpu() -> bool:
    """Whether torch has a GPU; it is loaded only if a test asks."""
    import torch

    return torch.cuda.is_available()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A fault that one test has met is none of the next one's."""
    if STAND_IN in item.config.stash:
        item.config.stash[STAND_IN].reset()


@pytest.fixture(autouse=True)
def torch_as_begun() -> None:
    """Seed torch's CPU generator before each test that finds torch loaded."""
    if "torch" in sys.modules:
        sys.modules["torch"].default_generator.manual_seed(0)


@pytest.fixture(autouse=True)
def path_as_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where one test's environments were imported from is no place in which the next one's modules are found."""
    monkeypatch.setattr(sys, "path", list(sys.path))


@pytest.fixture(autouse=True)
def signals_as_found() -> Iterator[None]:
    """Restore the handlers of signals, which a library that a test drives may replace, as Ray Tune does."""
    found = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)}
    yield
    for number, handler in found.items():
        if signal.getsignal(number) is not handler:
            signal.signal(number, handler)


@pytest.fixture(autouse=True)
def registry_as_found() -> Iterator[None]:
    """What a test registers is not known to the next one; packaged environments that it has loaded stay loaded."""
    from warpworld.environment.registry import (
        _registry,  # not before a test asks for it: what is above is read by torch
    )

    known = dict(_registry)
    yield
    loaded = {name: entry for name, entry in _registry.items() if isinstance(known.get(name), str)}
    _registry.clear()
    _registry.update(known | loaded)


@pytest.fixture
def optimised(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels are optimised a little, for a test that runs them for longer than it compiles them."""
    if os.environ.get("WARPWORLD_KERNELFLAGS") == "-O0":
        monkeypatch.setenv("WARPWORLD_KERNELFLAGS", "-O1")


@pytest.fixture(autouse=True)
def ways_found_sooner(request: pytest.FixtureRequest) -> None:
    """Tests of worlds that find the ways through many homes, which takes longer than a compilation, are optimised."""
    if any(name in request.node.nodeid for name in ("explorer", "point_goal", "waypoint")):
        request.getfixturevalue("optimised")


@pytest.fixture
def stand_in(request: pytest.FixtureRequest) -> "StandIn":
    """The stand-in driver."""
    return request.config.stash[STAND_IN]


@pytest.fixture
def whole_products() -> Iterator[None]:
    """Let torch's products be of float32, which commands change on a CPU for the process that runs them."""
    import torch

    precision = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    yield
    torch.set_float32_matmul_precision(precision)


@pytest.fixture
def bf16_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any device counts as one that multiplies in bfloat16: where it does not, torch computes the same without."""
    monkeypatch.setattr("warpworld.trainers.precisions.products_of", lambda *_: (True, "a test"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What tests have noted, also in parallel workers: those in a wrong stage, and what kernels need on a GPU."""
    reports = (report for group in terminalreporter.stats.values() for report in group)
    calls = (report for report in reports if getattr(report, "when", None) == "call")
    noted = [each for call in calls for each in call.user_properties]
    wrong = [value for name, value in noted if name == "wrong_stage"]
    if wrong:
        terminalreporter.section("tests that take longer than their marks allow: see CONTRIBUTING.md")
        terminalreporter.write_line("\n".join(sorted(wrong)))
    rows = [value for name, value in noted if name == "kernel_usage"]
    if not rows:
        return
    widths = [max(len(cell) for cell in column) for column in itertools.zip_longest(*rows, fillvalue="")]
    terminalreporter.section("kernels under nvcc: registers a thread, static shared memory a block")
    for row in sorted(rows):
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=False))
        terminalreporter.write_line("  ".join(cells).rstrip())
