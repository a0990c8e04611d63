"""Cross-play: the first agent plays by one seed's policy, all others by another's."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from warpworld.cli.reproduce.cross_play import Partners, cross_play
from warpworld.cli.reproduce.judging import crossed
from warpworld.cli.reproduce.playing import scores_of
from warpworld.cli.reproduce.sections import Judged
from warpworld.config import RunConfig, load_config
from warpworld.runs import Run, RunFolder
from warpworld.trainers.building import build_world
from warpworld.trainers.group_actors import actor_of
from warpworld.trainers.loaded_policies import load_policies
from warpworld.trainers.trainer import Trainer

pytestmark = pytest.mark.cpu_backend

HOW = Judged(metric="player", agents="sum", episodes=64)


def config(seed: int) -> RunConfig:
    sizes = ["num_envs=8", "num_steps=16", "num_minibatches=1", "trainer.total_env_steps=128"]
    return load_config(
        "foraging", [*sizes, f"trainer.seed={seed}", "env.players=3", "env.force_coop=false", "trainer.device=cpu"]
    )


@pytest.fixture
def runs(tmp_path: Path) -> list[Run]:
    found = []
    for seed in (1, 2):
        run = Run.create(config(seed), tmp_path / str(seed))
        Trainer(run.config).train(run)
        run.close()
        found.append(run)
    return found


@pytest.mark.heavy
def test_each_agent_is_played_by_its_policy(runs: list[Run]) -> None:
    one, other = (load_policies(run)["player"] for run in runs)
    assert one is not None and other is not None
    world = build_world(runs[0].config, 8)
    actor = actor_of(world, "player", Partners(one, other), greedy=False)  # type: ignore[arg-type]
    world.reset()
    seen = actor.observations().clone()
    actor.act()
    outputs, wanted = world["policy_outputs_player"], (one.outputs(seen), other.outputs(seen))
    assert not torch.allclose(*wanted)
    torch.testing.assert_close(outputs[:, :1], wanted[0][:, :1])
    torch.testing.assert_close(outputs[:, 1:], wanted[1][:, 1:])


@pytest.mark.heavy
def test_the_matrix(runs: list[Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its diagonal is what each seed scores by itself; it is played once for the same runs."""
    matrix = cross_play(runs, HOW)
    assert [matrix[i][i] for i in range(2)] == [scores_of(run, HOW)["drawn"] for run in runs]
    assert matrix[0][1] != matrix[1][0] and min(map(min, matrix)) > 0
    folders, path = [RunFolder(run.path) for run in runs], tmp_path / "crossed.json"
    assert crossed(folders, HOW, path) == matrix
    monkeypatch.setattr("warpworld.cli.reproduce.cross_play.play", None)
    assert crossed(folders, HOW, path) == matrix
    with pytest.raises(TypeError):
        crossed(folders[::-1], HOW, path)
