"""Exceptions and wrong results of libraries: each is one error that names library, env, agent, action and remedy."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from tests.adapters.external.raising import Raising, Wrong
from warpworld import World
from warpworld.adapters.external.player_pools import PlayerPools
from warpworld.adapters.external.pool_envs import PoolEnvs
from warpworld.environment import get_environment
from warpworld.errors import DeclarationError

pytestmark = pytest.mark.cpu_backend

LOOK = ". Look for the fault in the environment; from Python, __cause__ of this error has the traceback"
MADE = ". Check env.options; from Python, __cause__ of this error has the traceback"


def stepped(num_envs: int = 3, steps: int = 3, **params: Any) -> World:
    world = World(get_environment("external")(**params), num_envs, "cpu")
    world.reset()
    for _ in range(steps):
        world["actions"] = 2
        world.step()
    return world


def message(**params: Any) -> str:
    with pytest.raises(DeclarationError) as caught:
        stepped(**params)
    assert caught.value.__cause__ is not None or "raised" not in str(caught.value)
    return str(caught.value)


@pytest.fixture(autouse=True)
def registered() -> Any:
    """Two ids of Gymnasium."""
    gymnasium.register("Raising-v0", entry_point=Raising)
    gymnasium.register("Wrong-v0", entry_point=Wrong)
    yield
    for name in ("Raising-v0", "Wrong-v0"):
        gymnasium.registry.pop(name)


# ---- gymnasium -------------------------------------------------------------------------------------------------------
@pytest.mark.long
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_the_env_that_raised_is_named(mode: str) -> None:
    params = {
        "library": "tests.adapters.external.raising:only_one",
        "options": {"number": 1, "mode": mode, "call": "step"},
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # Gymnasium would warn with the worker's whole traceback
        found = message(**params)
    where = "external: tests.adapters.external.raising:only_one: env 1"
    assert found == f"{where}: step(np.int64(2)) raised KeyError: 'a\\nkey'{LOOK}"


@pytest.mark.long
def test_an_exception_that_only_its_worker_can_make() -> None:
    options = {"number": 1, "mode": "async", "call": "step", "kind": "decoding"}
    found = message(library="tests.adapters.external.raising:only_one", options=options)
    assert "env 1: step(np.int64(2)) raised UnicodeDecodeError: 'ascii' codec can't decode byte 0xff" in found


@pytest.mark.long
def test_a_worker_that_dies() -> None:
    options = {"number": 1, "mode": "async", "call": "step", "kind": "death"}
    found = message(library="tests.adapters.external.raising:only_one", options=options)
    assert "step(array([2, 2, 2])) raised " in found and "(a worker process of the library has ended)" in found


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("make", f" cannot be made: KeyError: 'a\\nkey'{MADE}"),
        ("reset", f": env 0: reset() raised KeyError: 'a\\nkey'{LOOK}"),
        ("step", f": env 0: step(np.int64(2)) raised KeyError: 'a\\nkey'{LOOK}"),
    ],
)
def test_each_call_of_an_env(call: str, expected: str) -> None:
    assert message(id="Raising-v0", options={"call": call}) == f"external: gymnasium 'Raising-v0'{expected}"


@pytest.mark.parametrize(
    ("kind", "needs"),
    [
        ("package", "no_such_package, which is not installed: pip install no_such_package"),
        (
            "extra",
            'a package that is not installed: Box2D is not there, run `pip install "gymnasium[box2d]"`',
        ),
    ],
)
@pytest.mark.parametrize(("call", "where"), [("make", ""), ("reset", ": env 0: reset()")])
def test_a_package_that_is_found_missing_late(kind: str, needs: str, call: str, where: str) -> None:
    found = message(id="Raising-v0", options={"call": call, "kind": kind})
    assert found == f"external: gymnasium 'Raising-v0'{where} needs {needs}"


@pytest.mark.parametrize(("kind", "raised"), [("long", "ValueError: xxx"), ("speechless", "SpeechlessError. Look")])
def test_texts_of_any_kind(kind: str, raised: str) -> None:
    found = message(id="Raising-v0", options={"call": "step", "kind": kind})
    assert f"raised {raised}" in found and len(found) < 800


def test_an_interrupt_passes() -> None:
    with pytest.raises(KeyboardInterrupt):
        stepped(id="Raising-v0", options={"call": "step", "kind": "interrupt"})


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ("reward None", "env 0: step(): reward is None (NoneType), expected one number"),
        ("reward NaN", "env 0: step(): reward is nan, expected a finite number that float32 holds"),
        ("reward too large", "env 0: step(): reward is 1e+300, expected a finite number that float32 holds"),
        ("end None", "env 0: step(): terminated is None (NoneType), expected True or False"),
        ("end in words", "env 0: step(): terminated is 'no' (str), expected True or False"),
        (
            "shape",
            "env 0: step(): observation is float32 of shape (2,), expected numbers of shape (1,), as its space "
            "Box(0.0, 9.0, (1,), float32) has",
        ),
        (
            "dtype",
            "env 0: step(): observation, whose space is Box(0, 255, (1,), uint8), has 0.5, expected whole numbers from "
            "0 to 255. Correct the environment or its space",
        ),
        (
            "choice",
            "env 0: step(): observation, whose space is Discrete(3), has 7, expected "
            "whole numbers from 0 to 2. Correct the environment or its space",
        ),
        (
            "flag",
            "env 0: step(): observation, whose space is MultiBinary(2), has 2, expected "
            "whole numbers from 0 to 1. Correct the environment or its space",
        ),
    ],
)
def test_results_that_do_not_fit(result: str, expected: str) -> None:
    assert message(id="Wrong-v0", options={"result": result}) == f"external: gymnasium 'Wrong-v0': {expected}"


def test_a_step_of_the_old_gym() -> None:
    assert "(step() must return (observation, reward, terminated, truncated, info))" in message(
        id="Wrong-v0", options={"result": "old step"}
    )


@pytest.mark.parametrize(
    ("result", "value", "expected"),
    [
        ("integer", "16777217", "whole numbers that float32, in which the store holds them, does not round"),
        (
            "unsigned",
            "18446744073709551615",
            "whole numbers that float32, in which the store holds them, does not round",
        ),
        ("float64", "1e+300", "numbers within the range of float32"),
    ],
)
def test_numbers_that_the_store_would_change(result: str, value: str, expected: str) -> None:
    found = message(id="Wrong-v0", options={"result": result})
    assert f"has {value}, expected {expected}. Wrap the env in gymnasium.wrappers.TransformObservation(env, " in found


@pytest.mark.parametrize("result", ["reward of shape (1, 1)", "ends of other types", "even integer"])
def test_results_that_fit(result: str) -> None:
    world = stepped(id="Wrong-v0", options={"result": result})
    assert (world.data.numpy("rewards") == 1).all() and not world.data.numpy("terminated").any()
    if result == "even integer":
        assert (world.data.numpy("observations") == 2**24 + 2).all()


@pytest.mark.parametrize(
    ("fault", "value", "expected"),
    [
        ("mask", 1, ": infos['action_mask'] is 1, expected a row for each env, and for env 0"),
        ("mask", [], ": infos['action_mask'] is [], expected a row for each env, and for env 0"),
        ("final", 1, ": infos['final_obs'] is 1, expected a row for each env, and for env 0"),
        ("final", [[0.0, 0.0]], ": infos['final_obs'] is [[0.0, 0.0]], expected a row for each env, and for env 1"),
        ("number", None, " returned 2 envs, expected num_envs=1"),
    ],
)
def test_batches_that_lack_rows(fault: str, value: Any, expected: str) -> None:
    found = message(library="tests.adapters.external.shapes:shapes", options={"fault": fault, "value": value})
    assert found == f"external: tests.adapters.external.shapes:shapes{expected}"


# ---- pettingzoo ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("make", f": env 0 cannot be made: KeyError: 'a\\nkey'{MADE}"),
        ("observation_space", f": agent 'a_0': observation_space() raised KeyError: 'a\\nkey'{LOOK}"),
        ("reset", f": env 0: reset() raised KeyError: 'a\\nkey'{LOOK}"),
        ("step", f": env 0: step({{'a_0': np.int64(2), 'a_1': np.int64(2)}}) raised KeyError: 'a\\nkey'{LOOK}"),
        ("close", f": env 0: close() raised KeyError: 'a\\nkey'{LOOK}"),
    ],
)
def test_each_call_of_a_parallel_env(call: str, expected: str) -> None:
    pytest.importorskip("pettingzoo")
    found = message(library="pettingzoo", id="tests.adapters.external.raising_parallel", options={"call": call})
    assert found == f"external: pettingzoo 'tests.adapters.external.raising_parallel'{expected}"


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("observe", f"env 0, agent 'a_1': observe() raised KeyError: 'a\\nkey'{LOOK}"),
        ("step", f"env 0, agent 'a_0': step(np.int64(2)) raised KeyError: 'a\\nkey'{LOOK}"),
        ("agents", f"env 0: agents raised KeyError: 'a\\nkey'{LOOK}"),
        ("terminations", f"env 0: terminations raised KeyError: 'a\\nkey'{LOOK}"),
        ("terminations late", f"env 0: terminations raised KeyError: 'a\\nkey'{LOOK}"),
        ("agents late", f"env 0: agents raised KeyError: 'a\\nkey'{LOOK}"),
        ("agent_selection", "env 0: agent_selection is None, expected one that has not ended: 'a_0', 'a_1'"),
        ("rewards", "env 0: after step(): rewards are NoneType, expected a dict with a key for each agent"),
    ],
)
def test_each_call_of_a_turn_based_env(call: str, expected: str) -> None:
    pytest.importorskip("pettingzoo")
    found = message(library="pettingzoo", id="tests.adapters.external.raising_turns", options={"call": call})
    assert found == f"external: pettingzoo 'tests.adapters.external.raising_turns': {expected}"


# ---- envpool ---------------------------------------------------------------------------------------------------------
class _Pool:
    """Two envs of two players, if it is asked for these; ``fault`` is what is wrong with a step."""

    observation_space, action_space = Box(0.0, 9.0, (1,), np.float32), Discrete(3)
    config = {"max_num_players": 2}  # noqa: RUF012, EnvPool's own form

    def __init__(self, fault: str, players: int) -> None:
        self._fault, self._players = fault, players

    def _shown(self) -> Any:
        infos = {"env_id": np.arange(2), "players": {"env_id": np.repeat(np.arange(2), self._players)}}
        return np.zeros((2 * self._players, 1), np.float32), infos

    def reset(self, envs: Any = None) -> Any:
        return self._shown()

    def step(self, actions: np.ndarray) -> Any:
        if self._fault == "raise":
            raise RuntimeError(f"no action {actions[0]}")
        seen, infos = self._shown()
        rewards, ends = np.ones(2 * self._players), np.zeros(2, np.bool_)
        if self._fault == "reward":
            rewards[1] = np.nan
        if self._fault == "rewards":
            rewards = rewards[:1]
        if self._fault == "ids":
            del infos["env_id"]
        if self._fault == "old step":
            return seen, rewards, ends, infos
        return seen, rewards, None if self._fault == "end" else ends, ends, infos


@pytest.mark.parametrize("players", [1, 2])
@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("raise", f" raised RuntimeError: no action 2{LOOK}"),
        ("reward", "step(): reward is nan, expected a finite number that float32 holds"),
        ("old step", "returned a tuple of 4, expected (observations, rewards, terminations, truncations, infos)"),
        ("end", "step(): terminations are object of shape (), expected one number for each env, (2,)"),
    ],
)
def test_faults_of_a_pool(fault: str, expected: str, players: int) -> None:
    kind: Any = PoolEnvs if players == 1 else PlayerPools
    envs = kind(_Pool(fault, players), 2, "external: envpool 'Own-v0'")
    envs.reset(0)
    with pytest.raises(DeclarationError) as caught:
        envs.step({envs.groups[0].name: np.full((2, players, 1), 2)})
    assert str(caught.value).startswith("external: envpool 'Own-v0': ") and expected in str(caught.value)


@pytest.mark.parametrize(("players", "row"), [(1, "env, (2,)"), (2, "player of each env, (4,)")])
def test_a_pool_that_lacks_rewards(players: int, row: str) -> None:
    kind: Any = PoolEnvs if players == 1 else PlayerPools
    envs = kind(_Pool("rewards", players), 2, "external: envpool 'Own-v0'")
    envs.reset(0)
    with pytest.raises(DeclarationError) as caught:
        envs.step({envs.groups[0].name: np.full((2, players, 1), 2)})
    assert str(caught.value) == (
        f"external: envpool 'Own-v0': step(): rewards are float64 of shape (1,), expected one number for each {row}"
    )


def test_a_pool_that_does_not_number_its_envs() -> None:
    envs = PlayerPools(_Pool("ids", 2), 2, "external: envpool 'Own-v0'")
    envs.reset(0)
    with pytest.raises(DeclarationError, match=r"'Own-v0': step\(\): infos have 'players', expected 'env_id'"):
        envs.step({"player": np.full((2, 2, 1), 2)})
