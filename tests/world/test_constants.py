"""Variables of a kernel file that the host fills, and headers that come before its text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.toys import HEADER, agents, environment
from warpworld import Array, Environment, World
from warpworld.errors import BindError, BuildError
from warpworld.managers.device_variables import read_declarations

TEXT = """
#define COUNT 2
__constant__ int moves[4];
__device__ float2 weights[COUNT][1];
__device__ __constant__ double scale;
/* __constant__ int commented[3]; */
__constant__ float fixed[1] = {1.0f};
const __device__ int table[2] = {1, 2};
__device__ static int hidden[2];
__constant__ short turned[2][3];
__constant__ __align__(16) float aligned[4];
alignas(8) __constant__ int behind[2];
__constant__ int many[1'000];
extern "C" { __constant__ int here; }
namespace deep { __constant__ int inside[2]; }
__device__ int twice(int value) { return 2 * value; }

extern "C" __global__ void step(int* x, float* y) {
  if (!is_active()) return;
  const int i = agent_index();
  x[i] = twice(moves[agent_id()]) + moves[2] + moves[3] + table[0] + hidden[0];
  y[i] = (weights[0][0].x + weights[1][0].y) * (float)scale * fixed[0];
}
"""
CONTENTS = {"moves": [1, 2, 3, -4], "weights": [[0.5, 9.0], [9.0, 0.25]], "scale": 4}
Make = Callable[..., World]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def make(contents: dict[str, Any], text: str = TEXT, includes: tuple[str, ...] = (), num_envs: int = 3) -> World:
        path = tmp_path / "constants.cu"
        path.write_text(HEADER + text)
        toy = environment(path, [Array("x", "int32"), Array("y", "float32")], [agents(2)], resets=[])
        members = {"constants": lambda self: contents, "includes": includes}
        filled: type[Environment] = type("Filled", (type(toy),), members)
        world = World(filled(), num_envs, device="cpu")
        world.reset()
        return world

    return make


def test_contents_arrive(make: Make) -> None:
    world = make(CONTENTS)
    world.step()
    assert world["x"].tolist() == [[2, 4]] * 3  # 2 * 1 + 3 - 4 + 1 + 0, 2 * 2 + 3 - 4 + 1 + 0
    assert world["y"].tolist() == [[3.0, 3.0]] * 3  # (0.5 + 0.25) * 4


def test_two_worlds_of_one_file_keep_their_own(make: Make) -> None:
    first = make(CONTENTS)
    second = make({**CONTENTS, "moves": [10, 20, 0, 0]}, num_envs=2)
    again = make(CONTENTS)
    for world in (first, second, again, first):
        world.step()
    assert first["x"].tolist() == again["x"].tolist() == [[2, 4]] * 3
    assert second["x"].tolist() == [[21, 41]] * 2


def test_aligned_and_exported_variables_are_filled(make: Make) -> None:
    more = {"aligned": [0, 100, 0, 0], "behind": [0, 1000], "here": 10_000}
    world = make({**CONTENTS, **more}, TEXT.replace("hidden[0];", "hidden[0] + (int)aligned[1] + behind[1] + here;"))
    world.step()
    assert world["x"].tolist() == [[11102, 11104]] * 3


def test_a_variable_that_is_only_declared(make: Make) -> None:
    text = TEXT + 'extern "C" __constant__ int elsewhere;\n'
    with pytest.raises(
        BindError, match="constant 'elsewhere' is extern in the file, so it has no memory: remove `extern`"
    ):
        make({"elsewhere": 1}, text)
    declared = 'extern "C" __constant__ float k;', "extern __device__ float k[];"
    for defined in ("__constant__ int k[2];", 'extern "C" __constant__ int k[2] = {1, 2};'):
        for texts in ((*declared, defined), (defined, *declared)):
            assert str(read_declarations(texts)["k"]) == "k (int[2])"
            assert "extern" not in read_declarations(texts)["k"].words


def test_what_is_not_given_is_zero(make: Make) -> None:
    world = make({"moves": np.arange(4)})
    world.step()
    assert world["x"].tolist() == [[6, 8]] * 3
    assert world["y"].tolist() == [[0.0, 0.0]] * 3


@pytest.mark.parametrize(
    ("contents", "told"),
    [
        ({"move": [1]}, r"constant 'move': the file has no .* of that name\. Did you mean 'moves'\?"),
        ({"nothing": 1}, r"It has: moves \(int\[4\]\), weights \(float2\[COUNT\]\[1\]\), scale \(double\), fixed"),
        ({"commented": [1, 2, 3]}, "constant 'commented': the file has no"),
        ({"many": [1, 2]}, r"constant 'many' is int\[1'000\]: expected 1000 numbers, given 2, of shape \(2,\)"),
        ({"moves": [1, 2]}, r"constant 'moves' is int\[4\]: expected 4 numbers, given 2, of shape \(2,\)"),
        (
            {"moves": [1, 2, 3, 4.5]},
            r"constant 'moves' is \[1, 2, 3, 4\.5\], which int32 does not hold; the file has int\[4\]",
        ),
        ({"moves": [1, 2, 3, 2**31]}, r"constant 'moves' is \[1, 2, 3, 2147483648\], which int32 does not hold"),
        ({"moves": "1234"}, "constant 'moves' is '1234', expected numbers that int32 holds"),
        ({"table": [3, 4]}, "constant 'table' is const in the file, which gives it its contents"),
        ({"hidden": [3, 4]}, "constant 'hidden' is static in the file, so the host cannot find it: remove `static`"),
        ({"moves": [[1], [2, 3]]}, "constant 'moves' is .*, expected numbers that int32 holds"),
        ({"weights": [[1e300, 0]] * 2}, "constant 'weights' is .*, which float32 does not hold"),
        (
            {"turned": np.zeros((3, 2))},
            r"turned' is short\[2\]\[3\]: expected 6 numbers of shape \(2, 3\), or in one row, given 6, .* \(3, 2\)",
        ),
        ({"scale": [1, 2]}, r"constant 'scale' is double: expected 1 number, given 2"),
        (
            {"inside": [1, 2]},
            "constant 'inside' is not at file scope, where the host finds variables: move it out of its",
        ),
        ({3: [1, 2]}, r"constants\(\) is \{3: \[1, 2\]\}; expected a mapping from variables' names"),
    ],
)
def test_contents_that_fit_nothing_are_refused(make: Make, contents: dict[Any, Any], told: str) -> None:
    with pytest.raises(BindError, match=told):
        make(contents)


def test_a_size_that_only_the_compiler_knows(make: Make) -> None:
    with pytest.raises(
        BindError, match=r"constants\.cu: constant 'weights' is given 6 numbers of float32; the compiler"
    ):
        make({"weights": np.ones((3, 2))})


def test_a_header_before_the_text(make: Make, tmp_path: Path) -> None:
    (tmp_path / "more.cuh").write_text("constexpr int MORE = 7;\n__constant__ int extra[1];\n")
    text = TEXT.replace("hidden[0];", "hidden[0] + MORE + extra[0];")
    world = make({**CONTENTS, "extra": [100]}, text, includes=("more.cuh",))
    world.step()
    assert world["x"].tolist() == [[109, 111]] * 3


def test_a_header_that_changes_is_built_anew(make: Make, tmp_path: Path) -> None:
    text = TEXT.replace("hidden[0];", "MORE;")
    for more in (5, 6):
        (tmp_path / "more.cuh").write_text(f"constexpr int MORE = {more};\n")
        world = make(CONTENTS, text, includes=("more.cuh",))
        world.step()
        assert world["x"].tolist() == [[2 + more, 4 + more]] * 3


def test_an_unknown_header(make: Make) -> None:
    with pytest.raises(
        BindError, match=r"includes has 'warpdriv\.cuh', .* Did you mean 'warpdrive\.cuh'\? Those are: "
    ):
        make({}, includes=("warpdriv.cuh",))


@pytest.mark.parametrize("includes", [None, 3, (3,)])
def test_headers_that_are_no_names(make: Make, includes: Any) -> None:
    with pytest.raises(BindError, match=r"includes is .*; expected a tuple of headers, .* \('warpdrive\.cuh',\)"):
        make({}, includes=includes)


def test_a_header_whose_path_has_a_quote(make: Make, tmp_path: Path) -> None:
    (tmp_path / 'mo"re.cuh').write_text("")
    with pytest.raises(BindError, match=r"includes has 'mo\"re\.cuh', which is .*: an #include cannot hold a quote"):
        make({}, includes=('mo"re.cuh',))


def test_headers_that_are_no_tuple(make: Make) -> None:
    with pytest.raises(
        BindError, match=r"includes is 'more\.cuh'; expected a tuple of headers, for instance \('more\.cuh',\)"
    ):
        make({}, includes="more.cuh")  # type: ignore[arg-type]


@pytest.mark.parametrize("contents", [[1, 2], None])
def test_contents_that_are_no_mapping(make: Make, contents: Any) -> None:
    with pytest.raises(BindError, match=r"constants\(\) is .*; expected a mapping from variables' names to contents"):
        make(contents)


def test_kernels_of_a_header_are_found_and_not_defined_twice(make: Make, tmp_path: Path) -> None:
    (tmp_path / "more.cuh").write_text('\n\nextern "C" __global__ void step(int* x) {}\n')
    with pytest.raises(BindError, match=r"constants\.cu:\d+: kernel 'step' is defined in .*more\.cuh too"):
        make({}, includes=("more.cuh",))
    (tmp_path / "more.cuh").write_text('\n\nextern "C" __global__ void step(int* loc_x) {}\n')
    with pytest.raises(BindError, match=r"more\.cuh:3: kernel 'step', parameter `int\* loc_x`: no array of that name"):
        make({}, text="", includes=("more.cuh",))


def test_a_header_that_does_not_compile(make: Make, tmp_path: Path) -> None:
    (tmp_path / "more.cuh").write_text("constexpr int MORE = nothing;\n")
    with pytest.raises(BuildError, match=r"more\.cuh:1"):
        make({}, includes=("more.cuh",))


@pytest.mark.cuda_backend
def test_a_variable_that_the_driver_does_not_find(make: Make) -> None:
    text = TEXT.replace("__device__ static int hidden[2];", "namespace { __device__ int hidden[2]; }")
    with pytest.raises(
        BindError, match="constant 'hidden' is not in what the compiler made of the file: no kernel reads"
    ):
        make({**CONTENTS, "hidden": [0, 0]}, text)
