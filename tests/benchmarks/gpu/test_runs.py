"""How parts of the GPU suite end: well, badly, not at all; and what is written while they run."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks.gpu import main, results
from benchmarks.gpu.part import MARGIN, Part
from benchmarks.gpu.parts import PARTS
from benchmarks.gpu.process import run_part
from benchmarks.gpu.results import keep_parts, put
from benchmarks.main import conditions

ROOT = Path(__file__).resolve().parents[3]


def part(name: str, **options: Any) -> Part:
    return Part(
        name, name, f"tests.benchmarks.gpu.gpu_parts:{name}", 60, environment={"PYTHONPATH": str(ROOT)}, **options
    )


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
    ],
)
def test_a_part_ends_in_its_own_way(name: str, status: str, reason: str) -> None:
    result = run_part(part(name), "cpu", quick=True, limit=60)
    assert result["status"] == status
    assert reason in result["reason"]
    if name == "passes":
        assert result["figures"] == {"device": "cpu", "quick": True, "headline": "all well"}
    if name == "dies":
        assert result["figures"] == {"rows": [{"found": "before"}]}


@pytest.mark.heavy
@pytest.mark.long
def test_a_part_that_hangs_is_ended_with_all_that_it_started() -> None:
    result = run_part(part("hangs"), "cpu", quick=True, limit=3)
    assert result["status"] == "not finished"
    assert result["reason"].startswith("was ended after its 3 s")
    child = result["figures"]["child"]
    for _ in range(100):
        if not alive(child):
            return
        time.sleep(0.05)
    pytest.fail("the part's child goes on")


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


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


def test_parts_for_which_no_time_is_left_say_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(main, "PARTS", (part("passes", least=30, needs_cuda=False),))
    path = tmp_path / "gpu.json"
    assert main.main(["--device", "cpu", "--quick", "--budget", "29", "--save", str(path)]) == 0
    found = json.loads(path.read_text())["parts"]["passes"]
    assert (found["status"], found["seconds"]) == ("skipped", 0)
    assert found["reason"] == "needs 30 s, of the 29 only 29 were left; by itself: --only passes"


def test_every_part_has_time_for_something_once_it_is_begun() -> None:
    for each in PARTS:
        assert each.limit >= each.least > MARGIN, each.name


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


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
@pytest.mark.long
def test_without_a_gpu_the_suite_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "gpu.json"
    assert main.main(["--save", str(path)]) == 1
    assert "torch sees no CUDA device. To see that the parts run: --device cpu --quick" in capsys.readouterr().out
    statuses = {found["status"] for found in json.loads(path.read_text())["parts"].values()}
    assert statuses == {"skipped"}


def test_an_unknown_part_is_refused() -> None:
    with pytest.raises(SystemExit, match=r"no part 'profil'.*profile"):
        main.main(["--only", "profil"])
