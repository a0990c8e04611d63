"""`warpworld reproduce`: a run for each task and seed, judged, and found again by the next command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from warpworld.cli.main import main
from warpworld.cli.reproduce.judging import KEPT, judged
from warpworld.cli.reproduce.playing import EXAMINED_WITH
from warpworld.cli.reproduce.results import read_results
from warpworld.cli.reproduce.sections import Judged
from warpworld.cli.reproduce.table_file import QUICK_SEED, TableFile
from warpworld.cli.reproduce.trainings import Trainings
from warpworld.config import RunConfig
from warpworld.runs import Run, RunFolder, read_runs, run_folders
from warpworld.trainers.evaluate import evaluate
from warpworld.trainers.trainer import Trainer

pytestmark = pytest.mark.cpu_backend

TABLE = """
about: Two small games.
env_steps: 256
first_seed: 5
seeds: 2
judged: {metric: agent, episodes: 8}
overrides: [trainer.num_envs=4, trainer.num_steps=16, policy.agent.num_minibatches=1, trainer.device=cpu]
sources: {gym: {by: Gymnasium, rules: the same}}
tasks:
  pole: {config: cartpole, published: {gym: {score: [475]}}, wanted: 9000}
  line: {config: chain, seeds: 1, published: {gym: {score: [1]}}}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text(TABLE)


def first_config() -> RunConfig:
    """The configuration of pole's first seed."""
    trainings = Trainings(TableFile("small.yaml"), Path("reproduced/small/runs"), False, ())
    return trainings.left(["pole"])[0][0]


@pytest.mark.heavy
def test_a_table(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A run that was cut off continues, scores are those of `warpworld eval`, and nothing is trained twice."""
    first = first_config()
    run, trainer = Run.create(first), Trainer(first)
    trainer.train(run, stop=lambda: trainer.iteration == 2)
    run.close()

    assert main(["reproduce", "small.yaml", "--jobs", "2"]) == 0
    folder = Path("reproduced/small")
    results = read_results(folder / "results.json")
    runs = {(each.config.settings["saving"]["name"]): each for each in read_runs(run_folders(folder / "runs"))}
    assert sorted(runs) == ["line-seed-5", "pole-seed-5", "pole-seed-6"]
    assert runs["pole-seed-5"].path == run.path
    assert [each.seed for each in results.tasks["pole"].seeds] == [5, 6]
    for each in results.tasks["pole"].seeds:
        played = runs[f"pole-seed-{each.seed}"]
        for greedy, score in ((False, each.drawn), (True, each.greedy)):
            found = evaluate(Run.open(played.path), 8, EXAMINED_WITH, greedy)["agent"]
            assert (score, each.at_random) == (found["mean_return"], found["random_return"])
        assert each.env_steps == 256
        assert each.cpu_seconds == sum(row["perf/cpu_s"] for row in played.rows) > 0
    table = (folder / "table.md").read_text()
    assert "9,000 wanted: missed" in table and "no results" not in table and (folder / "curves.png").exists()
    assert "3 runs to train, 2 at a time" in capfd.readouterr().out

    # again: nothing is trained or played; other settings are other runs, which the table names
    judgements = {path: path.stat().st_mtime_ns for path in folder.rglob(KEPT)}
    assert len(judgements) == 3 and main(["reproduce", "small.yaml", "--against", str(folder / "results.json")]) == 0
    assert {path: path.stat().st_mtime_ns for path in folder.rglob(KEPT)} == judgements
    printed = capfd.readouterr().out
    assert "to train" not in printed and "over pole, line: 0.5 " in printed
    assert main(["reproduce", "small.yaml", "policy.agent.gamma=0.5", "--tasks", "line"]) == 0
    printed = capfd.readouterr().out
    assert "1 runs to train" in printed and "Trained with policy.agent.gamma=0.5, which the table does not" in printed
    assert len(run_folders(folder / "runs")) == 4 and "not run" in (folder / "table.md").read_text()


@pytest.mark.heavy
def test_a_quick_trial_is_never_taken_for_a_result(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "small.yaml", "--quick", "--tasks", "line"]) == 0
    assert "These numbers are no results" in capfd.readouterr().out
    folder = Path("reproduced/small-quick")
    assert not Path("reproduced/small").exists() and "These numbers are no results" in (folder / "table.md").read_text()
    results = read_results(folder / "results.json")
    (seed,) = results.tasks["line"].seeds
    assert (results.quick, seed.seed, seed.env_steps) == (True, QUICK_SEED, 2 * 4 * 16)


@pytest.mark.heavy
def test_a_run_that_is_judged_in_another_way_is_judged_again() -> None:
    run = Run.create(first_config())
    Trainer(run.config).train(run)
    run.close()
    folder = RunFolder(run.path)
    before = judged(folder, Judged(metric="agent", episodes=8))
    kept = json.loads((run.path / KEPT).read_text())
    kept["value"]["drawn"] = 1e6
    (run.path / KEPT).write_text(json.dumps(kept))
    assert judged(folder, Judged(metric="agent", episodes=8)).drawn == 1e6
    again = judged(folder, Judged(metric="agent", episodes=8, agents="sum"))
    assert again.drawn == before.drawn  # of one agent
    (run.path / KEPT).write_text("{")
    assert judged(folder, Judged(metric="agent", episodes=8)).drawn == before.drawn
