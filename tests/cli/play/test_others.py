"""Who plays the other agents: policies of a run, scripts, or random actions."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.play.named_worlds import Strips, Walkers
from tests.report.recorded_worlds import config_of, run_of
from warpworld.cli.play.game import Game
from warpworld.cli.play.others import find_others
from warpworld.config import config_from_dict
from warpworld.envs.tag_gridworld.tag_gridworld import TagGridworld
from warpworld.errors import WarpworldError

pytestmark = pytest.mark.cpu_backend


def test_the_policies_of_a_run_play_their_groups(tmp_path: Path) -> None:
    run = run_of(Walkers, tmp_path, checkpoints=(0, 7))
    others = find_others(run.config, str(run.path), greedy=True, checkpoint=0)
    assert others["left"].player is not None and others["left"].greedy
    assert others["right"].about == f"policy 'right' of {run.path}, likeliest actions"
    game = Game(run.config, others, "left:1")
    assert game.others() == [
        f"other left: policy 'left' of {run.path}, likeliest actions",
        f"right: policy 'right' of {run.path}, likeliest actions",
    ]
    assert game.step([1])["timestep"] == 1


def test_scripts_play_where_there_are_any() -> None:
    config = config_of(TagGridworld)
    assert {other.about for other in find_others(config, None).values()} == {"script 'greedy'"}
    assert {other.about for other in find_others(config, "random").values()} == {"random actions"}
    assert {other.about for other in find_others(config_of(Walkers), None).values()} == {"random actions"}
    assert find_others(config, "greedy")["runner"].about == "script 'greedy'"


@pytest.mark.long
def test_the_script_of_a_config_comes_first() -> None:
    trainer = {"num_envs": 2, "num_steps": 4, "total_env_steps": 80, "device": "cpu"}
    policies = {"player": {"num_minibatches": 1}, "rival": {"script": "walker"}}
    config = config_from_dict({"name": "deathmatch", "trainer": trainer, "policy": policies})
    assert find_others(config, None)["rival"].about == "script 'walker'"


def test_sources_that_do_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    strips, empty = run_of(Strips, tmp_path / "a"), run_of(Walkers, tmp_path / "b", checkpoints=())
    small = run_of(TagGridworld, tmp_path / "c", num_taggers=2)
    tag = config_of(TagGridworld, num_taggers=3)
    for config, source, message in (
        (
            config_of(Walkers),
            str(strips.path),
            "its policies were trained in 'tests.cli.play.named_worlds:Strips'",
        ),
        (config_of(Walkers), str(empty.path), "has no checkpoint"),
        (
            tag,
            str(small.path),
            "'tagger' observes Box(0.0, 1.0, (17,), float32) then, and its networks",
        ),
        (tag, "greddy", "--policy greddy is no run folder and no script of tag_gridworld. Did you mean 'greedy'?"),
        (tag, "runs/none", "'runs/none' does not exist, expected a run folder."),
    ):
        with pytest.raises(WarpworldError) as raised:
            find_others(config, source)
        assert message in str(raised.value) and "\n" not in str(raised.value)
