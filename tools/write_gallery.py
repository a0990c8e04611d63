"""Writes ``docs/gallery.md``: each packaged environment with its moving picture and what its config learns.

Figures come from ``benchmarks/results/gallery``, where ``benchmarks.experiments NAME --save`` puts them. Its
folder ``earlier`` holds claims that were missed with settings that have been replaced since. Figures of an environment
that is a task of a published table are the table's, from ``benchmarks/results/scoreboard``. References to compare
with are in ``benchmarks/experiments/references.py``, and measured ones in the same folder's ``scripted.json``, by
``benchmarks.scripted --save``. ``make gallery`` runs this after it has drawn the pictures; a
test holds the page to it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.experiments import EXPERIMENTS
from benchmarks.experiments.references import REFERENCES
from tools.write_scoreboard import RESULTS as SCORES
from tools.write_scoreboard import results_of
from warpworld.cli.reproduce import TableFile
from warpworld.packaged import FAMILIES, catalogue

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "gallery.md"
RUNS, RESULTS = ROOT / "benchmarks" / "gallery" / "runs", ROOT / "benchmarks" / "results" / "gallery"
EARLIER, SCRIPTED = RESULTS / "earlier", RESULTS / "scripted.json"
# Environments whose packaged config is trained by a published table: the table, and its task.
SCORED = {
    "hide_and_seek": ("hide_and_seek", "one_door"),
    "kuhn_poker": ("poker", "kuhn"),
    "leduc_poker": ("poker", "leduc"),
    **{
        f"minatar_{game}": ("minatar", game)
        for game in ("asterix", "breakout", "freeway", "seaquest", "space_invaders")
    },
    "overcooked": ("overcooked", "cramped_room-steady"),  # as the packaged config
}
HEAD = """# Gallery

Every environment that comes with warpworld. Pictures play what packaged configs have learnt, from the first of the
seeds where there are figures. What has no picture or no figures here has not been measured yet.
`warpworld train NAME` trains an environment, and [Environments](environments.md) describes its rules, its original and
what differs from it.

Where an environment is a task of the [scoreboard](scoreboard.md), the figures are that table's, of all its seeds.
`python -m benchmarks.experiments NAME --first-seed 11 --seeds 3` repeats the others: mean returns of an
agent and episode after a training from each of three seeds that no setting was chosen with, those of random agents in
the same episodes, and the CPU time of the slowest training, of all threads together. In a greedy return policies take
their likeliest actions, in a drawn one they draw them. Where a config missed its claim, new settings were chosen with
seeds 1 to 3, and the figures are of fresh seeds; the entry names both. A reference is what others report, or the most
that can be earned. A measured reference is
what a rule earns that reads the state of the game, which the agent need not see:
`python -m benchmarks.scripted` plays them. In the pictures of coins and skirmish, scripts play the hider and
the enemy, as in their claims.
`make gallery` writes this page and its pictures.
"""


def page() -> str:
    """The page's text."""
    return "\n".join([HEAD, *(line for family in FAMILIES for line in _family(family))])


def _family(family: str) -> Iterator[str]:
    yield f"## {family[0].upper()}{family[1:]}\n"
    yield "| what was learnt, at play | |"
    yield "|---|---|"
    for name, entry in catalogue().items():
        if entry["family"] == family:
            picture = _picture(name)
            about = [f"**`{name}`**", entry["about"].replace("``", "`"), f"Agents: {entry['agents']}."]
            about[-1] += f" Observation: {entry['observation']}. Action: {entry['action']}."
            yield f"| {picture} | {'<br>'.join([*about, '', *_learnt(name)])} |"
    yield ""


def _picture(name: str) -> str:
    """The environment's moving picture: of its run, or another of what its config has learnt; nothing without one."""
    for folder in ("images/gallery", "images"):
        if (ROOT / "docs" / folder / f"{name}.gif").exists():
            return f"![{name}, played by what its config has learnt]({folder}/{name}.gif)"
    return ""


def _learnt(name: str) -> list[str]:
    """What the committed results of an environment's configs show: those of its own name, and NAME_ALGORITHM."""
    lines = []
    for path in sorted(RESULTS.glob("*-2-cores.json")):
        config = path.name.removesuffix("-2-cores.json")
        if config == name or (config.startswith(f"{name}_") and config not in catalogue()):
            runs = json.loads(path.read_text(encoding="utf-8"))["results"][config]
            lines += [f"**{config}**: {EXPERIMENTS[config].claim}.", *_figures(runs), *_earlier(config, runs)]
    if name in SCORED:
        lines += _scored(*SCORED[name])
    if not lines and (RUNS / name).is_dir():
        lines.append("One run; no figures.")
    lines += _scripted(name)
    return [*lines, f"Reference: {REFERENCES[name]}."] if name in REFERENCES else lines


def _scored(table: str, task: str) -> Iterator[str]:
    """Scores of each seed in a published table, and of random actions."""
    file = TableFile(table)
    results = results_of(file, SCORES)
    if results is None or task not in results.tasks:
        return
    seeds = results.tasks[task].seeds
    yield f"**{task}** of `warpworld reproduce {table}`. {file.table.about}"
    for key in ("drawn", "greedy"):
        yield f"{key}: {', '.join(_short(getattr(each, key)) for each in seeds)}; random {_short(seeds[0].at_random)}."
    yield f"CPU time: {max(each.cpu_seconds for each in seeds):.0f} s."


def _scripted(name: str) -> Iterator[str]:
    """What rules earn there that know the game: a measured reference."""
    for rule in json.loads(SCRIPTED.read_text(encoding="utf-8"))["results"].get(name, ()):
        figures = ", ".join(f"{key} {_short(value)}" for key, value in rule["figures"].items())
        yield f"Measured reference, {rule['about']}: {figures}."


def _figures(runs: list[dict[str, Any]]) -> Iterator[str]:
    """Each figure with its value for every seed, and beside a return that of random agents."""
    figures = [run["figures"] for run in runs]
    for key in figures[0]:
        policy = key.removesuffix("_return").rpartition("_")[0]
        if not key.endswith(("seconds", "_random_return")):
            values = ", ".join(_short(each[key]) for each in figures)
            at_random = figures[0].get(f"{policy}_random_return") if key.endswith("_return") else None
            yield f"{key.replace('_', ' ')}: {values}{'' if at_random is None else f'; random {_short(at_random)}'}."
    yield f"CPU time: {max(each['cpu_seconds'] for each in figures):.0f} s."
    missed = [str(run["seed"]) for run in runs if not run["holds"]]
    if missed:
        yield f"Not reached by {_seeds(missed)}."


def _earlier(config: str, runs: list[dict[str, Any]]) -> Iterator[str]:
    """Which seeds the figures are of, where other seeds had missed the claim with earlier settings."""
    path = EARLIER / f"{config}-2-cores.json"
    if path.exists():
        before = json.loads(path.read_text(encoding="utf-8"))["results"][config]
        missed = [str(run["seed"]) for run in before if not EXPERIMENTS[config].holds(run["figures"])]
        now = _seeds([str(run["seed"]) for run in runs])
        yield f"Of {now}: {_seeds(missed)} had missed the claim with earlier settings."


def _seeds(seeds: list[str]) -> str:
    return f"seed{'s' * (len(seeds) > 1)} {', '.join(seeds)}"


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
