"""How parts of the GPU suite end: well, badly, not at all; and what is written while they run."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks.gpu import main
from benchmarks.gpu.part import Part
from benchmarks.gpu.process import run_part
from benchmarks.gpu.results import keep_parts, put

HERE = Path(__file__).resolve().parent


def part(name: str, **options: Any) -> Part:
    python_path = os.pathsep.join([str(HERE), str(HERE.parent)])
    return Part(name, name, f"gpu_parts:{name}", 60, environment={"PYTHONPATH": python_path}, **options)


@pytest.mark.parametrize(
    ("name", "status", "reason"),
    [
        ("passes", "passed", ""),
        ("holds_not", "failed", "3 is not 4"),
        ("cannot_be_done", "skipped", "there is no moon"),
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


def test_a_part_that_hangs_is_ended_with_all_that_it_started() -> None:
    result = run_part(part("hangs"), "cpu", quick=True, limit=3)
    assert result["status"] == "failed"
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
    results = json.loads(path.read_text())
    assert results["parts"]["dies"] | {"date": ""} == {
        "title": "dies",
        "date": "",
        "status": "skipped",
        "reason": "needs CUDA",
        "seconds": 0.0,
        "figures": {},
    }
    assert {"date", "commit", "device", "host", "quick"} <= set(results)
    assert "holds_not" in capsys.readouterr().out
    monkeypatch.setattr(main, "PARTS", parts[:1])
    assert main.main(["--device", "cpu", "--quick", "--only", "passes", "--save", str(path)]) == 0
    assert set(json.loads(path.read_text())["parts"]) == {"passes", "holds_not", "dies"}  # the others are kept


def test_parts_for_which_no_time_is_left_say_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(main, "PARTS", (part("passes", needs_cuda=False),))
    path = tmp_path / "gpu.json"
    assert main.main(["--device", "cpu", "--quick", "--budget", "1", "--save", str(path)]) == 0
    reason = json.loads(path.read_text())["parts"]["passes"]["reason"]
    assert reason == "the 1 s were over; run it by itself: --only passes"


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


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_without_a_gpu_the_suite_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "gpu.json"
    assert main.main(["--save", str(path)]) == 1
    assert "torch sees no CUDA device. To see that the parts run: --device cpu --quick" in capsys.readouterr().out
    statuses = {found["status"] for found in json.loads(path.read_text())["parts"].values()}
    assert statuses == {"skipped"}


def test_an_unknown_part_is_refused() -> None:
    with pytest.raises(SystemExit, match=r"no part 'profil'.*profile"):
        main.main(["--only", "profil"])
