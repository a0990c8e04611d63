"""Reading kernels' signatures: what is read right, and what is refused with its line."""

from __future__ import annotations

import re
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpworld.errors import BindError
from warpworld.managers.c_types import C_NAMES, C_TYPES
from warpworld.managers.kernel_source import INCLUDE_FOLDER
from warpworld.managers.signature import Parameter, Signature, read_signatures
from warpworld.managers.source_text import without_comments

PATH = Path("folder/kernels.cu")
KERNEL = 'extern "C" __global__ void step'


def read(source: str) -> dict[str, Signature]:
    return read_signatures(PATH, source)


def parameters(source: str, kernel: str = "step") -> list[tuple[str, str]]:
    """Type and name of each parameter, as the library would write them."""
    return [(parameter.declaration, parameter.name) for parameter in read(source)[kernel].parameters]


def refusal(source: str) -> str:
    with pytest.raises(BindError) as caught:
        read(source)
    message = str(caught.value)
    assert re.match(r"folder/kernels\.cu:\d+: ", message), message
    assert "\n" not in message
    return message.removeprefix("folder/kernels.cu:")


class TestPrefixes:
    """What may stand around the name: contract-slice 6, row 1."""

    @pytest.mark.parametrize(
        "header",
        [
            'extern "C" __global__ void step(float* x, int n)',
            "__global__ void step(float* x, int n)",
            "static __global__ void step(float* x, int n)",
            'extern "C" void __global__ step(float* x, int n)',
            'extern "C" __global__ inline void step(float* x, int n)',
            'extern "C" __global__ void __launch_bounds__(256) step(float* x, int n)',
            'extern "C" __global__ __launch_bounds__(NUM_AGENTS * 2 + (1 << 3), 4) void step(float* x, int n)',
            'extern "C" __launch_bounds__(max(32, NUM_AGENTS)) __global__ void step(float* x, int n)',
            '__launch_bounds__(256) extern "C" __global__ void step(float* x, int n)',
            'extern "C" void __global__ __launch_bounds__(8) step(float* x, int n)',
            'extern "C" __global__ void __launch_bounds__(256) __maxnreg__(32) step(float* x, int n)',
            'extern "C" __global__ void __cluster_dims__(2, 1, 1) step(float* x, int n)',
            'extern "C" __global__ void __launch_bounds__(1\'024) step(float* x, int n)',
            '[[nodiscard]] extern "C" __global__ void step(float* x, int n)',
            'extern "C" [[gnu::cold]] __global__ void step(float* x, int n)',
            'extern "C" __attribute__((cold)) __global__ void step(float* x, int n)',
            'extern "C" __global__ auto step(float* x, int n) -> void',
            'extern "C"\n__global__\nvoid\nstep(float* x,\n\n int n)',
            'FREE_STANDING_MACRO(3)\nextern "C" __global__ void step(float* x, int n)',
            '/* by */ extern /* the */ "C" // way\n__global__ /* of */ void /* all */ step /* ( */ (float* x, int n)',
        ],
    )
    def test_header(self, header: str) -> None:
        assert parameters(f"{header} {{ }}") == [("float*", "x"), ("int", "n")]

    def test_extern_c_block(self) -> None:
        found = read('extern "C" {\n__global__ void step(float* x) {}\n__global__ void reset(int n) {}\n}\n')
        assert {name: signature.line for name, signature in found.items()} == {"step": 2, "reset": 3}

    def test_order_of_the_file(self) -> None:
        assert list(read("\n".join(f"__global__ void {name}() {{}}" for name in "zaybx"))) == list("zaybx")

    def test_forward_declarations_are_dropped(self) -> None:
        found = read(f"{KERNEL}(int a);\n__global__ void other(float*);\n{KERNEL}(float* x) {{}}")
        assert {name: signature.line for name, signature in found.items()} == {"step": 3}

    @pytest.mark.parametrize("listed", ["", "void", " ", "/* nothing */"])
    def test_no_parameters(self, listed: str) -> None:
        assert parameters(f"{KERNEL}({listed}) {{}}") == []


class TestParameters:
    """What may stand in the list: rows 2 and 3."""

    @pytest.mark.parametrize(
        ("written", "declaration"),
        [
            ("float* p", "float*"),
            ("float *p", "float*"),
            ("const float* p", "const float*"),
            ("float const* p", "const float*"),
            ("float* const p", "float*"),
            ("const float* const p", "const float*"),
            ("float* __restrict__ p", "float*"),
            ("const float* __restrict p", "const float*"),
            ("float const *__restrict__ const p", "const float*"),
            ("const int* const __restrict p", "const int*"),
            ("bool const* const __restrict__ p", "const bool*"),
            ("int __restrict* p", "int*"),
            ("__restrict int* p", "int*"),
            ("const int p[__restrict 4]", "const int*"),
            ("float (*p)", "float*"),
            ("int* __const p", "int*"),
            ("const __signed__ char* p", "const signed char*"),
            ("float* __restrict__ __attribute__((align_value(16))) p", "float*"),
            ("uchar4* p", "uchar4*"),
            ("float p[]", "float*"),
            ("const int p[]", "const int*"),
            ("int p[4]", "int*"),
            ("int p[NUM_AGENTS * 2]", "int*"),
            ("int p[1'000]", "int*"),
            ("[[maybe_unused]] float* p", "float*"),
            ("float* p [[maybe_unused]]", "float*"),
            ("__attribute__((unused)) float* p", "float*"),
            ("const __grid_constant__ int p", "int"),
            ("__grid_constant__ const int p", "int"),
            ("const int p", "int"),
            ("float /* metres */ * /* here */ p // and there\n", "float*"),
            ("bool p", "bool"),
            ("unsigned p", "unsigned int"),
            ("unsigned int p", "unsigned int"),
            ("int unsigned p", "unsigned int"),
            ("signed p", "int"),
            ("signed int* p", "int*"),
            ("short int p", "short"),
            ("short unsigned int p", "unsigned short"),
            ("long p", "long"),
            ("long int p", "long"),
            ("unsigned long int p", "unsigned long"),
            ("long long int p", "long long"),
            ("long unsigned int long p", "unsigned long long"),
            ("unsigned long long* p", "unsigned long long*"),
            ("unsigned const int* p", "const unsigned int*"),
            ("signed char p", "signed char"),
            ("unsigned char* p", "unsigned char*"),
            ("char* p", "char*"),
            ("uint16_t* p", "uint16_t*"),
            ("std::uint32_t* p", "uint32_t*"),
            ("::std::size_t p", "size_t"),
            ("::int8_t p", "int8_t"),
            ("float2* p", "float2*"),
            ("const uint4* p", "const uint4*"),
            ("double3 p", "double3"),
            ("__half* p", "__half*"),
            ("State p", "State"),
            ("const struct State* p", "const struct State*"),
            ("ns::State p", "ns::State"),
            ("real* p", "real*"),  # typedefs and macro types come as they are written
        ],
    )
    def test_one(self, written: str, declaration: str) -> None:
        assert parameters(f"{KERNEL}({written}) {{}}") == [(declaration, "p")]
        assert parameters(f"{KERNEL}(int a, {written}, float* z) {{}}") == [
            ("int", "a"),
            (declaration, "p"),
            ("float*", "z"),
        ]

    def test_lines(self) -> None:
        listed = "float* x,  // the x\n  /* of\n  trajectory */ int n,\n  float\n  y"
        source = f"// one\n\n{KERNEL}({listed}) {{}}\n{KERNEL}2(int z) {{}}"
        found = read(source)
        assert [(p.name, p.line) for p in found["step"].parameters] == [("x", 3), ("n", 5), ("y", 6)]
        assert (found["step"].line, found["step2"].line) == (3, 8)

    def test_carriage_returns(self) -> None:
        source = f"// one\r\n{KERNEL}(float* x,\r\n  const int n) {{\r\n}}\r\n"
        assert parameters(source) == [("float*", "x"), ("int", "n")]
        assert [p.line for p in read(source)["step"].parameters] == [2, 3]

    def test_words_of_other_languages_before_it(self) -> None:
        source = f"// größer als ≥ 3 → weiter\n/* 日本語 */ {KERNEL}(/* é */ float* x, int\nñ_no) {{}}"
        (first, second) = read(source)["step"].parameters
        assert (first.name, first.line) == ("x", 2)
        assert second.line == 2

    def test_line_continuation(self) -> None:
        assert parameters(f"{KERNEL}(float* x, \\\n int n) {{}}") == [("float*", "x"), ("int", "n")]

    def test_constness_of_values_does_not_show(self) -> None:
        (parameter,) = read(f"{KERNEL}(const int n) {{}}")["step"].parameters
        assert parameter == Parameter("n", "int", pointer=False, const=True, line=1)
        assert parameter.declaration == "int"


class TestBodies:
    """What stands in bodies never disturbs the kernels around them."""

    @pytest.mark.parametrize(
        "body",
        [
            "ENV_SHARED(int, cells, 4); ENV_SHARED(float2, points, NUM_AGENTS); cells[0] = 1;",
            "ENV_SHARED(unsigned long long, cells, NUM_AGENTS)\nENV_SHARED(int, more, 3)\n",
            "__shared__ float cells[NUM_AGENTS];",
            'auto f = [](int a) { return a; }; asm volatile("bar.sync 0;"); other<<<1, 2>>>(x);',
            'const char* s = "__global__ void c(int x) {}"; char c = \'"\';',
            'const char* t = R"(__global__ void d() { ")";',
            "// __global__ void a(int x) {}\n/* __global__ void b(int x) {} */",
            "const int big = 1'000'000; const char quote = '\\'', brace = '}';",
            "const int thousand = 1'000; if (thousand) { x[0] = 0xFF'FFp0 + 2'000; }",
            "const int odd = 1'000; x[0] = 1;",
            "#if A\nif (x) {\n#else\nif (!x) {\n#endif\n}",
            "#pragma unroll\nfor (int i = 0; i < 4; ++i) x[i] = 0;",
            '#error "don\'t"\n',
            "#define TWICE(a) { a; \\\n a; }\nTWICE(x[0] = 1)",
            "if (x[0] { x[1] = }",
            "x[0] = 1 // no semicolon",
            "MACRO(x { ; ) y",
        ],
    )
    def test_kernels_around_it(self, body: str) -> None:
        headers = ("__device__ void help(float* x)", f"{KERNEL}(float* x)", f"{KERNEL}2(int n)")
        source = "".join(f"{header} {{ {body}\n}}\n" for header in headers)
        assert parameters(source) == [("float*", "x")]
        assert parameters(source, "step2") == [("int", "n")]
        assert list(read(source)) == ["step", "step2"]

    def test_kernels_in_comments_strings_and_macros_are_none(self) -> None:
        assert (
            read('// __global__ void a() {}\n/* __global__ void b() {} */\nconst char* c = "__global__ void c() {}";')
            == {}
        )
        assert read(f"#define MAKE(name) \\\n  {KERNEL}_##name(float* x) {{ }}\nMAKE(one)\n") == {}
        assert read(f"#define BEGIN {KERNEL}\n") == {}

    def test_inside_if_0_it_is_read_and_left_to_the_compiler(self) -> None:
        assert list(read(f"#if 0\n{KERNEL}_old(int a) {{}}\n#endif\n{KERNEL}(float* x) {{}}")) == ["step_old", "step"]

    def test_one_branch_of_an_if(self) -> None:
        assert parameters(f"#ifdef FAST\n{KERNEL}(int n) {{}}\n#endif\n") == [("int", "n")]


class TestRefused:
    @pytest.mark.parametrize(
        ("listed", "message"),
        [
            ("float*", "parameter `float*` has no name"),
            ("int, float* x", "parameter `int` has no name"),
            (
                "float& x",
                "parameter `float& x` is a reference, a function or a macro; write it as `type name` or `type*",
            ),
            ("float&& x", "is a reference, a function or a macro"),
            ("float*& x", "is a reference, a function or a macro"),
            ("float (&x)[3]", "is a reference, a function or a macro"),
            ("int (*f)(int)", "parameter `int (*f)(int)` is a reference, a function or a macro"),
            (
                "float x = 1.0f",
                "parameter `float x = 1.0f` has a default value or stands for several; write `type name`",
            ),
            ("float* x = nullptr", "has a default value"),
            ("int... x", "takes `...`; write the parameters out"),
            ("int a, ...", "takes `...`; write the parameters out"),
            ("float** x", "parameter `float** x` is a pointer to a pointer; arrays are flat"),
            ("float* x[3]", "is a pointer to a pointer"),
            ("float x[2][3]", "is a pointer to a pointer"),
            ("volatile float* x", "parameter `volatile float* x` is volatile; leave that out"),
            ("const volatile int* x", "is volatile"),
            ("PARAMETERS", "parameter `PARAMETERS` has no name; if it is a macro, write the parameter out"),
            ("ARRAY(float, x), int n", "parameter `ARRAY(float, x)` is a reference, a function or a macro"),
            ("float* RESTRICT x", "its parameter list has a macro or an #if in it, or a syntax error"),
            ("IN float* x", "its parameter list has a macro"),
            ("float* x int n", "its parameter list has a macro or an #if in it, or a syntax error"),
            ("float* x,", "its parameter list has a macro or an #if in it, or a syntax error"),
            ("float* 3x", "its parameter list has a macro or an #if in it, or a syntax error"),
        ],
    )
    def test_parameter(self, listed: str, message: str) -> None:
        told = refusal(f"// one\n{KERNEL}(bool first,\n  {listed}) {{}}")
        assert told.startswith("3: kernel 'step'"), told
        assert message in told

    @pytest.mark.parametrize(
        "listed",
        [
            "float* x,\n#if 1\n int n,\n#endif\n float* y",
            "float* x\n#ifdef A\n , int n\n#endif\n",
            "\n#if A\n int n\n#else\n float n\n#endif\n",
        ],
    )
    def test_if_inside_a_list(self, listed: str) -> None:
        assert "kernel 'step': its parameter list has a macro or an #if in it" in refusal(f"{KERNEL}({listed}) {{}}")

    def test_two_headers_of_one_body(self) -> None:
        source = f"#if A\n{KERNEL}(float* x)\n#else\n{KERNEL}(int* x)\n#endif\n{{ }}"
        assert refusal(source) == "2: two kernel headers share a body under an #if; keep one, and put the #if inside it"

    def test_two_definitions(self) -> None:
        source = f"#if A\n{KERNEL}(float* x) {{}}\n#else\n\n{KERNEL}(int* x) {{}}\n#endif\n"
        assert refusal(source) == (
            "5: kernel 'step' is defined here and at line 2; keep one, and put the #if inside it"
        )

    @pytest.mark.parametrize(
        "source",
        ["template <class T>\n__global__ void step(T* x) {}", "template <>\n__global__ void step<int>(int* x) {}"],
    )
    def test_templates(self, source: str) -> None:
        assert re.match("2: kernel 'step(<int>)?' is a template; write one kernel per type", refusal(source))

    @pytest.mark.parametrize(
        "source",
        [
            f"namespace a {{\n{KERNEL}(float* x) {{}}\n}}",
            "namespace {\n__global__ void step(float* x) {}\n}",
            'namespace a::b { extern "C" {\n__global__ void step(float* x) {} } }',
            "struct A {\nstatic __global__ void step(float* x) {} };",
            "class A {\nstatic __global__ void step(float* x) {} };",
        ],
    )
    def test_namespaces_and_classes(self, source: str) -> None:
        assert refusal(source) == "2: kernel 'step' is in a namespace or a class; move it to file scope"

    def test_after_a_namespace_is_fine(self) -> None:
        assert list(read(f"namespace a {{ struct S {{ int b; }}; }}\nusing namespace a;\n{KERNEL}(float* x) {{}}")) == [
            "step"
        ]

    def test_qualified_name(self) -> None:
        assert "is in a namespace or a class" in refusal("__global__ void A::step(float* x) {}")

    def test_a_kernel_returns_nothing(self) -> None:
        assert "1: kernel 'step' returns `int`; kernels return void" in refusal("__global__ int step(float* x) {}")

    def test_a_header_that_is_none(self) -> None:
        assert 'cannot be read; write it as `extern "C" __global__ void name(' in refusal("\n__global__ step { }")

    @pytest.mark.parametrize(
        "body",
        [
            "extern __shared__ float cells[];",
            "extern\n__shared__ float cells[];",
            "extern volatile __shared__ float cells[];",
            "__shared__ extern float cells[];",
            "extern __align__ __shared__ float cells[];",
        ],
    )
    def test_dynamic_shared_memory(self, body: str) -> None:
        told = refusal(f"\n{KERNEL}(float* x) {{\n  {body}\n}}")
        assert told == "3: shared memory of a size set at launch is not offered; give it a size, or use ENV_SHARED"

    def test_dynamic_shared_memory_in_a_comment_is_no_matter(self) -> None:
        assert list(read(f"/* extern __shared__ float a[];\n*/ {KERNEL}() {{ // extern __shared__ int b[];\n}}")) == [
            "step"
        ]


def test_every_dtype_has_a_c_type_and_back() -> None:
    for dtype, name in C_NAMES.items():
        assert C_TYPES[name] == (dtype, 1)
        assert np.dtype(dtype).name == dtype
    assert {dtype for dtype, _ in C_TYPES.values()} == set(C_NAMES)


def test_the_package_s_own_files() -> None:
    for path in [*INCLUDE_FOLDER.glob("*.cu"), *INCLUDE_FOLDER.parent.glob("envs/*/*.cu")]:
        found = read_signatures(path, path.read_text(encoding="utf-8"))
        parameters = [parameter for signature in found.values() for parameter in signature.parameters]
        structs = [parameter for parameter in parameters if parameter.type[0].isupper() and parameter.type != "Pixel"]
        plain = [parameter for parameter in parameters if parameter not in structs and parameter.type != "Pixel"]
        assert plain and all(parameter.type in C_TYPES for parameter in plain), path
        assert not any(parameter.pointer for parameter in structs), path


def test_a_long_file_is_read_quickly() -> None:
    body = "  x[0] = (x[1] + 2.0f) * x[2];  // {\n" * 200
    source = "".join(f"{KERNEL}_{i}(float* x, const int* y, int n) {{\n{body}}}\n" for i in range(30))
    start = time.process_time()
    assert len(read(source)) == 30
    assert time.process_time() - start < 5.0


NAMES = st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_]{0,8}", fullmatch=True).map(lambda name: f"p_{name}")
SPACE = st.sampled_from(["", " ", "\n", " /* , ) { */ ", " // ; }\n", "\t"])
QUALIFIERS = st.sampled_from(
    ["", " __restrict__", " __restrict", " const", " const __restrict", " __restrict const", " const __restrict__"]
)


@st.composite
def listed(draw: st.DrawFn) -> tuple[str, Parameter]:
    """A parameter in some spelling, and what should be read."""
    name, kind, pointer, const = (
        draw(NAMES),
        draw(st.sampled_from(sorted(C_TYPES))),
        draw(st.booleans()),
        draw(st.booleans()),
    )
    around = [draw(SPACE) or " " for _ in range(4)]
    words = ["const", kind] if draw(st.booleans()) else [kind, "const"]
    base = around[0].join(words) if const else kind
    if not pointer:
        text = f"{base}{around[1]}{name}"
    elif draw(st.booleans()):
        text = f"{base}{around[1]}{name}{draw(SPACE)}[{draw(st.sampled_from(['', '3', 'N']))}]"
    else:
        text = f"{base}{draw(SPACE)}*{draw(QUALIFIERS)}{around[2]}{name}"
    canonical = {"signed": "int", "unsigned": "unsigned int"}.get(kind, kind)
    return f"{draw(SPACE)}{text}{around[3]}", Parameter(name, canonical, pointer, const, line=0)


@settings(max_examples=150)
@given(st.lists(st.lists(listed(), max_size=6), min_size=1, max_size=3), st.sampled_from(["\n", "\r\n"]))
@pytest.mark.long
def test_generated_signatures_round_trip(kernels: list[list[tuple[str, Parameter]]], newline: str) -> None:
    source = "".join(
        f"// kernel {i}\n{KERNEL}_{i}({','.join(text for text, _ in listed)}) {{ ENV_SHARED(int, a, 3); }}\n"
        for i, listed in enumerate(kernels)
    )
    found = read(source.replace("\n", newline))
    assert list(found) == [f"step_{i}" for i in range(len(kernels))]
    lines = source.split("\n")
    for signature, expected in zip(found.values(), kernels, strict=True):
        assert lines[signature.line - 1].find(signature.name) >= 0
        for parameter, (_, meant) in zip(signature.parameters, expected, strict=True):
            read_back = (parameter.name, parameter.type, parameter.pointer, parameter.const)
            assert read_back == (meant.name, meant.type, meant.pointer, meant.const)


@pytest.mark.parametrize("digits", ["1'000", "0x7F'FF", "1'000'000"])
def test_the_quote_of_digits_opens_no_character(digits: str) -> None:
    """Between two of them in a line stands code, with its braces and kernels."""
    source = (
        f"{KERNEL}(float* x) {{ x[0] = {digits}; }} {KERNEL}2(int n) {{ if (n > {digits}) {{ }}\n}}\n"
        f"{KERNEL}3(float x[{digits}]) {{ }}"
    )
    lines = {name: (kernel.line, kernel.last_line) for name, kernel in read(source).items()}
    assert lines == {"step": (1, 1), "step2": (1, 2), "step3": (3, 3)}
    assert without_comments(f"a = {digits}; // '").strip() == f"a = {digits};"


@pytest.mark.parametrize("prefix", ["", "L", "u", "U", "u8"])
def test_a_brace_in_a_character_is_none(prefix: str) -> None:
    found = read(f"{KERNEL}(int* x) {{ x[0] = {prefix}'{{'; }}\n{KERNEL}2(int* x) {{ x[0] = {prefix}'}}';\n}}\n")
    assert [signature.last_line for signature in found.values()] == [1, 3]


def test_a_kernel_knows_its_lines() -> None:
    source = """
extern "C" __global__ void first(float* x) {
  if (*x > 0.0f) { *x = 1.0f; }  // a } in a comment
  const char* brace = "}";
}
__device__ void helper() {}
extern "C" __global__ void second(float* x) { *x = 0.0f; }
extern "C" __global__ void third(float* x) {
"""
    lines = {name: (kernel.line, kernel.last_line) for name, kernel in read(source).items()}
    assert lines == {"first": (2, 5), "second": (7, 7), "third": (8, 9)}
