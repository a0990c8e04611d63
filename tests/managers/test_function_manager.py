"""Kernels' parameters are bound by name, and whatever does not fit is refused before any launch."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.toys import HEADER
from warpworld import Array, Kernel
from warpworld.environment import DTYPES
from warpworld.errors import BindError, BuildError
from warpworld.managers.c_types import C_NAMES, C_TYPES
from warpworld.managers.data_manager import DataManager
from warpworld.managers.devices import open_backend
from warpworld.managers.function_manager import FunctionManager
from warpworld.managers.program import Argument

ARRAYS = [
    Array("loc_x", "float32"),
    Array("loc", "float32", (2,)),
    Array("cells", "int32", (4,), per="env"),
    Array("mask", "bool"),
    Array("field", "float32", per="world", read_only=True),
    Array("actions", "int32", (1,), read_only=True),
    Array("timestep", "int32", per="env"),
    Array("clock", "uint64", per="env"),
    Array("active", "bool", per="env"),
    Array("step", "int32"),  # called like a kernel
    Array("both", "float32"),  # called like a parameter
    *(Array(f"of_{dtype}", dtype) for dtype in DTYPES),
]
SCALARS: dict[str, Any] = {
    "side": 10.0,
    "episode_length": 500,
    "walls": True,
    "start": "random",
    "nothing": None,
    "pair": (1, 2),
    "negative": -1,
    "large": 2**31,
    "largest": 2**64 - 1,
    "endless": 2**64,
    "huge": 1e300,
    "infinite": float("inf"),
    "numpy_int": np.int64(7),
    "numpy_float": np.float32(0.5),
    "numpy_bool": np.bool_(True),
    "both": 3.0,
    "num_envs": 7,
}
Make = Callable[..., FunctionManager]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """A FunctionManager of a file with this text, after two lines; unless ``text`` is asked to be all of it."""
    data = DataManager(lambda nbytes: torch.zeros(nbytes, dtype=torch.uint8), 7, 2)
    for array in ARRAYS:
        data.add(array)

    def make(text: str, whole: bool = False, backend: Any = None, **options: Any) -> FunctionManager:
        path = tmp_path / "kernels.cu"
        path.write_bytes((text if whole else f"{HEADER}\n{text}").encode())
        constants = {"NUM_AGENTS": 2, **options.pop("constants", {})}
        return FunctionManager(backend, data, path, constants, {**SCALARS, **options.pop("scalars", {})}, **options)

    return make


def kernel(listed: str, name: str = "step", body: str = "") -> str:
    return f'extern "C" __global__ void {name}({listed}) {{{body}}}\n'


def bind(make: Make, parameter: str, **options: Any) -> Argument:
    (argument,) = make(kernel(parameter), **options).arguments("step")
    return argument


def refusal(make: Make, parameter: str, **options: Any) -> str:
    """What is said of a parameter in line 4 of the file, after file, line and kernel."""
    functions = make(kernel(f"bool walls,\n  {parameter}"), **options)
    with pytest.raises(BindError) as caught:
        functions.arguments("step")
    found = re.fullmatch(r".*/kernels\.cu:4: kernel 'step', parameter (.*)", str(caught.value))
    assert found, caught.value
    return found.group(1)


class TestArrays:
    def test_by_name_in_any_order(self, make: Make) -> None:
        functions = make(kernel("int* cells, float side, const float* loc_x, int episode_length"))
        assert functions.arguments("step") == (
            Argument("cells", 0, "int32"),
            Argument(None, 10.0, "float32"),
            Argument("loc_x", 0, "float32"),
            Argument(None, 500, "int32"),
        )

    @pytest.mark.parametrize("c_type", sorted(name for name, (_, n) in C_TYPES.items() if n == 1))
    def test_every_c_type(self, make: Make, c_type: str) -> None:
        dtype = C_TYPES[c_type][0]
        assert bind(make, f"{c_type}* of_{dtype}") == Argument(f"of_{dtype}", 0, dtype)

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_every_other_dtype_is_refused(self, make: Make, dtype: str) -> None:
        for name, c_type in C_NAMES.items():
            if name != dtype:
                told = refusal(make, f"const {c_type}* of_{dtype}")
                header = ", and `#include <half.cuh>` above" if dtype == "float16" else ""
                expected = f"the array is {dtype}: write `const {C_NAMES[dtype]}* of_{dtype}`{header}"
                assert told == f"`const {c_type}* of_{dtype}`: {expected}"

    def test_a_half_that_is_passed_by_value_needs_its_header(self, make: Make) -> None:
        expected = "'of_float16' is an array, not a number: write `__half* of_float16`, and `#include <half.cuh>` above"
        assert refusal(make, "float of_float16") == f"`float of_float16`: {expected}"

    def test_vector_types_read_the_last_dimension(self, make: Make) -> None:
        assert bind(make, "float2* loc") == Argument("loc", 0, "float32")
        assert bind(make, "const int4* cells") == Argument("cells", 0, "int32")

    @pytest.mark.parametrize(
        ("parameter", "told"),
        [
            ("float4* loc", "`float4* loc`: the array's last dimension is 2, not 4: write `float* loc`"),
            ("int2* cells", "`int2* cells`: the array's last dimension is 4, not 2: write `int* cells`"),
            (
                "float2* loc_x",
                "`float2* loc_x`: the array's last dimension is that of agents or envs, not 2: write `float* loc_x`",
            ),
            ("uint4* cells", "`uint4* cells`: the array is int32: write `int* cells`"),
            ("double2* loc", "`double2* loc`: the array is float32: write `float* loc`"),
        ],
    )
    def test_vector_types_that_do_not_fit(self, make: Make, parameter: str, told: str) -> None:
        assert refusal(make, parameter) == told

    @pytest.mark.parametrize("name", ["field", "actions", "timestep", "clock", "active"])
    def test_read_only(self, make: Make, name: str) -> None:
        c_type = C_NAMES[next(array.dtype for array in ARRAYS if array.name == name)]
        assert bind(make, f"const {c_type}* {name}").array == name
        assert refusal(make, f"{c_type}* {name}") == (
            f"`{c_type}* {name}`: the array is read-only for kernels: write `const {c_type}* {name}`"
        )
        assert bind(make, f"{c_type}* {name}", writable={name}).array == name

    def test_read_only_shows_in_what_to_write(self, make: Make) -> None:
        assert refusal(make, "float* actions").endswith("the array is int32: write `const int* actions`")

    @pytest.mark.parametrize(
        ("parameter", "told"),
        [
            ("float* loc_xx", "`float* loc_xx`: no array of that name. Did you mean 'loc_x'?"),
            ("float* local_x", "Did you mean 'loc_x'?"),
            ("const int* time_step", "`const int* time_step`: no array of that name. Did you mean 'timestep'?"),
            ("float* zzz", "`float* zzz`: no array of that name. Known: loc_x, loc, cells, mask, field, actions"),
        ],
    )
    def test_unknown_name(self, make: Make, parameter: str, told: str) -> None:
        assert told in refusal(make, parameter)

    def test_a_number_is_no_array(self, make: Make) -> None:
        assert refusal(make, "const float* side") == (
            "`const float* side`: 'side' is a number, not an array: write `float side`"
        )

    def test_an_array_may_be_called_like_a_kernel_or_a_number(self, make: Make) -> None:
        assert bind(make, "int* step").array == "step"
        assert bind(make, "float* both").array == "both"
        assert bind(make, "float both") == Argument(None, 3.0, "float32")

    def test_aliases(self, make: Make) -> None:
        assert bind(make, "float* x", aliases={"x": "loc_x"}).array == "loc_x"
        assert refusal(make, "int* x", aliases={"x": "loc_x"}).endswith("the array is float32: write `float* x`")
        assert refusal(make, "float x", aliases={"x": "loc_x"}).endswith("not a number: write `float* x`")
        assert refusal(make, "float* y", aliases={"yy": "loc_x"}).endswith("Did you mean 'yy'?")


class TestNumbers:
    @pytest.mark.parametrize(
        ("parameter", "value", "dtype"),
        [
            ("float side", 10.0, "float32"),
            ("const double side", 10.0, "float64"),
            ("float episode_length", 500, "float32"),  # whole numbers may become floats
            ("int episode_length", 500, "int32"),
            ("short episode_length", 500, "int16"),
            ("unsigned episode_length", 500, "uint32"),
            ("unsigned long long largest", 2**64 - 1, "uint64"),
            ("int64_t large", 2**31, "int64"),
            ("uint32_t large", 2**31, "uint32"),
            ("double huge", 1e300, "float64"),
            ("float infinite", float("inf"), "float32"),
            ("bool walls", True, "bool"),
            ("int walls", True, "int32"),
            ("signed char negative", -1, "int8"),
            ("int num_envs", 7, "int32"),
            ("int numpy_int", 7, "int32"),
            ("float numpy_float", 0.5, "float32"),
            ("bool numpy_bool", True, "bool"),
        ],
    )
    def test_fits(self, make: Make, parameter: str, value: Any, dtype: str) -> None:
        argument = bind(make, parameter)
        assert argument == Argument(None, value, dtype)
        assert type(argument.value) is type(value)

    @pytest.mark.parametrize(
        ("parameter", "told"),
        [
            ("int side", "`int side`: it is a float (10.0): write `float side`"),
            ("bool side", "`bool side`: it is a float (10.0): write `float side`"),
            ("bool episode_length", "`bool episode_length`: it is an int (500): write `int episode_length`"),
            ("float walls", "`float walls`: it is a bool (True): write `bool walls`"),
            ("uint8_t episode_length", "`uint8_t episode_length`: its value is 500: write `int episode_length`"),
            ("unsigned int negative", "`unsigned int negative`: its value is -1: write `int negative`"),
            ("int large", "`int large`: its value is 2147483648: write `long long large`"),
            ("long long largest", f"`long long largest`: its value is {2**64 - 1}: write `unsigned long long largest`"),
            ("uint64_t endless", f"`uint64_t endless`: its value is {2**64}: write `double endless`"),
            ("float huge", "`float huge`: its value is 1e+300: write `double huge`"),
            ("int infinite", "`int infinite`: it is a float (inf): write `float infinite`"),
            ("float2 side", "`float2 side`: its value is 10.0: write `float side`"),
            (
                "int start",
                "`int start`: its value is 'random'; only numbers and bools reach a kernel, so leave it to Python",
            ),
            ("int nothing", "`int nothing`: its value is None; only numbers and bools reach a kernel"),
            ("int2 pair", "`int2 pair`: its value is (1, 2); only numbers and bools reach a kernel"),
            ("float loc_x", "`float loc_x`: 'loc_x' is an array, not a number: write `float* loc_x`"),
            ("float timestep", "`float timestep`: 'timestep' is an array, not a number: write `const int* timestep`"),
            ("float sid", "`float sid`: no parameter or world constant of that name. Did you mean 'side'?"),
            ("float zzz", "`float zzz`: no parameter or world constant of that name. Known: side, episode_length"),
        ],
    )
    def test_refused(self, make: Make, parameter: str, told: str) -> None:
        assert told in refusal(make, parameter)


class TestTypesThatAreNotKnown:
    @pytest.mark.parametrize("kind", ["real", "State", "struct State", "char", "uint", "half8", "auto", "ns::real"])
    def test_they_come_as_written(self, make: Make, kind: str) -> None:
        expected = f"type `{kind}` is not known; write it out as one such as float, int, bool or float2"
        assert refusal(make, f"{kind}* loc_x") == f"`{kind}* loc_x`: {expected}"
        own = ", or define a struct of that name in the file or in what it includes"
        assert refusal(make, f"{kind} side") == f"`{kind} side`: {expected}{own}"

    def test_a_macro_in_the_place_of_a_known_type(self, make: Make) -> None:
        # both the reader and the compiler see one type then, and the assertion compares the compiler's with itself
        assert refusal(make, "real* loc_x").startswith("`real* loc_x`: type `real` is not known")


class TestConstants:
    @pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e300, 2**63, "fast", None, (1, 2)])
    def test_refused(self, make: Make, value: Any) -> None:
        message = rf"kernels.cu: the constant SPEED is {re.escape(repr(value))}; expected a bool, a 64-bit integer or a"
        with pytest.raises(BindError, match=message):
            make(kernel(""), constants={"SPEED": value})


class TestTheFile:
    def test_missing(self, make: Make, tmp_path: Path) -> None:
        data = DataManager(lambda nbytes: torch.zeros(nbytes, dtype=torch.uint8), 7, 2)
        for path in (tmp_path / "nowhere.cu", tmp_path):
            with pytest.raises(BindError, match=f"cannot read the kernel file {path}: .*; it must be a text file"):
                FunctionManager(None, data, path, {"NUM_AGENTS": 2}, {})  # type: ignore[arg-type]

    def test_of_bytes_that_are_no_text(self, tmp_path: Path) -> None:
        path = tmp_path / "latin.cu"
        path.write_bytes("// größe\n".encode("latin-1"))
        data = DataManager(lambda nbytes: torch.zeros(nbytes, dtype=torch.uint8), 7, 2)
        with pytest.raises(BindError, match=r"latin.cu: .*; it must be a text file in UTF-8"):
            FunctionManager(None, data, path, {"NUM_AGENTS": 2}, {})  # type: ignore[arg-type]

    def test_in_a_folder_whose_name_is_no_text(self, tmp_path: Path) -> None:
        path = tmp_path / os.fsdecode(b"\xff") / "kernels.cu"
        data = DataManager(lambda nbytes: torch.zeros(nbytes, dtype=torch.uint8), 7, 2)
        with pytest.raises(BindError, match=r"the kernel file is '.*udcff/kernels.cu'; expected a path in UTF-8"):
            FunctionManager(None, data, path, {"NUM_AGENTS": 2}, {})  # type: ignore[arg-type]

    def test_byte_order_mark_and_carriage_returns(self, make: Make) -> None:
        text = f"\ufeff// größe\r\n{HEADER}{kernel('float* loc_y')}"
        functions = make(text.replace("\n", "\r\n").replace("\r\r", "\r"), whole=True)
        with pytest.raises(BindError, match=r"kernels.cu:3: kernel 'step'"):
            functions.arguments("step")


class TestThreads:
    def test_conflicting(self, make: Make) -> None:
        kernels = [Kernel("step", threads_per_env=8), Kernel("step")]
        message = "kernel 'step' is asked for with 8 and with 2 threads_per_env; a kernel has one number"
        with pytest.raises(BindError, match=message):
            make(kernel(""), backend=open_backend("cpu", 1)).build(kernels)

    def test_packed_kernels_have_one_per_agent(self, make: Make) -> None:
        message = "kernel 'step' has 8 threads_per_env; only kernels of one thread per agent can share a warp"
        with pytest.raises(BindError, match=message):
            make(kernel(""), backend=open_backend("cpu", 1), envs_per_warp=4).build([Kernel("step", threads_per_env=8)])

    @pytest.mark.parametrize(("body", "word"), [("sync_env();", "sync_env"), ("ENV_SHARED(int, n, 1);", "ENV_SHARED")])
    def test_agents_that_meet_cannot_take_turns(self, make: Make, body: str, word: str) -> None:
        functions = make(kernel("", body=body), constants={"NUM_AGENTS": 1025}, backend=open_backend("cpu", 1))
        message = (
            "kernels.cu:3: kernel 'step' has a thread for each of 1025 agents, more than the 1024 of a block. They "
            f"would take turns, but its file uses {word}, which takes all of them at once. Declare it with "
            "threads_per_env=(1, 1024) and loop over agents from lane() in steps of num_lanes(), or ask for fewer "
            "agents"
        )
        functions.build([])  # the file may hold kernels that are not launched
        with pytest.raises(BindError) as caught:
            functions.step("step", 0)
        assert str(caught.value).endswith(message)

    def test_a_barrier_in_a_header(self, make: Make, tmp_path: Path) -> None:
        (tmp_path / "meeting.cuh").write_text("__device__ void meet() { __syncthreads(); }  // all are here\n")
        functions = make(
            '#include "meeting.cuh"\n' + kernel("", body="meet();"),
            constants={"NUM_AGENTS": 2000},
            backend=open_backend("cpu", 1),
        )
        functions.build([])
        with pytest.raises(BindError, match="its file uses __syncthreads, which takes all of them at once"):
            functions.step("step", 0)

    def test_a_kernel_that_loops_over_agents(self, make: Make) -> None:
        functions = make(kernel("", body="sync_env();"), constants={"NUM_AGENTS": 5000}, backend=open_backend("cpu", 1))
        functions.build([Kernel("step", threads_per_env=(1, 1024))])
        assert functions.step("step", 0).threads in (1, 1024)  # where threads take turns, and where they do not


class TestCompiled:
    """What only the compiler can tell."""

    @pytest.fixture
    def compiled(self, make: Make) -> Make:
        backend = open_backend("cpu", 1)
        return lambda text, **options: make(text, backend=backend, **options)

    def build_error(self, compiled: Make, text: str) -> str:
        functions = compiled(text)
        with pytest.raises(BindError) as caught:
            functions.build([])
        return str(caught.value)

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param(f"#if 0\n{kernel('float* loc_x')}#endif\n", id="in #if 0"),
            pytest.param(f"#define float double\n\n{kernel('float* loc_x')}#undef float\n", id="macro type"),
            pytest.param(f"#define loc_x loc_x, int extra\n\n{kernel('float* loc_x')}", id="macro parameter"),
            pytest.param(f"#define step other\n\n{kernel('float* loc_x')}#undef step\n", id="macro name"),
        ],
    )
    def test_not_what_it_sees(self, compiled: Make, text: str) -> None:
        line = 3 + text[: text.index("extern")].count("\n")
        told = self.build_error(compiled, text)
        expected = (
            f"kernels.cu:{line}: kernel 'step' is not what the compiler sees there; it may be inside an #if, or have"
        )
        assert expected in told
        assert "macros" in told

    def test_missing_kernel(self, compiled: Make) -> None:
        functions = compiled(kernel("", "step") + kernel("", "restart"))
        functions.require(["step", "restart"])
        with pytest.raises(BindError) as caught:
            functions.require(["step", "restrat"])
        assert str(caught.value).endswith(
            "kernels.cu: no `__global__` function 'restrat'. Did you mean 'restart'? Kernels in the file: step, "
            "restart (those that a macro makes are not seen)"
        )

    def test_kernels_that_a_macro_makes(self, compiled: Make) -> None:
        functions = compiled(f"#define MAKE(name) {kernel('', 'name').strip()}\nMAKE(step)\n")
        with pytest.raises(
            BindError, match=r"no `__global__` function 'step'. Kernels in the file: none \(those that a ma"
        ):
            functions.require(["step"])

    def test_a_syntax_error_is_the_compiler_s_to_tell(self, compiled: Make) -> None:
        functions = compiled(
            f"{kernel('float* loc_x', body='loc_x[0] = 1 +')}__global__ reset {{ }}\n".replace("reset {", "reset;")
        )
        with pytest.raises(BuildError, match=r"kernels.cu:3:\d+: ") as caught:
            functions.require(["reset"])
        assert len(str(caught.value).splitlines()) == 3
        assert "error:" in caught.value.log

    def test_file_and_line_are_the_author_s(self, compiled: Make) -> None:
        text = "// größe\n" + kernel("float* loc_x", body="\n\n  loc_x[0] = undeclared;\n")
        with pytest.raises(BuildError, match=r"/kernels.cu:6:14: .*undeclared.*\n  loc_x\[0\] = undeclared;\n {13}\^$"):
            compiled(text).build([])

    def test_carriage_returns_keep_lines(self, compiled: Make) -> None:
        text = f"\ufeff{HEADER}\n\n{kernel('float* loc_x', body=chr(10) + '  loc_x[0] = undeclared;')}"
        with pytest.raises(BuildError, match=r"/kernels.cu:5:\d+: .*undeclared"):
            compiled(text.replace("\n", "\r\n"), whole=True).build([])

    def test_errors_in_a_header_of_the_author_s(self, compiled: Make, tmp_path: Path) -> None:
        (tmp_path / "helper.cuh").write_text("#pragma once\n\n__device__ int help() { return undeclared; }\n")
        with pytest.raises(BuildError, match=r"helper.cuh:3:\d+: .*undeclared"):
            compiled('#include "helper.cuh"\n' + kernel("")).build([])

    @pytest.mark.parametrize("quotes", ['""', "<>"])
    def test_a_changed_header_is_compiled_anew(self, compiled: Make, tmp_path: Path, quotes: str) -> None:
        text = f"#include {quotes[0]}helper.cuh{quotes[1]}\n{kernel('')}"
        (tmp_path / "helper.cuh").write_text('#include "deeper.cuh"\n')
        (tmp_path / "deeper.cuh").write_text("// fine\n")
        compiled(text).build([])
        (tmp_path / "deeper.cuh").write_text("#error changed\n")
        with pytest.raises(BuildError, match="changed"):
            compiled(text).build([])

    def test_names_that_clash_with_nothing(self, compiled: Make) -> None:
        """Kernels, arrays and constants may be called as the build's own helpers are."""
        text = (
            "#define A 3\n#define value 4\n"
            + kernel("int* step, float both")
            + kernel("", "world")
            + kernel("", "enter")
        )
        functions = compiled(
            text, constants={"N": 3, "NEGATIVE": -2, "SIDE": -0.5, "ZERO": -0.0, "LOW": 1e-30, "WALLS": True}
        )
        functions.build([])
        assert functions.step("step", index=0).arguments[0].array == "step"

    def test_constants_are_what_they_were(self, compiled: Make) -> None:
        asserts = "".join(
            f"static_assert({text}, {text!r});\n".replace("'", '"')
            for text in (
                "NUM_AGENTS == 2",
                "1-NEGATIVE == 3",
                "1-SIDE == 1.5f",
                "sizeof(SIDE) == 4",
                "1-ZERO == 1",
                "THIRD == 0.333333343f",
                "TINY > 0 && TINY < 2e-30f",
                "BIG == 3000000000",
                "WALLS && !DOORS",
                "sizeof(WALLS) == 1",
                "COUNT == 7",
            )
        )
        values = {
            **{"NEGATIVE": -2, "SIDE": -0.5, "ZERO": -0.0, "THIRD": 1 / 3, "TINY": 1e-30, "BIG": 3_000_000_000},
            **{"WALLS": True, "DOORS": False, "COUNT": np.int64(7)},
        }
        compiled(asserts + kernel(""), constants=values).build([])
