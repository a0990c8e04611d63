"""Parts of the GPU suite end well, badly or not at all; results are written while they run."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks.gpu import age, main, results
from benchmarks.gpu.part import Part
from benchmarks.gpu.parts import PARTS
from benchmarks.gpu.process import run_part
from benchmarks.gpu.results import keep_parts, put
from benchmarks.main import conditions
from tests.benchmarks.gpu.suite_tools import ROOT, alive, part


@pytest.mark.parametrize(
    ("name", "status", "reason"),
    [
        ("passes", "passed", ""),
        ("holds_not", "failed", "3 is not 4"),
        ("cannot_be_done", "skipped", "there is no moon"),
        ("runs_late", "not finished", "3 of 4 by then"),
        ("does_half", "in part", "1 of 2"),
        ("raises", "failed", "KeyError: 'lost'"),
        ("dies", "failed", "its process was ended by SIGABRT"),
        ("lies", "failed", "3 is not 4"),
        ("finds_and_dies", "failed", "3 is not 4\nits process was ended by SIGABRT"),
        ("finds_and_runs_late", "failed", "3 is not 4\n1 of 2 by then"),
        ("prints_garbage", "failed", "its process ended with status 0 and did not report how the part ended"),
        ("deletes_its_folder", "failed", "its process ended with status 1 and did not report how the part ended"),
    ],
)
def test_a_part_ends_in_its_own_way(name: str, status: str, reason: str) -> None:
    result = run_part(part(name), "cpu", quick=True, limit=60)
    assert result["status"] == status
    assert reason in result["reason"]
    if name == "prints_garbage":
        assert "\ufffd\ufffd garbage" in result["output"]
    if name == "passes":
        assert result["figures"] == {"device": "cpu", "quick": True, "headline": "all well"}
    if name == "dies":
        assert result["figures"] == {"rows": [{"found": "before"}]}


@pytest.mark.heavy
@pytest.mark.long
def test_a_part_that_hangs_is_ended_with_all_that_it_started_and_keeps_what_it_found() -> None:
    result = run_part(part("finds_and_hangs"), "cpu", quick=True, limit=5)
    assert result["status"] == "failed"
    assert result["reason"].startswith("3 is not 4\n5 is not 6\nwas ended after its 5 s")
    assert result["figures"]["rows"] == [{"found": "before"}]
    assert "in hangs" in result["output"]  # where it was
    assert 'File "tests/benchmarks/gpu/gpu_parts.py"' in result["output"]  # and not where the project is
    assert not any(map(alive, result["figures"]["processes"]))


def test_results_are_written_after_every_part(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, seen = tmp_path / "results" / "gpu.json", []

    def run(chosen: Part, *_: Any) -> dict[str, Any]:
        seen.append({name: found["status"] for name, found in json.loads(path.read_text())["parts"].items()})
        status = "failed" if chosen.name == "holds_not" else "passed"
        return {"status": status, "reason": "", "seconds": 0.1, "figures": {}}

    monkeypatch.setattr(main, "run_part", run)
    parts = (part("passes", needs_cuda=False), part("holds_not", correctness=True, needs_cuda=False), part("dies"))
    monkeypatch.setattr(main, "PARTS", parts)
    assert main.main(["--device", "cpu", "--quick", "--save", str(path)]) == 1
    assert seen == [{"passes": "running"}, {"passes": "passed", "holds_not": "running"}]
    written = json.loads(path.read_text())
    assert written["parts"]["dies"] | {"date": ""} == {
        "title": "dies",
        "date": "",
        "status": "skipped",
        "reason": "needs CUDA",
        "seconds": 0.0,
        "figures": {},
    }
    assert {"date", "commit", "device", "host", "quick"} <= set(written)
    assert "holds_not" in capsys.readouterr().out
    monkeypatch.setattr(main, "PARTS", parts[:1])
    assert main.main(["--device", "cpu", "--quick", "--only", "passes", "--save", str(path)]) == 0
    assert set(json.loads(path.read_text())["parts"]) == {"passes", "holds_not", "dies"}  # the others are kept


def test_a_part_that_is_not_begun_keeps_what_an_earlier_run_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "gpu.json"
    monkeypatch.setattr(main, "PARTS", (part("passes", needs_cuda=False),))
    words = ["--device", "cpu", "--quick", "--save", str(path), "--commit", "a", "--only", "passes"]
    assert main.main(words) == 0
    found = json.loads(path.read_text())["parts"]
    assert main.main([*words, "--budget", "5"]) == 0
    assert json.loads(path.read_text())["parts"] == found


def test_parts_for_which_no_time_is_left_say_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(main, "PARTS", (part("passes", least=30, needs_cuda=False),))
    path = tmp_path / "gpu.json"
    assert main.main(["--device", "cpu", "--quick", "--budget", "29", "--save", str(path)]) == 0
    found = json.loads(path.read_text())["parts"]["passes"]
    assert (found["status"], found["seconds"]) == ("skipped", 0)
    assert found["reason"] == "needs 30 s, of the 29 only 29 were left; by itself: --only passes"


def test_every_part_has_time_for_something_once_it_is_begun() -> None:
    for each in PARTS:
        assert each.limit >= each.least >= 10, each.name


def test_the_parts_up_to_the_profile_fit_into_the_budget() -> None:
    names = [each.name for each in PARTS]
    first = PARTS[: names.index("profile") + 1]
    assert sum(each.limit for each in first) <= main.BUDGET


def test_later_parts_get_what_is_left_of_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = []

    def run(_: Part, device: str, quick: bool, limit: float, *__: Any) -> dict[str, Any]:
        limits.append(limit)
        return {"status": "passed", "reason": "", "seconds": 0.1, "figures": {}}

    monkeypatch.setattr(main, "run_part", run)
    monkeypatch.setattr(main, "PARTS", (part("passes", needs_cuda=False),))
    assert main.main(["--device", "cpu", "--quick", "--budget", "100"], began=time.perf_counter() - 70) == 0
    assert 0 < limits[0] <= 30


@pytest.mark.long
def test_the_budget_counts_from_the_start_of_the_process() -> None:
    code = "import time; time.sleep(0.5); from benchmarks.gpu.age import process_start as start; "
    code += "print(time.perf_counter() - start())"
    before = time.perf_counter()
    printed = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert 0.5 <= float(printed) <= time.perf_counter() - before + 0.02  # a tick of the kernel's clock, twice


def test_a_start_that_the_system_does_not_know_is_not_believed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Some systems report that all processes started with the machine, or nothing."""
    fields = " ".join(["0"] * 30)
    for text in (f"1 (a name) {fields}", "1 (cut"):
        (tmp_path / "stat").write_text(text)
        monkeypatch.setattr(age, "STATUS", tmp_path / "stat")
        assert time.perf_counter() - age.process_start() == pytest.approx(time.process_time(), abs=1.0)


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        (("passed", "skipped"), 0),
        (("passed", "not finished"), 3),
        (("failed", "not finished"), 1),
    ],
)
def test_the_exit_status_tells_failed_from_not_finished(
    statuses: tuple[str, str],
    expected: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    checks = [part(name, correctness=True, needs_cuda=False) for name in ("first", "second")]
    monkeypatch.setattr(main, "PARTS", (*checks, part("speed", needs_cuda=False)))
    ends = {"first": statuses[0], "second": statuses[1], "speed": "failed"}
    monkeypatch.setattr(
        main, "run_part", lambda each, *_: {"status": ends[each.name], "reason": "", "seconds": 1.0, "figures": {}}
    )
    assert main.main(["--device", "cpu", "--quick"]) == expected
    said = "not finished, neither passed nor failed: second. By itself: --only second"
    assert (said in capsys.readouterr().out) == ("not finished" in statuses)


def test_all_parts_keep_kernels_in_one_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WARPWORLD_CACHE", str(tmp_path / "chosen"))
    assert run_part(part("says_its_cache"), "cpu", quick=True, limit=60)["figures"]["cache"] == f"{tmp_path}/chosen"
    monkeypatch.delenv("WARPWORLD_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert run_part(part("says_its_cache"), "cpu", quick=True, limit=60)["figures"]["cache"] == f"{tmp_path}/warpworld"


def test_parts_of_another_commit_or_device_are_not_kept() -> None:
    earlier: dict[str, Any] = {"commit": "a", "quick": False, "device": "GPU 1", "parts": {"compare": {}}}
    fresh: dict[str, Any] = {"commit": "b", "quick": False, "device": None, "parts": {}}
    keep_parts(fresh, earlier)
    assert fresh["parts"] == {}
    fresh["commit"] = "a"
    keep_parts(fresh, earlier)
    assert set(fresh["parts"]) == {"compare"} and fresh["device"] == "GPU 1"
    put(fresh, "machine", "", {"figures": {"device": "GPU 1"}})
    assert set(fresh["parts"]) == {"compare", "machine"}
    put(fresh, "machine", "", {"figures": {"device": "GPU 2"}})
    assert set(fresh["parts"]) == {"machine"} and fresh["device"] == "GPU 2"


def test_parts_are_not_kept_where_the_commit_is_unknown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "gpu.json"
    monkeypatch.setattr(main, "PARTS", (part("passes", needs_cuda=False),))
    monkeypatch.setattr(results, "conditions", lambda: {**conditions(), "commit": None})
    words = ["--device", "cpu", "--quick", "--only", "passes", "--save", str(path)]
    assert main.main(words) == 0  # there is nothing to keep yet
    written = path.read_text()
    with pytest.raises(SystemExit, match=r"git does not tell which one this is; give it with --commit, or write"):
        main.main(words)
    assert path.read_text() == written
    assert main.main([*words, "--commit", "a"]) == 0


def test_conditions_are_known_without_a_host_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert results.new_results("cuda", quick=False, commit="a")["host"]["compiler"] is None


@pytest.mark.parametrize("missing", ["git", "repository"])
def test_a_commit_can_be_named_where_there_is_no_git(
    missing: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(*{"git": ("PATH", str(tmp_path)), "repository": ("GIT_DIR", str(tmp_path))}[missing])
    assert results.new_results("cpu", quick=True, commit=None)["commit"] is None
    assert results.new_results("cpu", quick=True, commit="a")["commit"] == "a"


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
@pytest.mark.long
def test_without_a_gpu_the_suite_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "gpu.json"
    assert main.main(["--save", str(path)]) == 1
    assert "torch sees no CUDA device. To see that the parts run: --device cpu --quick" in capsys.readouterr().out
    statuses = {found["status"] for found in json.loads(path.read_text())["parts"].values()}
    assert statuses == {"skipped"}


@pytest.mark.parametrize(
    ("only", "run"),
    [
        ("cartpole", ["machine", "rates", "cartpole"]),
        ("contract,cartpole", ["machine", "rates", "cartpole", "contract"]),
        ("contract", ["machine", "contract"]),
        ("machine", ["machine"]),
    ],
)
def test_parts_that_measure_speed_bring_the_rates_of_their_floors(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, only: str, run: list[str]
) -> None:
    ran = []

    def note(chosen: Part, *_: Any) -> dict[str, Any]:
        ran.append(chosen.name)
        return {"status": "passed", "reason": "", "seconds": 0.1, "figures": {}}

    monkeypatch.setattr(main, "run_part", note)
    assert main.main(["--only", only, "--save", str(tmp_path / "gpu.json")]) == 0
    assert ran == run


def test_an_unknown_part_is_refused() -> None:
    with pytest.raises(SystemExit, match=r"no part 'profil'.*profile"):
        main.main(["--only", "profil"])
