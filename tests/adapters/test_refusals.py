"""What adapters refuse, and in which words."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

import warpworld
from tests.adapters.worlds import world
from tests.toys import environment
from warpworld import Group, World
from warpworld.adapters.rules.protocols import PROTOCOLS
from warpworld.adapters.single import Env
from warpworld.adapters.vector import VectorEnv
from warpworld.errors import DeclarationError, StoreError

NAMES = ", ".join(PROTOCOLS)


def made(**options: Any) -> Any:
    return warpworld.make(**{"name": "cartpole", "num_envs": 8, "device": "cpu", "num_workers": 1, **options})


def refusal(error: type[Exception], call: Callable[[], Any]) -> str:
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"api": "gymnaisum"}, f"api='gymnaisum': expected one of {NAMES}. Did you mean 'gymnasium'?"),
        ({"api": None}, f"api=None: expected one of {NAMES}."),
        (
            {"api": "gymnasium", "autoreset": "nextstep"},
            "autoreset='nextstep': expected one of same_step, next_step, disabled. Did you mean 'next_step'?",
        ),
        ({"api": "gymnasium", "agents": "row"}, "agents='row': expected one of auto, axis, rows. Did you mean 'rows'?"),
        ({"api": "gymnasium", "render_mode": "human"}, "render_mode='human': expected 'rgb_array' or None"),
    ],
)
def test_of_make(given: dict[str, Any], message: str) -> None:
    assert refusal(DeclarationError, lambda: made(**given)) == message


@pytest.mark.parametrize(
    ("see", "act", "what"), [(3, 2, "see different things"), (2, 3, "act in different ways")], ids=["see", "act"]
)
def test_groups_unlike_each_other(see: int, act: int, what: str) -> None:
    groups = [Group("wolf", 1, Box(0, 1, (2,)), Discrete(2)), Group("sheep", 1, Box(0, 1, (see,)), Discrete(act))]
    toy = World(environment(None, groups=groups, phases=[], resets=[]), 2, "cpu", num_workers=1)
    assert refusal(DeclarationError, lambda: VectorEnv(toy)) == (
        f"Toy: groups 'wolf' and 'sheep' {what}, which a VectorEnv cannot express; use "
        "api='parallel_vector' or the World itself"
    )


@pytest.mark.parametrize("protocol", [protocol for protocol in PROTOCOLS.values() if protocol.adapter])
def test_packages_that_are_missing(protocol: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert refusal(DeclarationError, lambda: made(api=protocol.name)) == (
        f"api='{protocol.name}' needs {protocol.package}, which is not installed: pip install 'warpworld[adapters]'"
    )


@pytest.mark.parametrize("protocol", [protocol for protocol in PROTOCOLS.values() if protocol.adapter])
def test_what_is_no_world(protocol: Any) -> None:
    message = f"api='{protocol.name}' wraps a World, not 'cartpole'"
    assert refusal(DeclarationError, lambda: protocol.spoken_by("cartpole")) == message


@pytest.mark.parametrize("protocol", [protocol for protocol in PROTOCOLS.values() if protocol.one_env])
def test_protocols_of_one_env(protocol: Any) -> None:
    assert refusal(DeclarationError, lambda: made(api=protocol.name)) == (
        f"api='{protocol.name}' is one env: num_envs=8, expected 1; "
        f"many envs are api='{'parallel_vector' if protocol.name in ('parallel', 'aec') else 'gymnasium'}'"
    )


@pytest.mark.parametrize("protocol", [protocol for protocol in PROTOCOLS.values() if len(protocol.autoresets) == 1])
def test_ways_to_reset_that_a_protocol_has_no_word_for(protocol: Any) -> None:
    (only,) = protocol.autoresets
    other = "disabled" if only != "disabled" else "next_step"
    assert refusal(DeclarationError, lambda: made(api=protocol.name, num_envs=1, autoreset=other)) == (
        f"api='{protocol.name}': autoreset='{other}', expected '{only}'"
    )


# ---- a vector env ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([0, 0, 0, 7, 0, 0], "actions: env 3 has 7, expected 0 to 1"),
        ([0, 0, 0, 0, 0, -1], "actions: env 5 has -1, expected 0 to 1"),
        ([0, 2**32, 0, 0, 0, 0], "actions: env 1 has 4294967296, which an int32 does not hold"),
        (np.zeros(7, np.int64), "actions: shape (7,), expected (6,)"),
        (np.zeros((6, 1), np.int64), "actions: shape (6, 1), expected (6,)"),
        (0, "actions: shape (), expected (6,)"),
        (np.zeros(6), "actions: expected whole numbers, got float64"),
        (["left"] * 6, "actions: expected whole numbers, got <U4"),
        ([[0], [0, 1]], "actions: [[0], [0, 1]] (list) makes no array, expected an array of shape (6,)"),
    ],
)
def test_actions_of_choices(actions: Any, message: str) -> None:
    env = VectorEnv(world())
    env.reset()
    env.step(np.zeros(6, np.int64))
    before = env.world["timestep"].clone()
    assert refusal(StoreError, lambda: env.step(actions)) == message
    assert env.world["timestep"].equal(before)
    env.step(np.ones(6, np.uint8))


@pytest.mark.parametrize("api", ["single", "dm", "gym"])
def test_an_action_that_makes_no_array(api: str) -> None:
    pytest.importorskip({"dm": "dm_env"}.get(api, "gymnasium"))
    env = made(num_envs=1, api=api)
    env.reset()
    assert refusal(StoreError, lambda: env.step([[0], [0, 1]])) == (
        "action: [[0], [0, 1]] (list) makes no array, expected an array"
    )


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        (None, "actions: shape (), expected one for each of 8 envs"),
        ([0] * 9, "actions: shape (9,), expected one for each of 8 envs"),
        ([[0], [0, 1]], "actions: [[0], [0, 1]] (list) makes no array, expected an array"),
    ],
)
def test_actions_of_a_pool(actions: Any, message: str) -> None:
    env = made(api="pool")
    env.reset()
    assert refusal(StoreError, lambda: env.step(actions)) == message


@pytest.mark.parametrize("actions", [None, [0, 0]])
def test_actions_that_name_no_agents(actions: Any) -> None:
    pytest.importorskip("pettingzoo")
    env = made(num_envs=1, api="parallel")
    env.reset()
    assert refusal(StoreError, lambda: env.step(actions)) == (
        f"actions are {type(actions).__name__}, expected a dict with a key for each agent"
    )


@pytest.mark.parametrize("place", [0, 1500, 1999])
@pytest.mark.parametrize("others", [1, -1])
@pytest.mark.parametrize("number", [2**31, -(2**63), 2**32])
def test_many_actions_that_an_int32_does_not_hold(number: int, others: int, place: int) -> None:
    env = VectorEnv(world(num_envs=2000))
    env.reset()
    actions = np.full(2000, others)
    actions[place] = number
    assert refusal(StoreError, lambda: env.step(actions)) == (
        f"actions: env {place} has {number}, which an int32 does not hold"
    )


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([[0.0, np.nan], [0.0, 0.0]], "actions: env 0, part 1 has nan, expected -1 to 1"),
        ([[0.0, 0.0], [1.5, 0.0]], "actions: env 1, part 0 has 1.5, expected -1 to 1"),
        (np.zeros((2, 2), object), "actions: expected numbers, got object"),
        (np.zeros(2), "actions: shape (2,), expected (2, 2)"),
    ],
)
def test_actions_of_numbers(actions: Any, message: str) -> None:
    groups = [Group("agent", 1, Box(0, 1, (2,)), Box(-1, 1, (2,)))]
    toy = environment(None, groups=groups, phases=[], resets=[])
    env = VectorEnv(World(toy, 2, "cpu", num_workers=1, check_actions=True))
    env.reset()
    assert refusal(StoreError, lambda: env.step(actions)) == message


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"rest_mask": np.ones(6, bool)},
            DeclarationError,
            "options: no 'rest_mask'. Did you mean 'reset_mask'?",
        ),
        (
            {"wind": 2.0},
            DeclarationError,
            "options: no 'wind'. Known: reset_mask, gravity, cart_mass, pole_mass, pole_length, force",
        ),
        ({"gravity": [9.8, 1.6]}, StoreError, "parameter 'gravity': shape (2,), expected one number or (6,)"),
        ({"reset_mask": np.ones(6, np.int64)}, TypeError, "reset_mask: int64, expected bool"),
        ({"reset_mask": [True] * 6}, TypeError, "reset_mask: list, expected bool"),
        ({"reset_mask": np.ones(7, bool)}, ValueError, "reset_mask: shape (7,), expected (6,)"),
        ({"reset_mask": np.zeros(6, bool)}, ValueError, "reset_mask: chooses no env"),
    ],
)
def test_options_of_a_reset(options: dict[str, Any], error: type[Exception], message: str) -> None:
    env = VectorEnv(world())
    env.reset()
    assert refusal(error, lambda: env.reset(options=options)) == message


@pytest.mark.parametrize(
    ("seed", "message"),
    [
        ([1] * 7, "seed: 7 entries, expected one for each of 6 envs"),
        (-1, "seed=-1: expected a whole number of at least 0 and below 2^64"),
        ([0, 1, -1, 3, 4, 5], "seed[2]=-1: expected a whole number of at least 0 and below 2^64"),
        (0.5, "seed=0.5: expected a whole number of at least 0 and below 2^64"),
    ],
)
def test_seeds(seed: Any, message: str) -> None:
    env = VectorEnv(world())
    assert refusal(DeclarationError, lambda: env.reset(seed=seed)) == message


def test_steps_at_the_wrong_time() -> None:
    env = VectorEnv(world())
    actions = np.zeros(6, np.int64)
    mask = {"reset_mask": np.array([True] * 5 + [False])}
    assert refusal(StoreError, lambda: env.step(actions)) == "no episode has begun; call reset() before step()"
    assert refusal(StoreError, lambda: env.reset(options=mask)) == (
        "the first reset() starts every env; call it without a mask"
    )
    env.reset()
    env.close()
    assert refusal(StoreError, lambda: env.step(actions)) == "the env is closed"
    assert refusal(StoreError, env.reset) == "the world is closed"


@pytest.mark.parametrize(
    ("ended", "message"),
    [
        ([4], 'env 4 has ended; reset it with options={"reset_mask": ...}'),
        ([3, 7], 'envs 3 and 7 have ended; reset them with options={"reset_mask": ...}'),
        (range(20), 'envs 0, 1, 2 and 17 more have ended; reset them with options={"reset_mask": ...}'),
    ],
)
def test_steps_of_envs_that_have_ended(ended: Any, message: str) -> None:
    env = VectorEnv(world(num_envs=20, autoreset="disabled"))
    env.reset()
    actions, over = np.ones(20, np.int64), np.isin(np.arange(20), list(ended))
    env.step(actions)
    env.world["truncated"] = over
    env.step(actions)
    assert refusal(StoreError, lambda: env.step(actions)) == message
    env.reset(options={"reset_mask": over})
    env.step(actions)


def test_ended_envs_that_a_reset_leaves_out() -> None:
    env = VectorEnv(world(autoreset="disabled"))
    env.reset()
    over = np.array([False, True, False, True, False, False])
    env.step(np.ones(6, np.int64))
    env.world["truncated"] = over
    env.step(np.ones(6, np.int64))
    env.reset(options={"reset_mask": np.arange(6) == 1})
    assert refusal(StoreError, lambda: env.step(np.ones(6, np.int64))) == (
        'env 3 has ended; reset it with options={"reset_mask": ...}'
    )
    env.reset()
    env.step(np.ones(6, np.int64))


def test_ended_envs_sit_steps_out_where_nothing_is_checked() -> None:
    env = VectorEnv(world(autoreset="disabled", check_actions=False))
    env.reset()
    for _ in range(30):
        env.step(np.ones(6, np.int64))
    assert (env.world["timestep"] < 25).all()


def test_pictures_that_cannot_be_had() -> None:
    env = VectorEnv(world())
    env.reset()
    assert refusal(DeclarationError, env.render) == "render(): make the env with render_mode='rgb_array'"
    env = VectorEnv(world(), render_mode="rgb_array")
    env.reset()
    assert refusal(DeclarationError, lambda: env.render(envs=[6])) == "render(): env 6, expected 0 to 5"


# ---- a single env ----------------------------------------------------------------------------------------------------
def test_single_envs() -> None:
    env = Env(world(num_envs=1, autoreset="disabled"))
    assert refusal(StoreError, lambda: env.step(0)) == "no episode has begun; call reset() before step()"
    assert refusal(DeclarationError, lambda: env.reset(seed=-1)) == (
        "seed=-1: expected a whole number of at least 0 and below 2^64"
    )
    env.reset()
    assert refusal(StoreError, lambda: env.step(2)) == "actions: env 0 has 2, expected 0 to 1"
    assert refusal(StoreError, lambda: env.step([1])) == "actions: shape (1, 1), expected (1,)"
    assert refusal(DeclarationError, env.render) == "render(): make the env with render_mode='rgb_array'"
    over = False
    while not over:
        over = env.step(1)[2]
    assert refusal(StoreError, lambda: env.step(1)) == "the episode has ended; call reset() before step()"
    env.reset()
    env.step(1)
    env.close()
    assert refusal(StoreError, lambda: env.step(1)) == "the env is closed"
