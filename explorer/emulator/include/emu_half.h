// fp16 and bf16: every operation is rounded to the type, as the GPU does.
#pragma once

#if defined(__FLT16_MAX__) && !defined(EMU_SOFT_HALF)
EMU_RAW float emu_half_to_float(unsigned short h) { return (float)emu_bits<_Float16>(h); }
EMU_RAW unsigned short emu_float_to_half(float f) { return emu_bits<unsigned short>((_Float16)f); }
EMU_RAW unsigned short emu_double_to_half(double f) { return emu_bits<unsigned short>((_Float16)f); }
#else
EMU_RAW float emu_half_to_float(unsigned short h) {
  unsigned sign = (h & 0x8000u) << 16, e = h >> 10 & 31, m = h & 1023;
  if (e == 31) return emu_bits<float>(sign | 0x7f800000u | m << 13);
  if (e) return emu_bits<float>(sign | (e + 112) << 23 | m << 13);
  float f = (float)m * 0x1p-24f;
  return sign ? -f : f;
}
EMU_RAW unsigned short emu_float_to_half(float f) {
  unsigned u = emu_bits<unsigned>(f), sign = u >> 16 & 0x8000u;
  u &= 0x7fffffffu;
  if (u > 0x7f800000u) return (unsigned short)(sign | 0x7e00u | (u >> 13 & 0x3ffu));
  if (u >= 0x477ff000u) return (unsigned short)(sign | 0x7c00u);
  if (u < 0x38800000u) {
    float m = nearbyintf(emu_bits<float>(u) * 0x1p24f);
    return (unsigned short)(sign | (unsigned)m);
  }
  u += 0xc8000fffu + (u >> 13 & 1);
  return (unsigned short)(sign | u >> 13);
}
EMU_RAW unsigned short emu_double_to_half(double d) {
  float f = (float)d;  // round to odd, so that the second rounding is right
  unsigned u = emu_bits<unsigned>(f);
  if ((double)f != d && d == d && !(u & 1)) u = std::fabs((double)f) > std::fabs(d) ? u - 1 : u | 1;
  return emu_float_to_half(emu_bits<float>(u));
}
#endif
EMU_RAW float emu_bf16_to_float(unsigned short h) { return emu_bits<float>((unsigned)h << 16); }
EMU_RAW unsigned short emu_float_to_bf16(float f) {
  unsigned u = emu_bits<unsigned>(f);
  if ((u & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
  return (unsigned short)((u + 0x7fffu + (u >> 16 & 1)) >> 16);
}
EMU_RAW unsigned short emu_double_to_bf16(double d) {
  float f = (float)d;
  unsigned u = emu_bits<unsigned>(f);
  if ((double)f != d && d == d && !(u & 1)) u = std::fabs((double)f) > std::fabs(d) ? u - 1 : u | 1;
  return emu_float_to_bf16(emu_bits<float>(u));
}

#define EMU_FLOAT16(T, TO, FROM, FROM_DOUBLE)                                          \
  struct T##_raw { unsigned short x; };                                                \
  struct alignas(2) T {                                                                \
    unsigned short __x;                                                                \
    T() = default;                                                                     \
    T(T##_raw raw) : __x(raw.x) {}                                                     \
    operator T##_raw() const { return {__x}; }                                         \
    operator T##_raw() const volatile { return {__x}; }                                \
    void operator=(T##_raw raw) volatile { __x = raw.x; }                              \
    __attribute__((no_sanitize("thread"))) T(float f) : __x(FROM(f)) {}                \
    __attribute__((no_sanitize("thread"))) T(double f) : __x(FROM_DOUBLE(f)) {}        \
    __attribute__((no_sanitize("thread"))) T(int v) : __x(FROM_DOUBLE((double)v)) {}   \
    __attribute__((no_sanitize("thread"))) T(unsigned v) : __x(FROM_DOUBLE((double)v)) {} \
    __attribute__((no_sanitize("thread"))) T(short v) : __x(FROM((float)v)) {}         \
    __attribute__((no_sanitize("thread"))) T(unsigned short v) : __x(FROM((float)v)) {} \
    __attribute__((no_sanitize("thread"))) T(signed char v) : __x(FROM((float)v)) {}   \
    __attribute__((no_sanitize("thread"))) T(unsigned char v) : __x(FROM((float)v)) {} \
    __attribute__((no_sanitize("thread"))) T(bool v) : __x(FROM((float)v)) {}          \
    __attribute__((no_sanitize("thread"))) T(long v) : __x(FROM_DOUBLE((double)v)) {}  \
    __attribute__((no_sanitize("thread"))) T(unsigned long v) : __x(FROM_DOUBLE((double)v)) {} \
    __attribute__((no_sanitize("thread"))) T(long long v) : __x(FROM_DOUBLE((double)v)) {} \
    __attribute__((no_sanitize("thread"))) T(unsigned long long v) : __x(FROM_DOUBLE((double)v)) {} \
    operator float() const { return TO(__x); }                                         \
    T &operator+=(T o) { return *this = T((float)*this + (float)o); }                  \
    T &operator-=(T o) { return *this = T((float)*this - (float)o); }                  \
    T &operator*=(T o) { return *this = T((float)*this * (float)o); }                  \
    T &operator/=(T o) { return *this = T((float)*this / (float)o); }                  \
  };                                                                                   \
  EMU_FN T operator+(T a, T b) { return T(TO(a.__x) + TO(b.__x)); }                    \
  EMU_FN T operator-(T a, T b) { return T(TO(a.__x) - TO(b.__x)); }                    \
  EMU_FN T operator*(T a, T b) { return T(TO(a.__x) * TO(b.__x)); }                    \
  EMU_FN T operator/(T a, T b) { return T(TO(a.__x) / TO(b.__x)); }                    \
  EMU_FN T operator-(T a) { a.__x ^= 0x8000; return a; }                               \
  EMU_FN T operator+(T a) { return a; }                                                \
  EMU_FN bool operator<(T a, T b) { return TO(a.__x) < TO(b.__x); }                    \
  EMU_FN bool operator>(T a, T b) { return TO(a.__x) > TO(b.__x); }                    \
  EMU_FN bool operator<=(T a, T b) { return TO(a.__x) <= TO(b.__x); }                  \
  EMU_FN bool operator>=(T a, T b) { return TO(a.__x) >= TO(b.__x); }                  \
  EMU_FN bool operator==(T a, T b) { return TO(a.__x) == TO(b.__x); }                  \
  EMU_FN bool operator!=(T a, T b) { return TO(a.__x) != TO(b.__x); }                  \
  struct alignas(4) T##2 {                                                             \
    T x, y;                                                                            \
    T##2() = default;                                                                  \
    T##2(T a, T b) : x(a), y(b) {}                                                     \
  };                                                                                   \
  EMU_FN T##2 operator+(T##2 a, T##2 b) { return {a.x + b.x, a.y + b.y}; }             \
  EMU_FN T##2 operator-(T##2 a, T##2 b) { return {a.x - b.x, a.y - b.y}; }             \
  EMU_FN T##2 operator*(T##2 a, T##2 b) { return {a.x * b.x, a.y * b.y}; }             \
  EMU_FN T##2 operator/(T##2 a, T##2 b) { return {a.x / b.x, a.y / b.y}; }             \
  EMU_FN T __hadd(T a, T b) { return a + b; }                                          \
  EMU_FN T __hsub(T a, T b) { return a - b; }                                          \
  EMU_FN T __hmul(T a, T b) { return a * b; }                                          \
  EMU_FN T __hdiv(T a, T b) { return a / b; }                                          \
  EMU_FN T __hneg(T a) { return -a; }                                                  \
  EMU_FN T __hfma(T a, T b, T c) { return T((double)(float)a * (double)(float)b + (double)(float)c); } \
  EMU_FN T __habs(T a) { a.__x &= 0x7fff; return a; }                                  \
  EMU_FN T __hmax(T a, T b) { return T(fmaxf(a, b)); }                                 \
  EMU_FN T __hmin(T a, T b) { return T(fminf(a, b)); }                                 \
  EMU_FN bool __hgt(T a, T b) { return a > b; }                                        \
  EMU_FN bool __hlt(T a, T b) { return a < b; }                                        \
  EMU_FN bool __hge(T a, T b) { return a >= b; }                                       \
  EMU_FN bool __hle(T a, T b) { return a <= b; }                                       \
  EMU_FN bool __heq(T a, T b) { return a == b; }                                       \
  EMU_FN bool __hne(T a, T b) { return a != b && a == a && b == b; }                   \
  EMU_FN bool __hisnan(T a) { return !(a == a); }                                      \
  EMU_FN int __hisinf(T a) { return std::isinf((float)a) ? (float)a > 0 ? 1 : -1 : 0; } \
  EMU_FN T hexp(T a) { return T(expf(a)); }                                            \
  EMU_FN T hexp2(T a) { return T(exp2f(a)); }                                          \
  EMU_FN T hexp10(T a) { return T(exp10f(a)); }                                        \
  EMU_FN T hlog(T a) { return T(logf(a)); }                                            \
  EMU_FN T hlog2(T a) { return T(log2f(a)); }                                          \
  EMU_FN T hlog10(T a) { return T(log10f(a)); }                                        \
  EMU_FN T hsqrt(T a) { return T(sqrtf(a)); }                                          \
  EMU_FN T hrsqrt(T a) { return T(1.0f / sqrtf(a)); }                                  \
  EMU_FN T hrcp(T a) { return T(1.0f / (float)a); }                                    \
  EMU_FN T hsin(T a) { return T(sinf(a)); }                                            \
  EMU_FN T hcos(T a) { return T(cosf(a)); }                                            \
  EMU_FN T htanh(T a) { return T(tanhf(a)); }                                          \
  EMU_FN T hfloor(T a) { return T(floorf(a)); }                                        \
  EMU_FN T hceil(T a) { return T(ceilf(a)); }                                          \
  EMU_FN T htrunc(T a) { return T(truncf(a)); }                                        \
  EMU_FN T hrint(T a) { return T(nearbyintf(a)); }                                     \
  EMU_FN T##2 __hadd2(T##2 a, T##2 b) { return a + b; }                                \
  EMU_FN T##2 __hsub2(T##2 a, T##2 b) { return a - b; }                                \
  EMU_FN T##2 __hmul2(T##2 a, T##2 b) { return a * b; }                                \
  EMU_FN T##2 __hfma2(T##2 a, T##2 b, T##2 c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; } \
  EMU_FN T##2 __hmax2(T##2 a, T##2 b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; } \
  EMU_FN T##2 __hmin2(T##2 a, T##2 b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; } \
  EMU_FN T##2 __halves2##T##2(T a, T b) { return {a, b}; }                             \
  EMU_FN T __low2##T(T##2 a) { return a.x; }                                           \
  EMU_FN T __high2##T(T##2 a) { return a.y; }

EMU_FLOAT16(__half, emu_half_to_float, emu_float_to_half, emu_double_to_half)
EMU_FLOAT16(__nv_bfloat16, emu_bf16_to_float, emu_float_to_bf16, emu_double_to_bf16)
typedef __half half;
typedef __half2 half2;
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
EMU_FN half2 make_half2(half a, half b) { return {a, b}; }
EMU_FN nv_bfloat162 make_bfloat162(nv_bfloat16 a, nv_bfloat16 b) { return {a, b}; }
EMU_FN half2 __halves2half2(half a, half b) { return {a, b}; }
EMU_FN half __low2half(half2 a) { return a.x; }
EMU_FN half __high2half(half2 a) { return a.y; }
EMU_FN nv_bfloat162 __halves2bfloat162(nv_bfloat16 a, nv_bfloat16 b) { return {a, b}; }
EMU_FN nv_bfloat16 __low2bfloat16(nv_bfloat162 a) { return a.x; }
EMU_FN nv_bfloat16 __high2bfloat16(nv_bfloat162 a) { return a.y; }
EMU_FN float __half2float(half h) { return h; }
EMU_FN half __float2half(float f) { return half(f); }
EMU_FN half __float2half_rn(float f) { return half(f); }
EMU_FN half __double2half(double f) { return half(f); }
EMU_FN half2 __float2half2_rn(float f) { return {half(f), half(f)}; }
EMU_FN half2 __floats2half2_rn(float a, float b) { return {half(a), half(b)}; }
EMU_FN half2 __float22half2_rn(float2 f) { return {half(f.x), half(f.y)}; }
EMU_FN float2 __half22float2(half2 h) { return {(float)h.x, (float)h.y}; }
EMU_FN half2 __half2half2(half h) { return {h, h}; }
EMU_FN float __low2float(half2 h) { return h.x; }
EMU_FN float __high2float(half2 h) { return h.y; }
EMU_FN half __ushort_as_half(unsigned short u) { return emu_bits<half>(u); }
EMU_FN half __short_as_half(short u) { return emu_bits<half>(u); }
EMU_FN unsigned short __half_as_ushort(half h) { return h.__x; }
EMU_FN short __half_as_short(half h) { return (short)h.__x; }
EMU_FN int __half2int_rz(half h) { return (int)(float)h; }
EMU_FN int __half2int_rn(half h) { return (int)nearbyintf(h); }
EMU_FN half __int2half_rn(int v) { return half(v); }
EMU_FN half __uint2half_rn(unsigned v) { return half(v); }
EMU_FN float __bfloat162float(nv_bfloat16 h) { return h; }
EMU_FN nv_bfloat16 __float2bfloat16(float f) { return nv_bfloat16(f); }
EMU_FN nv_bfloat16 __float2bfloat16_rn(float f) { return nv_bfloat16(f); }
EMU_FN nv_bfloat16 __double2bfloat16(double f) { return nv_bfloat16(f); }
EMU_FN nv_bfloat162 __float2bfloat162_rn(float f) { return {nv_bfloat16(f), nv_bfloat16(f)}; }
EMU_FN nv_bfloat162 __floats2bfloat162_rn(float a, float b) { return {nv_bfloat16(a), nv_bfloat16(b)}; }
EMU_FN nv_bfloat162 __float22bfloat162_rn(float2 f) { return {nv_bfloat16(f.x), nv_bfloat16(f.y)}; }
EMU_FN float2 __bfloat1622float2(nv_bfloat162 h) { return {(float)h.x, (float)h.y}; }
EMU_FN nv_bfloat162 __bfloat162bfloat162(nv_bfloat16 h) { return {h, h}; }
EMU_FN nv_bfloat16 __ushort_as_bfloat16(unsigned short u) { return emu_bits<nv_bfloat16>(u); }
EMU_FN unsigned short __bfloat16_as_ushort(nv_bfloat16 h) { return h.__x; }
EMU_FN nv_bfloat16 __int2bfloat16_rn(int v) { return nv_bfloat16(v); }
