"""Structs that kernels take: what is read of them, what is refused, and what their fields are bound to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from warpworld import Array
from warpworld.errors import BindError
from warpworld.managers.data_manager import DataManager
from warpworld.managers.devices import open_backend
from warpworld.managers.function_manager import FunctionManager
from warpworld.managers.program import Argument
from warpworld.managers.signature import Signature, read_signatures
from warpworld.managers.structs import with_structs

PATH = Path("folder/kernels.cu")
KERNEL = 'extern "C" __global__ void step(Scene scene, int last) {}\n'

ARRAYS = [
    Array("places", "float32", (2,)),
    Array("cells", "int32", (4,), per="env"),
    Array("walls", "float32", (9, 4), per="world", read_only=True),
    Array("first_wall", "int32", (3,), per="world", read_only=True),
]
SCALARS: dict[str, Any] = {"num_walls": 9, "width": 0.5, "last": 3}


def read(source: str) -> Signature:
    return with_structs(read_signatures(PATH, source), lambda: {PATH: source})["step"]


def leaves(source: str) -> list[tuple[str, int]]:
    """What is bound, in words, and its line."""
    return [(str(leaf), leaf.parameter.line) for leaf in read(source).leaves]


def refusal(source: str) -> str:
    with pytest.raises(BindError) as caught:
        read(source)
    return str(caught.value)


class TestRead:
    def test_fields_take_the_place_of_the_struct(self) -> None:
        source = """struct Scene {
  const float4* walls;  // of all plans
  int num_walls;
};
extern "C" __global__ void step(bool first, Scene scene,
                                int last) {}
"""
        assert leaves(source) == [
            ("parameter `bool first`", 5),
            ("field `const float4* walls` of struct 'Scene'", 2),
            ("field `int num_walls` of struct 'Scene'", 3),
            ("parameter `int last`", 6),
        ]
        assert [parameter.name for parameter in read(source).parameters] == ["first", "scene", "last"]

    @pytest.mark.parametrize(
        ("written", "declared"),
        [
            ("float2* x", ["float2* x"]),
            ("const int n", ["int n"]),
            ("float* const x", ["float* x"]),
            ("const float* __restrict__ x", ["const float* x"]),
            ("unsigned char const* x", ["const unsigned char* x"]),
            ("float2 *x, *y", ["float2* x", "float2* y"]),
            ("const float *x, y", ["const float* x", "float y"]),
            ("alignas(16) float x", ["float x"]),
            ("[[maybe_unused]] int x", ["int x"]),
            ("int x /* ; } */", ["int x"]),
            ("/* größer */ int x", ["int x"]),
            ("int x; // } 1'000\n  int y", ["int x", "int y"]),
            ("Unknown x", ["Unknown x"]),  # which is for the binding to refuse
        ],
    )
    def test_a_field(self, written: str, declared: list[str]) -> None:
        expected = [f"field `{each}` of struct 'Scene'" for each in declared]
        assert [leaf for leaf, _ in leaves(f"struct Scene {{\n  {written};\n}};\n{KERNEL}")] == [
            *expected,
            "parameter `int last`",
        ]

    @pytest.mark.parametrize(
        "function",
        [
            "float at(int i) const { return x[i]; }",
            "WW_METHOD float at(int i) const { ENV_SHARED(int, cells, 4) return x[i]; }",
            "__device__ Scene& operator+=(int i) {\n#pragma unroll\n return *this; }",
            "static int one() { return 1; }",
        ],
    )
    def test_functions_are_no_fields(self, function: str) -> None:
        source = f"struct Scene {{\n  float* x;\n  {function}\n  int y;\n}};\n{KERNEL}"
        assert [leaf for leaf, _ in leaves(source)] == [
            "field `float* x` of struct 'Scene'",
            "field `int y` of struct 'Scene'",
            "parameter `int last`",
        ]

    @pytest.mark.parametrize(
        "head", ["struct Scene", "struct alignas(16) Scene final", "struct __align__(8) Scene", "struct\nScene\n"]
    )
    def test_heads(self, head: str) -> None:
        assert len(leaves(f"struct Scene;\n// struct Scene {{ int old; }};\n{head} {{ int x; }};\n{KERNEL}")) == 2

    @pytest.mark.parametrize("written", ["const Scene scene", "struct Scene scene", "const struct Scene scene"])
    def test_spellings_of_the_parameter(self, written: str) -> None:
        found = read(f"struct Scene {{ int x; }};\n{KERNEL.replace('Scene scene', written)}")
        assert [parameter.declaration for parameter in found.parameters] == ["Scene", "int"]

    def test_a_struct_in_a_struct(self) -> None:
        source = f"struct Walls {{ float4* ends; }};\nstruct Scene {{ int a; Walls walls; int b; }};\n{KERNEL}"
        assert [leaf for leaf, _ in leaves(source)] == [
            "field `int a` of struct 'Scene'",
            "field `float4* ends` of struct 'Walls'",
            "field `int b` of struct 'Scene'",
            "parameter `int last`",
        ]

    def test_a_type_without_a_definition_stays(self) -> None:
        assert leaves(f"typedef struct {{ int x; }} Scene;\n{KERNEL}")[0] == ("parameter `Scene scene`", 2)

    def test_another_name_of_a_c_type(self) -> None:
        source = f"using Pixel = __half;\nusing N=int unsigned;\nstruct Scene {{ const Pixel* x; N y; }};\n{KERNEL}"
        assert [leaf for leaf, _ in leaves(source)][:2] == [
            "field `const __half* x` of struct 'Scene'",
            "field `unsigned int y` of struct 'Scene'",
        ]

    def test_a_name_with_two_meanings_stays(self) -> None:
        source = f"using Pixel = __half;\nusing Pixel = float;\nstruct Scene {{ const Pixel* x; int y; }};\n{KERNEL}"
        assert leaves(source)[0][0] == "field `const Pixel* x` of struct 'Scene'"

    def test_files_are_read_only_where_a_type_is_no_number_s(self) -> None:
        def read_texts() -> dict[Path, str]:
            raise AssertionError

        source = 'extern "C" __global__ void step(float2* x, const unsigned y, struct Scene* z) {}'
        assert len(with_structs(read_signatures(PATH, source), read_texts)["step"].leaves) == 3


SHAPE = "write it as `type name` or `type* name`"
NO_FIELD = "is not a field; a struct of a kernel's has fields such as `const float* name` or `int name`"


class TestRefused:
    @pytest.mark.parametrize(
        ("field", "reason"),
        [
            ("float x[3]", "is an array; write a pointer to an array of the store, or a field for each number"),
            ("int x, y[2]", "is an array; write a pointer to an array of the store, or a field for each number"),
            ("float& x", f"is a reference, a function or a macro; {SHAPE}"),
            ("int size() const", f"is a reference, a function or a macro; {SHAPE}"),
            ("void (*call)(int)", f"is a reference, a function or a macro; {SHAPE}"),
            ("float** x", "is a pointer to a pointer; arrays are flat"),
            ("volatile int x", "is volatile; leave that out"),
            ("static int x", "is static; leave that out, or move it out of the struct"),
            ("int x = 3", "has a default value; leave that out, the value comes from the field's name"),
            ("float x{1.0f}", "has a default value; leave that out, the value comes from the field's name"),
            ("int x : 3", "has a width in bits; leave that out"),
            ("virtual int x() { return 1; }", "is virtual; leave that out"),
            ("struct { int a; } x", "defines a type; define that outside, under a name"),
            ("union { int a; float b; }", "defines a type; define that outside, under a name"),
            ("enum { A, B }", "defines a type; define that outside, under a name"),
            ("int", f"has no name; {SHAPE}"),
            ("IN float* x", "has a macro or a syntax error in it; write it out"),
            ("int a b", "has a macro or a syntax error in it; write it out"),
            ("using Real = float", NO_FIELD),
            ("static_assert(true)", NO_FIELD),
            ("template <class T> T at() { return T(); }", NO_FIELD),
        ],
    )
    def test_field(self, field: str, reason: str) -> None:
        source = f"struct Scene {{\n  int first;\n  {field};\n}};\n{KERNEL}"
        assert refusal(source) == f"folder/kernels.cu:3: struct 'Scene', field `{field}` {reason}"

    def test_access(self) -> None:
        source = f"struct Scene {{\n  int first;\n private:\n  int x;\n}};\n{KERNEL}"
        assert refusal(source) == f"folder/kernels.cu:3: struct 'Scene', field `private` {NO_FIELD}"

    @pytest.mark.parametrize("constructor", ["Scene() {}", "Scene() = default;", "Scene(int a) : x(a) {}"])
    def test_constructor(self, constructor: str) -> None:
        assert refusal(f"struct Scene {{\n  int x;\n  {constructor}\n}};\n{KERNEL}") == (
            "folder/kernels.cu:3: struct 'Scene' has a constructor; leave it out, the fields are filled by name"
        )

    @pytest.mark.parametrize("directive", ["#if A", "#ifdef A", "#define A", "#pragma once"])
    def test_directive(self, directive: str) -> None:
        source = f"struct Scene {{\n  int x;\n{directive}\n  int y;\n#endif\n}};\n{KERNEL}"
        assert refusal(source) == (
            "folder/kernels.cu:3: struct 'Scene' has a preprocessor directive in it; write its fields out plainly"
        )

    @pytest.mark.parametrize(
        ("definition", "said"),
        [
            ("struct Scene : Base { int x; };", "struct 'Scene' has a base class; write all fields out in one struct"),
            ("class Scene { int x; };", "'Scene' is a class; kernels take a struct"),
            ("union Scene { int x; };", "'Scene' is a union; kernels take a struct"),
            (
                "template <class T, int N> struct Scene { T* x; };",
                "struct 'Scene' is a template; write one struct per type",
            ),
            ("struct Scene {};", "struct 'Scene' has no fields; leave it out of the parameters"),
            ("struct Scene { Scene* a; Scene b; };", "struct 'Scene' has itself as a field"),
            (
                "struct Scene { int a b; };",
                "struct 'Scene', field `int a b` has a macro or a syntax error in it; write it out",
            ),
        ],
    )
    def test_definition(self, definition: str, said: str) -> None:
        assert refusal(f"\n{definition}\n{KERNEL}") == f"folder/kernels.cu:2: {said}"

    def test_two_definitions(self) -> None:
        source = f"struct Scene {{ int x; }};\n\nstruct Scene {{ int x; }};\n{KERNEL}"
        assert refusal(source) == (
            "folder/kernels.cu:3: struct 'Scene' is defined here and at folder/kernels.cu:1; keep one"
        )

    def test_a_field_of_a_struct_in_a_struct(self) -> None:
        source = f"struct Walls {{\n  int n[3];\n}};\nstruct Scene {{ Walls walls; }};\n{KERNEL}"
        assert refusal(source) == (
            "folder/kernels.cu:2: struct 'Walls', field `int n[3]` is an array; write a pointer to an array of the "
            "store, or a field for each number"
        )

    def test_by_reference(self) -> None:
        source = f"struct Scene {{ int x; }};\n{KERNEL.replace('Scene scene', 'const Scene& scene')}"
        assert refusal(source) == (
            f"folder/kernels.cu:2: kernel 'step': parameter `const Scene& scene` is a reference, a function or a "
            f"macro; {SHAPE}"
        )


def functions(folder: Path, fields: str, backend: Any = None) -> FunctionManager:
    """A file whose kernel takes a struct of a header's; the header's second line has the fields."""
    (folder / "scene.cuh").write_text(f"struct Scene {{\n  {fields}\n}};\n")
    path = folder / "kernels.cu"
    path.write_text(f'#include <warpworld.cuh>\n#include "scene.cuh"\n{KERNEL}')
    data = DataManager(lambda nbytes: torch.zeros(nbytes, dtype=torch.uint8), 7, 2)
    for array in ARRAYS:
        data.add(array)
    return FunctionManager(backend, data, path, {"NUM_AGENTS": 2}, SCALARS)


def told(folder: Path, fields: str, given: tuple[Any, ...] | None = None) -> str:
    with pytest.raises(BindError) as caught:
        functions(folder, fields).arguments("step", given)
    return str(caught.value).replace(str(folder), "folder")


class TestBinding:
    def test_by_name(self, tmp_path: Path) -> None:
        fields = "const float4* walls;\n float2 *places; int num_walls; float width;"
        assert functions(tmp_path, fields).arguments("step") == (
            Argument("walls", 0, "float32"),
            Argument("places", 0, "float32"),
            Argument(None, 9, "int32"),
            Argument(None, 0.5, "float32"),
            Argument(None, 3, "int32"),
        )

    def test_by_position_an_entry_for_each_field(self, tmp_path: Path) -> None:
        bound = functions(tmp_path, "float4* a; int b;").arguments("step", ("walls", 4, "last"))
        assert bound == (Argument("walls", 0, "float32"), Argument(None, 4, "int32"), Argument(None, 3, "int32"))

    @pytest.mark.parametrize(
        ("fields", "said"),
        [
            (
                "float4* walls;",
                "`float4* walls` of struct 'Scene': the array is read-only for kernels: write `const float4* walls`",
            ),
            (
                "const int* first_wal;",
                "`const int* first_wal` of struct 'Scene': no array of that name. Did you mean 'first_wall'?",
            ),
            (
                "const int* walls;",
                "`const int* walls` of struct 'Scene': the array is float32: write `const float* walls`",
            ),
            (
                "float3* places;",
                "`float3* places` of struct 'Scene': the array's last dimension is 2, not 3: write `float* places`",
            ),
            ("int width;", "`int width` of struct 'Scene': it is a float (0.5): write `float width`"),
            (
                "float walls;",
                "`float walls` of struct 'Scene': 'walls' is an array, not a number: write `const float* walls`",
            ),
            ("int* width;", "`int* width` of struct 'Scene': 'width' is a number, not an array: write `int width`"),
            (
                "int num_wall;",
                "`int num_wall` of struct 'Scene': no parameter or world constant of that name. Did you "
                "mean 'num_walls'?",
            ),
            ("float2 width;", "`float2 width` of struct 'Scene': its value is 0.5: write `float width`"),
            (
                "Walls walls;",
                "`Walls walls` of struct 'Scene': type `Walls` is not known; write it out as one such as "
                "float, int, bool or float2, or define a struct of that name in the file or in what it includes",
            ),
        ],
    )
    def test_refused(self, tmp_path: Path, fields: str, said: str) -> None:
        assert told(tmp_path, fields) == f"folder/scene.cuh:2: kernel 'step', field {said}"

    def test_refused_by_position(self, tmp_path: Path) -> None:
        assert told(tmp_path, "const int* first;", ("walls", 1)) == (
            "folder/scene.cuh:2: kernel 'step', argument 1, 'walls' for `const int* first` of struct 'Scene': the "
            "array is float32; expected the name of an array of int32: declare it as int32"
        )
        assert told(tmp_path, "const int* first; int n;", ("walls",)) == (
            "folder/kernels.cu:3: kernel 'step' has 3 parameters, with the fields of structs, its list of arguments "
            "has 1 entries; expected one each for: const int* first of struct 'Scene', int n of struct 'Scene', "
            "int last"
        )

    def test_a_parameter_of_a_type_that_no_file_defines(self, tmp_path: Path) -> None:
        path = tmp_path / "kernels.cu"
        path.write_text(KERNEL)
        made = FunctionManager(None, DataManager(None, 7, 2), path, {"NUM_AGENTS": 2}, SCALARS)  # type: ignore[arg-type]
        with pytest.raises(BindError) as caught:
            made.arguments("step")
        assert str(caught.value) == (
            f"{path}:1: kernel 'step', parameter `Scene scene`: type `Scene` is not known; write it out as one such as "
            "float, int, bool or float2, or define a struct of that name in the file or in what it includes"
        )


@pytest.mark.cpu_backend
class TestCompiled:
    """What only the compiler can tell."""

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            pytest.param("#define int float", "#undef int", id="another type"),
            pytest.param("#define num_walls num_walls, more", "#undef num_walls", id="one more"),
            pytest.param("#define num_walls num_walls; virtual void f()", "#undef num_walls", id="virtual"),
            pytest.param("#define struct class", "#undef struct", id="private"),
        ],
    )
    def test_not_what_it_sees(self, tmp_path: Path, before: str, after: str) -> None:
        functions(tmp_path, "int num_walls;")
        (tmp_path / "scene.cuh").write_text(f"{before}\nstruct Scene {{ int num_walls; }};\n{after}\n")
        made = FunctionManager(
            open_backend("cpu", 1),
            DataManager(None, 7, 2),
            tmp_path / "kernels.cu",
            {"NUM_AGENTS": 2},
            SCALARS,  # type: ignore[arg-type]
        )
        with pytest.raises(BindError) as caught:
            made.build([])
        said = str(caught.value).replace(str(tmp_path), "folder").partition(" (warpworld-structs:1:")[0]
        assert said == (
            "folder/scene.cuh:2: struct 'Scene' is not what the compiler sees there; it may be inside an #if, a "
            "function or a namespace, or have typedefs or private fields: write it out plainly"
        )
