"""Parameters of which each env has a value of its own: given, set, and drawn anew at each reset."""

from __future__ import annotations

import copy
from dataclasses import dataclass, make_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import warpworld
from tests.envs.test_autoreset import events
from tests.envs.trajectories import assert_same_trajectory, ended
from tests.random_numbers import random_numbers
from tests.toys import agents
from tests.world.drift import Drift
from warpworld import Environment, Group, World
from warpworld.errors import BindError, DeclarationError, StoreError

NAMES = ("gravity", "lives", "windy")
RANGES: dict[str, Any] = {"gravity": (8.0, 12.0), "lives": (-2, 3), "windy": (False, True)}
DRAWN = 15  # the number of the launches that draw: the last of a world's


def drift(num_envs: int = 6, seed: int = 0, first_env: int = 0, autoreset: Any = "same_step", **params: Any) -> World:
    world = World(Drift(**params), num_envs, "cpu", seed, num_workers=1, first_env=first_env, autoreset=autoreset)
    if autoreset == "same_step":
        world.request("final_observations")
    return world


def drawn(world: World) -> dict[str, list[float]]:
    return {name: world[name].tolist() for name in NAMES}


# ---- values ----------------------------------------------------------------------------------------------------------


def test_all_envs_have_the_value_of_the_params() -> None:
    world = drift(4, lives=5)
    world.reset()
    assert world["gravity"].tolist() == [np.float32(9.8)] * 4
    assert world["lives"].tolist() == [5] * 4
    assert world["windy"].tolist() == [False] * 4
    assert [str(world[name].dtype) for name in NAMES] == ["torch.float32", "torch.int32", "torch.bool"]


@pytest.mark.parametrize(
    "gravity", [[1.0, 2.0, 3.0, 0.5], np.array([1.0, 2.0, 3.0, 0.5]), torch.tensor([1.0, 2.0, 3.0, 0.5])]
)
def test_each_env_moves_by_its_own(gravity: Any) -> None:
    world = drift(4, gravity=gravity, windy=[True, False, False, True])
    assert world.environment.params == Drift.Params()  # which keep their defaults
    world.reset()
    before = world["x"].clone()
    world["actions"] = 0
    world.step()
    stays = torch.tensor(~ended(world), device=world.device)
    moved = (world["x"] - before)[stays].cpu()
    expected = torch.tensor([1.5, 1.0, 1.5, 1.25]).to(moved)[stays.cpu(), None].expand_as(moved)
    torch.testing.assert_close(moved, expected, rtol=0, atol=1e-6)
    assert len(moved) > 1
    for _ in range(30):
        world.step()
    assert world["gravity"].tolist() == [1.0, 2.0, 3.0, 0.5]


def test_parts_of_a_world_have_their_envs_values() -> None:
    world = drift(4, gravity=[1.0, 2.0, 3.0, 4.0], lives=7)
    parts = [world.part(0, 1), world.part(1, 3)]
    for each in (world, *parts):
        each.reset()
    assert [part["gravity"].tolist() for part in parts] == [[1.0], [2.0, 3.0, 4.0]]
    assert parts[1]["lives"].tolist() == [7, 7, 7]
    assert torch.equal(torch.cat([part["x"] for part in parts]), world["x"])


def test_setting_them() -> None:
    world = drift(4)
    world.reset()
    world["gravity"] = [1.0, 2.0, 3.0, 4.0]
    some = torch.tensor([True, False, False, True], device=world.device)
    world.set_params(some, gravity=np.arange(4.0), lives=7, windy=torch.tensor([True] * 4))
    assert drawn(world) == {"gravity": [0, 2, 3, 3], "lives": [7, 3, 3, 7], "windy": [True, False, False, True]}
    world.set_params(gravity=torch.full((4,), 0.25, dtype=torch.float64))
    world.reset()
    assert world["gravity"].tolist() == [0.25] * 4


# ---- drawing ---------------------------------------------------------------------------------------------------------


def expected_draws(world: World, clock: torch.Tensor) -> dict[str, list[float]]:
    """What envs draw at these clocks, in float32 where a kernel has it."""
    random = random_numbers(clock, world.num_agents, world.first_env, world.constants.seed, DRAWN)
    bits = random.env_bits(3)
    gravity = 8.0 + 4.0 * ((bits[:, 0] >> 8).double() * 2.0**-24)
    lives, windy = (bits[:, 1] * 6 >> 32) - 2, (bits[:, 2] * 2 >> 32) > 0
    return {"gravity": gravity.tolist(), "lives": lives.tolist(), "windy": windy.tolist()}


def assert_drawn(found: dict[str, list[float]], expected: dict[str, list[float]], envs: np.ndarray) -> None:
    for name in NAMES:
        of_envs = [np.array(values, float)[envs] for values in (found[name], expected[name])]
        np.testing.assert_allclose(*of_envs, rtol=2e-7, err_msg=name)


def test_each_reset_draws_anew() -> None:
    world = drift(40, seed=5, first_env=3, randomize=RANGES)
    world.reset()
    assert_drawn(drawn(world), expected_draws(world, world["clock"].cpu()), np.ones(40, bool))
    before, ends = drawn(world), 0
    for _ in range(30):
        world.step()
        over, now = ended(world), drawn(world)
        assert_drawn(now, expected_draws(world, world["clock"].cpu()), over)
        assert_drawn(now, before, ~over)
        before, ends = now, ends + int(over.sum())
    assert ends > 100


def test_all_values_of_a_range_are_drawn() -> None:
    world = drift(2000, randomize={**RANGES, "gravity": (2, 2)})
    world.reset()
    counts = (world["lives"].cpu() + 2).bincount(minlength=6)
    assert len(counts) == 6 and counts.min() > 250
    assert 850 < int(world["windy"].sum()) < 1150
    assert world["gravity"].unique().tolist() == [2.0]
    widest = drift(2000, randomize={"lives": (-(2**31), 2**31 - 1)})
    widest.reset()
    assert (widest["lives"] < -(2**29)).sum() > 500 and (widest["lives"] > 2**29).sum() > 500


def test_what_is_drawn_does_not_depend_on_what_else_is() -> None:
    every, one = drift(randomize=RANGES), drift(randomize={"lives": RANGES["lives"]})
    for world in (every, one):
        world.reset()
    assert every["lives"].tolist() == one["lives"].tolist()
    assert one["gravity"].tolist() == [np.float32(9.8)] * 6


def test_an_env_does_not_depend_on_the_others() -> None:
    whole, part = drift(9, randomize=RANGES), drift(2, first_env=4, randomize=RANGES)
    for world in (whole, part):
        world.reset()
        world["actions"] = 1
    for _ in range(40):
        for name in (*NAMES, "x"):
            assert torch.equal(whole[name][4:6], part[name]), name
        whole.step()
        part.step()


def test_the_three_ways_to_reset_walk_the_same_trajectory() -> None:
    same = events(drift(randomize=RANGES), "final_")
    for autoreset in ("next_step", "disabled"):
        other = events(drift(autoreset=autoreset, randomize=RANGES), "")
        for env in range(6):
            length = min(len(same[env]), len(other[env]))
            assert same[env][:length] == other[env][:length]
            assert sum(kind == "reset" for kind, _ in same[env][:length]) > 5


def test_resets_of_some_envs_and_steps_of_some() -> None:
    world = drift(randomize=RANGES)
    world.reset()
    before, chosen = drawn(world), np.arange(6) % 2 == 0
    world.reset(torch.from_numpy(chosen))
    assert_drawn(drawn(world), before, ~chosen)
    assert all(new != old for new, old in zip(drawn(world)["gravity"][::2], before["gravity"][::2], strict=True))
    before = drawn(world)
    for _ in range(20):
        world.step_some(torch.from_numpy(chosen))
    assert_drawn(drawn(world), before, ~chosen)
    assert all(new != old for new, old in zip(drawn(world)["gravity"][::2], before["gravity"][::2], strict=True))


def test_copies_and_captured_steps_take_the_same_trajectory() -> None:
    world = drift(randomize=RANGES)
    world.reset()
    twin = copy.deepcopy(world)
    world["actions"] = twin["actions"] = 2
    captured = world.capture(world.step)
    for _ in range(30):
        captured()
        twin.step()
        assert drawn(world) == drawn(twin)
        assert torch.equal(world["x"], twin["x"])


@pytest.mark.cpu_backend
def test_workers_do_not_matter() -> None:
    worlds = [World(Drift(randomize=RANGES), 200, "cpu", num_workers=workers) for workers in (1, 2)]
    assert assert_same_trajectory(*worlds, 20) > 100


class InPython(Environment):
    """An environment without kernels, whose parameter is drawn all the same."""

    per_env = ("gravity",)

    @dataclass(frozen=True)
    class Params:
        """Parameters of InPython."""

        gravity: float = 9.8

    def groups(self) -> list[Group]:
        """One agent."""
        return [agents(1)]

    def phases(self) -> list[Any]:
        """Falls."""
        return [lambda arrays, active: arrays["observations"].add_(arrays["gravity"][:, None, None])]

    def resets(self) -> list[Any]:
        """Begins where gravity says."""
        return [self._reset]

    def _reset(self, arrays: Any, active: torch.Tensor) -> None:
        gravity = arrays["gravity"][:, None, None]
        arrays["observations"] = torch.where(active[:, None, None], gravity, arrays["observations"])


def test_python_phases_read_what_was_drawn() -> None:
    world = World(InPython(randomize={"gravity": (1, 3)}), 5, "cpu")
    world.reset()
    gravity = world["gravity"].clone()
    assert 1 <= gravity.min() < gravity.max() <= 3
    assert torch.equal(world["observations"].flatten(), gravity)
    world.step()
    torch.testing.assert_close(world["observations"].flatten(), 2 * gravity)


@pytest.mark.long
def test_a_check_finds_nothing() -> None:
    for environment in (Drift(randomize=RANGES), Drift(gravity=[1.0, 2.0])):
        assert not warpworld.check(environment, steps=30).findings


class Timed(Drift):
    """Each env has a time limit of its own."""

    per_env = ("episode_length",)

    @dataclass(frozen=True)
    class Params:
        """Parameters of Timed."""

        episode_length: int = 9


def test_a_time_limit_per_env_may_be_reached_in_every_step() -> None:
    assert Timed().truncations(20) == 20


# ---- what is refused -------------------------------------------------------------------------------------------------


class Mistaken(Environment):
    """What ``per_env`` names is its subclasses' affair."""

    compile_time = ("full",)

    @dataclass(frozen=True)
    class Params:
        """Parameters of Mistaken."""

        size: int
        start: str = "random"
        gravity: float = 9.8
        limit: int | None = 3
        full: bool = True


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ("start", "Mistaken: per_env: 'start' is not a number"),
        ("limit", "Mistaken: per_env: 'limit' is not a number"),
        ("full", "Mistaken: per_env: 'full' is a constant of the build; remove it from compile_time"),
        ("size", "Mistaken: per_env: 'size' has no default"),
        ("gravty", "Mistaken: per_env: no parameter 'gravty'. Did you mean 'gravity'?"),
    ],
)
def test_parameters_that_cannot_be_per_env(named: str, message: str) -> None:
    cls = type("Mistaken", (Mistaken,), {"per_env": (named,)})
    with pytest.raises(DeclarationError) as caught:
        cls(size=3)
    assert str(caught.value) == message


def test_an_annotation_that_is_no_type() -> None:
    params = make_dataclass("Params", [("limit", int | None, 3)])
    with pytest.raises(DeclarationError) as caught:
        type("Mistaken", (Environment,), {"Params": params, "per_env": ("limit",)})()
    assert str(caught.value) == "Mistaken: per_env: 'limit' is not a number"


def test_per_env_is_a_tuple_of_names() -> None:
    with pytest.raises(DeclarationError) as caught:
        type("Mistaken", (Mistaken,), {"per_env": "gravity"})(size=3)
    assert str(caught.value) == "Mistaken: per_env='gravity', expected a tuple of names, as in ('gravity',)"


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (dict(gravity=[[1.0], [2.0]]), "Drift: gravity=[[1.0], [2.0]], expected one number for each env"),
        (dict(gravity=[]), "Drift: gravity=[], expected one number for each env"),
        (dict(gravity=[[1.0], 2.0]), "Drift: gravity=[[1.0], 2.0], expected one number for each env"),
        (dict(lives=["a", "b"]), "Drift: lives=['a', 'b'], expected one number for each env"),
        (dict(lives=[1.5, 2.0]), "Drift: lives=1.5, expected int"),
        (dict(gravity=[1.0, -2.0]), "gravity=-2.0: expected more than 0 and less than 100"),
        (dict(gravity=[1.0, 100.0]), "gravity=100.0: expected more than 0 and less than 100"),
        (dict(gravity=[1.0, float("nan")]), "Drift: gravity=nan, expected float"),
        (dict(scale=[1.0, 2.0]), "Drift: scale=[1.0, 2.0], expected float"),
        (dict(randomize=3), "Drift: randomize=3, expected a range for each of its names"),
        (
            dict(randomize={"gravty": [1, 2]}),
            "Drift: randomize: 'gravty' is not in per_env. Did you mean 'gravity'? Known: gravity, lives, windy",
        ),
        (
            dict(randomize={"scale": [1, 2]}),
            "Drift: randomize: 'scale' is not in per_env. Known: gravity, lives, windy",
        ),
        (
            dict(randomize={"gravity": [12.0, 8.0]}),
            "Drift: randomize: gravity=[12.0, 8.0] is reversed, expected the lowest first",
        ),
        *(
            (
                dict(randomize={name: given}),
                f"Drift: randomize: {name}={given}, expected two numbers that {dtype} holds, the lowest and "
                "the highest",
            )
            for name, given, dtype in [
                ("gravity", 9.8, "float32"),
                ("gravity", [1, 2, 3], "float32"),
                ("gravity", [1, float("inf")], "float32"),
                ("gravity", [1, "two"], "float32"),
                ("lives", [1, 2.5], "int32"),
                ("lives", [1, 2**31], "int32"),
                ("windy", [0, 1], "bool"),
            ]
        ),
        (dict(randomize={"gravity": [1, 100]}), "gravity=100: expected more than 0 and less than 100"),
        (dict(randomize={"gravity": [-1.0, 2.0]}), "gravity=-1.0: expected more than 0 and less than 100"),
        (
            dict(gravity=[1.0, 2.0], randomize={"gravity": [1, 2]}),
            "Drift: randomize: gravity=[1, 2], but gravity is given for each env too; leave one of them out",
        ),
    ],
)
def test_values_that_are_none(params: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        Drift(**params)
    assert str(caught.value) == message


@pytest.mark.parametrize("number", [1, 3, 5])
def test_a_wrong_number_of_values(number: int) -> None:
    with pytest.raises(DeclarationError) as caught:
        drift(4, gravity=[1.0] * number)
    assert str(caught.value) == f"Drift: gravity has {number} values, expected one for each of 4 envs"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (dict(lifes=1), "no parameter per env 'lifes'. Did you mean 'lives'? Known: gravity, lives, windy"),
        (dict(gravity=1), "parameter 'gravity' is drawn at each reset; leave it out of randomize to set it"),
        (dict(lives=[1, 2]), "parameter 'lives': shape (2,), expected one number or (3,)"),
        (dict(lives=1.5), "parameter 'lives': the value is 1.5, which int32 does not hold"),
        (dict(lives=torch.zeros(3)), "parameter 'lives' is int32, the value is float32; convert it first"),
    ],
)
def test_setting_what_cannot_be_set(values: dict[str, Any], message: str) -> None:
    world = drift(3, randomize={"gravity": (8, 12)})
    world.reset()
    with pytest.raises(StoreError) as caught:
        world.set_params(**values)
    assert str(caught.value) == message


def test_a_kernel_that_takes_it_by_value(tmp_path: Path) -> None:
    path = tmp_path / "drift.cu"
    text = Path(str(Drift.source)).read_text()
    path.write_text(text.replace("const float* gravity", "float gravity", 1))
    cls = type("Drift", (Drift,), {"source": path})
    with pytest.raises(BindError) as caught:
        World(cls(), 2, "cpu")
    assert str(caught.value) == (
        f"{path}:3: kernel 'step', parameter `float gravity`: 'gravity' is an array, not a number: write "
        "`const float* gravity`"
    )


def test_params_that_have_a_name_of_ours() -> None:
    cls = type("Odd", (Drift,), {"Params": make_dataclass("Params", [("randomize", bool, True)]), "per_env": ()})
    with pytest.raises(DeclarationError) as caught:
        cls()
    assert str(caught.value) == "Odd: Params has 'randomize', which has a meaning of its own; rename it"
