"""States of external envs: taken and put back, in this process and from files that anybody may have written."""

from __future__ import annotations

import copy
import subprocess
from collections import OrderedDict, deque
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.adapters.external.stateful import Ball, Locked, Many, Spot, Together
from warpworld.adapters.external.states import StateError, put, taken
from warpworld.adapters.external.states.bytes_of import ByteWriter
from warpworld.environment import get_environment
from warpworld.errors import StoreError
from warpworld.world import RandomActions, World

pytestmark = pytest.mark.cpu_backend

_NUMBERS = st.integers() | st.floats(allow_nan=False) | st.complex_numbers(allow_nan=False)
PLAIN = st.recursive(
    st.none() | st.booleans() | _NUMBERS | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=20,
)
NOT_OF_ALE = "ALE's vector environment gives no state of a game; those of `name: atari` have states"
MODULE = "tests.adapters.external.stateful"


def world_of(num_envs: int = 4, **params: Any) -> World:
    return World(get_environment("external")(**params), num_envs, "cpu", seed=3)


def of_kind(kind: str, num_envs: int = 4, **options: Any) -> World:
    return world_of(num_envs, library=f"{MODULE}:stateful", options={"kind": kind, **options})


class Driver:
    """Steps a world by random actions, which may be the same in all envs."""

    def __init__(self, *worlds: World) -> None:
        self._worlds, self._actions = worlds, RandomActions(worlds[0], 0)

    def step(self, alike: bool = False) -> None:
        self._actions.draw()
        for world in self._worlds:
            self._actions.put(world, slice(None))
            for group in world.groups if alike else ():
                for actions in world.actions(group).values():
                    actions[1:] = actions[:1].clone()
            world.step()


def shown(world: World) -> dict[str, torch.Tensor]:
    """Observations, rewards, ends and masks, by name."""
    names = ("observations", "rewards", "terminated", "truncated", "action_mask", "agent_mask", "agent_terminated")
    return {name: world[name].clone() for name in world.data.names("state") if name.startswith(names)}


def assert_same(ours: dict[str, torch.Tensor], others: dict[str, torch.Tensor], envs: Any = slice(None)) -> None:
    for name, values in ours.items():
        assert torch.equal(values[envs], others[name][envs]), name


# ---- bytes -----------------------------------------------------------------------------------------------------------
@given(PLAIN)
def test_plain_data_are_the_same_afterwards(value: Any) -> None:
    found = put(None, taken(value))
    assert found == value and repr(found) == repr(value)  # repr: of types, and of -0.0


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", ">i4", "float16", "complex128", "M8[s]", "U3", "S2"])
@pytest.mark.parametrize("order", ["C", "F", "rolled"])
def test_arrays_keep_their_memory(dtype: str, order: str) -> None:
    array = np.arange(24).reshape(2, 3, 4).astype(dtype)
    array = np.array(array.transpose(1, 2, 0), order="K") if order == "rolled" else np.array(array, order=order)  # type: ignore[call-overload]
    array.flags.writeable = order != "F"
    found = put(None, taken(array))
    assert found.dtype == array.dtype and found.strides == array.strides and (found == array).all()
    assert found.flags.owndata and found.flags.writeable == array.flags.writeable


def test_what_is_shared_stays_shared() -> None:
    grid = np.zeros((4, 4), np.int16)
    line: list[Any] = [grid, grid[::-1, 1:3], grid.T]
    line.append(line)
    found = put(None, taken([line, line, np.broadcast_to(grid[:1], (3, 4))]))
    found[0][1][0] = 7
    assert found[0] is found[1] and found[0][3] is found[0]
    assert found[0][0][3].tolist() == [0, 7, 7, 0] and found[0][2][1, 3] == 7 and (found[2] == 0).all()


def test_generators_continue() -> None:
    for kind in (np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64, np.random.PCG64DXSM):
        generator = np.random.Generator(kind(3))
        generator.integers(9, dtype=np.int32)  # which keeps half of what it drew
        found = put(None, taken([generator, generator]))
        assert found[0] is found[1]
        ours, others = (each.integers(9, size=5, dtype=np.int32).tolist() for each in (generator, found[0]))
        assert ours == others
    old = np.random.RandomState(3)
    old.normal()  # which keeps a second number
    assert put(None, taken(old)).normal(size=3).tolist() == old.normal(size=3).tolist()


# ---- what a file may hold --------------------------------------------------------------------------------------------
def played(steps: int = 20, kind: type = Many) -> Any:
    env = kind()
    env.reset(seed=1)
    for step in range(steps):
        if env.step(step % 3)[3]:
            env.reset()
    return env


def test_a_new_env_continues_as_one_that_was_stored() -> None:
    env, other = played(24), played(1)
    put(other, taken(env))
    assert taken(other) == taken(env) and other.row.base is other.grid and other.trail[-1] is other.balls[-1]
    for step in range(50):
        results = [each.step(step * 7 % 3) for each in (env, other)]
        assert results[0][0].tolist() == results[1][0].tolist() and results[0][1:] == results[1][1:]
        if results[0][3]:
            assert env.reset()[0].tolist() == other.reset()[0].tolist()


class Trap:
    """Writes down what is called of it."""

    called: list[str] = []  # noqa: RUF012

    def __new__(cls, *args: Any) -> Any:
        Trap.called.append("__new__")
        return super().__new__(cls)

    def __init__(self) -> None:
        Trap.called.append("__init__")
        self.number = 1

    def __setstate__(self, state: Any) -> None:
        Trap.called.append("__setstate__")

    def __reduce__(self) -> Any:
        Trap.called.append("__reduce__")
        return (Trap, ())

    def __setattr__(self, name: str, value: Any) -> None:
        Trap.called.append(f"set {name}")
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        Trap.called.append(f"get {name}")
        raise AttributeError(name)

    def __eq__(self, other: object) -> bool:
        Trap.called.append("__eq__")
        return self is other

    __hash__ = None  # type: ignore[assignment]


def test_no_code_of_a_class_is_called() -> None:
    env = played(24)
    env.balls[0].seen_by.append(Trap())
    Trap.called.clear()
    state, other = taken(env), played(1)
    other.balls = [Ball(Spot(0, 0), 0.0, [0, Trap()])]
    Trap.called.clear()
    put(other, state)
    assert not Trap.called and type(other.balls[0].seen_by[1]) is Trap


def written(*entries: str | int) -> bytes:
    """A state by hand: texts of one letter are kinds, numbers are counts, other texts are texts."""
    writer = ByteWriter()
    writer.count(1)
    writer.text("")
    for entry in entries:
        if isinstance(entry, int):
            writer.count(entry)
        elif len(entry) == 1:
            writer.tag(entry)
        else:
            writer.text(entry)
    return bytes(writer.written)


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (written("o", "subprocess:Popen", 0), "it has a subprocess.Popen, which these envs do not have there"),
        (written("o", "builtins:eval", 0), "it has a builtins.eval, which these envs do not have there"),
        (written("T", "os:stat_result", "l", 0), "it has a os.stat_result, which these envs do not have there"),
        (written("E", "signal:Signals", "SIGTERM"), "it has a signal.Signals, which these envs do not have there"),
        (written("k", "builtin_function_or_method posix system"), "where these envs have a Many"),
        (written("p", "posix:system", "N"), "it has a posix.system, which these envs do not have there"),
        (written("d", "dict", "N", 1, "l", 0, "N"), "it has a list as a key"),
        (written("l", 1, "d", "defaultdict", "m", 0, 0), "it has a mapping that calls what these envs do not have"),
        (written("d", "defaultdict", "k", "type subprocess Popen", 0), "where these envs have a NoneType"),
        (written("d", "UserDict", "N", 0), "it has a mapping of the kind 'UserDict'"),
        (written("m", 7), "it refers to a value that it lacks"),
        (written("a", "w", "|O", 1, 1, 1, 0, "xy"), "it names a dtype '|O'"),
        (written("a", "w", "<f8", 1, 2**40, 1, 0, "xy"), "it has an array (1099511627776,) of float64 with 2 bytes"),
        (written("l", 2**40), "entries follow, of which there is no room"),
        (written("v", "w", "a", "w", "<i2", 1, 2, 1, 0, "1234", "<i2", 1, 2, "t", 1, "i", 1, 2, 3), "a view was"),
        (written("G", "os", "N"), "it has a generator of the kind 'os'"),
        (written(*["l", 1] * 400), "it holds more than 110 values within each other"),
        (written("?"), "it has an unknown kind of value, '?'"),
        (written("N", "N"), "it has bytes behind its end"),
        (b"\x02\x00N", "it is in format 2, expected 1: another version of warpworld took it"),
        (b"", "it is cut off"),
    ],
)  # fmt: skip
def test_states_that_are_forged(state: bytes, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", None)
    with pytest.raises(StateError) as caught:
        put(played(1), state)
    assert message in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.long
@settings(max_examples=300)
@given(st.data())
def test_changed_bytes_are_refused_or_are_another_state(data: Any) -> None:
    """Whatever the bytes say, nothing but a StateError is raised, and reading ends."""
    state = bytearray(taken([played(), np.arange(6).reshape(2, 3)[:, ::2], OrderedDict(a=deque([1], 3))]))
    for _ in range(data.draw(st.integers(1, 4))):
        state[data.draw(st.integers(0, len(state) - 1))] = data.draw(st.integers(0, 255))
    try:
        put([played(1), None, None], bytes(state))
    except StateError as error:
        assert "\n" not in str(error)


# ---- worlds ----------------------------------------------------------------------------------------------------------
WORLDS: dict[str, dict[str, Any]] = {
    "many": {"library": f"{MODULE}:stateful"},
    "next step": {"library": f"{MODULE}:stateful", "options": {"mode": "NEXT_STEP"}},
    "on request": {"library": f"{MODULE}:stateful", "options": {"mode": "DISABLED"}},
    "own": {"library": f"{MODULE}:stateful", "options": {"kind": "Own"}},
    "together": {"library": f"{MODULE}:together"},
    "parts": {"library": f"{MODULE}:stateful", "parts": 2},
    "async": {"library": "gymnasium", "id": "CartPole-v1", "options": {"vectorization_mode": "async"}},
    "cartpole": {"library": "gymnasium", "id": "CartPole-v1"},
    "blackjack": {"library": "gymnasium", "id": "Blackjack-v1"},
    "frozen lake": {"library": "gymnasium", "id": "FrozenLake-v1"},
    "parallel": {"library": "pettingzoo", "id": "mpe2.simple_world_comm_v3"},
    "turns": {"library": "pettingzoo", "id": "pettingzoo.classic.connect_four_v3"},
    "leaving": {"library": "pettingzoo", "id": "tests.adapters.external.race"},
    "pong": {
        "library": "gymnasium",
        "id": "ale_py:ALE/Pong-v5",
        "options": {"repeat_action_probability": 0.0, "obs_type": "ram"},
    },
}


PACKAGES = {"parallel": "mpe2", "turns": "pettingzoo", "leaving": "pettingzoo", "pong": "ale_py"}


@pytest.mark.long
@pytest.mark.parametrize("name", WORLDS)
def test_forks_copies_and_states_continue_as_their_env(name: str) -> None:
    if name in PACKAGES:
        pytest.importorskip(PACKAGES[name])
    world = world_of(**WORLDS[name])
    assert world.environment.resumable, world.environment.why_not_resumable
    driver = Driver(world)
    world.reset()
    for _ in range(13):
        driver.step()
    # a state that is put back
    start, states = shown(world), world.state()
    first = [(driver.step(), shown(world))[1] for _ in range(20)]
    world.set_state(range(4), states)
    assert_same(shown(world), start)
    again = Driver(world)
    for _ in range(13):
        again._actions.draw()  # as far as the first one was
    for expected in first:
        again.step()
        assert_same(shown(world), expected)
    # a copy
    second = copy.deepcopy(world)
    both = Driver(world, second)
    for _ in range(20):
        both.step()
        assert_same(shown(world), shown(second))
    second.close()
    # forks of an env
    world.fork(2, [0, 1, 3])
    for _ in range(20):
        driver.step(alike=True)
        for name_of, values in shown(world).items():
            assert (values == values[:1]).all(), name_of
    world.close()


@pytest.mark.parametrize("name", ["minatar", "lbforaging", "rware"])
def test_games_of_libraries(name: str) -> None:
    pytest.importorskip(name)
    envs = [_game(name) for _ in range(2)]
    for number, env in enumerate(envs):
        env.reset(seed=number)
    actions = np.random.default_rng(0)

    def stepped(env: Any, action: Any) -> Any:
        found = env.step(action)
        if found[2] or found[3]:
            found = (*found, env.reset()[0])
        return [np.asarray(each, np.float64).tolist() for each in (*found[:4], *found[5:])]

    for _ in range(40):
        for env in envs:
            stepped(env, _action(env, actions))
    put(envs[1], taken(envs[0]))
    for _ in range(60):
        action = _action(envs[0], actions)
        assert stepped(envs[0], action) == stepped(envs[1], action)


def _game(name: str) -> gymnasium.Env:
    if name == "minatar":
        from minatar.gym import BaseEnv

        return BaseEnv("breakout")
    import lbforaging  # noqa: F401
    import rware  # noqa: F401

    id = {"lbforaging": "Foraging-8x8-2p-2f-v3", "rware": "rware-tiny-2ag-v2"}[name]
    return gymnasium.make(id, disable_env_checker=True)


def _action(env: gymnasium.Env, generator: np.random.Generator) -> Any:
    choices = [int(space.n) for space in getattr(env.action_space, "spaces", [env.action_space])]  # type: ignore[attr-defined]
    drawn = tuple(int(generator.integers(count)) for count in choices)
    return drawn if len(drawn) > 1 else drawn[0]


# ---- what is refused -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"options": {"kind": "Locked"}}, "env 0: guards[0] holds a _thread.lock, of which no state can be taken"),
        ({"options": {"kind": "Unseeded"}}, "a copy has other observations in step 1"),
        ({"options": {"kind": "Forgetful"}}, "a copy has other observations in step 1"),
        ({"options": {"kind": "Changing"}}, "a copy that has loaded an env's state saves another one"),
        ({"options": {"kind": "Raising"}}, "env 0: set_state() of Raising was refused: KeyError: 'steps'"),
        ({"library": f"{MODULE}:around"}, "Around is around all envs at once"),
        ({"library": "envpool", "id": "CartPole-v1"}, "EnvPool gives no states of its envs"),
        ({"library": "ale", "id": "pong"}, NOT_OF_ALE),
        (
            {"library": "gymnasium", "id": "ale_py:ALE/Pong-v5", "options": {"obs_type": "ram"}},
            "env 0: ALE's states lack the action that sticky actions repeat; set repeat_action_probability=0",
        ),
    ],
)  # fmt: skip
def test_envs_without_states_say_why(params: dict[str, Any], reason: str) -> None:
    package = {"envpool": "envpool", "ale": "ale_py", "gymnasium": "ale_py"}.get(params.get("library", ""))
    if package:
        pytest.importorskip(package)
    environment = get_environment("external")(**{"library": f"{MODULE}:stateful", **params})
    assert not environment.resumable and environment.why_not_resumable == reason


def test_a_state_of_another_version(monkeypatch: pytest.MonkeyPatch) -> None:
    world = of_kind("Many")
    world.reset()
    states, before = world.state(), world.snapshot()
    world.step()
    versions = {"gymnasium": "9.9"}
    monkeypatch.setattr("warpworld.adapters.external.states.taking._version", lambda package: versions.get(package, ""))
    after = world.snapshot()
    for act in (lambda: world.set_state(range(4), states), lambda: world.restore(before)):
        with pytest.raises(StoreError) as caught:
            act()
        assert str(caught.value) == (
            f"external: {MODULE}:stateful: a state cannot be put back: env 0: it was taken with gymnasium "
            f"{gymnasium.__version__}, and these envs are of gymnasium 9.9"
        )
        assert torch.equal(world.snapshot(), after)  # nothing has changed


def test_a_damaged_state_leaves_the_world_as_it_was() -> None:
    world = of_kind("Many")
    world.reset()
    driver = Driver(world)
    for _ in range(5):
        driver.step()
    states, before = world.state(), world.snapshot()
    end = int(world["outside_size"][3]) // 2
    states[3, -world["outside_state"].shape[1] :][:] = 0
    for width in (end, end + 1):
        changed = states.clone()
        changed[3, 8 + width :] ^= 255
        with pytest.raises(StoreError, match=r"a state cannot be put back: env 3: |states: they come from"):
            world.set_state(range(4), changed)
        assert torch.equal(world.snapshot(), before)


def test_a_state_that_grows_names_the_setting() -> None:
    world = of_kind("Growing", 2)
    world.reset()
    driver = Driver(world)
    message = r"external: the state of env 0 has [\d,]+ bytes, and there is room for [\d,]+; set env.state_bytes=\d+"
    with pytest.raises(StoreError, match=message):
        for _ in range(100):
            driver.step()
            world.snapshot()


def test_states_from_before_the_first_reset() -> None:
    world = of_kind("Many")
    world.seal()
    start = world.snapshot()
    courses = []
    for _ in range(2):
        world.restore(start)
        world.reset()
        driver = Driver(world)
        courses.append([(driver.step(), shown(world))[1] for _ in range(12)])
    for first, second in zip(*courses, strict=True):
        assert_same(first, second)
    other = of_kind("Many")
    other.seal()
    with pytest.raises(StoreError, match="states from before the first reset are put back into all envs at once"):
        world.set_state([0], other.state([0]))


def test_new_numbers_for_forks_are_refused() -> None:
    world = of_kind("Many")
    world.reset()
    with pytest.raises(StoreError, match=r"fork\(reseed=True\): envs of 'external' draw their random numbers outside"):
        world.fork(0, [1], reseed=True)
    with pytest.raises(StoreError, match=r"reset\(seed=\): envs of 'external' draw their random numbers outside"):
        world.reset(seed=3)


def test_locked_envs_are_refused_by_path() -> None:
    with pytest.raises(StateError, match=r"^guards\[0\] holds a _thread.lock, of which no state can be taken$"):
        taken(Locked())
    assert Together.get_state and Spot(1, 2) == put(Spot(0, 0), taken(Spot(1, 2)))
