"""Policies that come with the package: what they score, where their names are taken, and what is refused."""

from __future__ import annotations

import json
import math
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

import warpworld
from tests.docs.pages import DOCS
from tools.pretrained_scores import PRETRAINED, Pretrained, scores
from tools.train_pretrained import BEGIN, END, KEPT, TRAINED_WITH, table
from warpworld.cli.main import main
from warpworld.config import load_config
from warpworld.errors import ConfigError, RunError
from warpworld.packaged import pretrained_folder, pretrained_runs
from warpworld.runs import Run, RunFolder
from warpworld.runs.pretrained import FILE, check_format, resolved_run
from warpworld.trainers import load_policies
from warpworld.trainers.trainer import Trainer

pytestmark = pytest.mark.cpu_backend

NAMES = [entry.config for entry in PRETRAINED]
TAKES = dict.fromkeys(("tag_continuous", "deathmatch", "minatar_breakout"), pytest.mark.heavy)
TAKES["connect_four"] = pytest.mark.long
FEW, SEED = 100, 7  # episodes, and their seed, which no stated score is of
DOUBT = 4.4  # standard errors: a right score misses by more in one of 100,000 tests


@pytest.fixture
def copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of pretrained policies, with a copy of one that a test may change."""
    folder = tmp_path / "package"
    shutil.copytree(pretrained_folder() / "overcooked", folder / "overcooked")
    for module in ("warpworld.packaged", "warpworld.runs.pretrained.resolving"):
        monkeypatch.setattr(f"{module}.pretrained_folder", lambda: folder)
    return folder


def change(folder: Path, **values: Any) -> None:
    path = folder / "overcooked" / FILE
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


# ---- what ships ------------------------------------------------------------------------------------------------------
def test_every_policy_is_small_and_holds_what_playing_needs() -> None:
    assert sorted(NAMES) == list(pretrained_runs())
    files = [path for path in pretrained_folder().rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 3_000_000
    for name, folder in pretrained_runs().items():
        run = RunFolder.open(f"pretrained:{name}")
        assert tuple(run.load_checkpoint()) == KEPT
        assert load_config(folder / "config.yaml").trainer.seed == check_format(folder)["seed"] == TRAINED_WITH
        assert {path.name for path in folder.iterdir()} == {"config.yaml", "checkpoints", FILE}


def test_the_page_has_the_table_of_what_ships() -> None:
    shown = (DOCS / "pretrained.md").read_text().partition(BEGIN)[2].partition(END)[0]
    assert shown.strip().splitlines() == list(table()), "python -m tools.train_pretrained --page writes it anew"


@pytest.mark.parametrize(
    "entry", [pytest.param(entry, id=entry.config, marks=TAKES.get(entry.config, ())) for entry in PRETRAINED]
)
def test_each_reaches_its_stated_score(entry: Pretrained) -> None:
    """In other episodes than those that were judged: both are samples of the same mean."""
    run = Run.open(f"pretrained:{entry.config}")
    stated = check_format(run.path)["scores"]
    for before, (game, now) in zip(stated, scores(run, entry, FEW, SEED), strict=True):
        assert (before["policy"], before["metric"], before["against"]) == (game.policy, game.metric, game.against)
        spread = max(before["deviation"], 0.05 * abs(before["mean"]))
        doubt = DOUBT * spread * math.sqrt(1 / now.episodes + 1 / before["episodes"])
        assert abs(now.mean - before["mean"]) <= doubt, (game, now)
        assert before["mean"] - doubt > before["random"], f"{game}: hardly more than random actions"


# ---- where names are taken -------------------------------------------------------------------------------------------
def test_policies_are_loaded_by_name() -> None:
    cook = warpworld.load_policy("pretrained:overcooked")
    world = warpworld.make("overcooked", num_envs=2, device="cpu")
    world.reset()
    assert cook.act(world["observations"]).shape == (2, 2)
    with pytest.raises(RunError, match="has policies tagger, runner; name one of them"):
        warpworld.load_policy("pretrained:tag_continuous")
    assert warpworld.load_policy("pretrained:tag_continuous", "runner") is not None


def small(*overrides: str, name: str = "overcooked") -> Any:
    few = ["trainer.num_envs=4", "trainer.num_steps=16", "trainer.total_env_steps=64", "trainer.device=cpu"]
    return load_config(name, [*few, *overrides])


def weights_of(policy: Any) -> torch.Tensor:
    return torch.cat([weight.detach().flatten() for weight in policy.parameters()]).cpu()


def test_runs_start_with_their_weights() -> None:
    config = small("initial_weights=pretrained:overcooked", "num_minibatches=1", name="pretrained:overcooked")
    saved = load_policies(Run.open("pretrained:overcooked"))["cook"]
    assert torch.equal(weights_of(Trainer(config).policies["cook"]), weights_of(saved))


def test_they_are_opponents() -> None:
    met = "self_play={groups: [rival], share: 0.5, slots: 1, pool_size: 0, opponents: ['pretrained:deathmatch']}"
    config = small(f"policy.fighter.{met}", "num_minibatches=1", "schedules={}", name="deathmatch")
    assert config.policy["fighter"].self_play.opponents == ("pretrained:deathmatch",)  # type: ignore[union-attr]
    (opponent,) = Trainer(config).league.matchmakers["fighter"].state.opponents.values()
    saved = load_policies(Run.open("pretrained:deathmatch"))["fighter"]
    assert saved is not None and opponent.weights is not None
    assert all(torch.equal(opponent.weights[name], weight) for name, weight in saved.state_dict().items())


def test_settings_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["params", "pretrained:tag_continuous"]) == 0
    assert re.search(r"^  num_taggers: 5 ", capsys.readouterr().out, re.MULTILINE)


def test_commands_write_into_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(pretrained_folder().rglob("*"))
    assert main(["watch", "--pretrained", "overcooked", "episode_length=3", "--no-gif"]) == 0
    assert "overcooked, iteration 1,220, actions drawn, seed 0: 1 episode of 3 steps" in capsys.readouterr().out
    assert main(["trace", "pretrained:overcooked", "env.episode_length=3"]) == 0
    assert main(["report", "pretrained:overcooked", "--no-replay"]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"replay.html", "trace.npz", "report.html"}
    assert main(["compare", "pretrained:overcooked", "pretrained:overcooked"]) == 0
    assert [path for path in sorted(pretrained_folder().rglob("*")) if path not in before] == []


# ---- what is refused -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("command", ["eval", "export", "league", "report", "trace", "watch"])
def test_an_unknown_name(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "pretrained:overcoked"]) == 2
    known = ", ".join(sorted(NAMES))
    message = f"error: there is no pretrained policy 'overcoked'. Did you mean 'overcooked'? Known: {known}\n"
    assert capsys.readouterr().err == message


def test_an_unknown_name_in_a_config() -> None:
    expected = "there is no pretrained policy 'deathmach'. Did you mean 'deathmatch'?"
    with pytest.raises(ConfigError, match=expected):
        load_config("pretrained:deathmach")
    with pytest.raises(RunError, match=f"policy.cook.initial_weights is 'pretrained:deathmach': {expected}"):
        Trainer(small("initial_weights=pretrained:deathmach", "num_minibatches=1"))


def test_no_run_at_all(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("watch", "eval"):
        with pytest.raises(SystemExit) as end:
            main([command])
        assert end.value.code == 2
        assert capsys.readouterr().err.endswith(f"warpworld {command}: error: expected RUN, or --pretrained NAME\n")


def test_weights_of_another_environment() -> None:
    with pytest.raises(RunError) as caught:
        Trainer(small("initial_weights=pretrained:minatar_breakout", "num_minibatches=1"))
    message = str(caught.value)
    assert "\n" not in message and message.startswith("policy.cook.initial_weights is 'pretrained:minatar_breakout', ")
    assert "do not fit policy 'cook'" in message and message.endswith("in the environment 'minatar_breakout'")


def test_a_policy_of_another_format(copies: Path) -> None:
    change(copies, format=2, warpworld="9.1.0")
    expected = (
        "pretrained policy 'overcooked' has format 2, written by warpworld 9.1.0, and warpworld "
        f"{warpworld.__version__} reads format 1: install warpworld 9.1.0 to play it"
    )
    with pytest.raises(RunError) as caught:
        resolved_run("pretrained:overcooked")
    assert str(caught.value) == expected


def test_a_policy_that_observed_something_else(copies: Path) -> None:
    cook = {"observation": {"": "float32 (9,)"}, "action": {"": "(6,)"}}
    change(copies, spaces={"cook": cook}, warpworld="0.0.9")
    with pytest.raises(RunError) as caught:
        Run.open("pretrained:overcooked")
    assert str(caught.value) == (
        "pretrained policy 'overcooked' was trained by warpworld 0.0.9 with group 'cook' of observations float32 (9,) "
        f"and actions (6,), and in warpworld {warpworld.__version__} it is of observations uint8 (22, 4, 5) and "
        "actions (6,): install warpworld 0.0.9, or train it again: warpworld train overcooked"
    )


@pytest.mark.parametrize("text", ["{", "[]", '{"format": 1}', "null"])
def test_a_damaged_description(copies: Path, text: str) -> None:
    (copies / "overcooked" / FILE).write_text(text)
    with pytest.raises(RunError, match=rf"'.*{FILE}' cannot be read: .*; install warpworld anew"):
        resolved_run("pretrained:overcooked")


def test_it_is_not_trained_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "--resume", "pretrained:overcooked"]) == 2
    assert capsys.readouterr().err == (
        "error: pretrained policy 'overcooked' comes with the package and is not trained on; start a run of your own "
        "with policy.NAME.initial_weights=pretrained:overcooked\n"
    )
    assert not (pretrained_folder() / "overcooked" / ".lock").exists()
