"""The sections of a report, each a function from runs to HTML; "" leaves a section out."""

from __future__ import annotations

import json
import os
import re
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from warpworld.drawing import escaped
from warpworld.report.bundles import bundles
from warpworld.report.charts import Panel, Series, legend_of, panel_figure
from warpworld.report.replay import replay_element
from warpworld.runs import (
    FEWEST_EPISODES,
    FEWEST_SEEDS,
    HEADING,
    RETURN,
    STATISTICS,
    RunData,
    Unrewarded,
    final_returns,
    flat,
    of_episodes,
    own_metrics,
    statistics_of,
)
from warpworld.text import duration, shown

LENGTH, SPEED = "charts/episodic_length", "perf/env_steps_per_s"
RETURN_UNIT = "rewards per agent and episode"
FILES = (
    "config.yaml",
    "metrics.jsonl",
    "timing.jsonl",
    "machine.json",
    "curve.png",
    "league.png",
    "replay.html",
    "replay.gif",
)
_LEARNING = re.compile(r"(?P<kind>losses|charts)/(?P<policy>[^/]+)/(?P<leaf>(?!episodic_return|unrewarded)[^/]+)\Z")
_EVALUATION = re.compile(r"(?P<kind>eval)/(?P<policy>[^/]+)/(?P<leaf>.+)\Z")
_SELF_PLAY = re.compile(r"(?P<kind>league)/(?P<policy>[^/]+)/(?P<leaf>elo|win_rate/[^/]+)\Z")


def legend(data: Sequence[RunData]) -> str:
    """Legend of the runs' colours in all charts; empty for one run."""
    if len(data) == 1:
        return ""
    return legend_of([Series(bundle.label, i, ()) for i, bundle in enumerate(bundles(data))])


def damage(data: Sequence[RunData]) -> str:
    """Messages about lines of metrics that are left out; empty if all are good."""
    return "".join(f'<p class="quiet">{escaped(message)}</p>' for run in data for message in run.damaged)


def unrewarded(data: Sequence[RunData]) -> str:
    """The policies of each run whose rewards were all 0; nothing where there is none."""
    found = []
    for run in data:
        watch = Unrewarded(run.config.policy)
        for row in run.rows:
            watch.take(row)
        if watch.message:
            found.append(f"{run.label}: {watch.message}" if len(data) > 1 else watch.message)
    return "".join(f'<p class="warning">{escaped(message)}</p>' for message in found)


# --- figures ----------------------------------------------------------------------------------------------------------


def key_figures(data: Sequence[RunData]) -> str:
    """Last returns, length, steps, time and speed: tiles of one run, a table of several."""
    figures = [_figures(run) for run in data]
    # tiles of one run
    if len(data) == 1:
        tiles = (
            f'<div class="tile"><span class="quiet">{escaped(name)}</span><b>{escaped(value)}</b>'
            f'<span class="quiet">{escaped(note)}</span></div>'
            for name, (value, note) in figures[0].items()
        )
        return _section("Key figures", f'<div class="tiles">{"".join(tiles)}</div>')
    # a table of several
    columns = list(dict.fromkeys(name for found in figures for name in found))
    rows = [
        [run.label, *(found[name][0] if name in found else "-" for name in columns)]
        for run, found in zip(data, figures, strict=True)
    ]
    return _section("Key figures", f'<div class="card figures">{_table(["run", *columns], rows)}</div>')


def _figures(run: RunData) -> dict[str, tuple[str, str]]:
    """Each figure, and a note on it, by name."""
    # returns by policy
    found = {}
    for name in run.config.policy:
        key = RETURN.format(name)
        first = next(iter(run.numbers(key)), None)
        found[f"{name}: mean return"] = shown(run.at_last(key)), f"over the last tenth, {shown(first)} at first"
    # length and number of steps
    length = run.at_last(LENGTH)
    found["episode length"] = "-" if length is None else f"{length:,.1f}", "steps, over the last tenth"
    found["env steps"] = f"{int(run.last('env_steps') or 0):,}", f"of {run.config.trainer['total_env_steps']:,}"
    # time and speed
    seconds, speeds = run.last("time"), [y for _, y in run.points(SPEED)]
    if seconds is not None:
        found["time"] = duration(seconds), "h:mm:ss of training"
    if speeds:
        found["env steps per second"] = f"{statistics.median(speeds):,.0f}", "median"
    return found


def over_seeds(data: Sequence[RunData]) -> str:
    """Mean and interquartile mean of the last returns of runs that differ in their seed alone, with intervals."""
    rows = []
    for bundle in (found for found in bundles(data) if len(found.runs) >= FEWEST_SEEDS):
        for policy in bundle.runs[0].config.policy:
            together = statistics_of(final_returns(bundle.runs, policy))
            rows.append([f"{policy}, {len(bundle.runs)} runs", *together.values()])
            if len(bundles(data)) > 1:
                rows[-1][0] = f"{policy}: {bundle.label}"
    if not rows:
        return ""
    table = _table(["mean return over the last tenth", *STATISTICS], rows)
    return _section("Over seeds", f'<div class="card figures">{table}</div>', HEADING)


# --- curves -----------------------------------------------------------------------------------------------------------


def curves(data: Sequence[RunData], random_returns: Mapping[str, float]) -> str:
    """Returns of each policy, beside random play, length of episodes and the environment's own metrics."""
    policies = list(dict.fromkeys(name for run in data for name in run.config.policy))
    panels = [
        Panel(f"{name}: return", RETURN_UNIT, _lines(data, RETURN.format(name), i), random_returns.get(name))
        for i, name in enumerate(policies)
    ]
    panels.append(Panel("episode length", "steps", _lines(data, LENGTH, -1)))
    own = own_metrics(dict.fromkeys(key for run in data for key in run.metrics()))
    units = {key: "mean of an episode" if of_episodes(key) else "" for key in own}
    panels += [Panel(heading, units[key], _lines(data, key, -2)) for key, heading in own.items()]
    note = f"over env steps; means over the latest {FEWEST_EPISODES} episodes, or somewhat more"
    return _section("Curves", _panels(panels, len(data)), note)


def learning(data: Sequence[RunData]) -> str:
    """Losses and learning rates: of one run the policies overlaid, of several runs a panel for each policy."""
    panels = _policy_panels(data, _LEARNING)
    return _section("Learning", _panels(panels, len(data)), "over env steps") if panels else ""


def evaluation(data: Sequence[RunData]) -> str:
    """Returns in evaluations, laid out like the losses; nothing where there were none."""
    panels = _policy_panels(data, _EVALUATION)
    note = "over env steps; fixed episodes that the policies played as they were after an iteration"
    return _section("Evaluation", _panels(panels, len(data)), note) if panels else ""


def self_play(data: Sequence[RunData]) -> str:
    """Ratings and win rates of policies that have opponents, laid out like the losses; nothing where none has."""
    panels = _policy_panels(data, _SELF_PLAY)
    note = "over env steps; by the policy in whose place opponents play, for the present selves who meet them"
    return _section("Self-play", _panels(panels, len(data)), note) if panels else ""


def _policy_panels(data: Sequence[RunData], pattern: re.Pattern[str]) -> list[Panel]:
    """A panel for each leaf of the metrics that ``pattern`` names: kind, policy and leaf."""
    found = [match for run in data for key in run.metrics() if (match := pattern.match(key))]
    policies = dict.fromkeys(match["policy"] for match in found)
    panels = []
    for leaf, kind in {match["leaf"]: match["kind"] for match in found}.items():
        keys = {name: f"{kind}/{name}/{leaf}" for name in policies}
        title = leaf.replace("_", " ").replace("/", ", ")
        if len(data) == 1:
            lines = [Series(name, i, data[0].curve(key)) for i, (name, key) in enumerate(keys.items())]
            panels.append(Panel(title, "", lines))
        else:
            panels += [Panel(f"{name}: {title}", "", _lines(data, key)) for name, key in keys.items()]
    return panels


def speed(data: Sequence[RunData]) -> str:
    """Env steps per second, and what rollouts and updates took of the time."""
    if not any(run.points(SPEED) for run in data):
        return ""
    panels = panel_figure(
        Panel("env steps per second", "rollout and update together", _lines(data, SPEED)), legend=False
    )
    shares = "".join(_share(run) for run in data)
    return _section("Speed", f'<div class="panels">{panels}{shares}</div>')


def _share(run: RunData) -> str:
    """A card: speeds, and a bar of rollouts' and updates' parts of the time."""
    # parts of the time
    rollout, update = (sum(y for _, y in run.points(f"perf/{part}_s")) for part in ("rollout", "update"))
    whole = rollout + update
    if not whole:
        return ""
    # speeds
    medians = [
        (f"{statistics.median(y for _, y in points):,.0f}", what)
        for what in ("env", "agent")
        if (points := run.points(f"perf/{what}_steps_per_s"))
    ]
    lines = "".join(f"<div>{value} {what} steps per second, median</div>" for value, what in medians)
    # a bar of both parts
    share = rollout / whole
    parts = "".join(f'<i class="c{i}" style="flex:{part:.4f}"></i>' for i, part in enumerate((share, 1 - share)))
    bar = f'<div class="share">{parts}</div>'
    names = [Series(f"rollouts {share:.0%}", 0, ()), Series(f"updates {1 - share:.0%}", 1, ())]
    return f'<div class="card"><h3>{escaped(run.label)}</h3>{lines}{bar}{legend_of(names)}</div>'


def _lines(data: Sequence[RunData], key: str, colour: int = 0) -> list[Series]:
    """A metric of each run, or of seeds together; a single run's has the given colour, several lines their own."""
    return [bundle.series(key, i if len(data) > 1 else colour) for i, bundle in enumerate(bundles(data))]


def _panels(panels: Sequence[Panel], num_runs: int) -> str:
    """Charts side by side; those of curves that never change are folded away below."""
    constant = [panel for panel in panels if panel.is_constant]
    shown = _grid([panel for panel in panels if not panel.is_constant], num_runs)
    if not constant:
        return shown
    names = escaped(", ".join(panel.heading for panel in constant))
    folded = _grid(constant, num_runs)
    return f'{shown}<details class="constant"><summary>never changes: {names}</summary>{folded}</details>'


def _grid(panels: Sequence[Panel], num_runs: int) -> str:
    figures = "".join(panel_figure(panel, legend=num_runs == 1) for panel in panels)
    return f'<div class="panels">{figures}</div>'


# --- replays ----------------------------------------------------------------------------------------------------------


def replays(data: Sequence[RunData], texts: Mapping[Path, str]) -> str:
    """A player for each run that there is a replay of."""
    players = [
        (f"<h3>{escaped(run.label)}</h3>" if len(data) > 1 else "") + replay_element(texts[run.path])
        for run in data
        if run.path in texts
    ]
    return _section("Replay", "".join(players)) if players else ""


# --- settings, machine, files -----------------------------------------------------------------------------------------


def settings(data: Sequence[RunData]) -> str:
    """Settings: of one run by section; of several in a table, those that differ on top and highlighted."""
    of_runs = [dict(flat(run.config.settings)) for run in data]
    keys = list(dict.fromkeys(key for found in of_runs for key in found))
    # several runs, beside each other
    if len(data) > 1:
        rows = [[key, *(_value(found, key) for found in of_runs)] for key in keys]
        rows.sort(key=_is_same)
        table = _table(["", *(run.label for run in data)], rows, changed=[not _is_same(row) for row in rows])
        return _section("Settings", f'<div class="card">{table}</div>', "those that differ between the runs on top")
    # one run, by section
    by_section: dict[str, list[str]] = {}
    for key in keys:
        by_section.setdefault(_section_of(key), []).append(key)
    cards = []
    for name, members in by_section.items():
        table = _table([], [[key.removeprefix(f"{name}."), _value(of_runs[0], key)] for key in members])
        cards.append(f'<div class="card"><h3>{escaped(name)}</h3>{table}</div>')
    return _section("Settings", f'<div class="cards">{"".join(cards)}</div>')


def _is_same(row: Sequence[str]) -> bool:
    """Whether all values behind a row's heading are equal."""
    return len(set(row[1:])) == 1


def machine(data: Sequence[RunData]) -> str:
    """Machines on which the runs ran, as far as they say."""
    facts = list(dict.fromkeys(fact for run in data for fact in run.machine))
    if not facts:
        return ""
    rows = [[fact, *(_value(run.machine, fact) for run in data)] for fact in facts]
    heads = ["", *(run.label for run in data)] if len(data) > 1 else []
    return _section("Machine", f'<div class="card">{_table(heads, rows)}</div>')


def files(data: Sequence[RunData], folder: Path) -> str:
    """Links to what is in the run folders, relative to the folder of the page."""
    items = []
    for run in data:
        present = [name for name in FILES if (run.path / name).is_file()]
        links = [f'<a href="{_link(run.path / name, folder)}">{escaped(name)}</a>' for name in present]
        count = len(run.checkpoints)
        checkpoints = f"{count} checkpoint{'s' * (count != 1)}" if count else "no checkpoint"
        name = run.label if run.label == run.name else f"{run.label} ({run.name})"
        items.append(f"<p><b>{escaped(name)}</b>: {', '.join([*links, checkpoints])}</p>")
    return _section("Files", "".join(items))


def _link(path: Path, folder: Path) -> str:
    relative = os.path.relpath(path.resolve(), folder.resolve())
    return escaped(quote(os.fsencode(relative)))


def _section_of(key: str) -> str:
    """``policy.tagger.gamma`` belongs to ``policy.tagger``, ``trainer.seed`` to ``trainer``, ``name`` to ``env``."""
    parts = key.split(".")
    return ".".join(parts[:2]) if parts[0] == "policy" else parts[0] if len(parts) > 1 else "env"


def _value(values: Mapping[str, Any], key: str) -> str:
    """A setting or a fact as text: a dash where it is not there, else as JSON has it, texts without quotes."""
    value = values.get(key, "-")
    return value if isinstance(value, str) else json.dumps(value)


def _section(heading: str, body: str, note: str = "") -> str:
    beside = f' <span class="quiet">{escaped(note)}</span>' if note else ""
    return f"<section><h2>{escaped(heading)}{beside}</h2>{body}</section>"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], changed: Sequence[bool] | None = None) -> str:
    """Rows whose first entry is a heading."""
    head = "".join(f"<th>{escaped(text)}</th>" for text in heads)
    lines = []
    for i, (first, *rest) in enumerate(rows):
        kind = ' class="changed"' if changed and changed[i] else ""
        cells = "".join(f"<td>{escaped(text)}</td>" for text in rest)
        lines.append(f"<tr{kind}><th>{escaped(first)}</th>{cells}</tr>")
    top = f"<thead><tr>{head}</tr></thead>" if head else ""
    return f'<div class="scroll"><table>{top}<tbody>{"".join(lines)}</tbody></table></div>'
