"""docs/performance.md, written from the results of a run: no figure on it stands anywhere else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from warpworld.drawing.figures import figure
from warpworld.drawing.palette import SERIES

from .floors import rates_of
from .numbers import short
from .results import read_results
from .targets import TARGETS, ratio
from .targets import row as value_of

DEFAULT_PAGE = Path(__file__).resolve().parents[2] / "docs" / "performance.md"
PICTURE = "images/gpu-scaling.png"
WORLDS = (
    "tag_gridworld",
    "tag_gridworld_1000",
    "tag_gridworld_thousands",
    "tag_continuous",
    "tag_continuous_1000",
    "cartpole",
    "breakout",
    "hide_and_seek",
    "eyes",
)
FLOOR = ("floor", "by", "share")  # headers
PEERS = {"tag_gridworld": "warpdrive_gridworld", "tag_continuous": "warpdrive_continuous"}

Results = dict[str, Any]


def main(source: Path, page: Path) -> int:
    """Write the page and its picture; returns the exit status."""
    results = read_results(source)
    if results is None:
        raise SystemExit(f"{source} holds no results of the GPU suite; run python -m benchmarks.gpu on a GPU first")
    if results["quick"] or results["device"] in (None, "cpu"):
        raise SystemExit(f"{source} is of {results['device'] or 'no device'}; the page is about a GPU, in full sizes")
    page.parent.mkdir(parents=True, exist_ok=True)
    drawn = draw_scaling(results, page.parent / PICTURE)
    page.write_text(text_of(results, drawn), encoding="utf-8")
    print(f"wrote {page}")
    return 0


def text_of(results: Results, drawn: bool = False) -> str:
    """The page."""
    blocks = ["# Speed on a GPU", _conditions(results), "## What was to be reached", _targets(results)]
    blocks += ["## Steps a second", _COLUMNS, _rates(results), _speeds(results)]
    blocks += ["## Worlds with eyes, beside every ray against every wall", _eyes(results)]
    blocks += ["## Beside WarpDrive, in the same run", _peers(results)]
    blocks += ["## Where an iteration goes", _shares(results)]
    blocks += ["## Learning from replays, as a team, in a league", _learners(results)]
    blocks += ["## Over the number of envs", *([f"![Throughput over the number of envs]({PICTURE})"] if drawn else [])]
    blocks += [_scaling(results), "## What was checked", _checks(results)]
    return "\n\n".join(blocks) + "\n"


_COLUMNS = (
    "*simulation*: `World.step()` with random actions; *random*: a rollout whose actions a kernel draws; *inference*: "
    "a rollout with policies; *training*: whole A2C iterations, one pass in one minibatch. Steps are replayed as CUDA "
    "graphs, but where it says *eager*. Medians."
)


def _conditions(results: Results) -> str:
    machine = results["parts"].get("machine", {}).get("figures", {})
    packages = ", ".join(f"{name} {version}" for name, version in machine.get("packages", {}).items())
    driver = machine.get("gpu", {}).get("driver_version", "unknown")
    return (
        f"Measured on {results['date']} at commit {str(results['commit'])[:10]}: {results['device']}, driver {driver}, "
        f"CUDA of torch {machine.get('cuda_of_torch')}; {packages}; host {results['host']['device']} with "
        f"{results['host']['cores']} cores. {_of_other_commits(results)}`python -m benchmarks.gpu --page` writes this "
        "page from `benchmarks/results/gpu.json`."
    )


def _of_other_commits(results: Results) -> str:
    """Sentences that name the parts of earlier runs, each with a space behind it."""
    by_commit: dict[str, list[str]] = {}
    for name, part in results["parts"].items():
        if "commit" in part:
            by_commit.setdefault(f"{part['commit'][:10]}, measured on {part['date'][:10]}", []).append(name)
    return "".join(f"Of commit {commit}: {', '.join(names)}. " for commit, names in by_commit.items())


def _targets(results: Results) -> str:
    rows = []
    for target in TARGETS:
        value = target.measured(results)
        said = "not measured" if value is None else f"{value:.3g}"
        met = "" if value is None else "yes" if target.is_met(value) else "no"
        sign = "at least" if target.at_least else "at most"
        rows.append((target.label, f"{sign} {target.wanted:g} {target.unit}", said, met))
    return _table(("", "wanted", "measured", "reached"), rows)


def _speeds(results: Results) -> str:
    rows = [
        (
            row["world"],
            f"{row['num_envs']:,} x {row['agents']}",
            row["column"],
            short(row["env_steps_per_s"]),
            short(row["agent_steps_per_s"]),
            f"{row['memory_bytes'] / 2**30:.2f}",
            f"{row['spread']:.0%}",
            *_floor(row),
        )
        for name in WORLDS
        for row in _rows(results, name)
    ]
    header = ("world", "envs x agents", "column", "env steps/s", "agent steps/s", "GiB", "spread", *FLOOR)
    return _table(header, rows)


def _floor(row: dict[str, Any]) -> tuple[str, str, str]:
    """The cells under ``FLOOR``, empty where the row has no floor."""
    if "share" not in row:
        return "", "", ""
    return short(row["floor_env_steps_per_s"]), row["floor_by"], f"{row['share']:.2%}"


def _rates(results: Results) -> str:
    """The rates that floors are by."""
    rates = rates_of(results)
    if rates is None:
        return "No floors: what a copy and products reach was not measured in this run."
    measured = f"copy {short(rates.copy)}B/s, float32 {short(rates.float32)}FLOP/s, bf16 {short(rates.bf16)}FLOP/s"
    return f"{_FLOORS} {measured}."


_FLOORS = (
    "*floor*: the most env steps a second that the card allows, from the bytes that a step must move, its products and "
    "its lane operations ([needs.py](../benchmarks/gpu/needs.py), [floors.py](../benchmarks/gpu/floors.py)); *by*: "
    "which of them sets it. A world that fits a cache may pass a floor by bytes. Rates measured in the same run:"
)


def _eyes(results: Results) -> str:
    figures = results["parts"].get("eyes", {}).get("figures", {})
    rows = []
    for row in _rows(results, "eyes"):
        factor, share = figures.get(f"{row['world']}_beside_brute_force"), row["limit_share"]
        if row["column"] == "simulation":
            sizes = f"{row['num_envs']:,} x {row['agents']}", f"{row['num_plans']:,}", f"{row['rays']}"
            said = "" if factor is None else f"{factor:.1f} times", "" if share is None else f"{share:.1%}"
            rows.append((row["world"], *sizes, f"{row['lines']:.0f}", short(row["agent_steps_per_s"]), *said))
    header = ("world", "envs x agents", "plans", "rays", "lines", "agent steps/s", "beside brute force", "of the limit")
    table = _table(header, rows)
    return f"{table}\n\n{_LIMIT} {figures['limit']}." if rows else table


_LIMIT = (
    "*lines*: walls of the mean plan and facets of agents. *limit*: what the card's arithmetic allows, counted by hand "
    "for cameras alone, without movement and memory ([limit.py](../benchmarks/gpu/limit.py));"
)


def _peers(results: Results) -> str:
    rows, notes = [], []
    for ours, theirs in PEERS.items():
        part = results["parts"].get(theirs, {})
        if part.get("status") != "passed":
            notes.append(f"{ours}: {part.get('status', 'not run')}: {part.get('reason', '')}".strip())
        for row in _rows(results, theirs):
            factor = ratio(results, ours, theirs, row["column"])
            said = "" if factor is None else f"{factor:.1f}"
            own = value_of(results, ours, row["column"], "spread")
            spreads = (f"{row['spread']:.0%}", "" if own is None else f"{own:.0%}")
            rows.append((row["world"], row["column"], short(row["env_steps_per_s"]), said, *spreads))
        if way := part.get("figures", {}).get("way"):
            notes.append(f"{ours}: {way}")
    head = ("world", "column", "WarpDrive's env steps/s", "ours is faster by", "its spread", "ours")
    table = _table(head, rows)
    return "\n\n".join([table, *notes])


def _shares(results: Results) -> str:
    names = ("env", "policy", "sampling", "update", "other", "idle")
    rows = [
        (
            f"{row['world']}, {row['num_envs']:,} x {row['num_steps']} steps",
            f"{row['seconds_per_iteration'] * 1e3:.2f}",
            f"{row['profiled_seconds'] * 1e3:.2f}",
            *(f"{row['shares'][name]:.0%}" for name in names),
            f"{max(row['largest_gap_share'].values()):.1%}",
            str(row["host_calls"]),
        )
        for row in _rows(results, "profile")
    ]
    table = _table(("", "ms an iteration", "ms when profiled", *names, "largest gap", "host calls"), rows)
    return "\n\n".join([table, *(["Shares are of the profiled iteration."] if rows else [])])


def _learners(results: Results) -> str:
    rows = [
        (
            row["config"],
            row["shows"],
            f"{row['seconds_per_iteration'] * 1e3:.2f}",
            _graphs(row),
            short(row["env_steps_per_s"]),
            *_floor(row),
        )
        for row in _rows(results, "learners")
    ]
    return _table(("config", "what learns", "ms an iteration", "graphs", "env steps/s", *FLOOR), rows)


def _graphs(row: dict[str, Any]) -> str:
    """Which of a learner's two halves were replayed as CUDA graphs."""
    halves = {"rollout": row["graphs"], "update": row["update_graphs"]}
    return " and ".join(name for name, is_graph in halves.items() if is_graph) or "none"


def _scaling(results: Results) -> str:
    rows = []
    for row in _rows(results, "scaling"):
        if "ended" in row:
            rows.append((row["world"], row["column"], f"{row['num_envs']:,}", f"ended: {row['ended']}", *[""] * 5))
            continue
        speeds = short(row["env_steps_per_s"]), short(row["agent_steps_per_s"])
        memory = f"{row['memory_bytes'] / 2**30:.2f}"
        rows.append((row["world"], row["column"], f"{row['num_envs']:,}", *speeds, memory, *_floor(row)))
    return _table(("world", "column", "envs", "env steps/s", "agent steps/s", "GiB", *FLOOR), rows)


def _checks(results: Results) -> str:
    rows = []
    for name, part in results["parts"].items():
        said = (part["reason"] or part["figures"].get("headline", "")).splitlines()
        rows.append((name, part["title"], part["status"], (said or [""])[0]))
    return _table(("part", "what", "", "found"), rows)


def _rows(results: Results, part: str) -> list[dict[str, Any]]:
    return results["parts"].get(part, {}).get("figures", {}).get("rows", [])


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown; where there is no row, that it was not measured."""
    rows = [tuple(cell.replace("|", "\\|") for cell in row) for row in rows]
    if not rows:
        return "Not measured in this run."
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def draw_scaling(results: Results, path: Path) -> bool:
    """Draw agent steps a second over the number of envs; False where there is nothing to draw."""
    lines: dict[str, list[tuple[int, float]]] = {}
    for row in _rows(results, "scaling"):
        if "agent_steps_per_s" in row:
            label = f"{row['world']}, {row['column']}"
            lines.setdefault(label, []).append((row["num_envs"], row["agent_steps_per_s"]))
    if not lines:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    with figure(path, 6.4, 3.6, dpi=150) as drawn:
        axis = drawn.subplots()
        for (label, points), colour in zip(lines.items(), SERIES, strict=False):
            axis.loglog(*zip(*points, strict=True), color=colour, marker="o", markersize=3, linewidth=1.2, label=label)
        axis.set(xlabel="envs", ylabel="agent steps a second")
        axis.legend()
    return True
