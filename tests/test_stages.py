"""Each test is in a stage that runs it: of those that were collected together with this file."""

from __future__ import annotations

import shutil
from types import SimpleNamespace
from typing import Any

import pytest

from tests.quick import LEFT_OUT
from tests.stages import COLLECTED, ROOT, check_stage, cuda_paths, overrun, run_nowhere, run_seldom

# Tests that `make exhaustive` alone runs, by the reason: what they find, a test of every push finds in another way.
SELDOM = {
    "plays for long what another test of the file plays for short": (
        "tests/envs/board/test_board.py::test_pettingzoo_plays_the_same_for_long",
        "tests/envs/foraging/test_foraging_original.py::test_the_package_plays_the_same_for_a_thousand_episodes",
        "tests/envs/minatar/test_minatar.py::test_the_package_plays_the_same_for_long",
        "tests/envs/warehouse/test_warehouse_original.py::test_the_package_drives_the_same_for_long",
        "tests/eyes/test_physics.py::test_no_path_crosses_a_wall_in_ten_million_steps",
        "tests/trainers/replay/test_ring.py::test_transitions_are_those_that_were_played_for_long",
    ),
    "learns for long what other tests hold against formulas": (
        "tests/trainers/algorithms/test_actor_critic_runs.py::test_packaged_configs_keep_the_pendulum_upright",
        "tests/trainers/algorithms/test_frame_stacks.py::test_two_pictures_show_more_than_one",
        "tests/trainers/algorithms/test_r2d2.py::test_recall_is_learnt",
        "tests/trainers/searching/test_gumbel_zero.py::test_tic_tac_toe_by_the_packaged_config_is_never_lost",
    ),
    "trains in another library, whose steps other tests compare": (
        "tests/docs/test_adapters_page.py::test_the_ppo_in_one_file_learns",
        "tests/docs/test_adapters_page.py::test_the_ppo_of_torchrl_learns",
        "tests/examples/test_sb3_ppo.py::test_it_learns",
    ),
    "trains from Python as tests of docs/from-python.md do, in processes of a library of 400 MB": (
        "tests/examples/test_ray_tune.py::test_trials_are_runs",
    ),
    "trains what another test of the page has run": (
        "tests/docs/test_eyes_page.py::test_companions_learn_to_find_each_other",
    ),
    "stops in a debugger as tests/cuda/test_debugger.py does": (
        "tests/docs/test_debugging_page.py::test_gdb_stops_as_the_page_says",
        "tests/examples/test_vscode.py::test_the_debugger_stops_in_one_agent_of_one_env",
    ),
    "asks a thousand homes what other tests ask a hundred": (
        "tests/cli/test_plans_command.py::test_the_page_shows_what_a_thousand_homes_are_like",
        "tests/eyes/plans/test_thousand_homes.py::test_a_thousand_plans_are_shared_by_index",
    ),
    "runs another command of the wheel that a test of every push installs": (
        "tests/test_packaging.py::test_installed_command_measures",
        "tests/test_packaging.py::test_mypy_checks_a_users_program_against_the_installed_package",
    ),
    "waits for processes on two nodes, as others do on one": (
        "tests/runs/test_two_nodes.py::test_a_killed_process_is_restarted_and_sigterm_leaves_a_checkpoint",
        "tests/runs/test_two_nodes.py::test_a_node_that_is_gone_leaves_the_run_to_the_other",
    ),
    "starts what Slurm starts, from another file": ("tests/docs/test_several_processes_page.py::test_kubernetes",),
}
needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="needs make")


def item(nodeid: str, *marks: str) -> Any:
    """A test as pytest collects it."""
    return SimpleNamespace(nodeid=nodeid, get_closest_marker=lambda name: name if name in marks else None)


@needs_make
def test_each_test_of_the_cuda_backend_is_run_on_it(request: pytest.FixtureRequest) -> None:
    assert run_nowhere(request.config.stash[COLLECTED], cuda_paths()) == []


def test_each_test_has_a_case_that_every_push_runs(request: pytest.FixtureRequest) -> None:
    found = [name for name in run_seldom(request.config.stash[COLLECTED]) if not name.startswith("tests/benchmarks/")]
    assert [name for name in found if name not in {name for names in SELDOM.values() for name in names}] == []


def test_what_make_quick_leaves_out_has_tests() -> None:
    paths = {name: ROOT / "tests" / name for name in LEFT_OUT}
    assert [name for name, path in paths.items() if not (path.is_file() or any(path.glob("**/test_*.py")))] == []


def test_one_that_no_stage_runs_is_named() -> None:
    paths = ["tests/world", "tests/runs/test_resume.py"]
    assert run_nowhere([item("tests/world/a.py::b", "stand_in"), item("tests/cli/a.py::b", "slow")], paths) == []
    assert run_nowhere([item("tests/runs/test_resume.py::b", "cuda_backend")], paths) == []
    assert len(run_nowhere([item("tests/world/a.py::b", "stand_in")], [*paths, "!tests/world/a.py"])) == 1
    (slow,) = run_nowhere([item("tests/world/a.py::b", "cuda_backend", "slow")], paths)
    assert slow == "tests/world/a.py::b needs the cuda backend, where no slow test runs: mark it heavy"
    (elsewhere,) = run_nowhere([item("tests/worlds/a.py::b", "stand_in")], paths)
    assert elsewhere.endswith("needs the cuda backend: add it to CUDA_TESTS in the Makefile")


def test_one_whose_cases_are_all_exhaustive_is_named() -> None:
    items = [item("t.py::often[1]"), item("t.py::often[2]", "exhaustive"), item("t.py::seldom[1]", "exhaustive")]
    assert run_seldom(items) == ["t.py::seldom"]


@pytest.mark.parametrize(
    ("marks", "seconds", "words"),
    [
        ((), 0.9, None),
        ((), 1.1, "t.py::a: 1.1 s, and no mark is for up to 0.33 s"),
        (("long",), 4.0, None),
        (("long",), 5.0, "t.py::a: 5.0 s, and long is for up to 1.5 s"),
        (("long", "heavy"), 59.0, None),
        (("long", "heavy"), 61.0, "t.py::a: 61.0 s, and heavy is for up to 20 s"),
        (("slow",), 900.0, None),
    ],
)
def test_one_that_takes_longer_than_its_marks_allow_is_reported(
    marks: tuple[str, ...], seconds: float, words: str | None
) -> None:
    assert overrun(item("t.py::a", *marks), seconds) == words


@pytest.mark.parametrize(("marks", "most"), [((), 9.9), (("long",), 44.9), (("long", "heavy"), 599.0)])
def test_one_in_a_wrong_stage_fails(marks: tuple[str, ...], most: float) -> None:
    check_stage(item("t.py::a", *marks), most)
    with pytest.raises(pytest.fail.Exception, match=r"t\.py::a: .* is for up to .* mark it for its stage"):
        check_stage(item("t.py::a", *marks), 1.05 * most)
