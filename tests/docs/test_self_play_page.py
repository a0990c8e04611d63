"""docs/self-play.md: what it shows is what is run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import torch
import yaml

from tests.docs.pages import blocks, files, page
from tests.scripts import script_outputs
from tests.toys import HEADER, IDLE, agents, environment
from warpworld import Array, World
from warpworld.cli.main import main
from warpworld.config import SelfPlayConfig, load_config
from warpworld.config.self_play import opponents_envs, self_play_entries
from warpworld.runs import Run

pytestmark = pytest.mark.cpu_backend

SHORT = [
    "trainer.device=cpu", "trainer.num_envs=16", "trainer.num_steps=24", "trainer.total_env_steps=1536",
    "env.episode_length=20", "policy.tagger.num_minibatches=2", "policy.runner.num_minibatches=2",
]  # fmt: skip


@pytest.mark.long
def test_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    train, league = (shlex.split(line, comments=True) for line in blocks(page("self-play"), "sh")[0].splitlines())
    monkeypatch.chdir(tmp_path)
    assert main([*train[1:], *SHORT, "saving.checkpoint_every=1"]) == 0
    (run,) = (tmp_path / "runs").iterdir()
    assert main([league[1], str(run), "--episodes", "4", "--members", "2"]) == 0
    out = capsys.readouterr().out
    assert out.rstrip().endswith("league.png") and "greedy" in out
    assert main(["train", "--resume", str(run), "trainer.total_env_steps=1920"]) == 0
    assert Run.open(run).checkpoints()[-1] == 5


def test_the_ranges_of_both_tags() -> None:
    example = yaml.safe_load(blocks(page("self-play"), "yaml")[0])["policy"]
    given = [f"policy.{name}.self_play={entry['self_play']}" for name, entry in example.items()]
    config = load_config("tag_gridworld", given)
    assert config.trainer.num_envs == 400
    envs = opponents_envs(self_play_entries(config), 400)
    assert envs == {"tagger": range(160, 280), "runner": range(280, 400)}
    assert "the first 160 are" in page("self-play")


def test_the_keys_and_their_defaults() -> None:
    rows = re.findall(r"^\| (`[^|]+) \| ([^|]+) \| .*\|$", page("self-play"), re.MULTILINE)
    shown = {}
    for keys, defaults in rows:
        names = re.findall(r"`(\w+)`", keys)
        shown |= dict(zip(names, defaults.replace("`", "").split(", "), strict=True))
    assert shown.pop("groups") == "all of the policy's"
    assert shown.pop("opponents") == "none"
    fields = {name: str(field.default) for name, field in SelfPlayConfig.model_fields.items()}
    assert {name: value.removesuffix(".0") for name, value in fields.items() if name in shown} == shown
    assert set(fields) - set(shown) == {"groups", "opponents"}
    example = yaml.safe_load(blocks(page("self-play"), "yaml")[1])["policy"]["fighter"]["self_play"]
    assert set(example) <= set(fields)


@pytest.mark.heavy
@pytest.mark.long
def test_the_race(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The page's own environment, its scripts, and what is learnt from them."""
    monkeypatch.chdir(tmp_path)
    ((name, text),) = files(page("self-play"))
    Path(name).write_text(text)
    Path("rush.yaml").write_text(blocks(page("self-play"), "yaml")[2])
    assert main(["train", "rush.yaml", "trainer.device=cpu"]) == 0
    (path,) = Path("runs").iterdir()
    assert main(["league", str(path), "--episodes", "40", "--members", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("racer: how often"))
    strongest = [line.split()[0] for line in lines[first + 2 : first + 6]]
    assert "sprinter" in strongest[:3] and "20" in strongest[:3], lines[first:]


@pytest.mark.heavy
@pytest.mark.long
def test_the_other_tag(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    given = [
        *SHORT,
        "env.num_taggers=2",
        "env.num_runners=4",
        "policy.tagger.self_play={slots: 2, opponents: [greedy]}",
    ]
    assert main(["train", "tag_continuous", *given, "policy.runner.self_play={slots: 2}"]) == 0
    (run,) = (tmp_path / "runs").iterdir()
    assert main(["league", str(run), "--episodes", "4", "--members", "2", "--policy", "runner"]) == 0
    assert "the columns: tagger" in capsys.readouterr().out
    assert main(["train", "--resume", str(run), "trainer.total_env_steps=1920"]) == 0
    assert Run.open(run).checkpoints()[-1] == 5


def test_the_script_that_is_a_kernel(tmp_path: Path) -> None:
    """1 while behind, in the env and for the agent that it plays."""
    source, x = tmp_path / "rush.cu", Array("x", "float32", initial=0.0)
    source.write_text(blocks(page("self-play"), "cuda")[0] + IDLE.removeprefix(HEADER))
    groups = [agents(1, name, choices=2) for name in ("player", "rival")]
    rush = environment(source, [x], groups)
    type(rush).scripts = lambda self: {"hesitant": "hesitate"}  # type: ignore[method-assign]
    world = World(rush, 3, "cpu")
    world.seal()
    world["x"].copy_(torch.tensor([[1.0, 2.0], [2.0, 1.0], [1.0, 1.0]]))
    for group, chosen in (("player", [1, 0, 0]), ("rival", [0, 1, 0])):
        assert script_outputs(world, "hesitant", group)[:, 0].argmax(1).tolist() == chosen
