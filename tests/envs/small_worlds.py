"""Small worlds of all packaged environments, and four of different kinds for what is the framework's own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from tests.cases import seldom
from warpworld.packaged import packaged_names

# Few agents and short episodes, so that a handful of steps sees many ends. A name that is not here is run as it is.
SMALL: dict[str, list[dict[str, Any]]] = {
    "acrobot": [dict(episode_length=9)],
    "mountain_car": [dict(episode_length=9)],
    "mountain_car_continuous": [dict(episode_length=9)],
    "battle": [dict(army_size=3, map_size=12, view_radius=3, episode_length=9, damage=11.0)],
    "cartpole": [dict(episode_length=25), dict(episode_length=25, randomize={"gravity": (5.0, 15.0)})],
    "chain": [dict(length=4, episode_length=9)],
    "coin_game": [dict(episode_length=9)],
    "coins": [dict(episode_length=9)],
    "deathmatch": [
        dict(
            **dict(plans="box", res=32, subsample=4, episode_length=9, fire_cone=45.0, cooldown=1, kills_to_win=1),
            **dict(players=2),
        ),
        dict(num_plans=2, max_rooms=7, res=32, subsample=4, episode_length=9, players=2, rivals=2, megastep_rules=True),
    ],
    "delayed_reward": [dict(decisions=5, delay=2)],
    "epidemic": [dict(regions=3, episode_length=9, region_interval=2, government_interval=4, delay=3)],
    "explorer": [dict(num_plans=2, max_rooms=7, res=32, subsample=4, episode_length=9)],
    "foraging": [
        dict(rows=5, cols=6, players=3, max_num_food=2, sight=2, episode_length=9),
        dict(
            **dict(rows=4, cols=5, players=3, max_num_food=2, sight=2, episode_length=9, grid_observation=True),
            randomize={"present_players": (1, 3), "present_food": (1, 2)},
        ),
    ],
    "hanabi": [
        dict(colors=2, ranks=3, hand_size=2, max_information_tokens=3, max_life_tokens=1),
        dict(colors=2, ranks=3, hand_size=2, max_information_tokens=3, max_life_tokens=1, other_play=True),
    ],
    "hide_and_seek": [
        dict(episode_length=9, preparation=4),
        dict(
            **dict(hiders=3, seekers=1, boxes=3, doors=2, random_rooms=True, hiders_start_inside=False),
            **dict(episode_length=9, preparation=2, near_doors=0.5),
            randomize={"start_away": (0.0, 1.0)},
        ),
        dict(
            **dict(hiders=2, seekers=2, boxes=1, long_boxes=1, ramps=2, rooms=3, lidar_rays=4, central_critics=True),
            **dict(episode_length=25, preparation=2),
        ),
    ],
    "minatar_asterix": [dict(episode_length=25)],
    "minatar_breakout": [dict(episode_length=25)],
    "minatar_freeway": [dict(episode_length=9)],
    "minatar_seaquest": [dict(episode_length=25)],
    "minatar_space_invaders": [dict(episode_length=9)],
    "overcooked": [dict(episode_length=9, start="random")],
    "particles_adversary": [dict(agents=2, episode_length=9)],
    "particles_pursuit": [dict(agents=2, adversaries=3, episode_length=9)],
    "particles_crypto": [dict(episode_length=9)],
    "particles_push": [dict(episode_length=9)],
    "particles_reference": [dict(episode_length=9)],
    "particles_speaker_listener": [dict(episode_length=9)],
    "particles_simple": [dict(episode_length=9)],
    "particles_world_comm": [dict(episode_length=9)],
    "particles_spread": [dict(agents=3, episode_length=9)],
    "pendulum": [dict(episode_length=9)],
    "point_goal": [
        dict(num_plans=2, max_rooms=7, res=32, subsample=4, episode_length=9),
        dict(num_plans=2, max_rooms=7, res=32, subsample=4, episode_length=9, goal_distance=(1.0, 4.0)),
    ],
    "recall": [dict(cues=3, delay=5)],
    "skirmish": [
        dict(scenario="2m1g_vs_3z", map_width=12, map_height=8, episode_length=9),
        dict(scenario="smacv2_2_vs_3_units", map_width=12, map_height=8, episode_length=9),
    ],
    "tag_gridworld": [
        dict(num_taggers=4, grid_length=4, episode_length=9, use_full_observation=True),
        dict(num_taggers=4, grid_length=4, episode_length=9, use_full_observation=False),
        dict(num_taggers=4, grid_length=4, episode_length=9, start="fixed"),
    ],
    "tag_continuous": [
        dict(num_taggers=2, num_runners=3, episode_length=9, tagging_distance=0.2, use_full_observation=True),
        dict(num_taggers=2, num_runners=3, episode_length=9, tagging_distance=0.2, use_full_observation=False),
        dict(num_taggers=2, num_runners=3, episode_length=9, tagging_distance=0.2, observe_own_state=True),
        dict(num_taggers=2, num_runners=3, episode_length=9, tagging_distance=0.1, start="fixed"),
    ],
    "warehouse": [dict(column_height=1, agents=4, episode_length=9)],
    "waypoint": [dict(num_plans=2, max_rooms=7, res=32, subsample=4, episode_length=9)],
}

# What sets how long episodes may get, a parameter that kernels take at run time; of the others episode_length.
LENGTH = {"delayed_reward": "decisions", "recall": "delay"}
BY_RULES_ALONE = (
    "connect_four",
    "hanabi",
    "kuhn_poker",
    "leduc_poker",
    "phantom_tic_tac_toe",
    "signalling",
    "switch_riddle",
    "tic_tac_toe",
)  # no parameter changes when episodes end


def of_length(name: str, params: dict[str, Any], steps: int) -> dict[str, Any]:
    """The parameters with episodes of another length, where one sets it."""
    return params if name in BY_RULES_ALONE else {**params, LENGTH.get(name, "episode_length"): steps}


def label(params: dict[str, Any]) -> str:
    """The parameters that tell a case from the others of its environment."""
    if "observe_own_state" in params:
        return "own-state"
    if "randomize" in params:
        return "randomized"
    if "start" in params:
        return f"{params['start']}-start"
    return {True: "full", False: "partial", None: "default"}[params.get("use_full_observation")]


NAMES = packaged_names()
CASES = [pytest.param(name, params, id=f"{name}-{label(params)}") for name in NAMES for params in SMALL.get(name, [{}])]

# Chosen by what differs for the framework: how many agents act and when, what resets change, what arrays belong to, how
# many kernels make a step, and with how many threads.
KINDS = {
    "cartpole-randomized": "one agent; resets draw parameters anew for each env",
    "connect_four-default": "agents take turns, under a mask of legal actions; nothing limits an episode but the rules",
    "tag_continuous-partial": "two groups of floats, whose agents leave before the episode ends",
    "waypoint-default": "pixels; several kernels with threads of their own, and arrays of the world",
}


def framework_s(cases: Iterable[Any]) -> list[Any]:
    """Cases of a test of the framework: those of the four kinds stay, `make exhaustive` runs the others.

    Args:
        cases: names of environments, or cases of CASES.
    """
    names = [kind.partition("-")[0] for kind in KINDS]
    params = [case if hasattr(case, "values") else pytest.param(case, id=case) for case in cases]
    return [
        param if param.id in KINDS or param.id in names else pytest.param(*param.values, id=param.id, marks=seldom)
        for param in params
    ]


each_case = pytest.mark.parametrize(("name", "params"), CASES)
each_kind = pytest.mark.parametrize(("name", "params"), framework_s(CASES))
