"""Kernels of WarpDrive's files bind by its spellings of names; an error names all parameters that do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from warpworld import Array, Kernel
from warpworld.errors import BindError, DeclarationError
from warpworld.managers.data_manager import DataManager
from warpworld.managers.function_manager import FunctionManager
from warpworld.managers.spellings import stem

ARRAYS = [
    *(Array("observations", "float32", (3,)), Array("observations_tagger", "float32", (3,))),
    *(Array("actions", "int32", (1,), read_only=True), Array("rewards", "float32")),
    *(Array("timestep", "int32", per="env"), Array("done", "int32", per="env"), Array("loc_x", "float32")),
    *(Array("loc_x_of_goal", "int32", per="env"), Array("twice", "float32"), Array("Twice", "float32")),
]
SCALARS: dict[str, Any] = {"max_speed": 0.5, "num_agents": 2, "num_envs": 7, "walls": True, "loc_y": 3}
OWN_TIME = Array("env_timestep", "int32", per="env")


def functions(
    tmp_path: Path, parameters: str, includes: Sequence[str] = ("warpdrive.cuh",), above: str = "", own: bool = True
) -> FunctionManager:
    path = tmp_path / "kernels.cu"
    path.write_text(f'{above}\nextern "C" __global__ void step({parameters}) {{}}\n')
    data = DataManager(lambda nbytes: torch.zeros(nbytes, dtype=torch.uint8), 7, 2)
    for array in [*ARRAYS, OWN_TIME] if own else ARRAYS:
        data.add(array)
    data.add(Array("loc_x_initial", "float32"), kept="derived")
    return FunctionManager(None, data, path, {"NUM_AGENTS": 2}, SCALARS, includes=includes)  # type: ignore[arg-type]


def bound(tmp_path: Path, parameters: str, given: Mapping[str, Any] | None = None, **settings: Any) -> Any:
    """The array or the value of each parameter."""
    arguments = functions(tmp_path, parameters, **settings).arguments("step", given)
    return [each.array or each.value for each in arguments]


def refused(tmp_path: Path, parameters: str, given: Mapping[str, Any] | None = None, **settings: Any) -> str:
    with pytest.raises(BindError) as caught:
        bound(tmp_path, parameters, given, **settings)
    return str(caught.value).replace(str(tmp_path), "folder")


@pytest.mark.parametrize(
    ("parameter", "name"),
    [
        *(("float* loc_x", "loc_x"), ("float* loc_x_arr", "loc_x"), ("float* locX", "loc_x")),
        *(("float* obs_arr", "observations"), ("float* obs_tagger", "observations_tagger")),
        *(("int* sampled_actions", "actions"), ("int* action_indices_arr", "actions"), ("int* actions_arr", "actions")),
        *(("float* rewards_arr", "rewards"), ("float* reward", "rewards")),
        *(("int* _done_", "done"), ("int* done_arr", "done")),
        *(("int* _timestep_", "env_timestep"), ("int* env_timestep_arr", "env_timestep")),
        *(("int* timestep", "env_timestep"), ("const int* timestep", "timestep"), ("float* twice", "twice")),
        *(("float kMaxSpeed", 0.5), ("float maxSpeed", 0.5), ("int kNumAgents", 2), ("int n_agents", 2)),
        *(("int n_envs", 7), ("bool kWalls", True), ("int walls", True), ("float loc_y", 3)),
    ],
)
def test_spellings(tmp_path: Path, parameter: str, name: Any) -> None:
    assert bound(tmp_path, parameter) == [name]


@pytest.mark.parametrize(
    ("name", "read"),
    [("kL2Norm", "l2_norm"), ("GDPGrowth", "gdp_growth"), ("kind", "kind"), ("_", ""), ("arr", "arr"), ("K_arr", "k")],
)
def test_stems(name: str, read: str) -> None:
    assert stem(name) == read


def test_a_file_that_includes_the_header_itself_is_one_of_warpdrive_s(tmp_path: Path) -> None:
    assert bound(tmp_path, "float* loc_x_arr", includes=(), above="# include <warpdrive.cuh>") == ["loc_x"]


@pytest.mark.parametrize("parameter", ["float* loc_x_arr", "float* obs", "float kMaxSpeed"])
def test_other_files_are_read_as_they_are_written(tmp_path: Path, parameter: str) -> None:
    assert "of that name" in refused(tmp_path, parameter, includes=())


def test_a_mapping_binds_what_has_another_name(tmp_path: Path) -> None:
    given = {"goal": "loc_x_of_goal", "speed": "max_speed", "margin": 0.25}
    parameters = "float* loc_x, int* goal, float speed, float margin, const int* done"
    expected = ["loc_x", "loc_x_of_goal", 0.5, 0.25, "done"]
    assert bound(tmp_path, parameters, given) == bound(tmp_path, parameters, given, includes=()) == expected


def test_a_mapping_takes_read_only_arrays_without_const(tmp_path: Path) -> None:
    assert bound(tmp_path, "int* chosen", {"chosen": "actions"}, includes=()) == ["actions"]


def test_a_mapping_with_a_name_of_no_parameter(tmp_path: Path) -> None:
    assert refused(tmp_path, "float* loc_x", {"loc_xx": "loc_x"}) == (
        "folder/kernels.cu:2: kernel 'step': arguments has 'loc_xx', which is none of its 1 parameters. Did you mean "
        "'loc_x'?"
    )


def test_an_entry_of_a_mapping_that_does_not_fit(tmp_path: Path) -> None:
    assert refused(tmp_path, "float* a", {"a": "done"}) == (
        "folder/kernels.cu:2: kernel 'step', parameter `float* a`, given 'done': the array is int32; expected the name "
        "of an array of float32: declare it as float32"
    )


def test_an_entry_of_a_mapping_that_is_no_entry() -> None:
    with pytest.raises(DeclarationError, match=r"arguments has Ellipsis; expected the name of an array or a parameter"):
        Kernel("step", arguments={"a": ...})  # type: ignore[dict-item]
    assert hash(Kernel("step", arguments={"a": 1})) is not None


def test_all_that_cannot_be_bound_are_named_at_once(tmp_path: Path) -> None:
    parameters = "float* loc_xx,\n int* loc_x_arr, float* zzz,\n float kMaxSped, int kMaxSpeed, float* given"
    assert refused(tmp_path, parameters, {"given": "loc_x"}).splitlines() == [
        "folder/kernels.cu:2: kernel 'step': 5 of its 6 parameters cannot be bound:",
        "  folder/kernels.cu:2: parameter `float* loc_xx`: no array of that name: declare Array('loc_xx', 'float32', "
        "...). Did you mean 'loc_x'?",
        "  folder/kernels.cu:3: parameter `int* loc_x_arr`, 'loc_x': the array is float32; expected the name of an "
        "array of int32: declare it as int32",
        "  folder/kernels.cu:3: parameter `float* zzz`: no array of that name: declare Array('zzz', 'float32', ...).",
        "  folder/kernels.cu:4: parameter `float kMaxSped`: no number of that name: declare `max_sped: float` in "
        "Params. Did you mean 'max_speed'?",
        "  folder/kernels.cu:4: parameter `int kMaxSpeed`, 'max_speed': it is a float (0.5); expected a number that "
        "int32 holds",
        'To bind those that have another name: Kernel("step", arguments={"given": "loc_x", '
        '"loc_xx": "loc_x", "zzz": ..., "kMaxSped": "max_speed"})',
    ]


def test_a_file_of_warpworld_s_own_names_all_of_them_too(tmp_path: Path) -> None:
    assert refused(tmp_path, "float* loc_xx,\n int max_speed", includes=()).splitlines() == [
        "folder/kernels.cu:2: kernel 'step': 2 of its 2 parameters cannot be bound:",
        "  folder/kernels.cu:2: parameter `float* loc_xx`: no array of that name. Did you mean 'loc_x'?",
        "  folder/kernels.cu:3: parameter `int max_speed`: it is a float (0.5): write `float max_speed`",
    ]


@pytest.mark.parametrize(
    ("parameter", "said"),
    [
        ("float* TWICE", "it may be 'twice' or 'Twice'."),
        ("float* twice_arr", "it may be 'twice' or 'Twice'."),
        (
            "int* loc_x_of",
            "no array of that name: declare Array('loc_x_of', 'int32', ...). Did you mean 'loc_x_of_goal'?",
        ),
        ("float* loc_y", "'loc_y' is a number, not an array. To bind those that have another name"),
        ("int loc_x", "'loc_x' is an array, not a number. To bind those that have another name"),
        ("Thing* loc_x", "type `Thing` is not known; write it out as one such as float, int, bool or float2"),
    ],
)
def test_one_that_cannot_be_bound(tmp_path: Path, parameter: str, said: str) -> None:
    assert refused(tmp_path, parameter).startswith(
        f"folder/kernels.cu:2: kernel 'step', parameter `{parameter}`: {said}"
    )


def test_the_world_s_own_time(tmp_path: Path) -> None:
    assert refused(tmp_path, "int* _timestep_", own=False).startswith(
        "folder/kernels.cu:2: kernel 'step', parameter `int* _timestep_`: the world keeps 'timestep' itself; give the "
        "kernel an array of the environment's own, for instance Array('env_timestep', 'int32', per='env', initial=0, "
        "on_reset='initial')."
    )


@pytest.mark.parametrize(
    ("parameters", "given", "expected"),
    [
        ("float* loc_x_arr, float kMaxSpeed, int* done", None, {"loc_x_arr": "loc_x", "kMaxSpeed": "max_speed"}),
        ("float* loc_x_arr, float kMaxSpeed", {"kMaxSpeed": 1.0}, {"loc_x_arr": "loc_x"}),
        ("float* loc_x_arr", ("loc_x",), {}),
        ("int* timestep", None, {"timestep": "env_timestep"}),
    ],
)
def test_similar_names_are_listed(tmp_path: Path, parameters: str, given: Any, expected: dict[str, str]) -> None:
    assert functions(tmp_path, parameters).readings("step", given) == expected


def test_other_files_have_no_similar_names(tmp_path: Path) -> None:
    assert functions(tmp_path, "float* loc_x", includes=()).readings("step") == {}
