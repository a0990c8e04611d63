"""A table's results as rows of text: for the terminal, for Markdown, and for the page of all tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from warpworld.cli.reproduce.results import Results, TaskResult
from warpworld.cli.reproduce.sections import Published, Table, Task
from warpworld.cli.reproduce.table_file import QUICK_SHARE
from warpworld.runs import (
    LEVEL,
    Values,
    bootstrap_interval,
    interquartile_mean,
    probability_of_improvement,
    stratified_interval,
)

NOT_RUN = "not run"
QUICK = f"A quick trial of the command: one seed and a {QUICK_SHARE}th of the budget. These numbers are no results."
HEADINGS = ("task", "published", "their steps, minutes", "ours", "each seed", "", "env steps", "CPU s")


def warnings(results: Results | None) -> Iterator[str]:
    """Sentences on why numbers are not those of the table; none where they are."""
    if results is not None and results.quick:
        yield QUICK
    if results is not None and results.overrides:
        yield f"Trained with {', '.join(results.overrides)}, which the table does not have."


def rows(table: Table, results: Results | None) -> list[list[str]]:
    """A line of headings, and one for each task of the table."""
    other = "drawn" if table.judged.greedy else "greedy"
    headings = [heading or other for heading in HEADINGS]
    return [headings, *(_row(name, task, table, results) for name, task in table.tasks.items())]


def _row(name: str, task: Task, table: Table, results: Results | None) -> list[str]:
    published = [_range(each) for each in task.published.values()]
    theirs = [_effort(each) for each in task.published.values()]
    named = [f"{source} {text}" for source, text in zip(task.published, published, strict=True)]
    efforts = "; ".join(filter(None, dict.fromkeys(theirs)))
    first = [name, "; ".join(named if len(named) > 1 else published) or "-", efforts or "-"]
    if results is None or name not in results.tasks or not results.tasks[name].seeds:
        return [*first, NOT_RUN, "", "", "", ""]
    seeds, scores = results.tasks[name].seeds, results.scores(name)
    others = np.array([each.score(not table.judged.greedy) for each in seeds], np.float64)
    spent = [each.cpu_seconds for each in seeds]
    return [
        *first,
        with_interval(scores) + _verdict(task.wanted, scores, task.seeds or table.seeds, table, results),
        ", ".join(map(_short, scores)),
        _short(float(interquartile_mean(others))),
        f"{max(each.env_steps for each in seeds):,}",
        " to ".join(dict.fromkeys(map(_short, (min(spent), max(spent))))),
    ]


def with_interval(scores: Values) -> str:
    """The interquartile mean of runs, and of three or more their interval."""
    middle = _short(float(interquartile_mean(scores)))
    if len(scores) < 3:
        return middle
    low, high = bootstrap_interval(scores, interquartile_mean)
    return f"{middle} ({_short(float(low))} to {_short(float(high))})"


def _verdict(wanted: float | None, scores: Values, seeds: int, table: Table, results: Results) -> str:
    """Whether a task's scores are as wanted, once there are all seeds; until then, how many there are."""
    if not results.are_of_the_table:
        return ""
    if len(scores) < seeds:
        return f"; {len(scores)} of {seeds} seeds"
    return _reached(wanted, float(interquartile_mean(scores)), table.judged.lower_is_better)


def _reached(wanted: float | None, found: float, lower_is_better: bool) -> str:
    if wanted is None:
        return ""
    is_reached = found <= wanted if lower_is_better else found >= wanted
    return f"; {_short(wanted)} wanted: {'reached' if is_reached else 'missed'}"


def normalised(table: Table, results: Results, tasks: Sequence[str]) -> list[Values]:
    """For each task [seeds]: 0 is random play and 1 the first source's score; or scores as they are."""
    found = []
    for name in tasks:
        scores = results.scores(name)
        if table.normalised:
            at_random = float(np.mean([each.at_random for each in results.tasks[name].seeds]))
            published = next(iter(table.tasks[name].published.values()))
            scores = (scores - at_random) / (published.middle - at_random)
        found.append(scores)
    return found


def compared(table: Table, ours: Results, theirs: Results) -> str:
    """A sentence on how probably a run of ours scores more than one of other results, over the tasks of both."""
    tasks = [name for name in table.tasks if name in ours.tasks and name in theirs.tasks]
    if not tasks:
        return "No task is in both results."
    sides = [[each.scores(name) for name in tasks] for each in (ours, theirs)]
    is_less = table.judged.lower_is_better
    found, low, high = probability_of_improvement(*(reversed(sides) if is_less else sides))
    interval = f"{LEVEL:.0%} interval {_short(low)} to {_short(high)}"
    kind = "less" if is_less else "more"
    which = f"Probability that a run scores {kind} than one of the others, over {', '.join(tasks)}"
    return f"{which}: {_short(found)} ({interval})."


def over_tasks(table: Table, results: Results) -> str:
    """A sentence on all tasks together; "" where a single one was trained."""
    tasks = [name for name in table.tasks if name in results.tasks and results.tasks[name].seeds]
    if len(tasks) < 2:
        return ""
    middle, low, high = stratified_interval(normalised(table, results, tasks))
    which = "all tasks" if len(tasks) == len(table.tasks) else ", ".join(tasks)
    first = next(iter(table.sources), "")
    unit = f", where 0 is random play and 1 is {first}'s score" if table.normalised else ""
    interval = f"{LEVEL:.0%} interval {_short(low)} to {_short(high)}"
    found = f"Interquartile mean over {which}: {_short(middle)} ({interval}){unit}"
    done = {name for name in tasks if len(results.scores(name)) >= (table.tasks[name].seeds or table.seeds)}
    is_whole = results.are_of_the_table and len(done) == len(table.tasks)
    return found + (_reached(table.wanted, middle, table.judged.lower_is_better) if is_whole else "") + "."


def markdown(table: Table, results: Results | None, picture: Path | None = None) -> Iterator[str]:
    """Lines of Markdown: the table, what it says over all tasks, its sources and how rules differ.

    Args:
        table: its keys.
        results: None where nothing was trained yet.
        picture: of the curves, as a link.
    """
    yield f"{table.about}\n"
    for warning in warnings(results):
        yield f"**{warning}**\n"
    yield from _as_markdown(rows(table, results))
    yield ""
    together = over_tasks(table, results) if results is not None else ""
    if together:
        yield f"{together}\n"
    if picture is not None:
        name = picture.stem.removeprefix("scoreboard-")
        yield f"![Scores on {name} while learning, a line for each seed]({picture.as_posix()})\n"
    for name, source in table.sources.items():
        facts = [f"{source.by}.", f"On {source.hardware}." if source.hardware else ""]
        facts += [f"Read {source.read}." if source.read else "", f"Rules: {source.rules}."]
        yield f"- **{name}**: {' '.join(filter(None, facts))}"
    for name, task in table.tasks.items():
        if task.note:
            yield f"- `{name}`: {task.note}"
    if table.sources or any(task.note for task in table.tasks.values()):
        yield ""
    if table.judged.references and results is not None:
        yield from _referred(results)
    if (table.judged.opponents or table.judged.earlier is not None) and results is not None:
        yield from _faced(results)
    if table.note:
        yield f"{table.note}\n"
    for name in table.tasks:
        if results is not None and name in results.tasks and results.tasks[name].cross_play is not None:
            yield from _crossed(name, results.tasks[name])
    if table.rules is not None:
        yield from _as_markdown([["rule", *table.rules.versions], *([k, *row] for k, row in table.rules.rows.items())])
        yield ""
        if table.rules.note:
            yield f"{table.rules.note}\n"


def _referred(results: Results) -> Iterator[str]:
    """Lines on what random actions and scripts score in the episodes that the policies are judged in."""
    for name, task in results.tasks.items():
        if task.seeds:
            found = {"random actions": task.seeds[0].at_random, **task.seeds[0].references}
            yield f"- `{name}`, in the same episodes: {', '.join(f'{k} {_short(v)}' for k, v in found.items())}"
    yield ""


def _faced(results: Results) -> Iterator[str]:
    """Lines on every seed's scores against each opponent."""
    for name, task in results.tasks.items():
        for opponent in task.seeds[0].against if task.seeds else ():
            drawn, greedy = zip(*(each.against[opponent] for each in task.seeds), strict=True)
            yield (
                f"- `{name}` against `{opponent}`, each seed: {', '.join(map(_short, drawn))} by drawn actions, "
                f"{', '.join(map(_short, greedy))} by the likeliest"
            )
    yield ""


def _crossed(name: str, task: TaskResult) -> Iterator[str]:
    """A table of partners, and what they score in the mean beside seeds that play with themselves."""
    scores = np.array(task.cross_play, np.float64)
    seeds = [str(each.seed) for each in task.seeds]
    others = scores[~np.eye(len(seeds), dtype=bool)].mean()
    alone = float(np.diag(scores).mean())
    share = f", {others / alone:.0%} of it" if alone > 0 else ""
    yield f"Cross-play of `{name}`: rows play the first agent, columns the others. With itself a seed scores"
    yield f"{_short(alone)} in the mean, with another {_short(float(others))}{share}.\n"
    lines = [[seed, *map(_short, row)] for seed, row in zip(seeds, scores, strict=True)]
    yield from _as_markdown([["seed", *seeds], *lines])
    yield ""


def _as_markdown(lines: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(lines[0])} |"
    yield f"|{'---|' * len(lines[0])}"
    for line in lines[1:]:
        yield f"| {' | '.join(line)} |"


def _range(published: Published) -> str:
    return " to ".join(_short(score) for score in published.score)


def _effort(published: Published) -> str:
    steps = f"{published.env_steps / 1e6:g} M" if published.env_steps else ""
    return ", ".join(filter(None, [steps, f"{published.minutes:.3g} min" if published.minutes else ""]))


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
