"""Trains the policies that come with the package, judges them, and writes their folders and the table of the page.

``python -m tools.train_pretrained`` does it for all, with names for these alone. Every one is trained once, from the
seed below, which no setting was chosen with; what comes out is what ships. ``--judge`` plays those that are there
instead, and prints their scores beside the stated ones. ``--page`` writes the page alone.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shlex
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import warpworld
from tools.pretrained_scores import EPISODES, PRETRAINED, SEED, Game, Pretrained, Score, scores
from warpworld.files import replacing
from warpworld.packaged import PRETRAINED as PREFIX
from warpworld.packaged import pretrained_folder
from warpworld.runs import Run, read_runs
from warpworld.runs.pretrained import FILE, FORMAT, check_format, described_spaces
from warpworld.runs.tensors import save_tensors
from warpworld.text import print_columns
from warpworld.version import __version__

TRAINED_WITH = 201  # the seed of every training
KNOWN = {entry.config: entry for entry in PRETRAINED}
ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "pretrained.md"
BEGIN, END = "<!-- table: python -m tools.train_pretrained --page -->", "<!-- end of the table -->"
KEPT = ("config", "policies", "layout", "iteration", "env_steps")  # of a checkpoint: what playing needs


def train(entry: Pretrained) -> Path:
    """Train a policy, judge it, and write its folder anew."""
    overrides = [*entry.overrides, f"trainer.seed={TRAINED_WITH}"]
    with tempfile.TemporaryDirectory() as place:
        run = warpworld.train(entry.config, overrides, directory=place)
        description = {
            "format": FORMAT,
            "warpworld": __version__,
            "seed": TRAINED_WITH,
            **_cost(run),
            "command": shlex.join(["warpworld", "train", entry.config, *overrides]),
            "spaces": described_spaces(run.config),
            "judged": {"episodes": EPISODES, "seed": SEED, "env": dict(entry.env), "actions": "drawn"},
            "scores": [_stated(game, score) for game, score in scores(run, entry)],
        }
        return _write(run, pretrained_folder() / entry.config, description)


def _cost(run: Run) -> dict[str, Any]:
    """Env steps of a run, its processor time of all threads, and its time, seconds."""
    (data,) = read_runs([run])
    cpu_seconds = sum(row.get("perf/cpu_s", 0.0) for row in data.rows)
    last = data.rows[-1]
    return {
        "env_steps": int(last["env_steps"]),
        "cpu_seconds": round(cpu_seconds, 1),
        "seconds": round(float(last["time"]), 1),
    }


def _stated(game: Game, score: Score) -> dict[str, Any]:
    numbers = {name: float(f"{value:.4g}") for name, value in asdict(score).items() if name != "episodes"}
    about = {"policy": game.policy, "metric": game.metric, "against": game.against}
    return {**about, **numbers, "episodes": score.episodes}


def _write(run: Run, folder: Path, description: dict[str, Any]) -> Path:
    """Write a run folder that holds the last checkpoint's policies alone."""
    shutil.rmtree(folder, ignore_errors=True)
    iteration, state = run.checkpoints()[-1], run.load_checkpoint()
    path = folder / "checkpoints" / run.checkpoint_path(iteration).name
    path.parent.mkdir(parents=True)
    shutil.copy(run.config_path, folder / "config.yaml")
    with replacing(path) as file:
        save_tensors({key: state[key] for key in KEPT}, file)
    (folder / FILE).write_text(json.dumps(description, indent=1) + "\n", encoding="utf-8")
    return folder


# ---- judged again ----------------------------------------------------------------------------------------------------
def judge(entries: Iterable[Pretrained]) -> None:
    """Play the policies that are there, and print their scores beside the stated ones."""
    rows = [["name", "policy", "score", "against", "stated", "now"]]
    for entry in entries:
        run = Run.open(PREFIX + entry.config)
        stated = check_format(run.path)["scores"]
        for before, (game, now) in zip(stated, scores(run, entry), strict=True):
            figures = (f"{mean:.4g}" for mean in (before["mean"], now.mean))
            rows.append([entry.config, game.policy, game.metric, game.against, *figures])
    print_columns(rows)


# ---- the page --------------------------------------------------------------------------------------------------------
def table(folder: Path | None = None) -> Iterator[str]:
    """Lines of the table: each policy with what it reaches, and what it took."""
    yield "| name | environment | score, 95 % interval | at random | training | size |"
    yield "|---|---|---|---|---|---|"
    for entry in PRETRAINED:
        place = (folder or pretrained_folder()) / entry.config
        found = check_format(place)
        lines = [_score_text(each) for each in found["scores"]]
        at_random = [f"{each['random']:.3g}" for each in found["scores"]]
        cost = f"{found['env_steps']:,} env steps, {found['cpu_seconds']:.0f} s"
        size = sum(path.stat().st_size for path in place.rglob("*") if path.is_file())
        cells = [f"`{entry.config}`", _environment(entry), "<br>".join(lines), "<br>".join(at_random), cost]
        yield f"| {' | '.join([*cells, f'{size / 1000:,.0f} kB'])} |"


def _environment(entry: Pretrained) -> str:
    changed = [word.removeprefix("env.") for word in entry.overrides if word.startswith("env.")]
    return f"`{entry.config}`" + (f" with {', '.join(f'`{word}`' for word in changed)}" if changed else "")


def _score_text(score: dict[str, Any]) -> str:
    confidence = 1.96 * score["deviation"] / score["episodes"] ** 0.5
    against = "" if score["against"] == "policies as trained" else f" against {_named(score['against'])}"
    interval = f" ± {confidence:.2g}" if confidence else ", the same in every episode"
    return f"{score['policy']}: {score['metric']} {score['mean']:.4g}{interval}{against}"


def _named(opponent: str) -> str:
    return opponent if " " in opponent else f"the script `{opponent}`"


def write_page(path: Path = PAGE) -> None:
    """Put the table into the page, between its two marks."""
    text = path.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    path.write_text("\n".join([before + BEGIN, "", *table(), "", END]) + after, encoding="utf-8")


def main(words: Sequence[str] | None = None) -> None:
    """Do what the words say."""
    parser = argparse.ArgumentParser(prog="python -m tools.train_pretrained", description=__doc__)
    parser.add_argument("names", metavar="NAME", nargs="*", help="of these alone (default: all)")
    parser.add_argument("--judge", action="store_true", help="play what is there, and train nothing")
    parser.add_argument("--page", action="store_true", help="write the table of the page, and train nothing")
    arguments = parser.parse_args(words)
    unknown = [name for name in arguments.names if name not in KNOWN]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(KNOWN)}")
    chosen = [KNOWN[name] for name in arguments.names or KNOWN]
    if arguments.judge:
        judge(chosen)
        return
    for entry in () if arguments.page else chosen:
        print(train(entry), flush=True)
    with contextlib.suppress(FileNotFoundError):
        write_page()


if __name__ == "__main__":
    main()
