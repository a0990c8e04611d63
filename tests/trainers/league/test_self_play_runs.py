"""Runs with opponents: what is kept of them, and that a resumed run goes the uninterrupted one's way bit for bit."""

from __future__ import annotations

import hashlib
import io
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.runs.processes import (
    appeared,
    differences,
    finish,
    finish_group,
    last_state,
    run_folder,
    said,
    start,
)
from tests.trainers.league.run_configs import POOL, RUN_CONFIGS, config_of
from warpworld.config import RunConfig, config_from_dict
from warpworld.errors import RunError
from warpworld.runs import Run
from warpworld.trainers.league.episode_counts import EpisodeCounts
from warpworld.trainers.league.opponents import Weights
from warpworld.trainers.trainer import Trainer


def trained(config: RunConfig, directory: Path, interrupted: bool) -> tuple[Trainer, Run]:
    """A run of nine iterations; if interrupted, by two trainers."""
    trainer = Trainer(config)
    run = trainer.create_run(directory)
    assert run is not None
    if interrupted:
        trainer.train(run, stop=lambda: trainer.iteration == 5)
        run.close()
        run, trainer = Run.open(run.path), Trainer(config, initial_weights=False)
        trainer.resume(run)
    trainer.train(run)
    run.close()
    return trainer, run


def same_trajectory(one: tuple[Trainer, Run], other: tuple[Trainer, Run]) -> None:
    assert one[1].metrics_path.read_bytes() == other[1].metrics_path.read_bytes()
    assert torch.equal(one[0].world.snapshot(), other[0].world.snapshot())
    assert differences(one[0].league.state_dict(), other[0].league.state_dict()) == []
    assert differences(one[0].league.files(), other[0].league.files()) == []
    for name, policy in one[0].policies.items():
        others = other[0].policies[name]
        assert policy is not None and others is not None
        assert differences(policy.state_dict(), others.state_dict()) == []


@pytest.mark.cpu_backend  # where it is bit for bit
@pytest.mark.parametrize("config_name", RUN_CONFIGS)
def test_resumed_halfway(tmp_path: Path, config_name: str) -> None:
    config = config_of(RUN_CONFIGS[config_name], device="cpu")
    whole, halves = (trained(config, tmp_path, cut) for cut in (False, True))
    assert halves[1].checkpoints() == [0, 5, 9]
    same_trajectory(whole, halves)
    league = whole[0].league
    assert (
        sum(
            opponent.games
            for matchmaker in league.matchmakers.values()
            for opponent in matchmaker.state.opponents.values()
        )
        > 0
    )
    for matchmaker in league.matchmakers.values():
        assert matchmaker.state.rating != 1000.0
        assert len(matchmaker.state.pool()) == 3
        assert 0 < matchmaker.state.counts.left_out < matchmaker.state.counts.ended


@pytest.mark.cpu_backend
@pytest.mark.long
def test_a_policy_of_another_run_stays_as_it_was(tmp_path: Path) -> None:
    """Also where that run is trained on, or is gone, before this one is resumed; even at its very beginning."""
    other = trained(config_of(RUN_CONFIGS["lstm"], device="cpu"), tmp_path / "other", False)[1]
    data = {**RUN_CONFIGS["lstm"], "policy": {"both": dict(RUN_CONFIGS["lstm"]["policy"]["both"])}}
    data["policy"]["both"]["self_play"] = {
        **POOL,
        "groups": ["right"],
        "pool_size": 1,
        "opponents": [f"{other.path}#both"],
    }
    config = config_of(data, device="cpu")
    whole = trained(config, tmp_path, False)
    began = Trainer(config).create_run(tmp_path)
    assert began is not None
    began.close()
    shutil.rmtree(other.path)
    with pytest.raises(RunError, match=r"expected a run folder"):
        Trainer(config)
    resumed = Trainer(config, initial_weights=False)
    resumed.resume(began)
    resumed.train(began)
    began.close()
    same_trajectory(whole, (resumed, began))
    (frozen,) = [o for o in whole[0].league.matchmakers["both"].state.opponents.values() if o.kind == "frozen"]
    assert frozen.games > 0
    assert hashlib.sha256((began.opponents_folder / "both-opponent-0.pt").read_bytes()).hexdigest() == frozen.digest


def test_a_slot_plays_with_its_opponents_weights(tmp_path: Path) -> None:
    """The module in a slot has the bits of the opponent's file, and the policy's own weights have moved on."""
    trainer, run = trained(config_of(RUN_CONFIGS["one policy for both sides"]), tmp_path, False)
    matchmaker = trainer.league.matchmakers["fighter"]
    present, seen = trainer.policies["fighter"], 0
    assert present is not None
    for slot, name in zip(matchmaker.slots, matchmaker.state.matches, strict=True):
        opponent = matchmaker.state.opponents[name]
        if opponent.kind == "past":
            seen += 1
            weights = torch.load(run.opponents_folder / opponent.file, weights_only=True)
            assert differences(weights, {k: v.cpu() for k, v in slot.player.state_dict().items()}) == []  # type: ignore[union-attr]
            assert differences(weights, {k: v.cpu() for k, v in present.state_dict().items()})
    assert [(slot.envs.start, slot.envs.stop) for slot in matchmaker.slots] == [(6, 8), (8, 10), (10, 12)]


def test_rows_of_opponents_change_nothing() -> None:
    """With opponents' rewards multiplied the update is the same, bit for bit; with the present's, it is not."""

    def updated(agent: int, envs: slice) -> dict[str, torch.Tensor]:
        trainer = Trainer(config_of(RUN_CONFIGS["one policy for both sides"]))
        trainer.league.begin(0)
        trainer.collector.collect()
        trainer.world["rollout_rewards"][:, envs, agent] *= 7.0
        trainer.collector.check_finite()
        trainer._learn()
        policy = trainer.policies["fighter"]
        assert policy is not None
        return {name: weight.clone() for name, weight in policy.state_dict().items()}

    plain = updated(1, slice(0, 0))
    assert differences(plain, updated(1, slice(6, 12))) == []
    assert differences(plain, updated(0, slice(6, 12)))
    assert differences(plain, updated(1, slice(0, 6)))


def test_who_comes_into_a_slot_remembers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does what is under way there count. Whoever stays remembers, and so do the present selves."""
    trainer = Trainer(config_of(RUN_CONFIGS["lstm"]))
    league, memories = trainer.league, [actor.memory for actor in trainer.collector.actors.values()]
    monkeypatch.setattr("warpworld.trainers.league.matchmaker.draw", lambda *given: [0, 0, 0])
    league.begin(0)
    trainer.collector.collect()
    league.take_results()
    for memory in memories:
        assert memory is not None
        memory.state.fill_(3.0)
    trainer.world["match_whole"][:] = True
    trainer.world["timestep"][:] = 4
    monkeypatch.setattr("warpworld.trainers.league.matchmaker.draw", lambda *given: [0, 1, 0])
    league.begin(2)  # a second past self has joined the pool, and comes into the second slot
    assert league.matchmakers["both"].state.matches == ["both-000000", "both-000002", "both-000000"]
    changed = league.slots[1].envs
    assert (changed.start, changed.stop) == (8, 10)
    for group, memory in zip(("left", "right"), memories, strict=True):
        assert memory is not None
        expected = torch.full_like(memory.state, 3.0)
        if group == "right":
            expected[changed] = 0.0
        assert torch.equal(memory.state, expected)
    assert trainer.world["match_whole"].tolist() == [env not in (8, 9) for env in range(12)]


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return trained(config_of(RUN_CONFIGS["one policy for both sides"], device="cpu"), tmp_path, False)[1]


def resumed(run: Run) -> Trainer:
    trainer = Trainer(run.config, initial_weights=False)
    trainer.resume(run)
    return trainer


def one_file(run: Run) -> Path:
    record = next(o for o in run.load_checkpoint()["league"]["fighter"]["opponents"] if o["file"])
    path: Path = run.opponents_folder / record["file"]
    return path


def test_a_file_that_was_changed_is_refused(run: Run) -> None:
    path = one_file(run)
    data = bytearray(path.read_bytes())
    digest = hashlib.sha256(data).hexdigest()
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    changed = hashlib.sha256(data).hexdigest()
    with pytest.raises(RunError, match=rf"{path.name}' has SHA-256 {changed}, expected {digest}, .*put the file back"):
        resumed(run)


def test_files_stay_as_they_are_where_torch_packs_otherwise(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """As another version of it may: checkpoints know the old bytes."""
    path = one_file(run)
    before = path.read_bytes()

    def packed(weights: Weights) -> bytes:
        file = io.BytesIO()
        torch.save(dict(weights), file, _use_new_zipfile_serialization=False)
        return file.getvalue()

    for module in ("league", "matchmaker"):
        monkeypatch.setattr(f"warpworld.trainers.league.{module}.packed", packed)
    data = run.config.to_dict()
    data["trainer"]["total_env_steps"] += 12 * 7 * 4
    for iteration in (13, 13):  # trained on, then only read
        trainer = Trainer(config_from_dict(data), initial_weights=False)
        opened = Run.open(run.path)
        trainer.resume(opened)
        trainer.train(opened)
        opened.close()
        assert trainer.iteration == iteration
        assert path.read_bytes() == before
    first = trainer.league.matchmakers["fighter"].state.pool()[0]
    assert first.weights is not None and packed(first.weights) != before


def test_a_file_that_is_gone_is_missed(run: Run) -> None:
    path = one_file(run)
    path.unlink()
    with pytest.raises(RunError, match=rf"'{path}' cannot be read \(No such file or directory\), an opponent"):
        resumed(run)


def test_a_file_of_something_else_is_no_weights(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    path = one_file(run)
    path.write_bytes(b"not weights")
    found = hashlib.sha256(b"not weights").hexdigest()
    state = run.load_checkpoint()
    for record in state["league"]["fighter"]["opponents"]:
        if record["file"] == path.name:
            record["digest"] = found
    with pytest.raises(RunError, match=rf"{path.name}' holds no weights"):
        Trainer(run.config).load_state_dict(state, run.opponents_folder)


@pytest.mark.parametrize(
    ("part", "value", "expected"),
    [
        ("rating", float("nan"), "has rating nan, expected a finite number"),
        ("matches", ["nobody"], "matches names 'nobody', which is none of its opponents"),
        ("generator", torch.zeros(3), "has generator .*, expected its state"),
        ("opponents", [{"name": "x"}], "has opponent .*, expected one that warpworld wrote"),
        ("tallies", [{}, {"ended": -1}], "has tallies .*, expected two of played, ended, left_out, numbers"),
        ("tallies", [{"lost": 1}, {}], "has tallies .*, expected two of played, ended, left_out, numbers"),
    ],
)
def test_a_state_that_is_none_changes_nothing(run: Run, part: str, value: Any, expected: str) -> None:
    state = run.load_checkpoint()
    state["league"]["fighter"][part] = value
    trainer = Trainer(run.config)
    before = trainer.world.snapshot()
    with pytest.raises(RunError, match=f"the saved league of policy 'fighter'.*{expected}"):
        trainer.load_state_dict(state, run.opponents_folder)
    assert torch.equal(trainer.world.snapshot(), before)
    assert trainer.iteration == 0


def test_a_run_that_began_without_tallies_goes_on(run: Run) -> None:
    state = run.load_checkpoint()
    assert state["league"]["fighter"]["tallies"][1]["ended"] >= 100
    del state["league"]["fighter"]["tallies"]
    trainer = Trainer(run.config)
    trainer.load_state_dict(state, run.opponents_folder)
    assert trainer.league.matchmakers["fighter"].state.judged == EpisodeCounts()


def test_without_a_folder_the_pool_lives_in_memory(run: Run) -> None:
    trainer = Trainer(run.config)
    trainer.train(None)
    state = trainer.state_dict()
    trainer.load_state_dict(state)  # it has met them
    with pytest.raises(RunError, match=r"opponent 'fighter-\d+', whose weights are in a file of the run's folder"):
        Trainer(run.config).load_state_dict(state)


def test_a_state_without_a_league_is_another_run_s(run: Run) -> None:
    state = run.load_checkpoint()
    del state["league"]
    with pytest.raises(RunError, match="the saved state lacks league"):
        Trainer(run.config).load_state_dict(state, run.opponents_folder)


# --- killed -----------------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.cpu_backend
def test_ended_between_an_opponent_and_its_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = config_of(RUN_CONFIGS["one policy for both sides"], device="cpu")
    config = config_from_dict({**config.to_dict(), "saving": {"checkpoint_every": 3}})
    whole = trained(config, tmp_path, False)
    trainer = Trainer(config)
    run = trainer.create_run(tmp_path)
    assert run is not None
    save = Run.save_checkpoint

    def end(self: Run, iteration: int, state: dict[str, Any]) -> Path:
        if iteration == 6:
            raise KeyboardInterrupt
        return save(self, iteration, state)

    monkeypatch.setattr(Run, "save_checkpoint", end)
    with pytest.raises(KeyboardInterrupt):
        trainer.train(run)
    run.close()
    monkeypatch.undo()
    newest = {record["file"] for record in run.load_checkpoint()["league"]["fighter"]["opponents"]}
    strays = {path.name for path in run.opponents_folder.glob("*.pt")} - newest
    assert "fighter-000004.pt" in strays
    (run.opponents_folder / "fighter-000004.pt").write_bytes(b"of another trajectory")
    (run.opponents_folder / ".fighter-000008.pt.77.tmp").write_bytes(b"unfinished")
    trainer = Trainer(config, initial_weights=False)
    trainer.resume(run)
    trainer.train(run)
    run.close()
    same_trajectory(whole, (trainer, run))
    assert not list(run.path.rglob("*.tmp"))


SMALL = (
    "tag_gridworld", "trainer.device=cpu", "trainer.num_envs=8", "trainer.num_steps=16",
    "trainer.total_env_steps=1280", "env.episode_length=20", "policy.tagger.num_minibatches=2",
    "policy.runner.num_minibatches=2", "policy.tagger.update_epochs=1", "policy.runner.update_epochs=1",
    "saving.checkpoint_every=1",
    "policy.runner.self_play={share: 0.5, slots: 2, snapshot_every: 1, match_every: 1, opponents: [greedy, random]}",
)  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nothing interrupted."""
    folder = tmp_path_factory.mktemp("whole")
    assert finish(folder, "train", *SMALL) == 0, (folder / "err").read_text()
    return run_folder(folder)


@pytest.mark.cpu_backend
@pytest.mark.parametrize(
    "delay",
    [
        0.05,
        *(pytest.param(delay, marks=pytest.mark.slow) for delay in (0.0, 0.16)),
        *(
            pytest.param(0.02 * i, marks=[pytest.mark.slow, pytest.mark.exhaustive])
            for i in range(12)
            if i not in (0, 8)
        ),
    ],
)
@pytest.mark.long
def test_killed_and_resumed(tmp_path: Path, whole: Path, delay: float) -> None:
    process = start(tmp_path, "train", *SMALL)
    appeared(tmp_path, "runs/[!.]*/league/runner-000001.pt", process)
    time.sleep(delay)
    process.kill()
    process.join()
    path = run_folder(tmp_path)
    assert finish(tmp_path, "train", "--resume", str(path)) == 0, (tmp_path / "err").read_text()
    assert differences(last_state(whole), last_state(path)) == []
    assert (whole / "metrics.jsonl").read_bytes() == (path / "metrics.jsonl").read_bytes()


@pytest.mark.cpu_backend
@pytest.mark.heavy
@pytest.mark.long
def test_two_processes_stop_and_any_number_continues(tmp_path: Path) -> None:
    whole, half = tmp_path / "whole", tmp_path / "half"
    assert finish_group(whole, 2, "train", *SMALL) == [0, 0], said(whole)
    assert finish_group(half, 2, "train", *SMALL, "--stop-at", "640") == [0, 0], said(half)
    expected, stopped = run_folder(whole), run_folder(half)
    by_one = shutil.copytree(stopped, tmp_path / "one")
    assert finish_group(half, 2, "train", "--resume", str(stopped)) == [0, 0], said(half)
    assert differences(last_state(expected), last_state(stopped)) == []
    assert (expected / "metrics.jsonl").read_bytes() == (stopped / "metrics.jsonl").read_bytes()
    assert finish(tmp_path, "train", "--resume", str(by_one)) == 0, (tmp_path / "err").read_text()
    one, two = (last_state(path)["league"]["runner"] for path in (by_one, expected))
    assert one["matches"] == two["matches"]
    assert [past["games"] for past in one["opponents"]] == [past["games"] for past in two["opponents"]]


# --- what cannot be built ---------------------------------------------------------------------------------------------


def test_another_run_s_weights_that_do_not_fit(run: Run) -> None:
    def trainer(opponent: str, **model: Any) -> Trainer:
        data = {**RUN_CONFIGS["one policy for both sides"]}
        fighter = {**data["policy"]["fighter"], "model": model}
        fighter["self_play"] = {**fighter["self_play"], "opponents": [opponent]}
        return Trainer(config_of({**data, "policy": {"fighter": fighter}}))

    assert trainer(str(run.path)).league.files()
    with pytest.raises(
        RunError, match=r"self_play.opponents has '.*', whose weights do not fit policy 'fighter': .*size"
    ):
        trainer(f"{run.path}#fighter", hidden_sizes=[5, 5])
    with pytest.raises(RunError, match=r"a run without policy 'figther'. Did you mean 'fighter'\?"):
        trainer(f"{run.path}#figther")
    with pytest.raises(RunError, match=r"opponents has '.*/runs/nowhere': '.*' does not exist, expected a run folder"):
        trainer("runs/nowhere")
