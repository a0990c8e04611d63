"""A game step by step: actions, frames, episodes, and what is saved of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.cli.play.named_worlds import Leaving, Strips, Twofold, Walkers, game_of, saved
from warpworld.cli.play import game as game_module
from warpworld.cli.play.game import Game
from warpworld.cli.play.others import Other, find_others
from warpworld.cli.play.saving import Folder, replay_of
from warpworld.config import config_from_dict, load_config
from warpworld.errors import RunError
from warpworld.report import read_replay
from warpworld.trainers.building import build_policies

pytestmark = pytest.mark.cpu_backend


def test_frames_follow_the_env() -> None:
    game = game_of(Walkers, "right")
    first, second = game.frame(), game.step([1])
    assert (first["timestep"], first["returns"], first["end"]) == (0, [0.0, 0.0, 0.0], "")
    assert (second["timestep"], second["returns"], second["reward"]) == (1, [1.0, 11.0, 21.0], 21.0)
    assert second["legal"] == [[True, True]] and second["is_out"] is False
    assert second["marks"][-1]["text"].startswith("1 1 ")


def test_the_persons_action_takes_the_place_of_the_groups_player() -> None:
    game = game_of(Walkers, "left:1", length=40)
    for choice in (1, 0) * 20:
        game.step([choice])
    actions = saved(game)["left/actions"]
    assert actions[:, 1].tolist() == [1, 0] * 20
    assert set(actions[:, 0].tolist()) == {0, 1}  # the other agent of the group acts at random


def test_choices_stand_for_the_values_of_each_part() -> None:
    game = game_of(Twofold, "left:1")
    game.step([1, 2])
    assert game.world["actions_left"][0, 1].tolist() == [1, 2]
    numbers = game_of(Twofold, "right")
    for choices, expected in (([0, 2], [-1.0, 4.0]), ([1, 1], [0.0, 3.0])):
        numbers.step(choices)
        assert numbers.world["actions_right"][0, 0].tolist() == expected


def test_an_episode_ends_and_the_next_one_begins() -> None:
    game = game_of(Walkers, "right")
    frames = [game.step([0]) for _ in range(3)]
    assert [frame["end"] for frame in frames] == ["", "", "terminated"]
    with pytest.raises(RunError, match="the episode has ended; start the next one"):
        game.step([0])
    frame = game.again()
    assert (frame["episode"], frame["timestep"], frame["returns"]) == (2, 0, [0.0, 0.0, 0.0])
    assert game.step([0])["reward"] == 121.0


def test_an_episode_may_be_left_before_its_end() -> None:
    game = game_of(Walkers, "right")
    game.step([0])
    assert (game.again()["episode"], game.step([0])["reward"]) == (2, 121.0)


def test_players_forget_a_game_that_is_left() -> None:
    policies = {name: {"num_minibatches": 1, "model": {"recurrent": "gru"}} for name in ("left", "right")}
    trainer = {"num_envs": 2, "num_steps": 4, "total_env_steps": 80, "device": "cpu"}
    name = f"{Walkers.__module__}:{Walkers.__name__}"
    config = config_from_dict({"name": name, "env": {"length": 40}, "trainer": trainer, "policy": policies})
    built = build_policies(config, config.make_environment(), torch.Generator().manual_seed(1))
    game = Game(config, {group: Other(policy) for group, policy in built.items()}, "right")
    states = [game.world[f"recurrent_state_{group}"] for group in ("left", "right")]
    game.step([0])
    assert all(state.any() for state in states)
    game.again()
    assert not any(state.any() for state in states)


@pytest.mark.parametrize("choices", [None, [], [0, 0], ["0"], [True], [2], [-1], {"0": 0}])
def test_choices_that_there_are_not(choices: object) -> None:
    game = game_of(Walkers)
    with pytest.raises(RunError, match="choice"):
        game.step(choices)
    assert game.frame()["timestep"] == 0


def test_only_legal_choices_are_taken() -> None:
    config = load_config("tic_tac_toe", ["trainer.device=cpu"])
    game = Game(config, find_others(config, "random"))
    assert game.step([4])["legal"] == [[False] * 9]  # the other player's turn
    (legal,) = game.step([0])["legal"]
    assert legal.count(True) == 7 and not legal[4]
    with pytest.raises(RunError, match="choice 4 is not legal"):
        game.step([4])
    frame = game.frame()
    assert frame["choices"][5] == [2.0, 1.0, 3.0, 2.0]


def test_an_agent_that_takes_no_part_is_out() -> None:
    game = game_of(Leaving, "agent:1")
    assert [game.step([0])["is_out"] for _ in range(3)] == [False, False, True]
    assert game.again()["is_out"] is False


def test_without_a_picture_values_are_shown_as_strips() -> None:
    game = game_of(Strips)
    frames = [game.frame(), game.step([0])]
    first, second = ({mark["text"] for mark in frame["marks"] if mark["kind"] == "Text"} for frame in frames)
    assert {"x  3", "0 to 20"} <= first
    assert second == {"0 to 21"}  # the lowest and the highest so far; the rest is known


def test_what_an_agent_sees_is_a_picture_of_its_own() -> None:
    config = load_config("deathmatch", ["trainer.device=cpu"])
    sight = Game(config, find_others(config, "random")).frame()["sight"]
    assert [mark["kind"] for mark in sight["marks"]] == ["Image"] * 3
    assert sight["view"] == [0.0, -3.0, 12.0, 0.0]


def test_a_page_is_sent_only_new_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    game = game_of(Walkers, length=40)
    sizes = [(frame["known"], len(frame["marks"])) for frame in (game.frame(), game.frame(), game.step([0]))]
    assert sizes == [(0, 2), (2, 0), (2, 2)]
    monkeypatch.setattr(game_module, "MOST_MARKS", 4)
    assert [(frame["known"], len(frame["marks"])) for frame in (game.step([0]), game.step([0]))] == [(4, 2), (0, 2)]
    game.forget_marks()
    assert game.frame()["known"] == 0


def texts(frame: dict[str, Any]) -> list[str]:
    return [mark["text"] for mark in frame["marks"] if mark["kind"] == "Text"]


def test_the_other_players_card_is_hidden_until_the_hand_is_over() -> None:
    config = load_config("kuhn_poker", ["trainer.device=cpu"])
    game = Game(config, find_others(config, "random"), "second")
    faces = ["JQK"[card] for card in game.steps[0].arrays["cards"][:2]]
    shown = [text for text in texts(game.frame()) if text]
    assert shown == ["?", faces[1]]
    while not game.has_ended:
        (legal,) = game.frame()["legal"]
        last = game.step([max(legal.index(True) if any(legal) else 0, 0)])
    game.forget_marks()
    assert last["end"] and faces[0] in texts(game.frame()) and "?" not in texts(game.frame())


def test_the_own_hand_of_hanabi_is_hidden() -> None:
    config = load_config("hanabi", ["trainer.device=cpu"])
    frame = Game(config, find_others(config, "random"), "player:1").frame()
    backs = [mark for mark in frame["marks"] if mark.get("text") == "?"]
    assert [mark["y"] for mark in backs] == [1.6] * 5  # in the second player's row
    assert len([text for text in texts(frame) if text in ("1", "2", "3", "4", "5")]) >= 5  # the first player's hand


def test_teammates_see_the_persons_choice_as_the_one_valued_most() -> None:
    """Whatever a learner of values would have done in the person's place."""
    config = load_config("hanabi", ["trainer.device=cpu", "env.greedy_input=true"])
    game = Game(config, find_others(config, "random"), "player:0")
    hint = next(i for i, allowed in enumerate(game.frame()["legal"][0]) if allowed and i >= 10)
    game.world["greedy_choice"][...] = 3
    game.step([hint])
    assert game.world["last_choice"].item() == game.world["last_greedy"].item() == hint


def test_marks_of_a_phantom_game_are_hidden_until_they_are_tried() -> None:
    config = load_config("phantom_tic_tac_toe", ["trainer.device=cpu"])
    game = Game(config, find_others(config, "random"), "second")
    frame = game.step([0])  # the first player's move
    assert game.steps[-1].arrays["cells"].any()
    assert not [mark for mark in frame["marks"] if mark["kind"] == "Discs" and mark["x"] != []]


# ---- saving ----------------------------------------------------------------------------------------------------------
def test_data_has_the_stores_names_and_the_groups() -> None:
    game = game_of(Walkers, "right")
    for _ in range(3):
        game.step([1])
    data = saved(game)
    kinds = ("observations", "actions", "rewards", "terminated", "truncated")
    arrays = {f"{group}/{kind}" for group in ("left", "right") for kind in kinds}
    assert set(data) == {*arrays, "lengths", "envs", "about"}
    assert [data[f"left/{kind}"].shape for kind in kinds] == [(4, 2, 1), *[(3, 2)] * 4]
    assert data["right/observations"].ravel().tolist() == [20.0, 21.0, 22.0, 23.0]  # before the env was reset
    assert data["right/rewards"].ravel().tolist() == [21.0, 22.0, 23.0]
    assert data["right/actions"].ravel().tolist() == [1, 1, 1]
    assert data["right/terminated"].ravel().tolist() == [False, False, True] and not data["right/truncated"].any()
    assert data["lengths"].tolist() == [3]


def test_games_are_saved_as_replays_and_as_arrays(tmp_path: Path) -> None:
    game, folder = game_of(Walkers, "right"), Folder(tmp_path / "games")
    for number in (1, 2):
        while not game.has_ended:
            game.step([1])
        html, npz = folder.save(game)
        assert (html.name, npz.name) == (f"{html.stem}.html", f"{html.stem}.npz")
        assert html.stem.endswith(f"Walkers-{number}")
        text = read_replay(html)
        assert '"episode":[1,1,1,1]' in text and '"actions":["wait","go"]' in text
        assert f"right: played by hand; left: random actions; seed 0, episode {number}" in text
        with np.load(npz) as data:
            assert data["right/rewards"].shape == (3, 1)
            assert json.loads(str(data["about"])) == {
                "environment": game.title,
                "seed": 0,
                "episode": number,
                "played": {"group": "right", "index": 0, "agent": 2},
                "others": ["left: random actions"],
            }
        game.again()


def test_an_unfinished_game_can_be_saved() -> None:
    game = game_of(Walkers, "right")
    game.step([1])
    assert "played by hand" in replay_of(game)
    assert (saved(game)["lengths"].tolist(), saved(game)["right/terminated"].tolist()) == ([1], [[False]])
    begun = saved(game_of(Walkers, "right"))
    assert (begun["lengths"].tolist(), begun["right/observations"].shape) == ([0], (1, 1, 1))
    assert begun["right/actions"].shape == begun["right/rewards"].shape == (0, 1)


def test_long_games_are_kept_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(game_module, "MOST_KEPT", 5)
    game = game_of(Walkers, length=40)
    for _ in range(9):
        game.step([0])
    assert (len(game.steps), game.frame()["timestep"]) == (6, 9)
