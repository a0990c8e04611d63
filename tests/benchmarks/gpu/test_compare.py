"""The comparison of a world on two devices finds what differs, and tells it from rounding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from benchmarks.gpu import child, compare, few_steps
from benchmarks.gpu.compare import ComparedWorld
from benchmarks.gpu.part import Context
from benchmarks.gpu.workers import run_jobs
from warpworld import World

CARTPOLE = ComparedWorld("cartpole", {"episode_length": 10}, num_envs=6)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(
    "compared",
    [
        CARTPOLE,
        ComparedWorld("pendulum", {"episode_length": 10}, num_envs=6),
        ComparedWorld("tag_gridworld", {"num_taggers": 2, "grid_length": 3}, libm=False, num_envs=6),
        ComparedWorld(
            "tag_continuous", {"num_taggers": 2, "num_runners": 4, "num_other_agents_observed": 2}, nearest=True
        ),
    ],
)
def test_a_world_agrees_with_itself(compared: ComparedWorld, exact: bool) -> None:
    found = compare.compare(compared, "cpu", 30, exact)
    assert found["differences"] == []
    assert found["bit_for_bit"]
    assert found["episodes"] > 0 or compared.nearest


def disturbed(monkeypatch: pytest.MonkeyPatch, array: str, change: Any) -> None:
    """Let ``change`` alter an array of the second world after each of its steps."""
    real = compare._world
    made: list[World] = []

    def world(compared: ComparedWorld, device: str) -> World:
        made.append(found := real(compared, device))
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
    compared = ComparedWorld("tag_gridworld", {"num_taggers": 2}, libm=False, num_envs=6)
    found = compare.compare(compared, "cpu", 5, exact=True)
    assert found["differences"][0].startswith("step 1: rewards[0, 0] is ")


OWN_STATE = ComparedWorld(
    "tag_continuous",
    {"num_taggers": 2, "num_runners": 4, "use_full_observation": True, "observe_own_state": True},
    libm_columns=(-3, -2),
    num_envs=2,
)


@pytest.mark.parametrize(
    ("compared", "column", "factor", "is_refused"),
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
    compared: ComparedWorld, column: int, factor: float, is_refused: bool
) -> None:
    cpu, other = (compare._world(compared, "cpu") for _ in range(2))
    for world in (cpu, other):
        world["observations"][..., column] = 0.7
    other["observations"][0, 0, column] *= factor
    found = compare.Differences(compared)
    found.look(cpu, other, step=0, exact=True)
    assert bool(found.differences) == is_refused
    assert not found.bit_for_bit


@pytest.mark.parametrize(
    ("name", "angle"),
    [("tag_continuous", lambda world: world["direction"]), ("pendulum", lambda world: world["state"][..., 0])],
)
def test_the_columns_that_libm_makes_are_cosine_and_sine(name: str, angle: Callable[[World], torch.Tensor]) -> None:
    compared = next(compared for compared in compare.COMPARED_WORLDS if compared.name == name and compared.libm_columns)
    world = compare._world(compared, "cpu")
    made = torch.stack([angle(world).cos(), angle(world).sin()], -1)
    torch.testing.assert_close(world["observations"][..., list(compared.libm_columns)], made)


def test_scratch_may_differ_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = ComparedWorld(
        "tag_continuous", {"num_taggers": 2, "num_runners": 4, "use_full_observation": True}, num_envs=2
    )
    for array, differences in (("crowd", 0), ("loc_x", 1)):
        disturbed(monkeypatch, array, lambda contents: contents + 1)
        assert len(compare.compare(compared, "cpu", 1, exact=False)["differences"]) == differences


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
    compared = ComparedWorld("tag_continuous", params, nearest=True, num_envs=20)
    swaps = iter([True] + [False] * 1000)

    def swap_once(observations: torch.Tensor) -> torch.Tensor:
        if next(swaps):
            observations[0, 0, :2] = observations[0, 0, :2].flip(0).clone() + 1.0
        return observations

    disturbed(monkeypatch, "observations", swap_once)
    found = compare.compare(compared, "cpu", 30, exact=False)
    assert found["rows_in_other_order"] == 1
    assert found["differences"] == []
    disturbed(monkeypatch, "observations", lambda observations: observations + 1.0)
    found = compare.compare(compared, "cpu", 5, exact=False)
    assert found["differences"] == ["2000 of 2000 rows of observations differ"]


def test_steps_in_which_a_ray_grazes_are_counted_and_few(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = ComparedWorld("explorer", {"num_plans": 2, "res": 32}, rays=True, num_envs=5)
    once = iter([True] + [False] * 1000)

    def see_more(potential: torch.Tensor) -> torch.Tensor:
        if next(once):
            potential[2] += 1
        return potential

    disturbed(monkeypatch, "potential", see_more)
    found = compare.compare(compared, "cpu", 30, exact=True)
    assert (found["steps_that_graze"], found["differences"]) == (1, [])
    disturbed(monkeypatch, "potential", lambda potential: potential + 1)
    found = compare.compare(compared, "cpu", 5, exact=True)
    assert found["differences"] == ["in 25 of 30 steps of envs something differs"]
    disturbed(monkeypatch, "plan_walls", lambda walls: walls + 1)
    assert compare.compare(compared, "cpu", 5, exact=True)["differences"][0].startswith("step 1: plan_walls[")


@pytest.mark.heavy
@pytest.mark.long
def test_worlds_are_compared_by_workers(context: Context) -> None:
    first, *_, last = compare.jobs_of(context, exact=False)
    done = {ended.job: ended for ended in run_jobs(context, [first, last], 2)}
    assert [done[job].fault for job in (first, last)] == ["", ""]
    assert done[first].found["world"] == compare.compared_worlds()[0].name and done[first].found["bit_for_bit"]
    assert [done[job].found["differences"] for job in (first, last)] == [[], []]


def test_differences_are_kept_where_the_time_is_over(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = [CARTPOLE, ComparedWorld("pendulum", {}, num_envs=6)]
    monkeypatch.setattr(compare, "compared_worlds", lambda: chosen)
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
    names = dict.fromkeys(compared.name for compared in compare.compared_worlds())
    assert tuple(names)[: len(compare.FIRST)] == compare.FIRST


def test_every_registered_env_is_compared() -> None:
    from warpworld.environment import packaged_names

    assert {compared.name for compared in compare.compared_worlds() if compared.own is None} == set(packaged_names())


def named(name: str, **params: Any) -> ComparedWorld:
    """The compared of this name that has these parameters among its own."""
    return next(each for each in compare.COMPARED_WORLDS if each.name == name and params.items() <= each.params.items())


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("compared", "array"),
    [
        (named("deathmatch", megastep_rules=True), "spawn_positions"),
        (named("companions, of blocks"), "observations_agents"),
        (named("companions, of blocks"), "rewards"),
    ],
    ids=["megastep's rules", "what blocks show", "rules in PyTorch"],
)
def test_megastep_s_rules_and_blocks_are_compared(
    compared: ComparedWorld, array: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each array of each agent, of a world in which things happen; what is wrong in one of them is found."""
    compared = replace(compared, num_envs=6)
    world = compare._world(compared, "cpu")
    assert array in world
    found = compare.compare(compared, "cpu", 70, exact=False)
    assert (found["differences"], found["bit_for_bit"]) == ([], True)
    assert found["episodes"] > 0
    disturbed(monkeypatch, array, lambda values: values + 1e-3)
    found = compare.compare(compared, "cpu", 3, exact=False)
    assert found["differences"] == ["in 18 of 24 steps of envs something differs"]


def test_few_steps_of_every_world_can_be_asked_for() -> None:
    worlds = few_steps.short_worlds()
    assert worlds[: len(compare.compared_worlds())] == compare.compared_worlds()  # memcheck counts on it
    few_steps.main(0, "cpu")
