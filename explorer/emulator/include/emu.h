// What CUDA text finds when it is compiled for the emulator: qualifiers, built-in variables, vector
// types, intrinsics.  Compiled once per compiler as a precompiled header.
#pragma once
#include "emu_abi.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <type_traits>
#include <utility>

#define __global__ static
#define __device__
#define __host__
#define __constant__ static const
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) alignas(n)
#define __grid_constant__
#define __restrict__ __restrict
#define __CUDACC__ 1
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0

#define EMU_RAW static inline __attribute__((no_sanitize("thread"), unused))
#define EMU_FN static inline __attribute__((unused))

#define EMU_AT(NAME) (emu_u3{emu_##NAME##_x(), emu_##NAME##_y(), emu_##NAME##_z()})
#define threadIdx EMU_AT(thread_idx)
#define blockIdx EMU_AT(block_idx)
#define blockDim EMU_AT(block_dim)
#define gridDim EMU_AT(grid_dim)
#define warpSize 32

// Calls from the host

template <class T> struct EmuArgument {
  EMU_RAW T get(const EmuAny &a) { return (T)a.i; }
};
template <class T> struct EmuArgument<T *> {
  EMU_RAW T *get(const EmuAny &a) { return (T *)a.p; }
};
template <> struct EmuArgument<float> {
  EMU_RAW float get(const EmuAny &a) { return (float)a.f; }
};
template <> struct EmuArgument<double> {
  EMU_RAW double get(const EmuAny &a) { return a.f; }
};
template <class... A, size_t... I>
EMU_RAW void emu_apply(void (*f)(A...), const EmuAny *a, std::index_sequence<I...>) {
  (void)a;
  f(EmuArgument<A>::get(a[I])...);
}
template <class... A> EMU_RAW void emu_unpack(void (*f)(A...), const EmuAny *a) {
  emu_apply(f, a, std::index_sequence_for<A...>{});
}
template <class... A> constexpr int emu_arity(void (*)(A...)) { return sizeof...(A); }

#define EMU_KERNEL(NAME)                                                                   \
  static void emu_call_##NAME(const EmuAny *a) { emu_unpack(NAME, a); }                    \
  extern "C" __attribute__((visibility("default"))) int __tvm_ffi_##NAME(                  \
      void *, const EmuAny *a, int n, EmuAny *r) {                                         \
    static const EmuKernel k = {#NAME, emu_arity(NAME), emu_call_##NAME};                  \
    r->type_index = 0;                                                                     \
    r->padding = 0;                                                                        \
    r->i = 0;                                                                              \
    return emu_launch(&k, a, n);                                                           \
  }

// Barriers, votes, shuffles

#define __syncthreads() emu_barrier(__LINE__)
#define __syncthreads_count(p) emu_barrier_reduce(__LINE__, 0, (p) != 0)
#define __syncthreads_and(p) emu_barrier_reduce(__LINE__, 1, (p) != 0)
#define __syncthreads_or(p) emu_barrier_reduce(__LINE__, 2, (p) != 0)
#define EMU_FULL 0xffffffffu
EMU_FN void emu_sync_default(int line, unsigned mask = EMU_FULL) { emu_warp_sync(mask, line); }
#define __syncwarp(...) emu_sync_default(__LINE__, ##__VA_ARGS__)
#define __activemask() emu_converge(__LINE__)
#define __ballot_sync(m, p) emu_warp_ballot(m, (p) != 0, __LINE__)
#define __any_sync(m, p) (emu_warp_ballot(m, (p) != 0, __LINE__) != 0)
#define __all_sync(m, p) (emu_warp_ballot(m, !(p), __LINE__) == 0)

enum EmuShuffle { EMU_IDX, EMU_UP, EMU_DOWN, EMU_XOR };
template <class T>
EMU_RAW T emu_shuffle(EmuShuffle kind, int line, unsigned mask, T value, int by, int width = 32) {
  static_assert(sizeof(T) <= 16, "a shuffled value has at most 16 bytes");
  const int lane = emu_lane(), low = lane & ~(width - 1), at = lane & (width - 1);
  int from = lane;
  if (kind == EMU_IDX) from = low | (by & (width - 1));
  if (kind == EMU_UP) from = at - by >= 0 ? lane - by : lane;
  if (kind == EMU_DOWN) from = at + by < width ? lane + by : lane;
  if (kind == EMU_XOR) from = (lane ^ by) < low + width ? lane ^ by : lane;
  T got;
  __builtin_memcpy(&got, emu_warp_exchange(mask, &value, sizeof(T), from, line), sizeof(T));
  return got;
}
#define __shfl_sync(...) emu_shuffle(EMU_IDX, __LINE__, __VA_ARGS__)
#define __shfl_up_sync(...) emu_shuffle(EMU_UP, __LINE__, __VA_ARGS__)
#define __shfl_down_sync(...) emu_shuffle(EMU_DOWN, __LINE__, __VA_ARGS__)
#define __shfl_xor_sync(...) emu_shuffle(EMU_XOR, __LINE__, __VA_ARGS__)

#define __threadfence() emu_fence()
#define __threadfence_block() ((void)0)
#define __threadfence_system() emu_fence()

// Vector types

#define EMU_VECTOR(T, N, A2, A4)                                                     \
  struct alignas(sizeof(T)) N##1 { T x; };                                           \
  struct alignas(A2) N##2 { T x, y; };                                               \
  struct N##3 { T x, y, z; };                                                        \
  struct alignas(A4) N##4 { T x, y, z, w; };                                         \
  EMU_FN N##1 make_##N##1(T x) { return {x}; }                                       \
  EMU_FN N##2 make_##N##2(T x, T y) { return {x, y}; }                               \
  EMU_FN N##3 make_##N##3(T x, T y, T z) { return {x, y, z}; }                       \
  EMU_FN N##4 make_##N##4(T x, T y, T z, T w) { return {x, y, z, w}; }
EMU_VECTOR(signed char, char, 2, 4)
EMU_VECTOR(unsigned char, uchar, 2, 4)
EMU_VECTOR(short, short, 4, 8)
EMU_VECTOR(unsigned short, ushort, 4, 8)
EMU_VECTOR(int, int, 8, 16)
EMU_VECTOR(unsigned, uint, 8, 16)
EMU_VECTOR(long, long, 16, 16)
EMU_VECTOR(unsigned long, ulong, 16, 16)
EMU_VECTOR(long long, longlong, 16, 16)
EMU_VECTOR(unsigned long long, ulonglong, 16, 16)
EMU_VECTOR(float, float, 8, 16)
EMU_VECTOR(double, double, 16, 16)
struct dim3 {
  unsigned x, y, z;
  dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

// Arithmetic as CUDA's math headers have it; max and min ignore NaN

#define EMU_MINMAX(T)                                          \
  EMU_RAW T max(T a, T b) { return a > b ? a : b; }            \
  EMU_RAW T min(T a, T b) { return a < b ? a : b; }
EMU_MINMAX(int)
EMU_MINMAX(unsigned)
EMU_MINMAX(long)
EMU_MINMAX(unsigned long)
EMU_MINMAX(long long)
EMU_MINMAX(unsigned long long)
EMU_RAW float max(float a, float b) { return fmaxf(a, b); }
EMU_RAW float min(float a, float b) { return fminf(a, b); }
EMU_RAW double max(double a, double b) { return fmax(a, b); }
EMU_RAW double min(double a, double b) { return fmin(a, b); }
EMU_RAW double max(float a, double b) { return fmax(a, b); }
EMU_RAW double max(double a, float b) { return fmax(a, b); }
EMU_RAW double min(float a, double b) { return fmin(a, b); }
EMU_RAW double min(double a, float b) { return fmin(a, b); }
EMU_RAW unsigned max(int a, unsigned b) { return max((unsigned)a, b); }
EMU_RAW unsigned max(unsigned a, int b) { return max(a, (unsigned)b); }
EMU_RAW unsigned min(int a, unsigned b) { return min((unsigned)a, b); }
EMU_RAW unsigned min(unsigned a, int b) { return min(a, (unsigned)b); }
EMU_RAW long max(int a, long b) { return max((long)a, b); }
EMU_RAW long max(long a, int b) { return max(a, (long)b); }
EMU_RAW long min(int a, long b) { return min((long)a, b); }
EMU_RAW long min(long a, int b) { return min(a, (long)b); }
EMU_RAW long long max(long a, long long b) { return max((long long)a, b); }
EMU_RAW long long max(long long a, long b) { return max(a, (long long)b); }
EMU_RAW long long min(long a, long long b) { return min((long long)a, b); }
EMU_RAW long long min(long long a, long b) { return min(a, (long long)b); }

using std::abs;
using std::ceil;
using std::erf;
using std::exp;
using std::fabs;
using std::floor;
using std::isfinite;
using std::isinf;
using std::isnan;
using std::log;
using std::pow;
using std::round;
using std::sqrt;
using std::tanh;
using std::trunc;
// Some C libraries have functions of these names (C23), some not: ours have names of their own
EMU_RAW float emu_rsqrtf(float x) { return 1.0f / sqrtf(x); }
EMU_RAW double emu_rsqrt(double x) { return 1.0 / std::sqrt(x); }
EMU_RAW float emu_rsqrt(float x) { return 1.0f / sqrtf(x); }
EMU_RAW float emu_rcbrtf(float x) { return 1.0f / cbrtf(x); }
EMU_RAW float emu_exp10f(float x) { return powf(10.0f, x); }
EMU_RAW double emu_exp10(double x) { return std::pow(10.0, x); }
#define rsqrtf emu_rsqrtf
#define rsqrt emu_rsqrt
#define rcbrtf emu_rcbrtf
#define exp10f emu_exp10f
#define exp10 emu_exp10
EMU_RAW float normcdff(float x) { return 0.5f * erfcf(-x * 0.70710678f); }
EMU_RAW float __saturatef(float x) { return x < 0 ? 0 : x > 1 ? 1 : x == x ? x : 0; }
#define __expf(x) expf(x)
#define __exp10f(x) exp10f(x)
#define __logf(x) logf(x)
#define __log2f(x) log2f(x)
#define __log10f(x) log10f(x)
#define __sinf(x) sinf(x)
#define __cosf(x) cosf(x)
#define __tanf(x) tanf(x)
#define __powf(x, y) powf(x, y)
#define __fdividef(x, y) ((float)(x) / (float)(y))
#define __frcp_rn(x) (1.0f / (float)(x))
#define __fsqrt_rn(x) sqrtf(x)
#define __frsqrt_rn(x) rsqrtf(x)
#define __fadd_rn(x, y) ((float)(x) + (float)(y))
#define __fsub_rn(x, y) ((float)(x) - (float)(y))
#define __fmul_rn(x, y) ((float)(x) * (float)(y))
#define __fdiv_rn(x, y) ((float)(x) / (float)(y))
#define __fmaf_rn(x, y, z) fmaf(x, y, z)
EMU_RAW int __float2int_rn(float x) { return (int)nearbyintf(x); }
EMU_RAW int __float2int_rz(float x) { return (int)x; }
EMU_RAW int __float2int_rd(float x) { return (int)floorf(x); }
EMU_RAW int __float2int_ru(float x) { return (int)ceilf(x); }
EMU_RAW unsigned __float2uint_rn(float x) { return (unsigned)nearbyintf(x); }
EMU_RAW float __int2float_rn(int x) { return (float)x; }
EMU_RAW float __uint2float_rn(unsigned x) { return (float)x; }
template <class To, class From> EMU_RAW To emu_bits(From v) {
  static_assert(sizeof(To) == sizeof(From), "bit cast between sizes");
  To to;
  __builtin_memcpy(&to, &v, sizeof to);
  return to;
}
EMU_RAW unsigned __float_as_uint(float x) { return emu_bits<unsigned>(x); }
EMU_RAW int __float_as_int(float x) { return emu_bits<int>(x); }
EMU_RAW float __uint_as_float(unsigned x) { return emu_bits<float>(x); }
EMU_RAW float __int_as_float(int x) { return emu_bits<float>(x); }
EMU_RAW double __longlong_as_double(long long x) { return emu_bits<double>(x); }
EMU_RAW long long __double_as_longlong(double x) { return emu_bits<long long>(x); }
#define CUDART_INF_F (__builtin_inff())
#define CUDART_NAN_F (__builtin_nanf(""))
#define CUDART_INF (__builtin_inf())
#define CUDART_NAN (__builtin_nan(""))

EMU_RAW int __popc(unsigned x) { return __builtin_popcount(x); }
EMU_RAW int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
EMU_RAW int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
EMU_RAW int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
EMU_RAW int __ffs(int x) { return __builtin_ffs(x); }
EMU_RAW int __ffsll(long long x) { return __builtin_ffsll(x); }
EMU_RAW unsigned __brev(unsigned x) {
  unsigned r = 0;
  for (int i = 0; i < 32; i++) r |= (x >> i & 1u) << (31 - i);
  return r;
}
EMU_RAW int __mulhi(int a, int b) { return (int)(((long long)a * b) >> 32); }
EMU_RAW unsigned __umulhi(unsigned a, unsigned b) {
  return (unsigned)(((unsigned long long)a * b) >> 32);
}
EMU_RAW unsigned __byte_perm(unsigned a, unsigned b, unsigned s) {
  unsigned long long v = (unsigned long long)b << 32 | a;
  unsigned r = 0;
  for (int i = 0; i < 4; i++) {
    unsigned n = s >> (4 * i) & 15, byte = (unsigned)(v >> (8 * (n & 7))) & 255;
    r |= (n & 8 ? (byte & 128 ? 255u : 0u) : byte) << (8 * i);
  }
  return r;
}
template <class A, class B> EMU_RAW int emu_dp4a(unsigned a, unsigned b, int c) {
  for (int i = 0; i < 4; i++) c += (A)(a >> 8 * i) * (B)(b >> 8 * i);
  return c;
}
EMU_RAW int __dp4a(int a, int b, int c) {
  return emu_dp4a<signed char, signed char>((unsigned)a, (unsigned)b, c);
}
EMU_RAW unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  return (unsigned)emu_dp4a<unsigned char, unsigned char>(a, b, (int)c);
}
EMU_RAW int __dp4a(char4 a, char4 b, int c) { return c + a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }
EMU_RAW unsigned __dp4a(uchar4 a, uchar4 b, unsigned c) {
  return c + unsigned(a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w);
}
EMU_RAW int __dp2a_lo(int a, int b, int c) {
  return c + (short)a * (signed char)b + (short)(a >> 16) * (signed char)(b >> 8);
}
EMU_RAW int __dp2a_hi(int a, int b, int c) {
  return c + (short)a * (signed char)(b >> 16) + (short)(a >> 16) * (signed char)(b >> 24);
}
template <class T> EMU_FN T __ldg(const T *p) { return *p; }
template <class T> EMU_FN T __ldcg(const T *p) { return *p; }
template <class T> EMU_FN T __ldca(const T *p) { return *p; }
template <class T> EMU_FN T __ldcs(const T *p) { return *p; }
template <class T> EMU_FN void __stcg(T *p, T v) { *p = v; }
template <class T> EMU_FN void __stcs(T *p, T v) { *p = v; }
#define __nanosleep(n) ((void)0)
#define __trap() emu_trap("__trap() was reached", __LINE__)
#define assert(c) ((c) ? (void)0 : emu_trap("an assertion failed: " #c, __LINE__))

// Atomics: one thread runs at a time, so the operation is whole; the shadow is told

#define EMU_ATOMIC(NAME, VALUE)                                                \
  template <class T> EMU_RAW T NAME(T *p, typename std::common_type<T>::type v) { \
    emu_atomic(p, sizeof(T));                                                  \
    T old = *p;                                                                \
    *p = VALUE;                                                                \
    return old;                                                                \
  }
EMU_ATOMIC(atomicAdd, (T)(old + v))
EMU_ATOMIC(atomicSub, (T)(old - v))
EMU_ATOMIC(atomicMax, (v > old ? v : old))
EMU_ATOMIC(atomicMin, (v < old ? v : old))
EMU_ATOMIC(atomicExch, v)
EMU_ATOMIC(atomicAnd, (T)(old & v))
EMU_ATOMIC(atomicOr, (T)(old | v))
EMU_ATOMIC(atomicXor, (T)(old ^ v))
EMU_ATOMIC(atomicInc, (old >= v ? (T)0 : (T)(old + 1)))
EMU_ATOMIC(atomicDec, (old == 0 || old > v ? v : (T)(old - 1)))
template <class T>
EMU_RAW T atomicCAS(T *p, typename std::common_type<T>::type compare, typename std::common_type<T>::type v) {
  emu_atomic(p, sizeof(T));
  T old = *p;
  if (old == compare) *p = v;
  return old;
}

EMU_RAW emu_size __cvta_generic_to_shared(const void *p) { return emu_shared_address(p); }
EMU_RAW emu_size __cvta_generic_to_global(const void *p) { return (emu_size)p; }

#include "emu_half.h"
#include "emu_fp8.h"
#include "emu_matrix.h"
