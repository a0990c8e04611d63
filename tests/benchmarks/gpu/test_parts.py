"""Parts of the GPU suite on cpu: what they compare, and the faults that they must find."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from benchmarks.gpu import (
    acting,
    builds,
    child,
    columns,
    compare,
    eyes,
    few_steps,
    graphs,
    launches,
    limit,
    pycuda_launch,
    sanitizer,
    scaling,
    zero_copy,
)
from benchmarks.gpu.compare import Course
from benchmarks.gpu.part import Context
from benchmarks.gpu.workers import Done, Job, run_jobs
from warpworld import World
from warpworld.environment import get_environment
from warpworld.managers.cuda.launches import launches_of

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
    zero_copy.prove(context)
    assert context.findings == [
        "after torch wrote the actions, agents are at [5, 6, 7], expected [6, 7, 8]",
        "after torch wrote the places, agents are at [10, 11, 12], expected [11, 12, 13]",
        "the arrays have moved, or a step was lost",
    ]
    assert "headline" not in context.figures


@pytest.mark.long
def test_columns_are_of_the_same_work(context: Context) -> None:
    columns.tag_gridworld(context)
    rows = {row["column"]: row for row in context.figures["rows"]}
    assert set(rows) >= {"simulation", "random", "inference", "training"}
    for row in rows.values():
        assert row["agents"] == 5
        assert row["agent_steps_per_s"] == pytest.approx(5 * row["env_steps_per_s"])
        steps = 16 if row["column"] == "simulation" else row["num_steps"]
        assert row["env_steps_per_s"] * row["seconds_per_call"] == pytest.approx(row["num_envs"] * steps)
    assert "training" in context.figures["headline"]


@pytest.mark.heavy
@pytest.mark.long
def test_launches_and_scaling_report_figures(context: Context) -> None:
    launches.measure_launches(context)
    assert context.figures["launch_seconds"] > 0
    assert context.figures["rollout_eager_seconds"] > context.figures["world_step_seconds"]
    context.figures.clear()
    scaling.scale(context)
    assert [row["num_envs"] for row in context.figures["rows"]] == [64] * 4


@pytest.mark.slow
def test_eyes_are_measured_beside_brute_force(context: Context) -> None:
    eyes.measure_eyes(context)
    rows = {(row["world"], row["column"]): row["agent_steps_per_s"] for row in context.figures["rows"]}
    assert set(rows) == {(case.name, "simulation") for case in eyes.CASES} | {(n, "brute force") for n in eyes.BRUTE}
    for name in eyes.BRUTE:
        ratio = rows[name, "simulation"] / rows[name, "brute force"]
        assert context.figures[f"{name}_beside_brute_force"] == pytest.approx(ratio)
    assert context.figures["num_plans"] == 2 and context.figures["plans_seconds"] > 0
    assert {row["num_plans"] for row in context.figures["rows"]} == {2}


def test_the_homes_are_a_thousand_and_the_same_for_all_worlds() -> None:
    assert {case.params["num_plans"] for case in eyes.CASES} == {1000}
    made = []
    for case in eyes.CASES:
        kinds = [get_environment(case.name), *([eyes.BRUTE[case.name]] if case.name in eyes.BRUTE else [])]
        made += [kind(**{**case.params, "num_plans": 2}).params.plan_set for kind in kinds]
    assert len(made) > len(eyes.CASES) and len({id(plan_set) for plan_set in made}) == 1  # drawn and lit once


@pytest.mark.long
def test_without_a_known_card_there_is_no_share_of_the_limit(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eyes, "CASES", (eyes.EXPLORER.smaller(4, 4, plans="box"),))
    monkeypatch.setattr(eyes, "BRUTE", {})
    eyes.measure_eyes(context)
    assert context.figures["rows"][0]["limit_share"] is None
    assert context.figures["limit"] == "no share of the limit: that is of GPUs"
    monkeypatch.setattr(eyes, "card_of", lambda device: "NVIDIA L4")
    eyes.measure_eyes(context)
    assert context.figures["rows"][1]["limit_share"] is None
    assert context.figures["limit"].startswith("no share of the limit: that of 'NVIDIA L4' is not known, only of NVID")
    monkeypatch.setattr(eyes, "card_of", lambda device: "NVIDIA H200")
    eyes.measure_eyes(context)
    row = context.figures["rows"][2]
    assert row["limit_share"] * 33.5e12 == pytest.approx(
        row["agent_steps_per_s"] * limit.operations(row["lines"], row["rays"], 130.0)
    )


def test_operations_of_a_view() -> None:
    """Of 307 lines 40 are in view at 70 degrees, and twice as many at 140: 40 L + R (2 L_f + 5 * 8 + 40)."""
    assert limit.operations(307, 512, 70.0) == pytest.approx(12_280 + 512 * (80 + 80))  # = 94,200
    assert limit.operations(307, 512, 140.0) == pytest.approx(12_280 + 512 * (160 + 80))
    assert limit.operations(614, 256, 70.0) == pytest.approx(24_560 + 256 * (160 + 80))


def test_a_view_is_of_walls_and_of_the_facets_of_all_agents() -> None:
    fight = get_environment("deathmatch")(plans="box", res=64, subsample=1, players=2, rivals=1)
    assert limit.lines_of(fight) == 4 + 3 * 8
    found = limit.limit_of(fight, "NVIDIA H100 PCIe")
    assert found == pytest.approx(25.6e12 / (40 * 28 + 64 * (2 * 28 * 40 / 307 + 80)))  # at its 70 degrees


@pytest.mark.parametrize(
    ("card", "allowed"),
    [
        ("NVIDIA H100 80GB HBM3", 33.5),
        ("NVIDIA H100 NVL", 30.0),
        ("NVIDIA H100 PCIe", 25.6),
        ("NVIDIA H200", 33.5),
        ("NVIDIA H200 NVL", 30.0),
        ("NVIDIA H100", None),
        ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", None),
    ],
)
def test_cards_are_known_by_their_full_names(card: str, allowed: float | None) -> None:
    assert limit.LANE_OPERATIONS.get(card) == (None if allowed is None else allowed * 1e12)
    assert (f"of {card}: {allowed} T lane operations a second" in limit.basis(card)) == (allowed is not None)
    assert (f"that of '{card}' is not known" in limit.basis(card)) == (allowed is None)


def test_a_launch_is_held_against_one_with_as_many_bytes_of_arguments() -> None:
    world, step = launches.idle_step("cpu")
    on_gpu = replace(step, module=SimpleNamespace(functions={"idle": None}))  # type: ignore[type-var]
    launch = launches_of([on_gpu], world.data, world.constants, idle=lambda: on_gpu)
    assert [len(each.arguments) for each in launch] == [pycuda_launch.ARGUMENT_BYTES]
    assert f"char bytes[{pycuda_launch.ARGUMENT_BYTES}]" in pycuda_launch.SOURCE


def test_graphs_are_of_many_steps_and_of_one() -> None:
    steps = [graphs.build_trainer(case.smaller(4, case.num_steps), "cpu").collector for case in graphs.CASES]
    assert [collector._steps_at_once for collector in steps] == [16, 7, 1, 16]


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
    graphs.compare(context)
    (said,) = context.findings
    assert said.startswith("tag_gridworld, rollout 0: these arrays differ: rollout_observations_tagger")


Ran = tuple[int | None, str]  # exit status, None after its time; what was printed
CLEAN = "========= ERROR SUMMARY: 0 errors\n"
INVALID = "========= Invalid __global__ read\n" + "ERROR SUMMARY: 1 error"


@pytest.mark.parametrize(
    ("ends", "status", "reason"),
    [
        ([(0, CLEAN), (0, CLEAN)], "passed", ""),
        ([(0, CLEAN), (None, "")], "not finished", "1 of 2 were not done in time: tag_gridworld {}"),
        (
            [(None, ""), (77, INVALID)],
            "failed",
            "tag_gridworld {}: Invalid __global__ read\n1 of 2 were not done in time: cartpole {}",
        ),
        ([(0, CLEAN), (0, "it ran")], "failed", "tag_gridworld {}: compute-sanitizer gave no summary: it ran"),
        ([(1, "Error: Device not supported"), (0, CLEAN)], "skipped", "compute-sanitizer: Error: Device not supported"),
    ],
)
def test_memcheck_tells_errors_from_worlds_that_were_not_done(
    ends: list[Ran], status: str, reason: str, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sanitizer.shutil, "which", lambda tool: tool)
    monkeypatch.setattr(sanitizer, "courses", lambda: [Course("cartpole", {}), Course("tag_gridworld", {})])
    monkeypatch.setattr(sanitizer, "_run", lambda context, number: ends[number])
    assert child.run("benchmarks.gpu.sanitizer:memcheck", context) == {"status": status, "reason": reason}
    assert (context.figures.get("headline") == "2 worlds, 0 errors") == (status == "passed")


def test_memcheck_keeps_the_tool_s_report_on_each_world(
    context: Context, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tool = tmp_path / "bin" / sanitizer.TOOL
    tool.parent.mkdir()
    tool.write_text('#!/bin/sh\necho "$@"\necho "========= ERROR SUMMARY: 0 errors"\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(sanitizer, "courses", lambda: [Course("cartpole", {}), Course("tag_gridworld", {})])
    sanitizer.memcheck(context)
    assert [row["errors"] for row in context.figures["rows"]] == [0, 0]
    assert "few_steps 1 cpu\n" in (tmp_path / "memcheck-1.txt").read_text()


def test_builds_name_what_does_not_compile(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(context: Context, jobs: list[Job], at_once: int) -> list[Done]:
        return [Done(job, fault="nvcc fatal" if number else "") for number, job in enumerate(jobs)]

    monkeypatch.setattr(builds, "run_jobs", ended)
    builds.build(context)
    assert context.findings == [f"{builds.plans()[1].name} on cpu: nvcc fatal"]
    assert "headline" not in context.figures


def test_builds_are_of_every_world_and_trainer_that_parts_need() -> None:
    on_gpu = Context("cuda", quick=False, limit=60.0, path=Path("figures.json"))
    names = [job.name for job in builds.jobs_of(on_gpu)]
    compared = compare.courses()
    worlds = [f"{course.name} on {device}" for course in compared for device in ("cpu", "cuda")]
    worlds += [f"{plan.name} on cuda" for plan in builds.plans()[len(compared) :]]
    trainers = [f"trainer of {case.name}" for case in builds.CASES]
    assert names == [*worlds, *trainers, *(f"trainer of {learner.config}" for learner in builds.LEARNERS)]
    assert all(case in builds.CASES for case in (*graphs.CASES, *acting.CASES))


@pytest.mark.heavy
@pytest.mark.long
def test_worlds_are_compiled_by_workers(context: Context) -> None:
    builds.build(context)
    assert context.findings == []
    assert context.figures["jobs"] == 2


# ---- comparison -----------------------------------------------------------------------------------------------------

CARTPOLE = Course("cartpole", {"episode_length": 10}, num_envs=6)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(
    "course",
    [
        CARTPOLE,
        Course("pendulum", {"episode_length": 10}, num_envs=6),
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


OWN_STATE = Course(
    "tag_continuous",
    {"num_taggers": 2, "num_runners": 4, "use_full_observation": True, "observe_own_state": True},
    libm_columns=(-3, -2),
    num_envs=2,
)


@pytest.mark.parametrize(
    ("course", "column", "factor", "is_refused"),
    [
        (OWN_STATE, -3, 1 + 2e-7, False),
        (OWN_STATE, -2, 1 + 2e-7, False),
        (OWN_STATE, -2, 1.01, True),
        (OWN_STATE, -4, 1 + 2e-7, True),
        (OWN_STATE, 0, 1 + 2e-7, True),
        (replace(OWN_STATE, libm_columns=()), -2, 1 + 2e-7, True),
    ],
)
def test_of_a_reset_only_what_libm_makes_may_be_rounded(
    course: Course, column: int, factor: float, is_refused: bool
) -> None:
    cpu, other = (compare._world(course, "cpu") for _ in range(2))
    for world in (cpu, other):
        world["observations"][..., column] = 0.7
    other["observations"][0, 0, column] *= factor
    found = compare.Differences(course)
    found.look(cpu, other, step=0, exact=True)
    assert bool(found.differences) == is_refused
    assert not found.bit_for_bit


@pytest.mark.parametrize(
    ("name", "angle"),
    [("tag_continuous", lambda world: world["direction"]), ("pendulum", lambda world: world["state"][..., 0])],
)
def test_the_columns_that_libm_makes_are_cosine_and_sine(name: str, angle: Callable[[World], torch.Tensor]) -> None:
    course = next(course for course in compare.COURSES if course.name == name and course.libm_columns)
    world = compare._world(course, "cpu")
    made = torch.stack([angle(world).cos(), angle(world).sin()], -1)
    torch.testing.assert_close(world["observations"][..., list(course.libm_columns)], made)


def test_scratch_may_differ_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    course = Course("tag_gridworld", {"num_taggers": 2}, libm=False, num_envs=6)
    for scratch, differences in ((("loc_x",), 0), (("loc_y",), 1)):
        disturbed(monkeypatch, "loc_x", lambda places: places + 1)
        found = compare.compare(replace(course, scratch=scratch), "cpu", 1, exact=True)
        assert len(found["differences"]) == differences


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


def test_steps_in_which_a_ray_grazes_are_counted_and_few(monkeypatch: pytest.MonkeyPatch) -> None:
    course = Course("explorer", {"num_plans": 2, "res": 32}, rays=True, num_envs=5)
    once = iter([True] + [False] * 1000)

    def see_more(potential: torch.Tensor) -> torch.Tensor:
        if next(once):
            potential[2] += 1
        return potential

    disturbed(monkeypatch, "potential", see_more)
    found = compare.compare(course, "cpu", 30, exact=True)
    assert (found["steps_that_graze"], found["differences"]) == (1, [])
    disturbed(monkeypatch, "potential", lambda potential: potential + 1)
    found = compare.compare(course, "cpu", 5, exact=True)
    assert found["differences"] == ["in 25 of 30 steps of envs something differs"]
    disturbed(monkeypatch, "plan_walls", lambda walls: walls + 1)
    assert compare.compare(course, "cpu", 5, exact=True)["differences"][0].startswith("step 1: plan_walls[")


@pytest.mark.heavy
@pytest.mark.long
def test_worlds_are_compared_by_workers(context: Context) -> None:
    first, *_, last = compare.jobs_of(context, exact=False)
    done = {ended.job: ended for ended in run_jobs(context, [first, last], 2)}
    assert [done[job].fault for job in (first, last)] == ["", ""]
    assert done[first].found["world"] == compare.courses()[0].name and done[first].found["bit_for_bit"]
    assert [done[job].found["differences"] for job in (first, last)] == [[], []]


def test_differences_are_kept_where_the_time_is_over(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = [CARTPOLE, Course("pendulum", {}, num_envs=6)]
    monkeypatch.setattr(compare, "courses", lambda: chosen)
    disturbed(monkeypatch, "state", lambda state: state + 1e-3)
    over = iter([False, True])  # after the first world
    monkeypatch.setattr(Context, "is_over", lambda _: next(over))
    ended = child.run("benchmarks.gpu.compare:within_tolerance", context)
    first, *_, last = ended["reason"].splitlines()
    assert ended["status"] == "failed"
    assert first.startswith("cartpole {'episode_length': 10}: step 1: state[0, 0, 0] is ")
    assert last == "2 of 3 were not done in time: pendulum {}, actions drawn from equal logits"
    (row,) = context.figures["rows"]
    assert row["world"] == "cartpole" and row["differences"]


def test_worlds_that_are_measured_are_compared_first() -> None:
    names = dict.fromkeys(course.name for course in compare.courses())
    assert tuple(names)[: len(compare.FIRST)] == compare.FIRST


def test_every_registered_env_is_compared() -> None:
    from warpworld.environment import packaged_names

    assert {course.name for course in compare.courses() if course.own is None} == set(packaged_names())


def named(name: str, **params: Any) -> Course:
    """The course of this name that has these parameters among its own."""
    return next(each for each in compare.COURSES if each.name == name and params.items() <= each.params.items())


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("course", "array"),
    [
        (named("deathmatch", megastep_rules=True), "spawn_positions"),
        (named("companions, of blocks"), "observations_agents"),
        (named("companions, of blocks"), "rewards"),
    ],
    ids=["megastep's rules", "what blocks show", "rules in PyTorch"],
)
def test_megastep_s_rules_and_blocks_are_compared(course: Course, array: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each array of each agent, of a world in which things happen; what is wrong in one of them is found."""
    course = replace(course, num_envs=6)
    world = compare._world(course, "cpu")
    assert array in world
    found = compare.compare(course, "cpu", 70, exact=False)
    assert (found["differences"], found["bit_for_bit"]) == ([], True)
    assert found["episodes"] > 0
    disturbed(monkeypatch, array, lambda values: values + 1e-3)
    found = compare.compare(course, "cpu", 3, exact=False)
    assert found["differences"] == ["in 18 of 24 steps of envs something differs"]


def test_few_steps_of_every_plan_can_be_asked_for() -> None:
    plans = few_steps.plans()
    assert plans[: len(compare.courses())] == compare.courses()  # memcheck counts on it
    few_steps.main(0, "cpu")
