"""What PettingZoo's environments hand over: names, ends, numbers and masks of their agents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from warpworld import World
from warpworld.environment import get_environment
from warpworld.errors import DeclarationError
from warpworld.world.random_actions import RandomActions

pytest.importorskip("pettingzoo")
pytestmark = pytest.mark.cpu_backend


def odd(num_envs: int = 1, **options: Any) -> World:
    environment = get_environment("external")(library="pettingzoo", id="tests.adapters.external.odd", options=options)
    world = World(environment, num_envs, "cpu")
    world.reset()
    return world


def rows(world: World, name: str) -> list[Any]:
    return world.data.numpy(name)[0].tolist()


# ---- names -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("agents", "group"), [("words", "a"), ("numbers", "agent"), ("spaces", "red_team"), ("pairs", "agent_0__1")]
)
def test_ids_that_are_no_identifiers(agents: str, group: str) -> None:
    world = odd(agents=agents)
    assert next(iter(world.groups)) == group
    world.step()
    assert rows(world, "rewards") == [1.5, 1.5]  # of shape (1,) each
    assert rows(world, "observations") == [[1.0], [1.0]]


# ---- ends ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("keeps", [False, True])
def test_an_agent_that_is_reported_done_has_left(keeps: bool) -> None:
    world, seen = odd(keeps=keeps), []
    for _ in range(4):
        world.step()
        names = ("agent_mask", "rewards", "agent_terminated", "terminated", "truncated")
        seen.append([world.data.numpy(name)[0].tolist() for name in names])
    assert seen == [
        [[True, True], [1.5, 1.5], [False, False], False, False],
        [[True, True], [1.5, 1.5], [True, False], False, False],
        [[False, True], [0.0, 1.5], [False, True], True, False],
        [[True, True], [1.5, 1.5], [False, False], False, False],
    ]


# ---- what is refused -------------------------------------------------------------------------------------------------
WHERE = "external: pettingzoo 'tests.adapters.external.odd': "


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("no agents", "possible_agents is [], expected a list of at least one agent"),
        ("twins", "possible_agents is ['a_0', 'a_1', 'a_0'], expected each agent once"),
        ("lists", "possible_agents is [['a_0'], ['a_1']], expected names that are hashable: unhashable type: 'list'"),
        ("twins now", "env 0: agents is ['a_0', 'a_1', 'a_0'], expected each agent once"),
        (
            "lists now",
            "env 0: agents is ['a_0', ('a_1', [1])], expected names that are hashable: unhashable type: 'list'",
        ),
        ("old reset", "env 0: reset() returned dict, expected (observations, infos)"),
        ("stranger", "env 0: agents has 'ghost', which is not one of possible_agents."),
        ("missing", "env 0: reset(): observations lack agent 'a_1', expected a key for each agent that took part"),
        (
            "shape",
            "env 0, agent 'a_1': reset(): observation is float32 of shape (2,), expected numbers of shape (1,), as its "
            "space Box(0.0, 100.0, (1,), float32) has",
        ),
    ],
)
def test_faults_of_a_reset(fault: str, message: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        odd(fault=fault)
    assert str(caught.value) == f"{WHERE}{message}"


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (
            "old step",
            "env 0: step() returned a tuple of 4, expected (observations, rewards, terminations, truncations, infos)",
        ),
        ("reward", "env 0: step(): rewards['a_0'] is float64 of shape (2,), expected one number"),
        ("flag", "env 0: step(): terminations['a_0'] is 'no' (str), expected True or False"),
        ("lacks", "env 0: step(): rewards lack agent 'a_0', expected a key for each agent that took part"),
        (
            "wrong key",
            "env 0: step(): rewards have the key 'a_00', which is not one of possible_agents. Did you mean 'a_0'?",
        ),
    ],
)
def test_faults_of_a_step(fault: str, message: str) -> None:
    world = odd(fault=fault)
    with pytest.raises(DeclarationError) as caught:
        world.step()
    assert str(caught.value) == f"{WHERE}{message}"


# ---- masks -----------------------------------------------------------------------------------------------------------
def test_masks_in_infos() -> None:
    world = odd(2, masks="infos")
    assert rows(world, "action_mask") == [[True, True, False]] * 2
    world.step()
    assert rows(world, "action_mask") == [[True, True, True]] * 2
    assert "action_mask" not in odd()


def test_masks_that_fit_nothing() -> None:
    with pytest.raises(DeclarationError) as caught:
        odd(masks="infos", fault="mask")
    assert str(caught.value) == (
        f"{WHERE}env 0, agent 'a_0': infos['action_mask'] is float64 of shape (4,), expected 3 truth values, one for "
        "each choice of Discrete(3)"
    )
    world = odd(masks="steps")
    world.step()
    with pytest.raises(
        DeclarationError, match=r"env 0, agent 'a_0' has an action mask in step\(\), but had none in reset\(\)"
    ):
        world.step()


# ---- turns -----------------------------------------------------------------------------------------------------------
def test_players_take_turns() -> None:
    world = World(get_environment("external")(library="pettingzoo", id="tests.adapters.external.turns"), 1, "cpu")
    world.request("final_observations")
    world.reset()
    assert [(group.name, group.size, group.observation.shape) for group in world.groups.values()] == [
        ("player", 3, (2,))
    ]
    trajectory = []
    for action in (1, 0, 3, 1):  # of player 0, of player 1, who drops out, of player 2, who ends it, and of player 0
        moves = world.data.numpy("action_mask")[0].any(1).tolist()
        world["actions"] = action
        world.step()
        names = ("rewards", "agent_mask", "agent_terminated", "terminated")
        trajectory.append(
            [
                moves,
                *(rows(world, name) if name != "terminated" else bool(world[name][0]) for name in names),
            ]
        )
    all_play, none = [True] * 3, [False] * 3
    assert trajectory == [
        [[True, False, False], [0, 1, 1], all_play, none, False],
        [[False, True, False], [0, 0, 0], all_play, [False, True, False], False],
        [[False, False, True], [1, 0, 0], [True, False, True], [True, False, True], True],
        [[True, False, False], [0, 1, 1], all_play, none, False],
    ]


def test_only_legal_moves_reach_a_game() -> None:
    """The env asserts it."""
    world = World(get_environment("external")(library="pettingzoo", id="tests.adapters.external.turns"), 3, "cpu")
    world.reset()
    actions = RandomActions(world, 0)
    ends = torch.zeros(3)
    for _ in range(60):
        actions.draw()
        actions.put(world, slice(None))
        world.step()
        ends += world["terminated"]
    assert (ends > 3).all()


@pytest.mark.long
@pytest.mark.parametrize("game", ["connect_four_v3", "tictactoe_v3"])
def test_boards_of_pettingzoo(game: str) -> None:
    environment = get_environment("external")(library="pettingzoo", id=f"pettingzoo.classic.{game}")
    world = World(environment, 2, "cpu", seed=3)
    world.reset()
    assert world.data.numpy("action_mask").any(2).tolist() == [[True, False]] * 2
    for step in range(4):
        world["actions"] = step
        world.step()
        assert world.data.numpy("action_mask").any(2).tolist() == [[step % 2 == 1, step % 2 == 0]] * 2
    assert np.count_nonzero(world.data.numpy("observations")[0, 0]) == 4
