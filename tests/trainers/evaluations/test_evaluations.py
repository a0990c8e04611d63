"""Evaluations during training: their numbers, what they leave alone, the best weights, and when a run ends."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.runs.processes import differences
from tests.trainers.evaluations.evaluated import RUNS, config_of, without_evaluations
from tests.trainers.together import Unwritten, together, trained
from warpworld.config import RunConfig, config_from_dict
from warpworld.errors import RunError
from warpworld.runs import Run
from warpworld.runs.summary import summarise
from warpworld.runs.tensors import load_tensors
from warpworld.trainers.evaluate import evaluate, load_policies
from warpworld.trainers.evaluations import Evaluations
from warpworld.trainers.trainer import Trainer

NAMES = list(RUNS)
ONE_GROUP, TAGS, MEMORY, DQN, SAC = NAMES


def finished(config: RunConfig, directory: Path) -> Run:
    trainer = Trainer(config)
    run = trainer.create_run(directory)
    assert run is not None
    trainer.train(run)
    run.close()
    return run


def unwritten(config: RunConfig) -> tuple[Trainer, Unwritten]:
    trainer, run = Trainer(config), Unwritten()
    trainer.train(run)  # type: ignore[arg-type]
    return trainer, run


# --- what training does not notice ------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_training_takes_the_same_trajectory_with_evaluations_and_without(name: str) -> None:
    states = [unwritten(config)[0].state_dict() for config in (config_of(name), without_evaluations(name))]
    assert states[0].pop("evaluations")["best"]
    kept = [{key: value for key, value in state.items() if key not in ("config", "seconds")} for state in states]
    assert differences(*kept) == []


def test_a_model_that_draws_from_torch_draws_the_same() -> None:
    """Noise is added to what it sees, in evaluations too."""

    def weights(config: RunConfig) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        torch.manual_seed(4)
        trainer, run = Trainer(config), Unwritten()
        policy = trainer.policies["agent"]
        assert policy is not None
        policy.register_forward_pre_hook(lambda module, given: (given[0] + torch.randn_like(given[0]), *given[1:]))
        trainer.train(run)  # type: ignore[arg-type]
        return trainer.state_dict()["policies"], run.lines

    data = config_of(ONE_GROUP, {"eval_episodes": 2}).to_dict()
    data["trainer"]["fused"] = False
    plain = {**data, "saving": {**data["saving"], "eval_every": None}}
    evaluated, lines = weights(config_from_dict(data))
    assert differences(evaluated, weights(config_from_dict(plain))[0]) == []
    assert "eval/agent/score" in lines[2]


# --- numbers ----------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_the_numbers_are_those_of_warpworld_eval(tmp_path: Path) -> None:
    config = config_of(TAGS, {"eval_opponents": ["random"], "checkpoint_every": 2, "eval_every": 2}, fused=False)
    trainer, memory = Trainer(config), Unwritten()
    run = trainer.create_run(tmp_path)
    assert run is not None
    lines: list[dict[str, Any]] = memory.lines
    trainer.train(run, on_iteration=lambda metrics: lines.append(metrics))
    for greedy, kind in ((False, "drawn_return"), (True, "greedy_return")):
        found = evaluate(run, episodes=6, seed=3, greedy=greedy, checkpoint=4)
        for name in ("tagger", "runner"):
            assert lines[3][f"eval/{name}/{kind}"] == found[name]["mean_return"]
            assert lines[3][f"eval/{name}/{kind}/random"] == found[name]["against_random"]
    assert lines[3]["eval/tagger/score"] == lines[3]["eval/tagger/drawn_return/random"]


@pytest.mark.parametrize(
    ("name", "policies", "endings"),
    [
        (ONE_GROUP, ["agent"], ["drawn_return", "greedy_return", "score"]),
        (DQN, ["agent"], ["greedy_return", "score"]),
        (
            TAGS,
            ["tagger", "runner"],
            [
                *("drawn_return", "drawn_return/greedy", "drawn_return/random"),
                *("greedy_return", "greedy_return/greedy", "greedy_return/random", "score"),
            ],
        ),
        (MEMORY, ["both"], ["drawn_return", "drawn_return/random", "greedy_return", "greedy_return/random", "score"]),
    ],
)
def test_what_is_logged_and_when(name: str, policies: list[str], endings: list[str]) -> None:
    _, run = unwritten(config_of(name, {"log_every": 5}))
    found = {line["iteration"]: [key for key in line if key.startswith("eval/")] for line in run.lines}
    assert list(found) == [3, 5, 6, 7]  # an evaluated iteration is logged, and the last is evaluated
    assert found.pop(5) == []
    for keys in found.values():
        assert sorted(keys) == sorted(f"eval/{policy}/{ending}" for policy in policies for ending in endings)
    line = run.lines[0]
    assert {"charts/episodes", "perf/eval_s", "perf/rollout_s"} <= set(line)


@pytest.mark.long
def test_each_episode_is_in_one_line() -> None:
    seldom, often = (unwritten(config_of(TAGS, {"log_every": every}))[1].lines for every in (5, 1))
    counts = [sum(line["charts/episodes"] for line in lines) for lines in (seldom, often)]
    assert counts[0] == counts[1] > 0


def test_the_score_is_the_mean_over_opponents() -> None:
    _, run = unwritten(config_of(TAGS))
    line = run.lines[2]
    for name in ("tagger", "runner"):
        kept = [line[f"eval/{name}/drawn_return/{opponent}"] for opponent in ("greedy", "random")]
        assert line[f"eval/{name}/score"] == sum(kept) / 2


def test_every_evaluation_plays_the_same_episodes() -> None:
    config = config_of(ONE_GROUP)
    data = config.to_dict()
    data["policy"]["agent"]["learning_rate"] = 1e-30  # the policy stays what it is
    _, run = unwritten(config_from_dict(data))
    scores = [line["eval/agent/score"] for line in run.lines if "eval/agent/score" in line]
    assert len(scores) == 3
    assert len(set(scores)) == 1


@pytest.mark.long
def test_several_processes_share_the_games(tmp_path: Path) -> None:
    data = config_of(TAGS, {"eval_opponents": ["greedy", "random"]}, fused=False, torch_threads=1).to_dict()
    data["policy"]["runner"]["self_play"] = None
    config = config_from_dict(data)
    one, other = (found["run"] for found in together(2, tmp_path / "two", trained, {"run": config}))
    assert differences(one["state"]["evaluations"], other["state"]["evaluations"]) == []
    assert not [key for key in other["lines"][1] if other["lines"][1][key] != one["lines"][1][key] and "eval/" in key]
    run = Run.create(config, tmp_path)
    run.save_checkpoint(7, one["state"])
    found = evaluate(run, episodes=6, seed=3)
    last = one["lines"][-1]
    assert last["eval/tagger/drawn_return/random"] == found["tagger"]["against_random"]
    assert last["eval/runner/drawn_return"] == found["runner"]["mean_return"]


# --- the best weights, and the end of a run ---------------------------------------------------------------------------


def scored(monkeypatch: pytest.MonkeyPatch, *scores: Mapping[str, float]) -> None:
    """Let evaluations come to these scores, one after the other."""
    given = iter(scores)

    def returns(evaluations: Evaluations) -> dict[str, float]:
        return {f"eval/{name}/drawn_return": score for name, score in next(given).items()}

    monkeypatch.setattr(Evaluations, "_returns", returns)


def alone(**changes: Any) -> RunConfig:
    return config_of(TAGS, {"eval_opponents": [], "eval_every": 1, "checkpoint_every": 1}, **changes)


def test_each_policy_is_kept_at_its_own_best(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    taggers, runners = [1.0, 3.0, 2.0, 3.0, 0.0, 0.0, 0.0], [-9.0, -9.0, -8.5, -8.0, -7.0, -7.0, -8.0]
    scored(monkeypatch, *({"tagger": a, "runner": b} for a, b in zip(taggers, runners, strict=True)))
    run = finished(alone(), tmp_path)
    state = load_tensors(run.best_path.open("rb"))
    assert state["best"] == {
        "tagger": {"score": 3.0, "iteration": 2, "env_steps": 84},  # the first of equals
        "runner": {"score": -7.0, "iteration": 5, "env_steps": 210},
    }
    for name, iteration in (("tagger", 2), ("runner", 5)):
        assert differences(state["policies"][name], run.load_checkpoint(iteration)["policies"][name]) == []
        policy = load_policies(run, "best")[name]
        assert policy is not None
        assert differences(dict(policy.state_dict()), dict(state["policies"][name])) == []


def test_the_run_ends_once_every_score_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = [(5.0, 0.0), (2.0, 3.0), (4.0, 1.5), (9.0, 9.0)]
    scored(monkeypatch, *({"tagger": a, "runner": b} for a, b in scores))
    trainer, run = unwritten(alone(stop_when={"tagger": 4, "runner": 1.5}))
    assert trainer.iteration == 3
    assert list(run.states) == [0, 1, 2, 3]
    assert trainer.is_finished
    assert trainer.evaluations.ending == "trainer.stop_when is reached: tagger 4.00, runner 1.50"


def test_the_run_ends_without_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = [(1.0, 1.0), (0.5, 2.0), (1.0, 2.0), (0.0, 1.0), (3.0, 3.0)]  # one that improves is progress
    scored(monkeypatch, *({"tagger": a, "runner": b} for a, b in scores))
    trainer, _ = unwritten(alone(patience=2))
    assert trainer.iteration == 4
    assert trainer.evaluations.ending == "no new best score in 2 evaluations (trainer.patience)"


def test_best_is_written_only_where_there_is_a_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    scored(monkeypatch, *({"tagger": score, "runner": 0.0} for score in [1.0, 1.0, 2.0, 0.0, float("nan"), 1.5, 2.0]))
    _, run = unwritten(alone())
    assert [state["best"]["tagger"]["iteration"] for state in run.best] == [1, 3]


# --- resuming ---------------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize(("name", "stop"), [(ONE_GROUP, 1), (ONE_GROUP, 6), (TAGS, 3), (DQN, 5)])
def test_a_resumed_run_is_the_uninterrupted_one(tmp_path: Path, name: str, stop: int) -> None:
    config = config_of(name)
    whole = finished(config, tmp_path / "whole")
    half = Trainer(config)
    run = half.create_run(tmp_path / "half")
    assert run is not None
    half.train(run, stop=lambda: half.iteration == stop)
    again = Trainer(config, initial_weights=False)
    again.resume(run)
    again.train(run)
    run.close()
    states = [{**each.load_checkpoint(), "seconds": 0, "replay": 0} for each in (whole, run)]
    assert differences(*states) == []
    assert run.metrics_path.read_bytes() == whole.metrics_path.read_bytes()
    assert run.best_path.read_bytes() == whole.best_path.read_bytes()


@pytest.mark.parametrize(("back_to", "best"), [(2, 2), (0, None)])
def test_best_goes_back_with_the_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, back_to: int, best: int | None
) -> None:
    scored(monkeypatch, *({"tagger": float(i), "runner": 0.0} for i in range(1, 8)))
    config = config_of(TAGS, {"eval_opponents": [], "eval_every": 2, "checkpoint_every": 2})
    run = finished(config, tmp_path)
    for iteration in run.checkpoints():
        if iteration > back_to:
            run.checkpoint_path(iteration).unlink()
    trainer = Trainer(config)
    trainer.resume(run)
    assert run.best_path.exists() == (best is not None)
    if best is not None:
        assert run.load_checkpoint("best")["best"]["tagger"]["iteration"] == best


@pytest.mark.long
def test_a_run_that_ended_is_finished_until_its_settings_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored(monkeypatch, *({"tagger": 1.0, "runner": 0.0} for _ in range(8)))
    run = finished(alone(stop_when={"tagger": 1}), tmp_path)
    trainer = Trainer(run.config)
    trainer.resume(run)
    assert (trainer.iteration, trainer.is_finished) == (1, True)
    assert trainer.train(run) == {}
    assert run.ending_path.read_text() == "trainer.stop_when is reached: tagger 1.00\n"
    assert summarise(run).state == "finished"
    later = Trainer(alone(stop_when={"tagger": 2}))
    later.resume(run)
    assert not later.is_finished
    assert not run.ending_path.exists()
    later.train(run)
    assert later.iteration == 7
    run.close()


def test_evaluations_can_begin_with_a_resumed_session(tmp_path: Path) -> None:
    trainer = Trainer(without_evaluations(ONE_GROUP))
    run = trainer.create_run(tmp_path)
    assert run is not None
    trainer.train(run, stop=lambda: trainer.iteration == 3)
    later = Trainer(config_of(ONE_GROUP))
    later.resume(run)
    later.train(run)
    run.close()
    assert run.load_checkpoint("best")["best"]["agent"]["iteration"] in (6, 7)


@pytest.mark.parametrize(
    ("damage", "shown"),
    [
        ({"without_progress": -1}, "'without_progress': -1"),
        ({"latest": {"agent": "1"}}, "'latest': {...}"),
        ({"best": {"agent": {"score": 1.0}}}, "'best': {'agent': {...}}"),
        ({"best": {"other": {}}}, "'best': {'other': {}}"),
    ],
)
def test_saved_evaluations_that_something_else_wrote(tmp_path: Path, damage: dict[str, Any], shown: str) -> None:
    run = finished(config_of(ONE_GROUP), tmp_path)
    state = run.load_checkpoint()
    state["evaluations"] |= damage
    run.save_checkpoint(7, state)
    with pytest.raises(RunError) as error:
        Trainer(run.config).resume(run)
    message = str(error.value)
    assert message.startswith(f"run '{run.path}' cannot be resumed: the saved evaluations are {{")
    assert message.endswith(
        "}, expected the best and the latest scores of agent: something other than warpworld wrote or changed them; "
        "remove that checkpoint to continue from an older one"
    )


# --- opponents from other runs ----------------------------------------------------------------------------------------


@pytest.fixture
def other(tmp_path: Path) -> Run:
    return finished(config_of(TAGS, {"eval_every": None, "eval_opponents": []}, seed=5), tmp_path / "other")


def against(other: Run) -> RunConfig:
    return config_of(TAGS, {"eval_opponents": [str(other.path), f"{other.path}#runner"], "checkpoint_every": 1})


@pytest.mark.long
def test_a_frozen_policy_is_met_and_copied(tmp_path: Path, other: Run) -> None:
    config = config_from_dict({**against(other).to_dict()})
    trainer, run = Trainer(config), None
    run = trainer.create_run(tmp_path / "own")
    assert run is not None
    trainer.train(run, stop=lambda: trainer.iteration == 3)
    files = [f"evaluation-{i}-{name}.pt" for i in (0, 1) for name in ("runner", "tagger")]
    assert sorted(path.name for path in run.opponents_folder.glob("evaluation*")) == sorted(files)
    whole = finished(config, tmp_path / "whole")
    for path in other.checkpoint_path(7).parent.glob("*.pt"):
        path.unlink()  # it is not needed any more
    again = Trainer(config, initial_weights=False)
    again.resume(run)
    again.train(run)
    run.close()
    assert run.metrics_path.read_bytes() == whole.metrics_path.read_bytes()
    assert f'"eval/tagger/drawn_return/{other.path.name}"' in run.metrics_path.read_text()
    assert f'"eval/runner/greedy_return/{other.path.name}#runner"' in run.metrics_path.read_text()


@pytest.mark.long
def test_a_copy_that_was_changed(tmp_path: Path, other: Run) -> None:
    run = finished(against(other), tmp_path / "own")
    path = run.opponents_folder / "evaluation-0-runner.pt"
    path.write_bytes(b"changed")
    with pytest.raises(RunError, match=f"'{path}' has SHA-256 [0-9a-f]+, expected [0-9a-f]+, as in the checkpoint"):
        Trainer(run.config, initial_weights=False).resume(run)


def test_a_run_that_is_not_there(tmp_path: Path) -> None:
    config = config_of(TAGS, {"eval_opponents": [str(tmp_path / "gone")]})
    message = rf"^saving.eval_opponents has '{tmp_path}/gone': '{tmp_path}/gone' does not exist, expected a run folder"
    with pytest.raises(RunError, match=message):
        Trainer(config)


def test_a_run_in_place_of_a_random_policy(tmp_path: Path) -> None:
    data = config_of(TAGS, {"eval_opponents": [f"{tmp_path}#x"]}).to_dict()
    data["policy"]["runner"] = {"algorithm": "random"}
    with pytest.raises(RunError) as error:
        Trainer(config_from_dict(data))
    assert str(error.value) == (
        f"saving.eval_opponents has '{tmp_path}#x', but policy 'runner', which it would replace, has no network, "
        "so that of the run is unknown; name a script or random instead"
    )


# --- where there is no best -------------------------------------------------------------------------------------------


def test_no_best_without_evaluations(tmp_path: Path) -> None:
    run = finished(without_evaluations(ONE_GROUP), tmp_path)
    with pytest.raises(RunError) as error:
        evaluate(run, checkpoint="best")
    assert str(error.value) == (
        f"run '{run.path}' has no best.pt, which evaluations write; train with saving.eval_every=20, or name an "
        "iteration"
    )
