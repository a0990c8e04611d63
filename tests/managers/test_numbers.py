"""Numbers bind by the type that they are declared with: a value that fits today is no reason to take another type."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import numpy as np
import pytest

from tests.toys import HEADER, agents
from warpworld import Environment, World
from warpworld.errors import BindError
from warpworld.managers.numbers import Scalar, fits, scalar_of


class TestKinds:
    @pytest.mark.parametrize(
        ("value", "annotation", "kind"),
        [
            (3, float, float),
            (3, "float", float),
            (3.0, "float", float),
            (3, int, int),
            (3, "int", int),
            (True, bool, bool),
            (3, None, int),
            (3.0, None, float),
            (True, None, bool),
            (np.int64(3), None, int),
            (np.float32(0.5), None, float),
            (np.bool_(True), None, bool),
            (np.float32(0.5), np.float32, float),
            (3, "int | None", int),
            (3, Optional[int], int),  # noqa: UP045
            (3, "int | float", int),
            (3.0, "int | float", float),
            (3.5, int, float),  # what __post_init__ has set to another type than it is declared with
            (True, int, bool),
            ("fast", str, None),
            (None, float, None),
            ((1, 2), tuple, None),
        ],
    )
    def test_declared(self, value: Any, annotation: Any, kind: type | None) -> None:
        number = scalar_of(value, annotation)
        assert number.kind is kind
        assert type(number.value) is type(value.item() if isinstance(value, np.generic) else value)


class TestFits:
    @pytest.mark.parametrize(
        ("value", "dtype", "fit"),
        [
            (2**24, "float32", True),
            (2**24 + 1, "float32", False),
            (2**24 + 2, "float32", True),
            (-(2**24) - 1, "float32", False),
            (2**53, "float64", True),
            (2**53 + 1, "float64", False),
            (2**127, "float32", True),
            (2**128, "float32", False),
            (10**400, "float64", False),
            (2**11 + 1, "float16", False),
            (0, "float32", True),
            (1, "bool", False),
            (2**31 - 1, "int32", True),
            (2**31, "int32", False),
            (-1, "uint8", False),
        ],
    )
    def test_whole_numbers(self, value: int, dtype: str, fit: bool) -> None:
        assert fits(Scalar(value, int), dtype) is fit

    @pytest.mark.parametrize(
        ("value", "dtype", "fit"),
        [
            (0.1, "float32", True),  # rounded, as any float
            (2**24 + 1, "float32", True),  # given as a whole number, declared as a float
            (3.0, "int32", False),
            (0.0, "bool", False),
            (1e39, "float32", False),
            (1e39, "float64", True),
            (float("nan"), "float32", True),
            (float("-inf"), "float32", True),
        ],
    )
    def test_floats(self, value: float, dtype: str, fit: bool) -> None:
        assert fits(Scalar(value, float), dtype) is fit

    @pytest.mark.parametrize(("dtype", "fit"), [("bool", True), ("int32", True), ("uint8", True), ("float32", False)])
    def test_bools(self, dtype: str, fit: bool) -> None:
        assert fits(Scalar(True, bool), dtype) is fit


class Yard(Environment):
    """An environment whose kernel takes one number."""

    @dataclass(frozen=True)
    class Params:
        side: float = 3
        length: int = 5
        steps: int = 2**24 + 1
        walls: bool = True
        most: int | None = 7
        endless: int = 2**64 + 1

    def groups(self) -> list[Any]:
        return [agents()]


def yard(folder: Path, parameter: str, **params: Any) -> World:
    path = folder / "yard.cu"
    path.write_text(f'{HEADER}extern "C" __global__ void step({parameter}) {{}}\n')
    kind = type("Yard", (Yard,), {"source": path, "resets": lambda self: []})
    return World(kind(**params), 2, device="cpu")


@pytest.mark.parametrize(
    ("parameter", "params"),
    [
        ("float side", {}),
        ("float side", {"side": 3.5}),
        ("double side", {"side": 3}),
        ("float length", {}),
        ("short length", {}),
        ("double steps", {}),
        ("int walls", {}),
        ("bool walls", {"walls": False}),
        ("unsigned char most", {}),
        ("int num_envs", {}),
        ("float num_agents", {}),
        ("uint64_t seed", {}),
    ],
)
@pytest.mark.cpu_backend
def test_what_a_world_binds(tmp_path: Path, parameter: str, params: dict[str, Any]) -> None:
    yard(tmp_path, parameter, **params)


@pytest.mark.parametrize(
    ("parameter", "params", "said"),
    [
        ("int side", {}, "it is a float (3): write `float side`"),
        ("int side", {"side": 3.0}, "it is a float (3.0): write `float side`"),
        ("int side", {"side": 3.5}, "it is a float (3.5): write `float side`"),
        ("bool side", {"side": 1}, "it is a float (1): write `float side`"),
        ("bool length", {"length": 1}, "it is an int (1): write `int length`"),
        ("float walls", {}, "it is a bool (True): write `bool walls`"),
        ("float steps", {}, "its value is 16777217, which float does not hold exactly: write `int steps`"),
        (
            "float steps",
            {"steps": -(2**33) - 1},
            "its value is -8589934593, which float does not hold exactly: write `long long steps`",
        ),
        ("int steps", {"steps": 2**31}, "its value is 2147483648: write `long long steps`"),
        ("uint64_t endless", {}, f"its value is {2**64 + 1}: no C type holds it, so declare it as a float"),
        (
            "double endless",
            {},
            f"its value is {2**64 + 1}, which double does not hold exactly: no C type holds it, so "
            "declare it as a float",
        ),
        ("float side", {"side": 1e39}, "its value is 1e+39: write `double side`"),
        ("bool num_envs", {}, "it is an int (2): write `int num_envs`"),
    ],
)
def test_what_a_world_refuses(tmp_path: Path, parameter: str, params: dict[str, Any], said: str) -> None:
    with pytest.raises(BindError) as caught:
        yard(tmp_path, parameter, **params)
    assert str(caught.value) == f"{tmp_path}/yard.cu:2: kernel 'step', parameter `{parameter}`: {said}"


def test_a_change_of_value_never_changes_what_is_bound(tmp_path: Path) -> None:
    """What a run with other settings would be refused for, this one is too."""
    for side in (1, 1.0, 2.5):
        yard(tmp_path, "float side", side=side)
        with pytest.raises(BindError, match=re.escape(f"it is a float ({side}): write `float side`")):
            yard(tmp_path, "int side", side=side)
