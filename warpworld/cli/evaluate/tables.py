"""Tables of `warpworld eval`: returns by policy, the environment's own metrics, and both split by a parameter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from warpworld.runs import own_metrics
from warpworld.text import print_columns, shown, shown_metric

Results = Mapping[str, Mapping[str, float]]  # of ``evaluate``: numbers by policy
Rows = list[list[str]]


def print_rounding(episodes: int) -> None:
    """Print how many episodes are played, where these are more than were asked for."""
    from warpworld.trainers import whole_rounds

    played = whole_rounds(episodes)
    if played != episodes:
        print(f"{played:,} episodes: {episodes:,} rounded up, so that every env plays as many")


def print_results(results: Results, steps: int | None, by: str | None) -> None:
    """Print the tables.

    Args:
        results: of ``evaluate``.
        steps: after which it stopped, or None.
        by: parameter that they are split by, or None.
    """
    print_columns(_return_rows(results))
    first = next(iter(results.values()), {})
    if steps is not None:
        print(_stopped(steps, **{key: int(first[key]) for key in ("episodes", "unfinished")}))
    for rows in (_metric_rows(results), _split_rows(results, by) if by else []):
        if len(rows) > 1:
            print()
            print_columns(rows)


def _stopped(steps: int, episodes: int, unfinished: int) -> str:
    """Sentence on what was played where there was a limit to the steps."""
    if not unfinished:
        return f"all {episodes:,} episodes ended within {steps:,} steps of each env"
    return f"stopped after {steps:,} steps of each env: {unfinished:,} of {episodes:,} episodes unfinished"


def _return_rows(results: Results) -> Rows:
    """A row for each policy: its mean return as trained, and in other pairings."""
    headings = {"mean_return": "mean return", "confidence": "95% confidence", "random_return": "all at random"}
    headings |= {"against_random": "others at random"} if len(results) > 1 else {}
    headings |= {
        key: key.replace("/", " ", 1) for key in next(iter(results.values()), {}) if key.startswith("against/")
    }
    rows = [["policy", *headings.values()]]
    for name, result in results.items():
        texts = {key: shown(result[key]) for key in headings}
        rows.append([name, *(texts | {"confidence": f"+- {texts['confidence']}"}).values()])
    return rows


def _metric_rows(results: Results) -> Rows:
    """A row for each of the environment's own metrics: as trained, and in the pairings that it is known of."""
    own, columns = _own(results), {"mean": _together(results)}
    for pairing, heading in _pairings(results).items():
        for policy, result in results.items():
            of_pairing = {name: result[f"{name}/{pairing}"] for name in own if f"{name}/{pairing}" in result}
            title = f"{policy} {heading}" if len(results) > 1 and pairing != "random" else heading
            if of_pairing:
                columns.setdefault(title, {}).update(of_pairing)
    rows = [["metric", *columns]]
    rows += [[heading, *(_text(values, name) for values in columns.values())] for name, heading in own.items()]
    return rows


def _split_rows(results: Results, by: str) -> Rows:
    """Rows of episodes, returns and metrics, with a column for each value of a parameter."""
    found = _together(results)
    values = [key.removeprefix("episodes/") for key in found if key.startswith(f"episodes/{by}=")]
    rows = [[by, *(value.removeprefix(f"{by}=") for value in values)]]
    rows.append(["episodes", *(f"{found[f'episodes/{value}']:,.0f}" for value in values)])
    for name, result in results.items():
        rows.append([f"{name}: mean return", *(shown(result[f"mean_return/{value}"]) for value in values)])
    for name, heading in _own(results).items():
        if any(f"{name}/{value}" in found for value in values):
            rows.append([heading, *(_text(found, f"{name}/{value}") for value in values)])
    return rows


def _together(results: Results) -> dict[str, float]:
    return {name: value for result in results.values() for name, value in result.items()}


def _own(results: Results) -> dict[str, str]:
    """The environment's own metrics as trained, each with its heading: what other names begin with."""
    names = own_metrics(_together(results))
    return {name: heading for name, heading in names.items() if not _begins_with(name, names)}


def _begins_with(name: str, others: Iterable[str]) -> bool:
    return any(name.startswith(f"{other}/") for other in others)


def _pairings(results: Results) -> dict[str, str]:
    """Endings of metrics' names in other pairings, each with a heading."""
    opponents = [key for key in _together(results) if key.startswith("against/")]
    others = {"against_random": "against random"} if len(results) > 1 else {}
    return {"random": "all at random", **others, **{key: key.replace("/", " ", 1) for key in opponents}}


def _text(values: Mapping[str, float], name: str) -> str:
    return shown_metric(values[name]) if name in values else "-"
