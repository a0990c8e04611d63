"""The GPU suite, as far as it runs without a GPU: its parts on cpu, how parts end, and what is written about them."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from benchmarks.gpu import columns, compare, graphs, launches, main, page, scaling, targets, trace, zero_copy
from benchmarks.gpu.clock import measure, measure_host
from benchmarks.gpu.compare import Course
from benchmarks.gpu.contract import read_summary
from benchmarks.gpu.part import CheckError, Context, Part, SkippedError
from benchmarks.gpu.process import run_part
from benchmarks.gpu.profile import kind_of, shares_of
from benchmarks.gpu.sanitizer import read_errors
from benchmarks.gpu.summary import print_summary
from benchmarks.gpu.trace import Event
from warpworld import World

HERE = Path(__file__).resolve().parent


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return Context("cpu", quick=True, limit=60.0, path=tmp_path / "figures.json")


# ---- parts on cpu ---------------------------------------------------------------------------------------------------


def test_zero_copy_reads_the_addresses_that_a_kernel_has(context: Context) -> None:
    zero_copy.prove(context)
    assert context.figures["kernel_pointers"] == context.figures["torch_pointers"]
    assert json.loads(context.path.read_text()) == context.figures


def test_zero_copy_finds_an_array_that_kernels_do_not_share(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    real = World.__getitem__

    def copied(world: World, name: str) -> torch.Tensor:
        return real(world, name).clone() if name == "loc_x" else real(world, name)

    monkeypatch.setattr(World, "__getitem__", copied)
    with pytest.raises(CheckError, match=r"agents are at \[5, 6, 7\], expected \[6, 7, 8\]"):
        zero_copy.prove(context)


def test_columns_are_of_the_same_work(context: Context) -> None:
    columns.tag_gridworld(context)
    rows = {row["column"]: row for row in context.figures["rows"]}
    assert set(rows) >= {"simulation", "random", "inference", "training"}
    for row in rows.values():
        assert row["agents"] == 5
        assert row["agent_steps_per_s"] == pytest.approx(5 * row["env_steps_per_s"])
        steps = 8 if row["column"] == "simulation" else row["num_steps"]
        assert row["env_steps_per_s"] * row["seconds_per_call"] == pytest.approx(row["num_envs"] * steps)
    assert "training" in context.figures["headline"]


def test_launches_and_scaling_report_figures(context: Context) -> None:
    launches.measure_launches(context)
    assert context.figures["launch_seconds"] > 0
    assert context.figures["rollout_eager_seconds"] > context.figures["world_step_seconds"]
    context.figures.clear()
    scaling.scale(context)
    assert [row["num_envs"] for row in context.figures["rows"]] == [64] * 4


def test_graphs_compare_the_whole_store(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs, "CASES", (graphs.TAG_GRIDWORLD.smaller(8, 4, episode_length=3),))
    graphs.compare(context)
    real, built = graphs.build_trainer, []

    def other_seed(*arguments: Any, **options: Any) -> Any:
        trainer = real(*arguments, **options)
        if built:
            trainer.world["loc_x"][0, 0] += 1
        built.append(trainer)
        return trainer

    monkeypatch.setattr(graphs, "build_trainer", other_seed)
    with pytest.raises(CheckError, match=r"tag_gridworld, rollout 0: these arrays differ: rollout_observations_tagger"):
        graphs.compare(context)


# ---- comparison -----------------------------------------------------------------------------------------------------

CARTPOLE = Course("cartpole", {"episode_length": 10}, num_envs=6)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(
    "course",
    [
        CARTPOLE,
        Course("tag_gridworld", {"num_taggers": 2, "grid_length": 3}, libm=False, num_envs=6),
        Course("tag_continuous", {"num_taggers": 2, "num_runners": 4, "num_other_agents_observed": 2}, nearest=True),
    ],
)
def test_a_world_agrees_with_itself(course: Course, exact: bool) -> None:
    found = compare.compare(course, "cpu", 30, exact)
    assert found["differences"] == []
    assert found["bit_for_bit"]
    assert found["episodes"] > 0 or course.nearest


def disturbed(monkeypatch: pytest.MonkeyPatch, array: str, change: Any) -> None:
    """Let ``change`` alter an array of the second world after each of its steps."""
    real = compare._world
    made: list[World] = []

    def world(course: Course, device: str) -> World:
        made.append(found := real(course, device))
        if len(made) == 2:
            step = found.step

            def changed() -> None:
                step()
                found[array].copy_(change(found[array]))

            found.step = changed  # type: ignore[method-assign]
        return found

    monkeypatch.setattr(compare, "_world", world)


def test_rounding_is_within_the_tolerance_but_not_bit_for_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    disturbed(monkeypatch, "state", lambda state: state * (1 + 2e-7))
    found = compare.compare(CARTPOLE, "cpu", 5, exact=False)
    assert found["differences"] == []
    assert not found["bit_for_bit"]
    assert 0 < found["largest_difference"] < 1e-5


def test_rounding_is_refused_where_bits_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    disturbed(monkeypatch, "rewards", lambda rewards: rewards * (1 + 2e-7))
    course = Course("tag_gridworld", {"num_taggers": 2}, libm=False, num_envs=6)
    found = compare.compare(course, "cpu", 5, exact=True)
    assert found["differences"][0].startswith("step 1: rewards[0, 0] is ")


def test_a_difference_beyond_the_tolerance_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    disturbed(monkeypatch, "state", lambda state: state + 1e-3)
    found = compare.compare(CARTPOLE, "cpu", 5, exact=False)
    assert found["differences"][0].startswith("step 1: state[0, 0, 0] is ")
    assert "(24 of 24 entries)" in found["differences"][0]


def test_a_flag_that_differs_is_named_and_no_number_is_not_near(monkeypatch: pytest.MonkeyPatch) -> None:
    disturbed(monkeypatch, "terminated", lambda ends: ~ends)
    assert "terminated" in compare.compare(CARTPOLE, "cpu", 3, exact=False)["differences"][0]
    disturbed(monkeypatch, "rewards", lambda rewards: rewards * float("nan"))
    assert "rewards" in compare.compare(CARTPOLE, "cpu", 3, exact=False)["differences"][0]


def test_rows_in_another_order_are_counted_and_few(monkeypatch: pytest.MonkeyPatch) -> None:
    params = {"num_taggers": 2, "num_runners": 18, "use_full_observation": False, "num_other_agents_observed": 3}
    course = Course("tag_continuous", params, nearest=True, num_envs=20)
    swaps = iter([True] + [False] * 1000)

    def swap_once(observations: torch.Tensor) -> torch.Tensor:
        if next(swaps):
            observations[0, 0, :2] = observations[0, 0, :2].flip(0).clone() + 1.0
        return observations

    disturbed(monkeypatch, "observations", swap_once)
    found = compare.compare(course, "cpu", 30, exact=False)
    assert found["rows_in_other_order"] == 1
    assert found["differences"] == []
    disturbed(monkeypatch, "observations", lambda observations: observations + 1.0)
    found = compare.compare(course, "cpu", 5, exact=False)
    assert found["differences"] == ["2000 of 2000 rows of observations differ"]


def test_every_registered_env_is_compared() -> None:
    from warpworld.environment import environment_names

    assert {course.name for course in compare.courses()} == set(environment_names())


# ---- how parts end --------------------------------------------------------------------------------------------------


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


def test_shares_of_an_iteration() -> None:
    names = ["ww_entry_step", "ww_entry_sample", "sgemm", "ww_end_step"]
    rollout = [Event(name, "kernel", float(i), i + 0.5) for i, name in enumerate(names)]
    assert [kind_of(event) for event in rollout] == ["env", "sampling", "policy", "env"]
    found = shares_of(rollout, [Event("adam", "kernel", 9.0, 11.0)], iteration=10.0)
    assert found == pytest.approx({"env": 0.1, "sampling": 0.05, "policy": 0.05, "update": 0.2, "idle": 0.6})


def test_what_pytest_and_the_sanitizer_print_is_read() -> None:
    output = "....F [ 50%]\n....  [100%]\nFAILED tests/world/test_steps.py::test_it - Assert\n"
    output += "==== 1 failed, 8 passed, 2 skipped in 12.34s ====\n"
    assert read_summary(output) == {
        "counts": {"failed": 1, "passed": 8, "skipped": 2},
        "failed": ["tests/world/test_steps.py::test_it"],
        "progress": "100%",
    }
    assert read_summary("... [ 37%]")["progress"] == "37%"
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
    gap = {"rollout": 0.01, "update": 0.07}
    shares = {"env": 0.2, "policy": 0.3, "sampling": 0.1, "update": 0.35, "idle": 0.05}
    profiled = {"world": "tag_gridworld", "num_envs": 2000, "num_steps": 96, "seconds_per_iteration": 0.01}
    scaled = [
        speed("cartpole", "simulation", 1e9, agents=1),
        {**speed("cartpole", "simulation", 2e9, 1), "num_envs": 1},
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
            "launches": done(own_seconds=0.4e-6, rollout_replayed_seconds=12e-6),
            "tag_gridworld": done(rows=both),
            "warpdrive_gridworld": done(rows=theirs, way="its own trainer"),
            "warpdrive_continuous": refused,
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
        "tag_continuous: skipped: rl-warp-drive is not installed",
        "ended: no memory \\| for it",
        "| compare | a title | failed | step 3: x differs |",
        "| tag_gridworld, 2,000 x 96 steps | 10.00 | 20% | 30% | 10% | 35% | 5% | 7.0% |",
    ):
        assert said in text
    assert (tmp_path / "docs" / "images" / "gpu-scaling.png").stat().st_size > 1000


def test_a_page_without_measured_parts_says_so() -> None:
    text = page.text_of({**made_up(), "parts": {}})
    assert text.count("Not measured in this run.") >= 4


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


# ---- WarpDrive ------------------------------------------------------------------------------------------------------


def test_warpdrive_is_skipped_where_it_is_missing(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks.gpu import warpdrive

    monkeypatch.setattr(warpdrive, "is_installed", lambda: False)
    with pytest.raises(SkippedError, match="rl-warp-drive is not installed"):
        warpdrive.tag_gridworld(context)


def test_warpdrive_is_given_equal_work() -> None:
    from benchmarks.gpu.cases import TAG_CONTINUOUS, config_of
    from benchmarks.gpu.warpdrive import run_of

    run, ours = run_of(TAG_CONTINUOUS, iterations=8), config_of(TAG_CONTINUOUS, "cpu", iterations=8)
    theirs = run.config
    assert theirs["trainer"]["train_batch_size"] == ours.trainer.num_envs * ours.trainer.num_steps
    steps = theirs["env"]["episode_length"] * theirs["trainer"]["num_episodes"]
    assert steps // theirs["trainer"]["train_batch_size"] >= 8 + 3
    assert set(theirs["policy"]) == set(ours.policy)
    for name, policy in theirs["policy"].items():
        mine = ours.policy[name]
        assert policy["model"]["fc_dims"] == list(mine.model.settings["hidden_sizes"])
        assert mine.model.settings["activation"] == "relu" and mine.num_minibatches == 1
        assert (policy["lr"], policy["gamma"], policy["vf_loss_coeff"]) == (
            mine.learning_rate,
            mine.gamma,
            mine.vf_coef,
        )
    shared = set(theirs["env"]) - {"seed"}
    assert {name: theirs["env"][name] for name in shared} == {name: ours.env[name] for name in shared}


def test_warpdrive_finds_curand_in_nvidias_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks import warpdrive_shims

    header = tmp_path / "nvidia" / "cu13" / "include" / "curand_kernel.h"
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    monkeypatch.delenv("NVCC_APPEND_FLAGS", raising=False)
    with pytest.raises(FileNotFoundError, match="pip install nvidia-curand"):
        warpdrive_shims._curand()
    header.parent.mkdir(parents=True)
    header.touch()
    assert "NVIDIA's wheel" in warpdrive_shims._curand()
    assert os.environ["NVCC_APPEND_FLAGS"] == f"-I{header.parent}"


def test_first_observation_is_made_once() -> None:
    from benchmarks.warpdrive_shims import remember_first_observation

    class Wrapper:
        made = 0

        def obs_at_reset(self) -> np.ndarray:
            self.made += 1
            return np.zeros(3)

    wrapper = Wrapper()
    remember_first_observation(wrapper)
    assert all(wrapper.obs_at_reset().shape == (3,) for _ in range(5))
    assert wrapper.made == 1
