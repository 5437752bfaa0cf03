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
typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned __nv_fp8x4_storage_t;

// e8m0 holds powers of two only
EMU_RAW float emu_e8m0_to_float(unsigned char v) {
  return v == 255 ? __builtin_nanf("") : ldexpf(1.0f, (int)v - 127);
}
EMU_RAW unsigned char emu_float_to_e8m0(float f) {
  if (!(f == f)) return 255;
  int e;
  float m = frexpf(fabsf(f), &e);
  e += 126 + (m > 0.5f);
  return (unsigned char)(f == 0 || e < 0 ? 0 : e > 254 ? 254 : e);
}

#define EMU_FP8(NAME, TO, FROM)                                                              \
  struct alignas(1) __nv_fp8_##NAME {                                                        \
    __nv_fp8_storage_t __x;                                                                  \
    __nv_fp8_##NAME() = default;                                                             \
    template <class F, class = typename std::enable_if<std::is_arithmetic<F>::value>::type>  \
    explicit __nv_fp8_##NAME(F f) : __x(FROM((float)f)) {}                                   \
    explicit __nv_fp8_##NAME(half f) : __x(FROM((float)f)) {}                                \
    explicit __nv_fp8_##NAME(nv_bfloat16 f) : __x(FROM((float)f)) {}                         \
    explicit operator float() const { return TO(__x); }                                      \
    explicit operator double() const { return TO(__x); }                                     \
    explicit operator half() const { return half(TO(__x)); }                                 \
    explicit operator nv_bfloat16() const { return nv_bfloat16(TO(__x)); }                   \
    explicit operator bool() const { return TO(__x) != 0; }                                  \
    explicit operator signed char() const { return (signed char)TO(__x); }                   \
    explicit operator unsigned char() const { return (unsigned char)TO(__x); }               \
    explicit operator short() const { return (short)TO(__x); }                               \
    explicit operator int() const { return (int)TO(__x); }                                   \
    explicit operator unsigned() const { return (unsigned)TO(__x); }                         \
    explicit operator long() const { return (long)TO(__x); }                                 \
    explicit operator long long() const { return (long long)TO(__x); }                       \
  };                                                                                         \
  EMU_FN bool operator==(__nv_fp8_##NAME a, __nv_fp8_##NAME b) { return (float)a == (float)b; } \
  EMU_FN bool operator!=(__nv_fp8_##NAME a, __nv_fp8_##NAME b) { return (float)a != (float)b; } \
  struct alignas(2) __nv_fp8x2_##NAME {                                                      \
    __nv_fp8x2_storage_t __x;                                                                \
    __nv_fp8x2_##NAME() = default;                                                           \
    EMU_FP8X2(NAME, half2, FROM)                                                             \
    EMU_FP8X2(NAME, nv_bfloat162, FROM)                                                      \
    EMU_FP8X2(NAME, float2, FROM)                                                            \
    explicit operator half2() const { return {half(TO(__x & 255)), half(TO(__x >> 8))}; }    \
    explicit operator nv_bfloat162() const {                                                 \
      return {nv_bfloat16(TO(__x & 255)), nv_bfloat16(TO(__x >> 8))};                        \
    }                                                                                        \
    explicit operator float2() const { return {TO(__x & 255), TO(__x >> 8)}; }               \
  };                                                                                         \
  struct alignas(4) __nv_fp8x4_##NAME {                                                      \
    __nv_fp8x4_storage_t __x;                                                                \
    __nv_fp8x4_##NAME() = default;                                                           \
    explicit __nv_fp8x4_##NAME(float4 f)                                                     \
        : __x((unsigned)FROM(f.x) | (unsigned)FROM(f.y) << 8 | (unsigned)FROM(f.z) << 16 |   \
              (unsigned)FROM(f.w) << 24) {}                                                  \
    explicit operator float4() const {                                                       \
      return {TO(__x & 255), TO(__x >> 8 & 255), TO(__x >> 16 & 255), TO(__x >> 24)};        \
    }                                                                                        \
  };
#define EMU_FP8X2(NAME, PAIR, FROM)             \
  explicit __nv_fp8x2_##NAME(PAIR v)            \
      : __x((unsigned short)(FROM((float)v.x) | FROM((float)v.y) << 8)) {}
#define EMU_E4M3_TO(v) emu_fp8_to_float<4, 3, false>((unsigned char)(v))
#define EMU_E4M3_FROM(f) emu_float_to_fp8<4, 3, false>(f)
#define EMU_E5M2_TO(v) emu_fp8_to_float<5, 2, true>((unsigned char)(v))
#define EMU_E5M2_FROM(f) emu_float_to_fp8<5, 2, true>(f)
#define EMU_E8M0_TO(v) emu_e8m0_to_float((unsigned char)(v))
EMU_FP8(e4m3, EMU_E4M3_TO, EMU_E4M3_FROM)
EMU_FP8(e5m2, EMU_E5M2_TO, EMU_E5M2_FROM)
EMU_FP8(e8m0, EMU_E8M0_TO, emu_float_to_e8m0)
