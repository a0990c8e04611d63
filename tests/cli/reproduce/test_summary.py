"""What a table says of its results: verdicts, normalised scores, and what was not run."""

from __future__ import annotations

import numpy as np
import pytest

from warpworld.cli.reproduce.results import Results, SeedResult, TaskResult
from warpworld.cli.reproduce.sections import Judged, Published, Source, Table, Task
from warpworld.cli.reproduce.summary import compared, markdown, normalised, over_tasks, rows

TABLE = Table(
    about="Games.",
    judged=Judged(metric="agent"),
    seeds=3,
    wanted=0.4,
    tasks={
        "a": Task(config="a", published={"them": Published(score=(10.0, 14.0), env_steps=3_000_000)}, wanted=9.0),
        "b": Task(
            config="b", seeds=1, published={"them": Published(score=(3.0,), minutes=0.5)}, wanted=4.0, note="Hard."
        ),
        "c": Task(config="c", published={"them": Published(score=(1.0,))}),
    },
    sources={"them": Source(by="They", rules="the same", hardware="a GPU")},
)


def result(seed: int, drawn: float) -> SeedResult:
    return SeedResult(
        seed=seed,
        drawn=drawn,
        greedy=2 * drawn,
        at_random=2.0,
        env_steps=1_000,
        cpu_seconds=10.0 * seed,
        seconds=1.0,
        curve=((0.0, 0.0),),
        conditions={},
    )


def results(quick: bool = False, overrides: tuple[str, ...] = (), **scores: list[float]) -> Results:
    tasks = {
        name: TaskResult(words=(name,), seeds=tuple(result(i, score) for i, score in enumerate(found, 1)))
        for name, found in scores.items()
    }
    return Results(table="games", quick=quick, greedy=False, overrides=overrides, tasks=tasks)


def test_rows() -> None:
    _, a, b, c = rows(TABLE, results(a=[7.0, 9.0, 11.0], b=[2.5]))
    assert a[:3] == ["a", "10 to 14", "3 M"] and a[3].endswith("; 9 wanted: reached") and a[3].startswith("9 (")
    assert a[4:] == ["7, 9, 11", "18", "1,000", "10 to 30"]
    assert b == ["b", "3", "0.5 min", "2.5; 4 wanted: missed", "2.5", "5", "1,000", "10"]
    assert c == ["c", "1", "-", "not run", "", "", "", ""]
    assert rows(TABLE, None)[3] == c
    assert rows(TABLE, results(a=[7.0, 9.0]))[1][3] == "8; 2 of 3 seeds"


def test_normalised_scores() -> None:
    """0 is random play, which scores 2, and 1 the middle of what the first source reports."""
    found = normalised(TABLE, results(a=[2.0, 12.0, 7.0], b=[3.0, 2.0]), ["a", "b"])
    np.testing.assert_allclose(np.concatenate(found), [0.0, 1.0, 0.5, 1.0, 0.0])
    raw = TABLE.model_copy(update={"normalised": False})
    assert normalised(raw, results(a=[2.0]), ["a"])[0].tolist() == [2.0]
    assert over_tasks(TABLE, results(a=[7.0])) == ""
    assert over_tasks(TABLE, results(a=[7.0] * 3, b=[2.5] * 3)) == (
        "Interquartile mean over a, b: 0.5 (95% interval 0.5 to 0.5), where 0 is random play and 1 is them's score."
    )
    both = TABLE.model_copy(update={"tasks": {name: TABLE.tasks[name] for name in "ab"}})
    assert over_tasks(both, results(a=[7.0] * 3, b=[2.5])).endswith("them's score; 0.4 wanted: reached.")
    for unfinished in (results(a=[7.0] * 2, b=[2.5]), results(quick=True, a=[7.0] * 3, b=[2.5])):
        assert "wanted" not in over_tasks(both, unfinished)


def test_two_results() -> None:
    sentence = compared(TABLE, results(a=[3.0, 4.0]), results(a=[1.0, 2.0], b=[5.0]))
    assert sentence.endswith("over a: 1 (95% interval 1 to 1).")
    assert compared(TABLE, results(a=[3.0]), results(b=[1.0])) == "No task is in both results."


def test_where_lower_scores_are_better() -> None:
    lower = TABLE.model_copy(update={"judged": Judged(metric="eval/gap", lower_is_better=True)})
    _, a, b, _ = rows(lower, results(a=[8.0, 9.0, 10.0], b=[4.5]))
    assert a[3].endswith("; 9 wanted: reached") and b[3] == "4.5; 4 wanted: missed"
    sentence = compared(lower, results(a=[3.0, 4.0]), results(a=[1.0, 2.0]))
    assert sentence == "Probability that a run scores less than one of the others, over a: 0 (95% interval 0 to 0)."
    both = lower.model_copy(update={"tasks": {name: TABLE.tasks[name] for name in "ab"}})
    assert over_tasks(both, results(a=[7.0] * 3, b=[2.5])).endswith("them's score; 0.4 wanted: missed.")


def test_partners() -> None:
    found = results(a=[9.0, 11.0])
    task = found.tasks["a"].model_copy(update={"cross_play": ((10.0, 4.0), (5.0, 8.0))})
    text = "\n".join(markdown(TABLE, found.model_copy(update={"tasks": {"a": task}})))
    assert "With itself a seed scores\n9 in the mean, with another 4.5, 50% of it.\n" in text
    assert "| seed | 1 | 2 |\n|---|---|---|\n| 1 | 10 | 4 |\n| 2 | 5 | 8 |" in text


@pytest.mark.parametrize(
    ("given", "warned"),
    [
        (results(b=[9.0]), []),
        (results(quick=True, b=[9.0]), ["These numbers are no results."]),
        (results(overrides=("x=1",), b=[9.0]), ["Trained with x=1, which the table does not have."]),
    ],
)
def test_what_is_no_result_says_so(given: Results, warned: list[str]) -> None:
    text = "\n".join(markdown(TABLE, given))
    assert [sentence in text for sentence in warned] == [True] * len(warned)
    assert ("**" in text.split("| task")[0]) is bool(warned)
    assert ("wanted" in text) is given.are_of_the_table
    assert "- **them**: They. On a GPU. Rules: the same." in text and "- `b`: Hard." in text
