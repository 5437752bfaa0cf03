"""The C++ words of the evaluator: types, operators, functions and what every text begins with."""

from __future__ import annotations

TYPES = {
    "bool": "bool", "float32": "float", "float64": "double", "float16": "half",
    "bfloat16": "nv_bfloat16", "float8_e4m3fn": "__nv_fp8_e4m3", "float8_e5m2": "__nv_fp8_e5m2",
    **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}  # fmt: skip

BINARY = {
    "Add": "+", "Sub": "-", "Mul": "*", "EQ": "==", "NE": "!=", "LT": "<", "LE": "<=", "GT": ">",
    "GE": ">=", "And": "&&", "Or": "||", "BitwiseAnd": "&", "BitwiseOr": "|", "BitwiseXor": "^",
    "LShift": "<<", "RShift": ">>",
}  # fmt: skip
BINARY_CALLS = {
    "Div": "ref_div", "Mod": "ref_mod", "FloorDiv": "ref_floordiv", "FloorMod": "ref_floormod",
    "Max": "ref_max", "Min": "ref_min",
}  # fmt: skip
MATH = {
    "exp": "exp", "exp2": "exp2", "exp10": "exp10", "log": "log", "log2": "log2", "log10": "log10",
    "log1p": "log1p", "sqrt": "sqrt", "rsqrt": "ref_rsqrt", "sin": "sin", "cos": "cos",
    "tan": "tan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "asin": "asin", "acos": "acos",
    "atan": "atan", "asinh": "asinh", "acosh": "acosh", "atanh": "atanh", "erf": "erf",
    "floor": "floor", "ceil": "ceil", "trunc": "trunc", "round": "round",
    "nearbyint": "nearbyint", "fabs": "fabs", "pow": "pow", "atan2": "atan2", "fmod": "fmod",
    "hypot": "hypot", "copysign": "copysign", "nextafter": "nextafter",
    "sigmoid": "ref_sigmoid",
}  # fmt: skip
TESTS = {"isnan": "isnan", "isinf": "isinf", "isfinite": "isfinite"}

PRELUDE = """
#include <cstdlib>
#define REF __attribute__((no_sanitize("thread")))
extern "C" __attribute__((visibility("default"))) unsigned char ref_fill;
unsigned char ref_fill;  // what lies in intermediate buffers before they are written
static const char *ref_outside;
static void *ref_exit[5];
[[noreturn]] REF static void ref_fail(const char *name) {
  ref_outside = name;
  __builtin_longjmp(ref_exit, 1);
}
template <class T> REF static T ref_div(T a, T b) {
  if constexpr (std::is_integral<T>::value) if (!b) ref_fail("a division by zero");
  return a / b;
}
template <class T> REF static T ref_mod(T a, T b) {
  if constexpr (std::is_integral<T>::value) {
    if (!b) ref_fail("a division by zero");
    return a % b;
  } else return (T)fmod((double)(float)a, (double)(float)b);
}
template <class T> REF static T ref_floordiv(T a, T b) {
  if constexpr (std::is_integral<T>::value) {
    T q = ref_div(a, b), r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? q - 1 : q;
  } else return (T)floor((double)a / (double)b);
}
template <class T> REF static T ref_floormod(T a, T b) {
  if constexpr (std::is_integral<T>::value) {
    T r = ref_mod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
  } else return (T)((double)a - floor((double)a / (double)b) * (double)b);
}
template <class T> REF static T ref_max(T a, T b) {
  return a != a ? b : b != b ? a : a > b ? a : b;
}
template <class T> REF static T ref_min(T a, T b) {
  return a != a ? b : b != b ? a : a < b ? a : b;
}
REF static double ref_rsqrt(double x) { return 1 / std::sqrt(x); }
REF static double ref_sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
template <class T, int N> struct ref_buffer {
  T *p;
  int64_t extent[N ? N : 1], stride[N ? N : 1];
  const char *name;
  template <class... I> REF T &operator()(I... i) const {
    const int64_t at[] = {(int64_t)i..., 0};
    int64_t offset = 0;
    for (int d = 0; d < N; d++) {
      if (at[d] < 0 || at[d] >= extent[d]) ref_fail(name);
      offset += at[d] * stride[d];
    }
    return p[offset];
  }
};
template <class T> REF static T *ref_alloc(int64_t n) {
  T *p = (T *)malloc(n > 0 ? n * sizeof(T) : 1);
  if (!p) ref_fail("memory for an intermediate buffer");
  memset((void *)p, ref_fill, n > 0 ? n * sizeof(T) : 0);
  return p;
}
"""
