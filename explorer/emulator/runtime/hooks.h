// What instrumented code calls (-fsanitize=thread and bounds, without their runtimes).
#pragma once

#define PC (uintptr_t) __builtin_return_address(0)
#define HOOKS(N)                                                                       \
  API void __tsan_read##N(void *p) { access(p, N, READ, PC, true); }                   \
  API void __tsan_write##N(void *p) { access(p, N, WRITE, PC, true); }                 \
  API void __tsan_unaligned_read##N(void *p) { access(p, N, READ, PC, false); }        \
  API void __tsan_unaligned_write##N(void *p) { access(p, N, WRITE, PC, false); }      \
  API void __tsan_volatile_read##N(void *p) { lockstep(p, N, READ, PC); }              \
  API void __tsan_volatile_write##N(void *p) { lockstep(p, N, WRITE, PC); }            \
  API void __tsan_unaligned_volatile_read##N(void *p) { lockstep(p, N, READ, PC); }    \
  API void __tsan_unaligned_volatile_write##N(void *p) { lockstep(p, N, WRITE, PC); }  \
  API void __tsan_read_write##N(void *p) {                                             \
    access(p, N, READ, PC, true);                                                      \
    access(p, N, WRITE, PC, true);                                                     \
  }                                                                                    \
  API void __tsan_unaligned_read_write##N(void *p) {                                   \
    access(p, N, READ, PC, false);                                                     \
    access(p, N, WRITE, PC, false);                                                    \
  }
// Volatile shared memory is how warp-synchronous code is written: the lanes of a warp that execute
// the same access do so together, reads before the stores that follow them.
static void lockstep(void *p, size_t bytes, Verb verb, uintptr_t pc) {
  if (in_launch) {
    Region *r = region_at(p);
    if (r && r->kind == SHARED) {
      cur->where = pc;
      warp_wait(CONVERGE, 0, 0);
    }
  }
  access(p, bytes, verb, pc, true);
}
HOOKS(1) HOOKS(2) HOOKS(4) HOOKS(8) HOOKS(16)
API void __tsan_read_range(void *p, emu_size n) { access(p, n, READ, PC, false); }
API void __tsan_write_range(void *p, emu_size n) { access(p, n, WRITE, PC, false); }
API void __tsan_init() {}
API void __tsan_func_entry(void *) {}
API void __tsan_func_exit() {}
API void __tsan_vptr_update(void **, void *) {}
API void __tsan_vptr_read(void **) {}
// How clang copies a struct from memory to memory, and TVM's structs of these sizes are the vectors:
// a GPU copies one by a load and a store of its size, which have to be aligned.
API void *__tsan_memcpy(void *to, const void *from, emu_size n) {
  const bool vector = n <= 16 && !(n & (n - 1));
  access(from, n, READ, PC, vector);
  access(to, n, WRITE, PC, vector);
  return memcpy(to, from, n);
}
API void *__tsan_memmove(void *to, const void *from, emu_size n) {
  access(from, n, READ, PC, false);
  access(to, n, WRITE, PC, false);
  return memmove(to, from, n);
}
API void *__tsan_memset(void *to, int c, emu_size n) {
  access(to, n, WRITE, PC, false);
  return memset(to, c, n);
}

// -fsanitize=bounds: an index outside an array whose size the text states
struct SourceAt {
  const char *file;
  unsigned line, column;
};
struct BoundsData {
  SourceAt at;
  const void *array_type, *index_type;
};
struct TypeName {
  unsigned short kind, info;
  char name[1];
};
COLD static void array_bounds(BoundsData *d, uintptr_t index) {
  if (!in_launch) return;
  auto *type = (const TypeName *)d->array_type;
  leave("array_bounds", "{\"line\":" + std::to_string(d->at.line) + ",\"column\":" +
                            std::to_string(d->at.column) + ",\"index\":" +
                            std::to_string(int64_t(index)) + ",\"type\":" + json_text(type->name) +
                            "," + me(image_base, "index") + "}");
}
API void __ubsan_handle_out_of_bounds(BoundsData *d, uintptr_t i) { array_bounds(d, i); }
API void __ubsan_handle_out_of_bounds_abort(BoundsData *d, uintptr_t i) { array_bounds(d, i); }

// -fsanitize=object-size: an access by pointer that leaves a local array
struct MismatchData {
  SourceAt at;
  const TypeName *type;
  unsigned char log_alignment, kind;
};
COLD static void object_size(MismatchData *d, uintptr_t p) {
  if (!in_launch) return;
  leave("array_bounds", "{\"line\":" + std::to_string(d->at.line) + ",\"column\":" +
                            std::to_string(d->at.column) + ",\"address\":" + std::to_string(p) +
                            ",\"type\":" + json_text(d->type->name) + "," + me(image_base, "index") +
                            "}");
}
API void __ubsan_handle_type_mismatch_v1(MismatchData *d, uintptr_t p) { object_size(d, p); }
API void __ubsan_handle_type_mismatch_v1_abort(MismatchData *d, uintptr_t p) { object_size(d, p); }
