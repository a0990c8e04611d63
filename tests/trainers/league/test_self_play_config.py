"""What a self_play section may say, and what is said of one that cannot be played."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from warpworld.config import RunConfig, SelfPlayConfig, config_from_dict, load_config
from warpworld.config.self_play import opponents_envs, self_play_entries, slots_of
from warpworld.errors import ConfigError

THROWS = {"fighter": {"groups": ["player", "rival"]}}


def config(name: str, policy: dict[str, Any], num_envs: int = 16) -> RunConfig:
    trainer = {"num_envs": num_envs, "num_steps": 4, "total_env_steps": 1000}
    return config_from_dict({"name": name, "trainer": trainer, "policy": policy})


def throws(**self_play: Any) -> RunConfig:
    return config(
        "tests.trainers.league.duels:Throws", {"fighter": {"groups": ["player", "rival"], "self_play": self_play}}
    )


def tags(tagger: dict[str, Any] | None, runner: dict[str, Any] | None = None, **also: Any) -> RunConfig:
    return config("tag_gridworld", {"tagger": {"self_play": tagger, **also}, "runner": {"self_play": runner}})


def test_the_ranges_of_envs() -> None:
    entries = self_play_entries(tags({"share": 0.25, "slots": 2}, {"share": 0.5, "slots": 3}))
    assert [entry.groups for entry in entries.values()] == [("tagger",), ("runner",)]  # left out: all of the policy's
    envs = opponents_envs(entries, 16)
    assert envs == {"tagger": range(4, 8), "runner": range(8, 16)}
    assert slots_of(envs["runner"], 3) == [range(8, 10), range(10, 13), range(13, 16)]


@pytest.mark.parametrize("num_envs", range(1, 60))
def test_ranges_lie_behind_each_other_whatever_the_shares(num_envs: int) -> None:
    for shares in ([0.5, 0.5], [0.1, 0.2, 0.7], [1 / 3] * 3, [0.25, 0.25], [1.0]):
        entries = {str(i): SelfPlayConfig(share=share) for i, share in enumerate(shares)}
        ranges = list(opponents_envs(entries, num_envs).values())
        assert all(a.stop == b.start for a, b in itertools.pairwise(ranges))
        assert ranges[-1].stop == num_envs
        assert ranges[0].start == round(num_envs * max(0.0, 1 - sum(shares)) + 1e-9)
        assert all(abs(len(found) - share * num_envs) <= 1 for found, share in zip(ranges, shares, strict=True))


def test_overrides_of_a_packaged_config() -> None:
    assert load_config("tag_gridworld").policy["runner"].self_play is None  # type: ignore[union-attr]
    given = "policy.runner.self_play={opponents: [greedy, random]}", "policy.runner.self_play.share=0.25"
    found = load_config("tag_gridworld", given).policy["runner"].self_play  # type: ignore[union-attr]
    assert found is not None
    assert (found.share, found.slots, found.opponents) == (0.25, 4, ("greedy", "random"))
    assert load_config("tag_gridworld", ["policy.runner.self_play={}"]).policy["runner"].self_play == SelfPlayConfig()  # type: ignore[union-attr]


def test_a_share_of_one_where_everybody_still_learns() -> None:
    assert throws(groups=["rival"], share=1.0)
    assert tags({"share": 0.5}, {"share": 0.5})


def test_what_could_be_a_folder_is_a_run() -> None:
    for opponent in ("runs/other", "other#fighter", "../there"):
        assert throws(groups=["rival"], opponents=[opponent, "rock", "random"])


def test_runs_are_known_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that is named by its folder alone, from another folder, and when it is gone."""
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path)
    found = throws(groups=["rival"], opponents=["mine", "mine#fighter", "rock"])
    expected = (str(tmp_path / "mine"), f"{tmp_path / 'mine'}#fighter", "rock")
    (tmp_path / "mine").rmdir()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    again = config_from_dict(found.to_dict())
    assert again == found
    for read in (found, again):
        assert read.policy["fighter"].self_play.opponents == expected  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: throws(groups=["rivals"]), r"'rivals' is not a group of policy 'fighter'. Did you mean 'rival'"),
        (lambda: throws(groups=["rival", "rival"]), r"self_play.groups names a group twice"),
        (
            lambda: throws(),
            r"self_play.groups: opponents play player, rival, and these are all groups: no policy would learn there",
        ),
        (
            lambda: config("tag_gridworld", {"tagger": {"self_play": {}}, "runner": {"algorithm": "random"}}),
            r"opponents play tagger, and besides them only runner play, which are not trained: no policy would learn",
        ),
        (
            lambda: throws(groups=["rival"], opponents=["rok"]),
            r"opponents: 'rok' is neither a script of the environment nor a run folder. Did you mean 'rock'\? "
            r"Known: rock, random, RUN, RUN#NAME",
        ),
        (lambda: throws(groups=["rival"], opponents=["rock", "rock"]), r"opponents names an opponent twice"),
        (lambda: throws(groups=["rival"], pool_size=0), r"pool_size is 0 and there are no opponents, expected"),
        (lambda: throws(groups=["rival"], share=0.0), r"self_play.share is 0.0, expected more than 0"),
        (lambda: throws(groups=["rival"], share=1.5), r"self_play.share is 1.5, expected at most 1"),
        (lambda: throws(groups=["rival"], slots=0), r"self_play.slots is 0, expected at least 1"),
        (lambda: throws(groups=["rival"], elo_k=-1), r"self_play.elo_k is -1, expected more than 0"),
        (lambda: throws(groups=["rival"], elo_k=1e9), r"self_play.elo_k is 1000000000.0, expected at most 1000"),
        (lambda: throws(groups=["rival"], match_making="hard"), r"match_making is 'hard', expected 'prioritised' or"),
        (lambda: throws(groups=["rival"], slotz=3), r"self_play.slotz is not a known key. Did you mean 'slots'\?"),
        (
            lambda: throws(groups=["rival"], share=0.25, slots=5),
            r"policy.fighter.self_play: 5 slots in 4 envs \(share 0.25 of 16\), expected an env for each",
        ),
        (
            lambda: throws(groups=["rival"], share=0.01, slots=1),
            r"1 slots in 0 envs \(share 0.01 of 16\), expected an env for each",
        ),
        (
            lambda: tags({"share": 0.75}, {"share": 0.5}),
            r"the shares of self_play add up to 1.25 \(tagger 0.75, runner 0.5\), expected 1 at most",
        ),
        (
            lambda: tags({"share": 1.0}),
            r"policy 'tagger' would never learn: opponents play all its groups in all envs; lower the share",
        ),
        (
            lambda: tags({"share": 0.98}),  # of 16 envs, which are all
            r"policy 'tagger' would never learn: opponents play all its groups in all envs; lower the share",
        ),
        (lambda: tags({}, train=False), r"policy.tagger.self_play: policy 'tagger' is not trained, so that it"),
        (
            lambda: config("tag_gridworld", {"tagger": {"algorithm": "random", "self_play": {}}, "runner": {}}),
            r"policy.tagger.self_play is not a known key of random, which does not learn. Known:",
        ),
        (
            lambda: config("tests.trainers.small_worlds:Aim", {"archer": {"self_play": {}}}),
            r"group 'archer' acts in a Box, expected Discrete or MultiDiscrete",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_played(make: Any, expected: str) -> None:
    with pytest.raises(ConfigError, match=expected):
        make()
