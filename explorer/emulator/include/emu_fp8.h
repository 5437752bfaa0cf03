// fp8 as in cuda_fp8.h: conversions round to nearest even and saturate to the largest number.
#pragma once

template <int EXP, int MAN, bool INFINITE> EMU_RAW float emu_fp8_to_float(unsigned char v) {
  const int bias = (1 << (EXP - 1)) - 1, e = v >> MAN & ((1 << EXP) - 1), m = v & ((1 << MAN) - 1);
  float f;
  if (INFINITE && e == (1 << EXP) - 1)
    f = m ? __builtin_nanf("") : __builtin_inff();
  else if (!INFINITE && (v & 0x7f) == 0x7f)
    f = __builtin_nanf("");
  else
    f = e ? ldexpf((float)((1 << MAN) + m), e - bias - MAN) : ldexpf((float)m, 1 - bias - MAN);
  return v & 0x80 ? -f : f;
}
template <int EXP, int MAN, bool INFINITE> EMU_RAW unsigned char emu_float_to_fp8(float f) {
  const int bias = (1 << (EXP - 1)) - 1;
  const unsigned char sign = std::signbit(f) ? 0x80 : 0, top = INFINITE ? 0x7b : 0x7e;
  if (f != f) return (unsigned char)(sign | 0x7f);
  float a = fabsf(f);
  if (a > emu_fp8_to_float<EXP, MAN, INFINITE>(top)) return sign | top;
  int e;
  frexpf(a, &e);
  e = e - 1 < 1 - bias ? 1 - bias : e - 1;
  int q = (int)nearbyintf(ldexpf(a, MAN - e));  // carries into the exponent by itself
  int code = q < (1 << MAN) ? q : ((e + bias) << MAN) + (q - (1 << MAN));
  return (unsigned char)(sign | (code > top ? top : code));
}
#define EMU_FP8(T, EXP, MAN, INFINITE)                                                        \
  struct alignas(1) T {                                                                       \
    unsigned char __x;                                                                        \
    T() = default;                                                                            \
    template <class F, class = typename std::enable_if<std::is_arithmetic<F>::value>::type>   \
    explicit T(F f) : __x(emu_float_to_fp8<EXP, MAN, INFINITE>((float)f)) {}                  \
    explicit T(half f) : __x(emu_float_to_fp8<EXP, MAN, INFINITE>((float)f)) {}               \
    explicit T(nv_bfloat16 f) : __x(emu_float_to_fp8<EXP, MAN, INFINITE>((float)f)) {}        \
    explicit operator float() const { return emu_fp8_to_float<EXP, MAN, INFINITE>(__x); }     \
    explicit operator double() const { return (float)*this; }                                 \
    explicit operator half() const { return half((float)*this); }                             \
    explicit operator nv_bfloat16() const { return nv_bfloat16((float)*this); }               \
    explicit operator int() const { return (int)(float)*this; }                               \
  };                                                                                          \
  EMU_FN bool operator==(T a, T b) { return (float)a == (float)b; }                           \
  EMU_FN bool operator!=(T a, T b) { return (float)a != (float)b; }                           \
  struct alignas(2) EMU_JOIN(T, x2) { unsigned short __x; };
#define EMU_JOIN_(a, b) a##b
#define EMU_JOIN(a, b) EMU_JOIN_(a, b)
EMU_FP8(__nv_fp8_e4m3, 4, 3, false)
EMU_FP8(__nv_fp8_e5m2, 5, 2, true)
typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned __nv_fp8x4_storage_t;
