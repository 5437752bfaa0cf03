// Warp-wide matrix operations: wmma, mma.sync, ldmatrix, cp.async.  Each lane computes its own part.
#pragma once

// One copy of each instead of one at every call: unrolled kernels have thousands of calls.
#define EMU_ONCE static __attribute__((noinline, unused))

// One operand register of mma.sync as numbers: `bits` wide elements, `count` to a register.

struct emu_f16 { enum { count = 2 }; EMU_RAW float get(unsigned r, int j) { return emu_half_to_float((unsigned short)(r >> 16 * j)); } };
struct emu_bf16 { enum { count = 2 }; EMU_RAW float get(unsigned r, int j) { return emu_bf16_to_float((unsigned short)(r >> 16 * j)); } };
struct emu_tf32 { enum { count = 1 }; EMU_RAW float get(unsigned r, int) { return emu_bits<float>(r & 0xffffe000u); } };
struct emu_s8 { enum { count = 4 }; EMU_RAW int get(unsigned r, int j) { return (signed char)(r >> 8 * j); } };
struct emu_u8 { enum { count = 4 }; EMU_RAW int get(unsigned r, int j) { return (unsigned char)(r >> 8 * j); } };
struct emu_e4m3 { enum { count = 4 }; EMU_RAW float get(unsigned r, int j) { return emu_fp8_to_float<4, 3, false>((unsigned char)(r >> 8 * j)); } };
struct emu_e5m2 { enum { count = 4 }; EMU_RAW float get(unsigned r, int j) { return emu_fp8_to_float<5, 2, true>((unsigned char)(r >> 8 * j)); } };

template <int A, int B, int C> struct emu_mma_regs {
  unsigned a[A], b[B], c[C], d[C];
};
// Rows and columns of an element of a lane's registers, as the PTX manual draws the fragments
// (g = lane / 4, t = lane % 4).
template <int M, int N, int K, class TA, class TB, class Acc, class TC, int A, int B, int C>
EMU_ONCE __attribute__((no_sanitize("thread"))) void emu_mma(emu_mma_regs<A, B, C> &mine, int line) {
  void *const *warp = emu_warp_gather(&mine, line);
  const int lane = emu_lane(), g = lane / 4, t = lane % 4;
  const int tiles = M / 8, w = TA::count;
  for (int r = 0; r < C; r++) {
    const int halves = sizeof(TC) == 2 ? 2 : 1;
    unsigned out = 0;
    for (int h = 0; h < halves; h++) {
      const int row = halves == 2 ? g + 8 * r : g + 8 * (r / 2);
      const int col = halves == 2 ? 2 * t + h : 2 * t + r % 2;
      Acc sum = sizeof(TC) == 2 ? (Acc)emu_half_to_float((unsigned short)(mine.c[r] >> 16 * h))
                                : emu_bits<Acc>(mine.c[r]);
      for (int k = 0; k < K; k++) {
        const int kr = k / (4 * w), kt = k % (4 * w) / w, kj = k % w;
        auto *pa = (const emu_mma_regs<A, B, C> *)warp[row % 8 * 4 + kt];
        auto *pb = (const emu_mma_regs<A, B, C> *)warp[col * 4 + kt];
        sum += (Acc)TA::get(pa->a[kr * tiles + row / 8], kj) * (Acc)TB::get(pb->b[kr], kj);
      }
      out |= sizeof(TC) == 2 ? (unsigned)emu_float_to_half((float)sum) << 16 * h
                             : emu_bits<unsigned>(sum);
    }
    mine.d[r] = out;
  }
  emu_warp_done(line);
}

// ldmatrix: lane l gives the address of row l % 8 of matrix l / 8
template <int COUNT, bool TRANS> EMU_ONCE __attribute__((no_sanitize("thread"))) void emu_ldmatrix(unsigned *out, unsigned address, int line) {
  unsigned short row[8] = {};
  const int lane = emu_lane();
  if (lane < 8 * COUNT) {
    const void *p = emu_shared_pointer(address);
    emu_read(p, 16);
    __builtin_memcpy(row, p, 16);
  }
  void *const *warp = emu_warp_gather(row, line);
  for (int i = 0; i < COUNT; i++) {
    unsigned got[2];
    for (int j = 0; j < 2; j++) {
      const int r = TRANS ? lane % 4 * 2 + j : lane / 4, c = TRANS ? lane / 4 : lane % 4 * 2 + j;
      got[j] = ((const unsigned short *)warp[8 * i + r])[c];
    }
    out[i] = got[0] | got[1] << 16;
  }
  emu_warp_done(line);
}
EMU_RAW void emu_zero_shared(unsigned address, int bytes) {
  void *p = emu_shared_pointer(address);
  emu_write(p, (emu_size)bytes);
  __builtin_memset(p, 0, (emu_size)bytes);
}

namespace nvcuda {
namespace wmma {
struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32 {};
}
template <class T> struct emu_storage { typedef T type; };
template <> struct emu_storage<precision::tf32> { typedef float type; };
template <class T> struct emu_sum { typedef float type; };
template <> struct emu_sum<int> { typedef int type; };
template <> struct emu_sum<double> { typedef double type; };
template <class Use, int M, int N, int K> struct emu_extent;
template <int M, int N, int K> struct emu_extent<matrix_a, M, N, K> { enum { rows = M, cols = K }; };
template <int M, int N, int K> struct emu_extent<matrix_b, M, N, K> { enum { rows = K, cols = N }; };
template <int M, int N, int K> struct emu_extent<accumulator, M, N, K> { enum { rows = M, cols = N }; };

// Which lane holds which element is not defined; here lane l holds elements l * n … l * n + n - 1.
template <class Use, int M, int N, int K, class T, class Layout = void> struct fragment {
  typedef typename emu_storage<T>::type element_type;
  typedef element_type storage_element_type;
  enum {
    rows = emu_extent<Use, M, N, K>::rows,
    cols = emu_extent<Use, M, N, K>::cols,
    num_elements = rows * cols / 32,
    num_storage_elements = num_elements
  };
  element_type x[num_elements];
};
template <class F, class V> EMU_ONCE void fill_fragment(F &f, V v, int line = __builtin_LINE()) {
  emu_warp_done(line);
  for (auto &x : f.x) x = (typename F::element_type)v;
}
template <class F, class T>
EMU_ONCE void emu_load(F &f, const T *p, unsigned ldm, bool row_major_memory, int line) {
  emu_warp_done(line);
  for (int n = 0; n < F::num_elements; n++) {
    const int e = emu_lane() * F::num_elements + n;
    const unsigned i = (unsigned)(e / F::cols), j = (unsigned)(e % F::cols);
    f.x[n] = (typename F::element_type)p[row_major_memory ? i * ldm + j : j * ldm + i];
  }
}
template <class U, int M, int N, int K, class T, class L, class P>
EMU_ONCE void load_matrix_sync(fragment<U, M, N, K, T, L> &f, const P *p, unsigned ldm,
                             int line = __builtin_LINE()) {
  emu_load(f, p, ldm, std::is_same<L, row_major>::value, line);
}
template <int M, int N, int K, class T, class P>
EMU_ONCE void load_matrix_sync(fragment<accumulator, M, N, K, T> &f, const P *p, unsigned ldm,
                             layout_t l, int line = __builtin_LINE()) {
  emu_load(f, p, ldm, l == mem_row_major, line);
}
template <int M, int N, int K, class T, class P>
EMU_ONCE void store_matrix_sync(P *p, const fragment<accumulator, M, N, K, T> &f, unsigned ldm,
                              layout_t l, int line = __builtin_LINE()) {
  typedef fragment<accumulator, M, N, K, T> F;
  emu_warp_done(line);
  for (int n = 0; n < F::num_elements; n++) {
    const int e = emu_lane() * F::num_elements + n;
    const unsigned i = (unsigned)(e / F::cols), j = (unsigned)(e % F::cols);
    p[l == mem_row_major ? i * ldm + j : j * ldm + i] = (P)f.x[n];
  }
}
template <int M, int N, int K, class T, class T2, class C, class D, class LA, class LB>
EMU_ONCE __attribute__((no_sanitize("thread"))) void mma_sync(fragment<accumulator, M, N, K, D> &d,
                      const fragment<matrix_a, M, N, K, T, LA> &a,
                      const fragment<matrix_b, M, N, K, T2, LB> &b,
                      const fragment<accumulator, M, N, K, C> &c, bool = false,
                      int line = __builtin_LINE()) {
  typedef typename emu_sum<C>::type Sum;
  enum { NA = M * K / 32, NB = K * N / 32, ND = M * N / 32 };
  static_assert(M * K <= 512 && K * N <= 512, "operands fit the scratch memory of a warp");
  // Each lane lays down its part of both operands, then computes its part of the result.
  Sum *all_a = (Sum *)emu_warp_scratch(), *all_b = all_a + 512;
  const int lane = emu_lane();
  for (int n = 0; n < NA; n++) all_a[lane * NA + n] = (Sum)a.x[n];
  for (int n = 0; n < NB; n++) all_b[lane * NB + n] = (Sum)b.x[n];
  emu_warp_done(line);
  for (int n = 0; n < ND; n++) {
    const Sum *row = all_a + (lane * ND + n) / N * K, *column = all_b + (lane * ND + n) % N;
    Sum sum = (Sum)c.x[n];
    for (int k = 0; k < K; k++) sum += row[k] * column[k * N];
    d.x[n] = (D)sum;
  }
  emu_warp_done(line);
}
}  // namespace wmma
}  // namespace nvcuda
