"""Parts of the GPU suite on cpu: what they compare, and the faults that they must find."""

from __future__ import annotations

import json
import os
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
    graphs,
    hide_and_seek,
    launches,
    limit,
    pycuda_launch,
    sanitizer,
    scaling,
    zero_copy,
)
from benchmarks.gpu.compare import ComparedWorld
from benchmarks.gpu.part import Context
from benchmarks.gpu.trace import Event
from benchmarks.gpu.workers import Done, Job
from warpworld import World
from warpworld.environment import get_environment
from warpworld.managers.cuda.launches import launches_of
from warpworld.trainers.collecting.choosing import most_steps

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


@pytest.mark.parametrize(
    ("names", "findings"),
    [
        (["a kernel", "Memcpy DtoD"], []),
        (
            ["a kernel", "Memcpy DtoH (Device -> Pageable)"],
            [
                "a rollout of 32 steps copies 1 times between host and device: Memcpy DtoH (Device -> Pageable)",
            ],
        ),
    ],
)
def test_zero_copy_finds_copies_between_host_and_device(
    names: list[str], findings: list[str], context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = [Event(name, "gpu_memcpy" if "Memcpy" in name else "kernel", 0.0, 1.0) for name in names]
    monkeypatch.setattr(zero_copy, "record", lambda call, device: (events, 1.0, 7))
    monkeypatch.setattr(zero_copy, "TAG_GRIDWORLD", zero_copy.TAG_GRIDWORLD.smaller(2, 4))
    zero_copy._copies(context)
    assert context.findings == findings
    assert context.figures["kernels_of_rollout"] == 1


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
    assert context.figures["rollout_eager_seconds"] > 0 and context.figures["world_step_seconds"] > 0
    context.figures.clear()
    scaling.scale(context)
    assert [row["num_envs"] for row in context.figures["rows"]] == [64] * 4


@pytest.mark.slow
def test_hide_and_seek_is_measured_in_each_of_its_sizes(context: Context) -> None:
    hide_and_seek.measure_hide_and_seek(context)
    rows = {row["column"]: row for row in context.figures["rows"]}
    assert set(rows) == set(hide_and_seek.CASES) and {row["agents"] for row in rows.values()} == {4, 10}
    assert all(row["env_steps_per_s"] > 0 and row["needs"]["bytes"] > 0 for row in rows.values())
    assert all(label in context.figures["headline"] for label in rows)


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
    options = {"graph_steps": graphs.GRAPH_STEPS}
    steps = [graphs.build_trainer(case.smaller(4, case.num_steps), "cpu", **options).collector for case in graphs.CASES]
    assert [most_steps(each.num_steps, each.graph_steps) for each in steps] == [16, 7, 1, 16]


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
    monkeypatch.setattr(
        sanitizer, "compared_worlds", lambda: [ComparedWorld("cartpole", {}), ComparedWorld("tag_gridworld", {})]
    )
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
    monkeypatch.setattr(
        sanitizer, "compared_worlds", lambda: [ComparedWorld("cartpole", {}), ComparedWorld("tag_gridworld", {})]
    )
    sanitizer.memcheck(context)
    assert [row["errors"] for row in context.figures["rows"]] == [0, 0]
    assert "few_steps 1 cpu\n" in (tmp_path / "memcheck-1.txt").read_text()


def test_builds_name_what_does_not_compile(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(context: Context, jobs: list[Job], at_once: int) -> list[Done]:
        return [Done(job, fault="nvcc fatal" if number else "") for number, job in enumerate(jobs)]

    monkeypatch.setattr(builds, "run_jobs", ended)
    builds.build(context)
    assert context.findings == [f"{builds.short_worlds()[1].name} on cpu: nvcc fatal"]
    assert "headline" not in context.figures


def test_builds_are_of_every_world_and_trainer_that_parts_need() -> None:
    on_gpu = Context("cuda", quick=False, limit=60.0, path=Path("figures.json"))
    names = [job.name for job in builds.jobs_of(on_gpu)]
    known = compare.compared_worlds()
    worlds = [f"{compared.name} on {device}" for compared in known for device in ("cpu", "cuda")]
    worlds += [f"{world.name} on cuda" for world in builds.short_worlds()[len(known) :]]
    trainers = [f"trainer of {case.name}" for case in builds.CASES]
    trainers += ["trainer of breakout", *(f"trainer of {learner.config}" for learner in builds.LEARNERS)]
    assert names == [*worlds, *trainers]
    assert all(case in builds.CASES for case in (*graphs.CASES, *acting.CASES))


@pytest.mark.heavy
@pytest.mark.long
def test_worlds_are_compiled_by_workers(context: Context) -> None:
    builds.build(context)
    assert context.findings == []
    assert context.figures["jobs"] == 2
