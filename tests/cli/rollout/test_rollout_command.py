"""`warpworld rollout`: what is written is what was played, whichever form it has."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import warpworld
from warpworld.cli.main import main
from warpworld.environment import get_environment
from warpworld.runs import Run
from warpworld.trainers import load_policies
from warpworld.trainers.from_python import Episode, played_episodes

pytestmark = pytest.mark.cpu_backend

RUNS = {
    "tag": "tag_gridworld",  # two groups
    "masks": "skirmish",  # agents that die, choices that are forbidden
    "leave": "tag_continuous",  # agents that are caught
    "numbers": "pendulum",  # actions that are numbers
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """A short run of each kind."""
    folder = tmp_path_factory.mktemp("runs")
    for name, environment in RUNS.items():
        groups = get_environment(environment)().groups()
        text = {
            "name": environment,
            "env": {"episode_length": 60 if name == "leave" else 6},
            "trainer": {"num_envs": 4, "num_steps": 8, "total_env_steps": 64, "device": "cpu"},
            "policy": {group.name: {"num_minibatches": 1} for group in groups},
        }
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(text))
        assert main(["train", str(folder / f"{name}.yaml"), "--run", str(folder / name)]) == 0
    return {name: folder / name for name in RUNS}


def played(run: Path, episodes: int = 5) -> list[Episode]:
    """The episodes that the command writes."""
    opened = Run.open(run)
    return played_episodes(opened.config, load_policies(opened), episodes, seed=3)


def write(run: Path, form: str, target: Path) -> None:
    words = ["--episodes", "5", "--seed", "3", "--to", form, "--output", str(target)]
    assert main(["rollout", str(run), *words]) == 0


@pytest.mark.heavy
@pytest.mark.long
@pytest.mark.parametrize("name", RUNS)
def test_episodes_are_those_of_a_world_that_is_stepped_by_hand(name: str, runs: Mapping[str, Path]) -> None:
    """The actions of an episode, put into a world of one env, give its observations, rewards and ends."""
    config = Run.open(runs[name]).config
    for episode in played(runs[name])[:2]:
        world = warpworld.World(config.make_environment(), 5, "cpu", seed=3, autoreset="disabled")
        world.reset()
        for step in range(len(episode)):
            for group in world.groups.values():
                seen = world.observations(group.name)[episode.env].numpy()
                np.testing.assert_array_equal(seen.ravel(), episode.observations[group.name][step].ravel())
                stored = world.actions(group.name)[""]
                stored[episode.env] = stored.new_tensor(episode.actions[group.name][step]).reshape(stored[0].shape)
            world.step()
            for group in world.groups.values():
                counted = world["rewards"][episode.env, group.slice].numpy()
                if episode.agent_mask:
                    counted = np.where(episode.agent_mask[group.name][step], counted, 0.0)
                np.testing.assert_array_equal(counted, episode.rewards[group.name][step])
        for group in world.groups.values():
            seen = world.observations(group.name)[episode.env].numpy()
            np.testing.assert_array_equal(seen.ravel(), episode.observations[group.name][-1].ravel())
            last = (episode.terminated[group.name] | episode.truncated[group.name]).all(axis=1)
            assert last.tolist() == [False] * (len(episode) - 1) + [True]


@pytest.mark.parametrize("name", RUNS)
def test_npz_holds_every_array(name: str, runs: Mapping[str, Path], tmp_path: Path) -> None:
    write(runs[name], "npz", tmp_path / "data.npz")
    episodes = played(runs[name])
    with np.load(tmp_path / "data.npz") as data:
        lengths = data["lengths"]
        assert lengths.tolist() == list(map(len, episodes))
        assert json.loads(str(data["about"]))["seed"] == 3
        for group in episodes[0].rewards:
            assert_parts(data[f"{group}/observations"], lengths + 1, [each.observations[group] for each in episodes])
            for kind in ("actions", "rewards", "terminated", "truncated"):
                assert_parts(data[f"{group}/{kind}"], lengths, [getattr(each, kind)[group] for each in episodes])
        masks = {key for key in data if key.endswith("_mask")}
    kinds = {"masks": {"action_mask"}, "leave": {"agent_mask"}}
    assert {key.split("/")[1] for key in masks} == kinds.get(name, set())
    if name == "leave":
        assert not all(each.agent_mask["runner"].all() for each in episodes)


def assert_parts(together: np.ndarray, lengths: np.ndarray, parts: list[Any]) -> None:
    """An array is its parts, one behind the other."""
    for found, part in zip(np.split(together, np.cumsum(lengths)[:-1]), parts, strict=True):
        assert found.dtype == part.dtype
        np.testing.assert_array_equal(found, part)


@pytest.mark.heavy
@pytest.mark.long
@pytest.mark.parametrize("name", RUNS)
def test_minari_reads_back_what_was_played(
    name: str, runs: Mapping[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    minari = pytest.importorskip("minari", reason="needs minari: make peers")
    write(runs[name], "minari", tmp_path / "sets")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "sets"))
    (identity,) = minari.list_local_datasets()
    data, episodes = minari.load_dataset(identity), played(runs[name])
    assert data.total_episodes == len(episodes)
    for found, episode in zip(data.iterate_episodes(), episodes, strict=True):
        groups = list(episode.rewards)
        assert data.observation_space.contains({group: episode.observations[group][0] for group in groups})
        assert data.action_space.contains({group: episode.actions[group][0] for group in groups})
        assert_same(found.observations, episode.observations)
        assert_same(found.actions, episode.actions)
        np.testing.assert_allclose(found.rewards, sum(episode.rewards[group].sum(1, dtype=float) for group in groups))
        ends = found.terminations | found.truncations
        assert ends.tolist() == [False] * (len(episode) - 1) + [True]
        for kind in ("rewards", "terminated", "truncated", "agent_mask", "action_mask"):
            kept = getattr(episode, kind)
            assert (kind in found.infos) == bool(kept)
            assert_same({group: found.infos[kind][group][1:] for group in kept}, kept)


def assert_same(found: Any, expected: Any) -> None:
    """Dicts have the same keys and equal arrays."""
    assert set(found) == set(expected)
    for key in expected:
        np.testing.assert_array_equal(found[key], expected[key])


@pytest.mark.heavy
@pytest.mark.long
@pytest.mark.parametrize("name", RUNS)
def test_parquet_has_a_row_for_each_agent_and_step(name: str, runs: Mapping[str, Path], tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow: make peers")
    write(runs[name], "parquet", tmp_path / "tables")
    episodes = played(runs[name])
    for group in episodes[0].rewards:
        table = parquet.read_table(tmp_path / "tables" / f"{group}.parquet")
        shapes = json.loads(table.schema.metadata[b"shapes"])
        rows = table.to_pylist()
        assert len(rows) == sum((len(each) + 1) * each.rewards[group].shape[1] for each in episodes)
        for row in rows:
            episode, step, agent = episodes[row["episode"]], row["step"], row["agent"]
            seen = np.reshape(row["observations"], shapes["observations"])
            np.testing.assert_array_equal(seen, episode.observations[group][step, agent])
            if step == len(episode):
                assert row["actions"] is None and row["rewards"] is None
            else:
                np.testing.assert_array_equal(row["actions"], episode.actions[group][step, agent])
                assert row["rewards"] == episode.rewards[group][step, agent]
                assert row["terminated"] == episode.terminated[group][step, agent]


def test_nothing_is_overwritten(runs: Mapping[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "data.npz").write_text("mine")
    assert main(["rollout", str(runs["tag"]), "--output", str(tmp_path / "data.npz")]) == 2
    assert "exists already, and nothing is overwritten" in capsys.readouterr().err
    assert (tmp_path / "data.npz").read_text() == "mine"


@pytest.mark.parametrize("form", ["npz", "parquet", "minari"])
def test_a_place_that_cannot_be_written_is_said_before_anything_is_played(
    form: str, runs: Mapping[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert main(["rollout", str(runs["tag"]), "--to", form, "--output", str(tmp_path / "file" / "x")]) == 2
    assert re.search(
        r"error: '.*/file/x' cannot be written: .*; name another place with --out", capsys.readouterr().err
    )


def test_a_package_that_is_missing_is_named(
    runs: Mapping[str, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(["rollout", str(runs["tag"]), "--to", "minari"]) == 2
    assert "--to minari needs the package minari: pip install 'warpworld[data]'" in capsys.readouterr().err


def test_data_of_a_policy_that_comes_along_lie_in_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["rollout", "pretrained:connect_four", "--episodes", "2", "--device", "cpu"]) == 0
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["rollout.npz"]
