"""Words of CUDA's that are no functions of numbers alone: a statement for each, and what a CPU refuses, with why."""

from __future__ import annotations

# Of one kernel `(int* i, unsigned* u, unsigned long long* l, float* f, double* d)`; chapter -> headers and statements.
STATEMENTS: dict[str, tuple[list[str], list[str]]] = {
    "atomics": (
        [],
        [
            *(
                f"{name}{scope}(i, 1)"
                for name in (
                    "atomicAdd",
                    "atomicSub",
                    "atomicExch",
                    "atomicMin",
                    "atomicMax",
                    "atomicAnd",
                    "atomicOr",
                    "atomicXor",
                )
                for scope in ("", "_block", "_system")
            ),
            *(
                f"{name}{scope}(u, 1u)"
                for name in (
                    "atomicAdd",
                    "atomicSub",
                    "atomicExch",
                    "atomicMin",
                    "atomicMax",
                    "atomicInc",
                    "atomicDec",
                    "atomicAnd",
                    "atomicOr",
                    "atomicXor",
                )
                for scope in ("", "_block", "_system")
            ),
            *(
                f"{name}{scope}(l, 1ull)"
                for name in ("atomicAdd", "atomicExch", "atomicMin", "atomicMax", "atomicAnd", "atomicOr", "atomicXor")
                for scope in ("", "_block", "_system")
            ),
            *(f"atomicAdd{scope}({p}, 1)" for p in ("f", "d") for scope in ("", "_block", "_system")),
            *(f"atomicCAS{scope}({p}, 1, 2)" for p in ("i", "u", "l") for scope in ("", "_block", "_system")),
            "atomicExch(f, 1.0f)",
            "atomicMin((long long*)l, -1ll)",
            "atomicCAS((unsigned short*)u, (unsigned short)1, (unsigned short)2)",
        ],
    ),
    "warps": (
        [],
        [
            *(
                "__syncwarp()",
                "__syncwarp(3u)",
                "i[0] = __shfl_sync(~0u, 1, 2)",
                "f[0] = __shfl_up_sync(~0u, 1.0f, 1, 8)",
            ),
            *(
                "d[0] = __shfl_down_sync(~0u, 1.0, 1)",
                "l[0] = __shfl_xor_sync(~0u, 1ull, 1, 16)",
                "u[0] = __ballot_sync(~0u, 1)",
            ),
            *("i[0] = __any_sync(~0u, 1) + __all_sync(~0u, 1)", "u[0] = __match_any_sync(~0u, 1.5)"),
            *(
                "u[0] = __match_all_sync(~0u, 3ll, i)",
                "i[0] = __reduce_add_sync(~0u, 1)",
                "u[0] = __reduce_min_sync(~0u, 1u)",
            ),
            *("i[0] = __reduce_max_sync(~0u, -1)", "u[0] = __reduce_and_sync(~0u, 1u) | __reduce_or_sync(~0u, 1u)"),
            *("u[0] = __reduce_xor_sync(~0u, 1u)", "i[0] = __syncthreads_count(1)", "i[0] = __syncthreads_and(1)"),
            *("i[0] = __syncthreads_or(1)", "__syncthreads()"),
        ],
    ),
    "memory and time": (
        [],
        [
            *(
                f"f[0] = {name}(f) + __ldg((const float*)f)"
                for name in ("__ldg", "__ldca", "__ldcg", "__ldcs", "__ldcv", "__ldlu")
            ),
            *(f"{name}(f, 1.0f)" for name in ("__stcg", "__stcs", "__stwb", "__stwt")),
            *("f[0] = __ldg((const float4*)f).w", "__threadfence()", "__threadfence_block()", "__threadfence_system()"),
            *(
                "l[0] = clock64() + clock()",
                "__nanosleep(10)",
                "assert(i[0] == i[0])",
                'printf("%d", i[0])',
                "__prof_trigger(1)",
            ),
            *("__builtin_assume(i[0] > 0)", "if (i[0] == 123456789) __trap()", "if (i[0] == 123456789) __brkpt()"),
            *("f[0] = INFINITY + NAN", "f[0] = (float)M_PI", "int* p = (int*)malloc(8); free(p)", "memset(i, 0, 4)"),
        ],
    ),
    "vectors": (
        [],
        [
            *(
                f"{{ {kind}{n} v = make_{kind}{n}({', '.join('1234'[:n])}); i[0] += (int)v.{'xyzw'[n - 1]}; }}"
                for kind in (
                    "char",
                    "uchar",
                    "short",
                    "ushort",
                    "int",
                    "uint",
                    "long",
                    "ulong",
                    "longlong",
                    "ulonglong",
                    "float",
                    "double",
                )
                for n in (1, 2, 3, 4)
            ),
            *(
                "{ dim3 a, b(2), c = blockDim; uint3 t = threadIdx; u[0] = a.z + b.y + c.x + t.x; }",
                "u[0] = gridDim.z + warpSize",
            ),
            "{ double4_16a v = make_double4_16a(1, 2, 3, 4); d[0] = v.w; }",
            "{ struct __align__(8) pair { float a, b; }; pair p = {1, 2}; f[0] = p.a; }",
        ],
    ),
    "headers": (
        [
            *(
                "cuda_runtime.h",
                "cuda_runtime_api.h",
                "cuda.h",
                "device_launch_parameters.h",
                "vector_types.h",
                "math_constants.h",
            ),
            *("vector_functions.h", "builtin_types.h", "driver_types.h", "sm_20_intrinsics.h", "sm_30_intrinsics.h"),
            *("sm_32_intrinsics.h", "sm_35_intrinsics.h", "sm_60_atomic_functions.h", "device_atomic_functions.h"),
            *("device_types.h", "cuda_fp16.h", "cuda_bf16.h", "cooperative_groups.h", "cooperative_groups/reduce.h"),
            *("math.h", "cmath", "cstdint", "climits", "cfloat", "stdio.h", "assert.h", "limits", "type_traits"),
        ],
        [
            *(
                "f[0] = CUDART_INF_F + CUDART_PI_F + CUDART_NAN_F",
                "d[0] = CUDART_PI + CUDART_INF",
                "i[0] = (int)cudaSuccess",
            ),
            *("atomicAdd((__half*)u, __float2half(1.0f))", "atomicAdd((__half2*)u, __float2half2_rn(1.0f))"),
            *(
                "atomicAdd((__nv_bfloat16*)u, __float2bfloat16(1.0f))",
                "u[0] = __heq2_mask(__float2half2_rn(1), __float2half2_rn(2))",
            ),
            *(
                "{ __half2 h = __hfma2(__floats2half2_rn(1, 2), __half2half2(CUDART_ONE_FP16), make_half2(1.0f, 2.0f));"
                " f[0] = __low2float(h); }",
                "{ float2 v = __half22float2(h2exp(__float22half2_rn(make_float2(1, 2)))); f[0] = v.x; }",
                "{ float2 v = __bfloat1622float2(__hmul2(__float2bfloat162_rn(1), __floats2bfloat162_rn(1, 2)));"
                " f[0] = v.y; }",
                "{ __half a = __float2half(2.0f), b = a * a; b += a; ++b; f[0] = __half2float(-b) + (float)(b > a); }",
            ),
            "{ auto b = cooperative_groups::this_thread_block(); b.sync();"
            " u[0] = b.thread_rank() + (unsigned)b.size() + b.group_index().x; }",
            "{ auto t = cooperative_groups::tiled_partition<8>(cooperative_groups::this_thread_block()); t.sync();"
            " u[0] = t.ballot(1) + t.thread_rank() + t.meta_group_rank() + t.meta_group_size() + t.num_threads();"
            " i[0] = t.shfl(1, 2) + t.shfl_down(1, 1) + t.shfl_up(1, 1) + t.shfl_xor(1, 1) + t.any(1) + t.all(1);"
            " f[0] = cooperative_groups::reduce(t, f[0], cooperative_groups::plus<float>());"
            " i[0] = cooperative_groups::reduce(t, i[0], cooperative_groups::greater<int>()) + (int)t.match_any(3); }",
        ],
    ),
}

# A statement that nvcc takes for an H100 -> the word that a CPU refuses, and a part of the reason.
REFUSED = {
    "u[0] = __activemask()": ("__activemask", "which lanes the hardware runs together"),
    "u[0] = cooperative_groups::coalesced_threads().size()": (
        "coalesced_threads",
        "which lanes the hardware runs together",
    ),
    "cooperative_groups::this_grid().sync()": ("this_grid", "an env is one block"),
    "u[0] = cooperative_groups::this_cluster().block_rank()": ("this_cluster", "an env is one block"),
    "u[0] = __clusterDimIsSpecified()": ("__clusterDimIsSpecified", "an env is one block"),
    "u[0] = __isGlobal(f)": ("__isGlobal", "a CPU has one memory"),
    "l[0] = __cvta_generic_to_shared(f)": ("__cvta_generic_to_shared", "a CPU has one memory"),
    "__nv_atomic_add(i, 1, __NV_ATOMIC_RELAXED)": ("__nv_atomic_add", "use atomicAdd"),
    "f[0] = tex1Dfetch<float>((cudaTextureObject_t)0, 1)": ("tex1Dfetch", "a CPU has no textures"),
}


def text(statements: list[str], headers: list[str]) -> str:
    """A file whose kernel has the statements, one to a line from line 101 on."""
    includes = "".join(f"#include <{header}>\n" for header in headers)
    signature = 'extern "C" __global__ void apply(int* i, unsigned* u, unsigned long long* l, float* f, double* d) {\n'
    lines = "".join(f"#line {101 + at}\n  {each};\n" for at, each in enumerate(statements))
    return f"{includes}{signature}{lines}}}\n"
