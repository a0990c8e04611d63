"""What is read of tools, and what is written of results: the table and the page, on figures that are made up."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks.gpu import main, page, profile, targets, trace
from benchmarks.gpu.cases import TAG_GRIDWORLD
from benchmarks.gpu.clock import measure, measure_host
from benchmarks.gpu.part import Context, SkippedError
from benchmarks.gpu.profile import gaps_of, kinds_of, shares_of
from benchmarks.gpu.sanitizer import read_errors
from benchmarks.gpu.summary import print_summary
from benchmarks.gpu.trace import Event
from warpworld.managers.kernel_source import OWN_FOLDERS
from warpworld.managers.signature import read_signatures
from warpworld.trainers.algorithms.updates import layer_backward

# ---- what is read and written ---------------------------------------------------------------------------------------


def test_events_are_read_in_order_and_added_up() -> None:
    found = trace.read_events(
        {
            "traceEvents": [
                {"ph": "X", "cat": "kernel", "name": "late", "ts": 30.0, "dur": 10.0},
                {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy DtoD", "ts": 0.0, "dur": 10.0},
                {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 1.0, "dur": 2.0},
                {"ph": "i", "cat": "kernel", "name": "mark", "ts": 1.0},
                {"ph": "X", "cat": "kernel", "name": "overlapping", "ts": 5.0, "dur": 10.0},
            ]
        }
    )
    assert [event.name for event in found] == ["Memcpy DtoD", "overlapping", "late"]
    assert trace.busy(found) == pytest.approx(25e-6)
    assert trace.largest_gap(found) == pytest.approx(15e-6)


def test_kernels_of_updates_are_not_those_of_statistics() -> None:
    names = ("ww_entry_step", "ww_entry_add_episodes", "ww_entry_estimate_gae", "ww_entry_losses", "ww_entry_backward")
    found = kinds_of([Event(name, "kernel", 0.0, 1.0) for name in names])
    assert found == ["env", "other", "update", "update", "update"]


def test_steps_of_a_memory_and_of_an_optimiser_are_not_the_environment_s() -> None:
    in_rollout, behind = ("forget_cut", "remember", "sample", "step"), ("remember", "learn_sequences", "take_step")
    found = kinds_of(events_of(f"ww_entry_{name}" for name in (*in_rollout, *behind)))
    assert found == ["policy", "policy", "sampling", "env", "update", "update", "update"]


def kinds_in(folders: Iterable[Path]) -> dict[str, str]:
    """What an iteration's profile takes the kernels of all files in some folders for, in a rollout of their own."""
    files = sorted(path for folder in folders for path in folder.rglob("*.cu"))
    names = [name for path in files for name in read_signatures(path, path.read_text())]
    return {name: kinds_of(events_of([f"ww_entry_{name}"]))[0] for name in names}


def test_no_kernel_of_the_package_has_an_environment_s_name() -> None:
    assert len(found := kinds_in(OWN_FOLDERS)) > 50
    assert [name for name, kind in found.items() if kind == "env"] == []
    updates = Path(layer_backward.__file__).parent
    assert set(kinds_in([updates]).values()) == {"update"}


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_without_a_device_nothing_is_seen() -> None:
    assert trace.record(lambda: None, "cpu") == ([], 0.0, 0)


ITERATION = {  # event, and what it belongs to
    "Memcpy DtoH": "other",
    "void at::native::elementwise<FillFunctor<int>>": "other",
    "sgemm": "policy",
    "ww_entry_sample": "sampling",
    "ww_entry_step": "env",
    "tanh": "policy",
    "ww_entry_act_masked": "sampling",
    "ww_entry_reset_fixed": "env",
    "ww_entry_add_episodes": "other",
    "sgemm_backward": "update",
    "Memset (Device)": "update",
}


def events_of(names: Iterable[str]) -> list[Event]:
    """One after the other, each of half a second and a gap as long behind it."""
    kind = {"Memcpy": "gpu_memcpy", "Memset": "gpu_memset"}
    return [Event(name, kind.get(name.split()[0], "kernel"), i, i + 0.5) for i, name in enumerate(names)]


def test_shares_of_an_iteration() -> None:
    events = events_of(ITERATION)
    assert kinds_of(events) == list(ITERATION.values())
    found = shares_of(events, seconds=20.0)
    expected = {"env": 1.0, "policy": 1.0, "sampling": 1.0, "update": 1.0, "other": 1.5, "idle": 14.5}
    assert found == pytest.approx({name: seconds / 20 for name, seconds in expected.items()})
    assert sum(found.values()) == pytest.approx(1)
    assert gaps_of(events, seconds=20.0) == pytest.approx({"inside": 0.5 / 20, "to the next": 9.5 / 20})


@pytest.mark.heavy
@pytest.mark.long
def test_the_trainers_own_iteration_is_profiled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    trainers = []

    def record(call: Any, device: str) -> tuple[list[Event], float, int]:
        trainer = call.__self__
        before = trainer.iteration, trainer.env_steps
        call()
        assert (trainer.iteration, trainer.env_steps) == (before[0] + 1, before[1] + 2 * 4)
        trainers.append(trainer)
        return events_of(ITERATION), 20.0, 7

    monkeypatch.setattr(profile, "record", record)
    context = Context("cpu", quick=True, limit=60.0, path=tmp_path / "figures.json")
    profile.profile(context, TAG_GRIDWORLD.smaller(2, 4))
    (row,) = context.figures["rows"]
    assert trainers[0].iteration == profile.WARM_UP + profile.REPEATS + 1
    assert row["profiled_seconds"] == 20 and 0 < row["seconds_per_iteration"] < 20
    assert row["host_calls"] == 7
    assert row["update_events"] == 2
    assert row["longest"][0]["seconds"] == 0.5 and row["device_events"] == len(ITERATION)


@pytest.mark.long
def test_where_the_profiler_sees_nothing_the_part_is_skipped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(profile, "record", lambda call, device: ([], 0.0, 0))
    context = Context("cpu", quick=True, limit=60.0, path=tmp_path / "figures.json")
    with pytest.raises(SkippedError, match="the profiler sees nothing"):
        profile.profile(context, TAG_GRIDWORLD.smaller(2, 4))


def test_calls_of_the_host_are_counted() -> None:
    names = ("cudaGraphLaunch", "cuLaunchKernel", "cudaMemcpyAsync", "cudaStreamSynchronize", "cudaEventRecord")
    entries = [{"cat": "cuda_driver" if "cuL" in name else "cuda_runtime", "name": name} for name in names]
    entries += [{"cat": "kernel", "name": "cudaLaunch of nobody"}, {"name": "process_name"}]
    assert trace.host_calls({"traceEvents": entries}) == 3


def test_what_the_sanitizer_prints_is_read() -> None:
    assert read_errors("========= ERROR SUMMARY: 0 errors\n") == 0
    assert read_errors("========= ERROR SUMMARY: 1 error\n") == 1
    assert read_errors("Error: Device not supported") is None


def test_clocks_count_the_calls() -> None:
    calls = []
    timing = measure(lambda: calls.append(time.sleep(0.001)), "cpu", seconds=0.005, windows=3)
    assert 0.001 <= timing.best <= timing.median
    assert measure_host(lambda: time.sleep(0.001), "cpu", calls=2, batches=3).best >= 0.001


# ---- the page and the table -----------------------------------------------------------------------------------------


def speed(world: str, column: str, env_steps: float, agents: int = 5) -> dict[str, Any]:
    return {
        "world": world,
        "column": column,
        "num_envs": 2000,
        "agents": agents,
        "num_steps": 16,
        "env_steps_per_s": env_steps,
        "agent_steps_per_s": env_steps * agents,
        "seconds_per_call": 1e-3,
        "spread": 0.02,
        "memory_bytes": 2**30,
    }


def done(**figures: Any) -> dict[str, Any]:
    return {"title": "a title", "status": "passed", "reason": "", "seconds": 1.0, "date": "", "figures": figures}


def made_up() -> dict[str, Any]:
    """Results of no machine, for tests of what is made of them."""
    both = [speed("tag_gridworld", "inference", 60e6), speed("tag_gridworld", "training", 30e6)]
    theirs = [speed("tag_gridworld", "inference", 10e6), speed("tag_gridworld", "training", 10e6)]
    gap = {"inside": 0.01, "to the next": 0.07}
    shares = {"env": 0.2, "policy": 0.3, "sampling": 0.1, "update": 0.32, "other": 0.03, "idle": 0.05}
    profiled = {"world": "tag_gridworld", "num_envs": 2000, "num_steps": 96, "seconds_per_iteration": 0.01}
    profiled |= {"profiled_seconds": 0.012, "host_calls": 11}
    scaled = [
        speed("cartpole", "simulation", 1e9, agents=1),
        {**speed("cartpole", "simulation", 2e9, 1), "num_envs": 1},
    ]
    eyes = {"rays": 256, "num_plans": 1000, "lines": 147.2}
    seen = [
        {**speed("explorer", "simulation", 37e6, agents=1), **eyes, "limit_share": 0.0512},
        {**speed("explorer", "brute force", 3e6, agents=1), **eyes, "limit_share": None},
        {**speed("deathmatch", "simulation", 6e6, agents=4), **eyes, "limit_share": None},
    ]
    ended = {"world": "cartpole", "column": "simulation", "num_envs": 10**6, "ended": "no memory | for it"}
    refused = {**done(), "status": "skipped", "reason": "rl-warp-drive is not installed"}
    return {
        "version": 1,
        "date": "2026-01-02",
        "commit": "0123456789abcdef",
        "device": "A GPU",
        "host": {"device": "a processor", "cores": 16, "compiler": "g++", "python": "3.12"},
        "quick": False,
        "parts": {
            "machine": done(gpu={"driver_version": "580"}, packages={"torch": "2.11.0"}, cuda_of_torch="13.0"),
            "launches": done(own_seconds=0.4e-6, replay_seconds=12e-6),
            "tag_gridworld": done(rows=both),
            "warpdrive_gridworld": done(rows=theirs, way="its own trainer"),
            "warpdrive_continuous": refused,
            "eyes": done(rows=seen, explorer_beside_brute_force=12.3, limit="the limit is that of a card"),
            "profile": done(rows=[{**profiled, "shares": shares, "largest_gap_share": gap}]),
            "scaling": done(rows=[*scaled, ended]),
            "compare": {**done(), "status": "failed", "reason": "step 3: x differs\nand more"},
        },
    }


def test_targets_are_held_against_what_was_measured() -> None:
    results = made_up()
    found = {target.label: target.measured(results) for target in targets.TARGETS}
    assert found["launch, our own host time"] == pytest.approx(0.4)
    assert found["tag_gridworld 2000 x 5, rollout"] == pytest.approx(0.3)
    assert found["... rollout beside WarpDrive's"] == pytest.approx(6)
    assert found["... training beside WarpDrive's"] == pytest.approx(3)
    assert found["largest gap of an iteration"] == pytest.approx(7)
    assert found["cartpole 65,536, random actions"] is None
    met = {target.label: target.is_met(found[target.label]) for target in targets.TARGETS if found[target.label]}
    assert met["... rollout beside WarpDrive's"] and not met["... training beside WarpDrive's"]
    assert met["launch, our own host time"] and not met["replay of 16 steps, host time"]


def test_the_page_has_the_figures_of_the_results_and_no_others(tmp_path: Path) -> None:
    source, written = tmp_path / "gpu.json", tmp_path / "docs" / "performance.md"
    source.write_text(json.dumps(made_up()))
    assert main.main(["--save", str(source), "--page", str(written)]) == 0
    text = written.read_text()
    for said in (
        "A GPU, driver 580",
        "| tag_gridworld | 2,000 x 5 | inference | 60 M | 300 M | 1.00 | 2% |",
        "| ... rollout beside WarpDrive's | at least 5 times | 6 | yes |",
        "| ... training beside WarpDrive's | at least 5 times | 3 | no |",
        "| cartpole 65,536, random actions | at least 5 G env steps/s | not measured |  |",
        "| explorer | 2,000 x 1 | 1,000 | 256 | 147 | 37 M | 12.3 times | 5.1% |",
        "| deathmatch | 2,000 x 4 | 1,000 | 256 | 147 | 24 M |  |  |",
        "([limit.py](../benchmarks/gpu/limit.py)); the limit is that of a card.",
        "| ... beside brute force | at least 10 times | 12.3 | yes |",
        "tag_continuous: skipped: rl-warp-drive is not installed",
        "ended: no memory \\| for it",
        "| compare | a title | failed | step 3: x differs |",
        "| tag_gridworld, 2,000 x 96 steps | 10.00 | 12.00 | 20% | 30% | 10% | 32% | 3% | 5% | 7.0% |",
    ):
        assert said in text
    assert (tmp_path / "docs" / "images" / "gpu-scaling.png").stat().st_size > 1000


def test_a_page_without_measured_parts_says_so() -> None:
    text = page.text_of({**made_up(), "parts": {}})
    assert text.count("Not measured in this run.") >= 5


def test_the_table_says_why_no_share_of_the_limit_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    results = made_up()
    for row in results["parts"]["eyes"]["figures"]["rows"]:
        row["limit_share"] = None
    results["parts"]["eyes"]["figures"]["limit"] = "no share of the limit: that of 'A GPU' is not known"
    print_summary(results)
    assert "\nno share of the limit: that of 'A GPU' is not known\n" in capsys.readouterr().out
    assert "| 37 M | 12.3 times |  |" in (text := page.text_of(results))
    assert "no share of the limit: that of 'A GPU' is not known." in text


@pytest.mark.parametrize("change", [{"quick": True}, {"device": "cpu"}, {"version": 0}])
def test_a_page_is_of_a_gpu_in_full_sizes(tmp_path: Path, change: dict[str, Any]) -> None:
    source = tmp_path / "gpu.json"
    source.write_text(json.dumps({**made_up(), **change}))
    with pytest.raises(SystemExit, match=r"gpu\.json"):
        main.main(["--save", str(source), "--page", str(tmp_path / "page.md")])
    assert not (tmp_path / "page.md").exists()


def test_the_table_fits_a_screen(capsys: pytest.CaptureFixture[str]) -> None:
    results = made_up()
    results["parts"] |= {f"part_{i}": done(headline="[bold] " * 60) for i in range(10)}
    print_summary(results)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) < 60
    assert max(len(line) for line in lines) <= 130
    assert any("missed" in line and "training beside" in line for line in lines)
    assert any("step 3: x differs" in line for line in lines)
    assert "of the arithmetic limit of a view: explorer 5.1%; the limit is that of a card" in lines


def test_parts_of_another_commit_are_taken_and_named(tmp_path: Path) -> None:
    def written(name: str, commit: str, parts: dict[str, Any], device: str = "GPU") -> Path:
        results = {
            "version": 1,
            "date": "2026-01-02",
            "commit": commit,
            "device": device,
            "quick": False,
            "parts": parts,
        }
        (tmp_path / name).write_text(json.dumps(results))
        return tmp_path / name

    new = written("new.json", "b" * 40, {"eyes": {"date": "2026-01-02", "figures": {}}})
    old = written("old.json", "a" * 40, {name: {"date": "2026-01-01", "figures": {}} for name in ("eyes", "cartpole")})
    assert main.main(["--adopt", str(old), "--save", str(new)]) == 0
    found = json.loads(new.read_text())
    assert found["parts"]["eyes"]["date"] == "2026-01-02" and "commit" not in found["parts"]["eyes"]
    assert found["parts"]["cartpole"] == {"commit": "a" * 40, "date": "2026-01-01", "figures": {}}
    assert page._of_other_commits(found) == f"Of commit {'a' * 10}, measured on 2026-01-01: cartpole. "
    other = written("other.json", "a" * 40, {}, device="another GPU")
    with pytest.raises(SystemExit, match=r"device of these runs: GPU and another GPU; expected the same"):
        main.main(["--adopt", str(other), "--save", str(new)])
    with pytest.raises(SystemExit, match=r"none\.json holds no results of the GPU suite"):
        main.main(["--adopt", str(tmp_path / "none.json"), "--save", str(new)])
