"""The benchmark of populations: its ways spend the same env steps, from the same settings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import population as benchmark
from warpworld.trainers.trainer import Trainer

TINY = ["trainer.num_envs=16", "trainer.num_steps=8", "trainer.total_env_steps=1_100", "env.episode_length=9"]


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "TASKS", {"cartpole": [*TINY, "policy.agent.num_minibatches=2"]})
    monkeypatch.setattr(benchmark, "EPISODES", 4)


@pytest.mark.heavy
def test_it_prints_a_line_for_each_way(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "found.json"
    benchmark.main(["cartpole", "--seeds", "2", "--first-seed", "7", "--save", str(file)])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "cartpole, seeds 7, 8"
    assert [line[2:16].strip() for line in lines[1:]] == list(benchmark.ARMS)
    saved = json.loads(file.read_text())
    assert saved["seeds"] == [7, 8]
    assert all(0 < figure <= 9 for figures in saved["returns"]["cartpole"].values() for figure in figures)


@pytest.mark.heavy
def test_a_random_search_spends_as_many_env_steps_and_begins_with_the_members_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trainers = list[Trainer]()
    trained = benchmark._trained

    def noted(*given: Any) -> Trainer:
        trainers.append(trained(*given))
        return trainers[-1]

    monkeypatch.setattr(benchmark, "_trained", noted)
    benchmark.population("cartpole", 5)
    benchmark.random_search("cartpole", 5)
    whole, *parts = trainers
    assert whole.env_steps == sum(part.env_steps for part in parts) == 8 * 128
    assert {part.iteration for part in parts} == {whole.iteration}
    own = Trainer(whole.config).population
    assert own is not None
    for member, part in zip(own.members, parts, strict=True):
        entry: Any = part.config.policy["agent"]
        assert {name: getattr(entry, name) for name in member.values} == member.values
