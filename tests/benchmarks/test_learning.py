"""The table of learning: which works a word selects, and what a row says of a measurement. Speed is not tested."""

from __future__ import annotations

import os

import pytest

from benchmarks import learning, main, rows
from benchmarks.learning import starts, usual
from benchmarks.learning.ours import Task, counted
from benchmarks.learning.page import page
from benchmarks.learning.settings import LEAST, Setting
from benchmarks.learning.works import WORKS
from warpworld.errors import DeclarationError

SMALL = Setting(num_envs=8, num_steps=4, update_epochs=2, num_minibatches=2)
FORWARD = 2 * (4 * 64 + 64 * 64 + 64 * 2), 2 * (4 * 64 + 64 * 64 + 64 * 1)  # of cartpole's actor, and of its critic
SYSTEMS = [(work, system) for work, found in WORKS.items() for system in found.systems]


@pytest.fixture(autouse=True)
def untuned(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests' own process is left as it is."""
    monkeypatch.setattr("benchmarks.learning.ours.tune_for_cpu", lambda device: None)


@pytest.mark.long
@pytest.mark.parametrize(("work", "system"), [each for each in SYSTEMS if not each[1].startswith("JAX")])
def test_every_system_gives_times_of_its_iterations(work: str, system: str) -> None:
    if not WORKS[work].systems[system].can_run:
        pytest.skip("the processor has no products of bfloat16")
    times = WORKS[work].systems[system].measure(SMALL, 1e-6)
    assert len(times.totals) == len(times.cpus) == len(times.updates) == LEAST
    assert all(cpu > 0 for cpu in times.cpus)
    assert all(0 < update < total for total, update in zip(times.totals, times.updates, strict=True))


@pytest.mark.heavy
def test_jax_gives_times_of_its_iterations() -> None:
    pytest.importorskip("jax")
    times = usual.of_jax("mingru")(SMALL, 1e-6)
    assert (len(times.totals), len(times.cpus), len(times.updates)) == (LEAST, LEAST, 3)
    assert all(seconds > 0 for seconds in (*times.totals, *times.updates))


def test_operations_of_an_update_by_hand() -> None:
    found = counted(Task("cartpole", "agent"), SMALL)
    gradients = sum(3 * each - 2 * 4 * 64 for each in FORWARD)  # no gradient at the observations
    assert found.gradients == 8 * 4 * 2 * gradients
    assert found.values >= 8 * 4 * FORWARD[1]  # and of what follows the last step


@pytest.mark.parametrize(
    ("word", "works"),
    [
        (None, ["plain"]),
        ("learning", list(learning.NAMES)),
        ("ppo", list(learning.NAMES)),
        ("learning:lstm", ["lstm"]),
        ("learning:gru", ["mingru"]),
        ("ppo:start", ["start"]),
        ("cartpole", []),
    ],
)
def test_a_word_selects_works(word: str | None, works: list[str]) -> None:
    assert learning.chosen(word) == works


@pytest.mark.parametrize("word", ["learning:lstn", "lear", "gallery:boart", "galery"])
def test_a_word_that_selects_nothing(word: str) -> None:
    with pytest.raises(DeclarationError, match="Did you mean"):
        main.run(only=word)


def test_a_work_is_held_to_its_cores() -> None:
    before = os.sched_getaffinity(0)
    with learning._on(1):
        assert len(os.sched_getaffinity(0)) == 1
    assert os.sched_getaffinity(0) == before


@pytest.mark.long
def test_a_training_that_fails_has_no_start() -> None:
    with pytest.raises(RuntimeError, match="no update was logged"):
        starts._started("no_such_config")


def row(system: str, **changes: float) -> rows.LearningRow:
    sizes = {"num_envs": 10, "num_steps": 10, "update_epochs": 4, "num_minibatches": 4}
    seconds = {"seconds_per_iteration": 0.02, "cpu_seconds_per_iteration": 0.02, "seconds_per_update": 0.01}
    given = {"cores": 1, **sizes, **seconds, "spread": 0.0, "product": 1e10, "update_operations": 2.5e7, **changes}
    return rows.LearningRow("work", system, **given)  # type: ignore[arg-type]


def test_rows_are_compared_with_the_first_of_their_cores(capsys: pytest.CaptureFixture[str]) -> None:
    ours, theirs = row("ours"), row("theirs", seconds_per_iteration=0.05)
    assert ours.env_steps_per_s == pytest.approx(5000)
    assert ours.as_dict()["share_of_product"] == pytest.approx(0.25)
    rows.print_learning([ours, theirs, row("ours", cores=2, seconds_per_iteration=0.01)])
    printed = capsys.readouterr().out
    assert printed.count("1.00") == 2 and printed.count("2.50") == 1
    rows.print_starts([rows.StartRow("cartpole", 2, 1.5, 1.4, 0.1)])
    assert "1.50" in capsys.readouterr().out


def test_the_page_has_a_line_for_each_system() -> None:
    learnt = [
        row(system, cores=cores, seconds_per_iteration=seconds / cores)
        for cores in (1, 2)
        for system, seconds in (("ours", 0.01), ("theirs", 0.04))
    ]
    started = [rows.StartRow("cartpole", cores, 3.0 / cores, 1.0, 0.0) for cores in (1, 2)]
    other = rows.AdapterRow("cartpole", "warpworld", 1, 1.0, 1.0, 0.0)
    lines = page([each.as_dict() for each in (*learnt, other, *started)]).splitlines()
    assert lines[2:4] == [
        "| work; 4 epochs, 10 x 10 | ours | 10 k | 20 k | 1.00 | 2, 25% of a plain product |",
        "| work; 4 epochs, 10 x 10 | theirs | 2.5 k | 5.0 k | 4.00 | 2, 25% of a plain product |",
    ]
    assert lines[-1] == "| cartpole | 3.0 s | 1.5 s |"
