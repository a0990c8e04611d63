"""Runs that evaluations end early, killed on the way: they end at the same point, with the same best weights."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.runs.moments import moments
from tests.runs.processes import appeared, differences, finish, finish_group, last_state, run_folder, said, start

SMALL = (
    *("trainer.device=cpu", "trainer.num_envs=8", "trainer.num_steps=16", "saving.checkpoint_every=4"),
    *("saving.eval_every=3", "saving.eval_episodes=8", "trainer.patience=3"),
)
ONE = [f"policy.{name}.{key}" for name in ("tagger", "runner") for key in ("num_minibatches=2", "update_epochs=1")]
COMMANDS = {
    "on-policy": ("tag_gridworld", "trainer.total_env_steps=12800", *ONE, "saving.eval_opponents=[greedy]"),
    "off-policy": (
        *("cartpole_dqn", "trainer.total_env_steps=12800", "policy.agent.learning_starts=128"),
        *("policy.agent.replay_size=1024", "policy.agent.batch_size=32"),
    ),
}


@pytest.fixture(scope="module", params=COMMANDS)
def uninterrupted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], Path]:
    """The words of a run that its evaluations end, and its folder."""
    folder, words = tmp_path_factory.mktemp("uninterrupted"), [*COMMANDS[request.param], *SMALL]
    assert finish(folder, "train", *words) == 0, (folder / "err").read_text()
    assert "no new best score in 3 evaluations (trainer.patience)" in (folder / "out").read_text()
    return words, run_folder(folder)


def ends_alike(tmp_path: Path, uninterrupted: tuple[list[str], Path], number: int) -> None:
    words, whole = uninterrupted
    last = last_state(whole)["iteration"]
    generator = random.Random(number)
    process = start(tmp_path, "train", *words)
    sign = f"runs/[!.]*/checkpoints/iteration_{4 * generator.randrange(last // 4 + 1):06d}.pt"
    appeared(tmp_path, sign, process)
    process.join(generator.uniform(0, 0.1))
    process.kill()
    process.join()
    run = run_folder(tmp_path)
    assert finish(tmp_path, "train", "--resume", str(run)) == 0, (tmp_path / "err").read_text()
    states = [{key: value for key, value in last_state(path).items() if key != "replay"} for path in (whole, run)]
    assert differences(*states) == []
    for name in ("metrics.jsonl", "checkpoints/best.pt"):
        assert (run / name).read_bytes() == (whole / name).read_bytes(), name


@pytest.mark.heavy
@pytest.mark.long
@pytest.mark.parametrize("number", range(2))
def test_killed_at_a_random_moment(tmp_path: Path, uninterrupted: tuple[list[str], Path], number: int) -> None:
    ends_alike(tmp_path, uninterrupted, number)


@pytest.mark.slow
@pytest.mark.parametrize("number", moments(range(2, 33), kept=1))
def test_killed_at_one_of_thirty_moments(tmp_path: Path, uninterrupted: tuple[list[str], Path], number: int) -> None:
    ends_alike(tmp_path, uninterrupted, number)


@pytest.mark.long
def test_a_run_that_evaluations_ended_says_so(tmp_path: Path, uninterrupted: tuple[list[str], Path]) -> None:
    _, whole = uninterrupted
    steps = last_state(whole)["env_steps"]
    assert finish(tmp_path, "train", "--resume", str(whole)) == 0
    lines = (tmp_path / "out").read_text().splitlines()
    assert lines == [
        f"run '{whole}' is finished after {steps:,} env steps: no new best score in 3 evaluations (trainer.patience).",
        "To train on, change that:",
        f"warpworld train --resume {whole} trainer.stop_when={{}} trainer.patience=null",
    ]


@pytest.mark.heavy
@pytest.mark.long
def test_two_processes_end_together(tmp_path: Path) -> None:
    words = [*COMMANDS["on-policy"], *SMALL]
    assert finish_group(tmp_path, 2, "train", *words) == [0, 0], said(tmp_path)
    assert "no new best score in 3 evaluations (trainer.patience)" in (tmp_path / "out0").read_text()
    path = run_folder(tmp_path)
    assert (path / "checkpoints" / "best.pt").is_file()
    assert finish_group(tmp_path, 2, "train", "--resume", str(path)) == [0, 0], said(tmp_path)
    assert "is finished after" in (tmp_path / "out0").read_text()
