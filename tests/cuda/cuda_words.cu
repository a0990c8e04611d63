// Words of CUDA C++ that the host offers: overloads of min and max, vector types, conversions and bit counts.
#include <warpworld.cuh>

__constant__ float table[3] = {1.5f, 2.5f, 3.5f};
__device__ int counter = 40;

__device__ __noinline__ float third(const float* values) { return values[2]; }
static __device__ __forceinline__ float3 cross(float3 a, float3 b) {
  return make_float3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
template <class T, class U>
struct SameType {
  static constexpr bool yes = false;
};
template <class T>
struct SameType<T, T> {
  static constexpr bool yes = true;
};
#define OF_TYPE(type, expression) SameType<type, decltype(expression)>::yes

extern "C" __global__ void __launch_bounds__(1) overloads(double* y, bool* types) {
  const int i = -3;
  const unsigned u = 2;
  const long long ll = -(1ll << 40);
  const unsigned long long ull = 7;
  y[0] = min(i, 5), y[1] = max(i, -5), y[2] = min(i, u), y[3] = max(u, i);
  y[4] = min(1.5f, 2.5f), y[5] = max(1.5f, 2.5f), y[6] = min(1.25, 2.5f), y[7] = max(1.25f, 2.5);
  y[8] = (double)min(ll, 5ll), y[9] = (double)max(ull, 9ull), y[10] = (double)min(ull, ll);
  y[11] = fminf(NAN, 3.0f), y[12] = min(NAN, 4.0f), y[13] = abs(-2.5f), y[14] = abs(-3);
  types[0] = OF_TYPE(int, min(i, i)) && OF_TYPE(unsigned, min(i, u)) && OF_TYPE(float, max(1.0f, 2.0f));
  types[1] = OF_TYPE(double, max(1.0f, 2.0)) && OF_TYPE(long long, min(ll, ll));
  types[2] = OF_TYPE(unsigned long long, max(ll, ull)) && OF_TYPE(long, min(1l, 2l));
}

extern "C" __global__ void vectors(const float2* points, const int4* boxes, double2* sums, float3* crossed,
                                   int* sizes) {
  const int i = agent_index();
  const float2 p = points[i];
  const int4 b = boxes[i];
  sums[i] = make_double2((double)p.x + b.x, (double)p.y + b.w);
  crossed[i] = cross(make_float3(p.x, p.y, 1.0f), make_float3((float)b.x, (float)b.y, (float)b.z));
  const uint4 u = make_uint4(1u, 2u, 3u, 4u);
  int* s = sizes + i * 6;
  s[0] = sizeof(float3), s[1] = alignof(float2), s[2] = alignof(float4), s[3] = alignof(int4), s[4] = alignof(double2);
  s[5] = (int)(u.x + u.y + u.z + u.w) + warpSize;
}

extern "C" __global__ void numbers(const float* x, float* y, int* whole) {
  const int i = agent_index();
  float* out = y + i * 8;
  int* w = whole + i * 10;
  const float v = x[i];
  out[0] = rsqrtf(v), out[1] = __fdividef(1.0f, v), out[2] = __saturatef(v - 1.0f), out[3] = __fmaf_rn(v, v, -1.0f);
  sincospif(v, &out[4], &out[5]);
  out[6] = __int_as_float(__float_as_int(v)), out[7] = table[1] + third(table) + __ldg(x + i);
  const unsigned bits = __float_as_uint(v);
  w[0] = __popc(bits), w[1] = __clz((int)bits), w[2] = __ffs((int)bits), w[3] = (int)__umulhi(bits, 3u << 30);
  w[4] = __clz(0), w[5] = __ffs(0), w[6] = counter + max(1, 2);
  const unsigned long long wide = (unsigned long long)bits << 20;
  w[7] = __popcll(wide), w[8] = __clzll((long long)wide), w[9] = __ffsll((long long)wide);
  __threadfence();
  __threadfence_block();
}
