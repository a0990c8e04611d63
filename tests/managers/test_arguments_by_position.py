"""Kernels whose arguments are listed: each entry is checked against its parameter before any launch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from warpworld import Array, Kernel
from warpworld.errors import BindError, DeclarationError
from warpworld.managers.data_manager import DataManager
from warpworld.managers.function_manager import FunctionManager
from warpworld.managers.program import Argument

ARRAYS = [
    Array("loc_x", "float32"),
    Array("loc", "float32", (2,)),
    Array("cells", "int32", per="env"),
    Array("field", "float32", per="world", read_only=True),
    Array("actions", "int32", (1,), read_only=True),
    Array("timestep", "int32", per="env"),
    Array("clock", "uint64", per="env"),
    Array("active", "bool", per="env"),
    Array("both", "float32"),  # called like a parameter
]
SCALARS: dict[str, Any] = {"side": 10.5, "length": 500, "walls": True, "start": "random", "both": 3.0, "num_envs": 7}


def bind(tmp_path: Path, parameters: str, *given: Any) -> tuple[Argument, ...]:
    path = tmp_path / "kernels.cu"
    path.write_text(f'\nextern "C" __global__ void step({parameters}) {{}}\n')
    data = DataManager(lambda nbytes: torch.zeros(nbytes, dtype=torch.uint8), 7, 2)
    for array in ARRAYS:
        data.add(array)
    functions = FunctionManager(None, data, path, {"NUM_AGENTS": 2}, SCALARS)  # type: ignore[arg-type]
    return functions.arguments("step", Kernel("step", arguments=given).arguments)


def test_names_do_not_matter_but_places_do(tmp_path: Path) -> None:
    parameters = "float* a, int* loc_x, float b, int walls, bool c, float2* d, float* e, float f, bool g"
    given = ("loc_x", "cells", "side", "length", "walls", "loc", "both", "both", 0)
    assert bind(tmp_path, parameters, *given) == (
        Argument("loc_x", 0, "float32"),
        Argument("cells", 0, "int32"),
        Argument(None, 10.5, "float32"),
        Argument(None, 500, "int32"),
        Argument(None, True, "bool"),
        Argument("loc", 0, "float32"),
        Argument("both", 0, "float32"),
        Argument(None, 3.0, "float32"),
        Argument(None, False, "bool"),
    )


def test_numbers_as_they_are(tmp_path: Path) -> None:
    parameters = "float a, int b, bool c, bool d, double e, int f, unsigned char g, float h"
    given = (0.1, np.int64(-3), True, np.int32(1), 1e300, True, 255, 2)
    values = [(argument.value, argument.dtype) for argument in bind(tmp_path, parameters, *given)]
    assert values == [
        *((0.1, "float32"), (-3, "int32"), (True, "bool"), (True, "bool"), (1e300, "float64")),
        *((True, "int32"), (255, "uint8"), (2, "float32")),
    ]


def test_read_only_arrays_as_pointers_without_const(tmp_path: Path) -> None:
    bound = bind(tmp_path, "int* a, float* b, const int* c", "actions", "field", "timestep")
    assert [argument.array for argument in bound] == ["actions", "field", "timestep"]


@pytest.mark.parametrize("name", ["timestep", "clock", "active"])
def test_what_the_world_counts_is_not_for_a_kernel_to_write(tmp_path: Path, name: str) -> None:
    c_type = {"clock": "unsigned long long", "active": "bool"}.get(name, "int")
    with pytest.raises(
        BindError, match=rf"the world keeps '{name}' itself; give the kernel an array of .*'env_{name}'"
    ):
        bind(tmp_path, f"{c_type}* time", name)


@pytest.mark.parametrize(
    ("parameter", "given", "told"),
    [
        ("float* a", "loc_xx", "that is no array; expected the name of an array of float32. Did you mean 'loc_x'?"),
        ("float* a", "side", "that is a number among the parameters; expected the name of an array of float32"),
        ("float* a", 0.5, "that is a number; expected the name of an array of float32"),
        ("int* a", "loc_x", "the array is float32; expected the name of an array of int32: declare it as int32"),
        ("float4* a", "loc", "the array's last dimension is 2; expected 4"),
        ("float2* a", "loc_x", "the array's last dimension is that of agents or envs; expected 2"),
        (
            "float a",
            "sid",
            "that is no parameter or world constant; expected a number that float32 holds. Did you mean",
        ),
        ("float a", "loc_x", "that is an array; expected a number that float32 holds"),
        ("int a", "side", "it is a float (10.5); expected a number that int32 holds"),
        ("int a", 2**31, "expected a number that int32 holds"),
        ("int a", 1.0, "expected a number that int32 holds"),
        ("float a", True, "expected a number that float32 holds"),
        ("float a", "start", "its value is 'random'; expected a number that float32 holds"),
        ("bool a", 2, "expected a bool, 0 or 1"),
        ("bool a", 1.0, "expected a bool, 0 or 1"),
        ("bool a", "length", "it is an int (500); expected a bool, 0 or 1"),
        ("float2 a", "side", "vectors cannot be passed by value; float2 is one"),
        ("Thing* a", "loc_x", "type `Thing` is not known"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, parameter: str, given: Any, told: str) -> None:
    with pytest.raises(BindError) as caught:
        bind(tmp_path, f"int* first,\n {parameter}", "cells", given)
    where, _, said = str(caught.value).partition(": ")
    assert where == f"{tmp_path}/kernels.cu:3"
    assert said.startswith(f"kernel 'step', argument 2, {given!r} for `{parameter}`: {told}"), said


@pytest.mark.parametrize("given", [("cells",), ("cells", 1, 2)])
def test_too_few_or_too_many(tmp_path: Path, given: tuple[Any, ...]) -> None:
    with pytest.raises(BindError) as caught:
        bind(tmp_path, "int* first, float second", *given)
    assert str(caught.value).endswith(
        f"/kernels.cu:2: kernel 'step' has 2 parameters, its list of arguments has {len(given)} entries; expected one "
        "each for: int* first, float second"
    )


def test_a_list_is_frozen() -> None:
    assert Kernel("step", arguments=["x", np.float32(0.5)]).arguments == ("x", 0.5)  # type: ignore[arg-type]
    assert Kernel("step").arguments is None


@pytest.mark.parametrize("given", ["x", 3, {"x"}])
def test_arguments_that_are_no_list(given: Any) -> None:
    with pytest.raises(
        DeclarationError, match=r"kernel 'step': arguments=.*, expected a tuple, one entry per parameter"
    ):
        Kernel("step", arguments=given)


def test_an_entry_that_is_neither_name_nor_number() -> None:
    with pytest.raises(DeclarationError, match=r"arguments has \[1, 2\]; expected the name of an array or a parameter"):
        Kernel("step", arguments=("x", [1, 2]))  # type: ignore[arg-type]
