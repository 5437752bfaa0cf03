// What kernels call: built-in variables, shared memory, barriers, warp operations, copies.
#pragma once

#define COORDINATES(NAME, WHERE)                  \
  unsigned emu_##NAME##_x() { return (WHERE).x; } \
  unsigned emu_##NAME##_y() { return (WHERE).y; } \
  unsigned emu_##NAME##_z() { return (WHERE).z; }
COORDINATES(thread_idx, cur->tid)
COORDINATES(block_idx, block_idx)
COORDINATES(block_dim, block_dim)
COORDINATES(grid_dim, grid_dim)
int emu_lane() { return cur->lane; }

static void *shared_array(const char *name, size_t bytes, size_t elem, bool dynamic) {
  auto found = shared_slots.find(name);
  if (found != shared_slots.end()) return regions[found->second].lo;
  if (!dynamic) static_bytes += bytes;
  if (long(static_bytes) > settings.static_shared_limit ||
      long(static_bytes + dynamic_bytes) > settings.shared_limit) {
    char text[160];
    snprintf(text, sizeof text, "%zu bytes of static shared memory (%s); the limit is %ld",
             static_bytes, name, std::min(settings.static_shared_limit, settings.shared_limit));
    leave("cannot_launch",
          "{\"why\":" + json_text(text) + ",\"kernel\":" + json_text(kernel->name) + "}");
  }
  int slot = open_region(name, bytes, elem, SHARED, false);
  if (slot < 0) leave("crash", "{\"why\":\"no room for shared memory\"}");
  shared_slots[name] = slot;
  memset(regions[slot].lo, settings.poison, bytes);
  return regions[slot].lo;
}
void *emu_static_shared(const char *name, emu_size bytes, emu_size elem) {
  return shared_array(name, bytes, elem, false);
}
void *emu_dynamic_shared(const char *name, emu_size) {
  return shared_array(name, dynamic_bytes, 2, true);
}
unsigned emu_shared_address(const void *p) {
  size_t at = size_t((const char *)p - arena);
  if (at >= slot_bytes * SLOTS) emu_trap("an address outside shared memory", 0);
  Region &r = regions[at >> slot_shift];
  return unsigned((at >> slot_shift) << 22) + unsigned((const char *)p - r.lo) + (1u << 21);
}
void *emu_shared_pointer(unsigned address) {
  Region &r = regions[address >> 22];
  return r.lo + int(address & 0x3fffff) - (1 << 21);
}
void emu_read(const void *p, emu_size n) {
  access(p, n, READ, (uintptr_t)__builtin_return_address(0), true);
}
void emu_write(const void *p, emu_size n) {
  access(p, n, WRITE, (uintptr_t)__builtin_return_address(0), true);
}
void emu_atomic(const void *p, emu_size n) {
  access(p, n, ATOMIC, (uintptr_t)__builtin_return_address(0), true);
}

void emu_barrier(int line) {
  cur->line = line;
  cur->mask = 0;
  switch_out(AT_BARRIER);
}
int emu_barrier_reduce(int line, int kind, int predicate) {
  cur->line = line;
  cur->mask = unsigned(kind);
  cur->predicate = predicate;
  switch_out(AT_BARRIER);
  cur->predicate = 0;
  return cur->result;
}
static unsigned warp_wait(WarpOp op, unsigned mask, int line) {
  Fiber *f = cur;
  f->op = op;
  f->mask = mask;
  f->line = line;
  if (op != CONVERGE && !(mask >> f->lane & 1)) {
    char b[80];
    snprintf(b, sizeof b, ",\"mask\":\"0x%08x\"", mask);
    stuck("own_mask", line, f, b);
  }
  switch_out(AT_WARP);
  return f->group;
}
unsigned emu_converge(int line) {
  cur->where = (uintptr_t)__builtin_return_address(0);
  return warp_wait(CONVERGE, 0, line);
}
void emu_warp_sync(unsigned mask, int line) { warp_wait(SYNC, mask, line); }

void *emu_warp_exchange(unsigned mask, const void *value, emu_size bytes, int source, int line) {
  Fiber *f = cur;
  memcpy(f->value, value, bytes);
  unsigned group = warp_wait(SHUFFLE, mask, line);
  static uint64_t got[4];
  if (source < 0 || source > 31 || !(group >> source & 1))
    memset(got, settings.poison, sizeof got);  // undefined on the GPU
  else
    memcpy(got, fibers[size_t(f->warp * 32 + source)].value, sizeof got);
  memcpy(f->value + 2, got, 16);
  warp_wait(SYNC, mask & group, line);  // nobody gives a new value before all have read
  memcpy(got, f->value + 2, 16);
  return got;
}
unsigned emu_warp_ballot(unsigned mask, int predicate, int line) {
  Fiber *f = cur;
  f->predicate = predicate;
  unsigned group = warp_wait(BALLOT, mask, line), bits = 0;
  for (int i = 0; i < 32; i++)
    if (group >> i & 1 && fibers[size_t(f->warp * 32 + i)].predicate) bits |= 1u << i;
  warp_wait(SYNC, mask & group, line);
  f->predicate = 0;
  return bits;
}
void *const *emu_warp_gather(void *mine, int line) {
  Fiber *f = cur;
  gather_table[f->warp][f->lane] = mine;
  unsigned group = warp_wait(GATHER, 0xffffffffu, line);
  if (group != 0xffffffffu) stuck("matrix", line, f);
  return gather_table[f->warp];
}
void emu_warp_done(int line) {
  if (warp_wait(GATHER, 0xffffffffu, line) != 0xffffffffu) stuck("matrix", line, cur);
}

void *emu_warp_scratch() {
  static double scratch[32][1024];
  return scratch[cur->warp];
}

void emu_cp_async(void *to, const void *from, int bytes, int from_bytes) {
  uintptr_t pc = (uintptr_t)__builtin_return_address(0);
  if (from_bytes) access(from, size_t(from_bytes), READ, pc, false);
  access(to, size_t(bytes), WRITE, pc, true);
  cur->pending = nullptr;  // it lands later; for the shadow the store is on its way from here on
  Region *r = region_at(to);
  for (size_t i = size_t((char *)to - r->lo) >> r->shift,
              last = size_t((char *)to - r->lo + bytes - 1) >> r->shift; i <= last; i++)
    r->cells[i].flags |= W_CHANGED;
  stored_changed = true;
  if (suspect.open) settle_suspect();
  cur->copies.push_back({to, from, bytes, from_bytes, cur->cp_group});
}
void emu_cp_commit() { cur->cp_group++; }
void emu_cp_wait(int pending) {
  if (pending < 0) cur->cp_group++, pending = 0;  // wait_all covers what is not committed, too
  land(cur, pending);
}
void emu_fence() { fence_used = true; }
COLD void emu_trap(const char *what, int line) {
  leave("trap", "{\"why\":" + json_text(what) + ",\"line\":" + std::to_string(line) + "}");
}
