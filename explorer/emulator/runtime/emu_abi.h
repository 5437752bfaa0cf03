// What the emulated kernel (include/emu.h) and the runtime (runtime.cc) agree on.  No standard headers.
#pragma once
typedef unsigned long emu_size;
struct emu_u3 { unsigned x, y, z; };

/// One argument of a packed call, laid out as TVM FFI's TVMFFIAny.
struct EmuAny {
  int type_index;
  unsigned padding;
  union {
    long long i;
    double f;
    void *p;
  };
};

/// How to call one __global__ function: `call` unpacks the arguments, `params` is their number.
struct EmuKernel {
  const char *name;
  int params;
  void (*call)(const EmuAny *);
};

extern "C" {
// Built-in variables of the running thread; constant for as long as a function of it is active.
// One function a number: g++ asks once where a text does a hundred times, which it can't for structs.
#define EMU_COORDINATES(NAME)                          \
  unsigned emu_##NAME##_x() __attribute__((const));    \
  unsigned emu_##NAME##_y() __attribute__((const));    \
  unsigned emu_##NAME##_z() __attribute__((const));
EMU_COORDINATES(thread_idx)
EMU_COORDINATES(block_idx)
EMU_COORDINATES(block_dim)
EMU_COORDINATES(grid_dim)

int emu_launch(const EmuKernel *kernel, const EmuAny *args, int count);

// Memory.  Shared arrays are known by name; addresses of shared memory fit 32 bits for ldmatrix.
void *emu_static_shared(const char *name, emu_size bytes, emu_size elem);
void *emu_dynamic_shared(const char *name, emu_size elem);
unsigned emu_shared_address(const void *pointer);
void *emu_shared_pointer(unsigned address);
void emu_read(const void *pointer, emu_size bytes);
void emu_write(const void *pointer, emu_size bytes);
void emu_atomic(const void *pointer, emu_size bytes);

// Block and warp.
void emu_barrier(int line);
int emu_barrier_reduce(int line, int kind, int predicate);
unsigned emu_converge(int line);
void emu_warp_sync(unsigned mask, int line);
void *emu_warp_exchange(unsigned mask, const void *value, emu_size bytes, int source, int line);
unsigned emu_warp_ballot(unsigned mask, int predicate, int line);
/// All lanes of the warp give `mine`; `table[lane]` is what each gave.  Valid until emu_warp_done.
void *const *emu_warp_gather(void *mine, int line);
void emu_warp_done(int line);
/// 8 KB that the lanes of a warp share, for operands of one matrix operation.
void *emu_warp_scratch();
int emu_lane();

// Asynchronous copies: they land at the wait that covers them.
void emu_cp_async(void *to, const void *from, int bytes, int from_bytes);
void emu_cp_commit();
void emu_cp_wait(int pending_groups);

void emu_fence();
void emu_trap(const char *what, int line);
}
