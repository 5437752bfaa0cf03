// The emulated device: one fiber per CUDA thread, shadow memory per buffer, warps and barriers.
#include "emu_abi.h"

#include <algorithm>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <map>
#include <string>
#include <sys/mman.h>
#include <sys/time.h>
#include <vector>

#define API extern "C" __attribute__((visibility("default")))

#if defined(__x86_64__)
extern "C" void emu_switch(void **save, void *to);
asm(R"(
.text
.globl emu_switch
.hidden emu_switch
.type emu_switch,@function
emu_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp,(%rdi)
  movq %rsi,%rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size emu_switch,.-emu_switch
)");
static void *prepare_stack(char *top, void (*entry)()) {
  void **sp = (void **)(top - 64);
  *--sp = nullptr;
  *--sp = (void *)entry;
  for (int k = 0; k < 6; k++) *--sp = nullptr;
  return sp;
}
#elif defined(__aarch64__)
extern "C" void emu_switch(void **save, void *to);
asm(R"(
.text
.globl emu_switch
.hidden emu_switch
.type emu_switch,%function
emu_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size emu_switch,.-emu_switch
)");
static void *prepare_stack(char *top, void (*entry)()) {
  void **sp = (void **)(top - 64 - 160);
  memset(sp, 0, 160);
  sp[11] = (void *)entry;  // x30
  return sp;
}
#else
#error "fibers are written for x86-64 and aarch64"
#endif

namespace {

// Memory: every buffer and every shared array lies in the middle of a slot of its own, so that a
// wild index through one buffer never reaches another.

struct Cell {  // the last write and read of one granule
  uint32_t w_epoch, w_block, w_pc;
  uint16_t w_thread, w_warp_epoch;
  uint32_t r_epoch, r_block, r_pc;
  uint16_t r_thread, r_warp_epoch;
  uint8_t w_mask, r_mask, flags, pad[5];
};
enum { W_CHANGED = 1, W_ATOMIC = 2, R_THREADS = 4, R_WARPS = 8, R_BLOCKS = 16 };

enum Kind { GLOBAL, SHARED };
struct Region {
  std::string name;
  char *lo = nullptr;
  size_t bytes = 0, elem = 1;
  int shift = 0;
  Kind kind = GLOBAL;
  bool initialised = false, live = false, constant = false;
  Cell *cells = nullptr;
  size_t cell_bytes = 0;
  uint32_t block_serial = 0;  // shared: the block it was poisoned for
};
constexpr int SLOTS = 256;
Region regions[SLOTS];
char *arena;
size_t slot_bytes;
int slot_shift;

enum State { READY, AT_BARRIER, AT_WARP, DONE, PREEMPTED };
enum WarpOp { SYNC, SHUFFLE, BALLOT, CONVERGE, GATHER };
struct Copy {
  void *to;
  const void *from;
  int bytes, from_bytes, group;
};
struct Local {
  const char *name;
  char *lo;
  size_t bytes;
};
struct Fiber {
  void *sp;
  char *stack;
  emu_u3 tid;
  State state;
  WarpOp op;
  int line, lane, warp, index;
  unsigned mask, group;
  uintptr_t where;
  uint16_t warp_epoch;
  uint64_t value[4];
  int predicate, result;
  void *mine;
  int cp_group;
  std::vector<Copy> copies;
  std::vector<Local> locals;
  long accesses;
  // the store announced last, not yet seen done
  char *pending;
  uint32_t pending_bytes;
  unsigned char old[16];
};
std::vector<Fiber> fibers;
Fiber *cur;
emu_u3 block_idx, block_dim, grid_dim;
void *scheduler_sp;
uint32_t epoch = 1, launch_epoch = 1, block_epoch = 1;
uint32_t block_id;
std::vector<uint16_t> warp_epochs;
void *gather_table[64][32];
char *stack_pool;
size_t stack_pool_bytes, stack_bytes = 262144;
sigjmp_buf launch_exit;
volatile bool in_launch;
const EmuKernel *kernel;
const EmuAny *kernel_args;
size_t dynamic_bytes, static_bytes;
std::map<std::string, int> shared_slots;
bool fence_used;
std::vector<std::pair<uintptr_t, uintptr_t>> images;
uintptr_t image_base;

// Settings
struct Settings {
  int order = 0;
  unsigned seed = 0;
  unsigned char poison = 0xff;
  int max_threads = 1024;
  long static_shared_limit = 49152, shared_limit = 101376;
  double seconds = 2;
  double fraction = 1;  // of the blocks, when less than all are run
} settings;
std::map<std::string, std::string> launch_params;

// What was seen
struct Seen {
  std::string fatal_kind, fatal;  // the event that ended the run
  std::string race;
  long races = 0, same_value = 0, uninitialised = 0, launches = 0, blocks = 0, all_blocks = 0;
  std::string uninitialised_where, same_value_where;
} seen;

uint64_t random_state;
uint32_t next_random() {
  random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
  return uint32_t(random_state >> 33);
}
template <class T> void shuffle(std::vector<T> &v) {
  for (size_t i = v.size(); i > 1; i--) std::swap(v[i - 1], v[next_random() % i]);
}

std::string json_text(const std::string &s) {
  std::string out = "\"";
  for (char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    out += c < ' ' ? ' ' : c;
  }
  return out + "\"";
}
std::string triple(emu_u3 v) {
  char b[64];
  snprintf(b, sizeof b, "[%u,%u,%u]", v.x, v.y, v.z);
  return b;
}
emu_u3 block_of(uint32_t id) {
  return {id % grid_dim.x, id / grid_dim.x % grid_dim.y, id / grid_dim.x / grid_dim.y};
}
emu_u3 thread_of(int t) {
  return {t % block_dim.x, t / block_dim.x % block_dim.y, t / block_dim.x / block_dim.y};
}
std::string actor(uint32_t block, int thread, uint32_t pc, const char *verb) {
  char b[64];
  snprintf(b, sizeof b, ",\"pc\":%u,\"verb\":\"%s\"}", pc, verb);
  return "{\"block\":" + triple(block_of(block)) + ",\"thread\":" + triple(thread_of(thread)) + b;
}
std::string place(const Region *r, const char *p, size_t bytes) {
  char b[160];
  long offset = long(p - r->lo);
  snprintf(b, sizeof b, ",\"offset\":%ld,\"bytes\":%zu,\"size\":%zu,\"elem\":%zu,\"shared\":%s",
           offset, bytes, r->bytes, r->elem, r->kind == SHARED ? "true" : "false");
  return "\"buffer\":" + json_text(r->name) + b;
}

[[noreturn]] void leave(const char *kind, const std::string &text) {
  if (seen.fatal_kind.empty()) {
    seen.fatal_kind = kind;
    seen.fatal = text;
  }
  siglongjmp(launch_exit, 1);
}
std::string me(uintptr_t pc, const char *verb) {
  return "\"who\":" + actor(block_id, cur->index, uint32_t(pc - image_base), verb) +
         ",\"kernel\":" + json_text(kernel->name);
}

Region *region_at(const void *p) {
  size_t at = size_t((const char *)p - arena);
  if (at >= slot_bytes * SLOTS) return nullptr;
  return &regions[at >> slot_shift];
}

int open_region(const char *name, size_t bytes, size_t elem, Kind kind, bool initialised) {
  for (int i = 1; i < SLOTS; i++) {
    Region &r = regions[i];
    if (r.live) continue;
    if (bytes > slot_bytes / 2) return -1;
    r.lo = arena + size_t(i) * slot_bytes + slot_bytes / 2;
    size_t mapped = (bytes + 4096 + 4095) & ~size_t(4095);
    if (mmap(r.lo, mapped, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
      return -1;
    r.name = name;
    r.bytes = bytes;
    r.elem = elem ? elem : 1;
    r.shift = r.elem % 4 == 0 ? 2 : r.elem % 2 == 0 ? 1 : 0;
    r.kind = kind;
    r.initialised = initialised;
    r.cell_bytes = ((bytes >> r.shift) + 2) * sizeof(Cell);
    r.cells = (Cell *)mmap(nullptr, r.cell_bytes, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (r.cells == MAP_FAILED) return -1;
    r.live = true;
    return i;
  }
  return -1;
}
void close_region(Region &r) {
  size_t mapped = (r.bytes + 4096 + 4095) & ~size_t(4095);
  mmap(r.lo, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  munmap(r.cells, r.cell_bytes);
  r = Region();
}

// Shadow memory

void finish_store() {
  Fiber *f = cur;
  char *p = f->pending;
  f->pending = nullptr;
  Region *r = region_at(p);
  if (f->pending_bytes == 4 && r->shift == 2) {
    uint32_t old, now;
    memcpy(&old, f->old, 4);
    memcpy(&now, p, 4);
    if (old != now) r->cells[size_t(p - r->lo) >> 2].flags |= W_CHANGED;
    return;
  }
  size_t first = size_t(p - r->lo) >> r->shift;
  size_t last = size_t(p - r->lo + f->pending_bytes - 1) >> r->shift;
  size_t g = size_t(1) << r->shift;
  for (size_t c = first; c <= last; c++) {
    char *lo = std::max(p, r->lo + c * g), *hi = std::min(p + f->pending_bytes, r->lo + (c + 1) * g);
    if (memcmp(lo, f->old + (lo - p), hi - lo)) r->cells[c].flags |= W_CHANGED;
  }
}
struct Suspect {  // a conflict that counts only when the store changes the value
  Region *region = nullptr;
  char *p = nullptr;
  size_t bytes = 0;
  std::string text;
};
Suspect suspect;

void settle_suspect() {
  if (!suspect.region) return;
  Region *r = suspect.region;
  suspect.region = nullptr;
  size_t first = size_t(suspect.p - r->lo) >> r->shift;
  size_t last = size_t(suspect.p - r->lo + suspect.bytes - 1) >> r->shift;
  bool changed = false;
  for (size_t c = first; c <= last; c++) changed |= r->cells[c].flags & W_CHANGED;
  if (!changed) {
    if (!seen.same_value++) seen.same_value_where = suspect.text;
    return;
  }
  if (!seen.races++) seen.race = suspect.text;
}

void found_race(Region *r, char *p, size_t bytes, const std::string &other, uintptr_t pc,
                const char *verb, bool is_store) {
  if (seen.races && !is_store) {
    seen.races++;
    return;
  }
  std::string text = "{" + place(r, p, bytes) + "," + me(pc, verb) + ",\"other\":" + other + "}";
  if (is_store) {
    suspect = {r, p, bytes, text};
    return;
  }
  seen.races++;
  seen.race = text;
}

std::string writer(const Cell &c) {
  return actor(c.w_block, c.w_thread, c.w_pc, c.flags & W_ATOMIC ? "atomic" : "write");
}
std::string reader(const Cell &c) { return actor(c.r_block, c.r_thread, c.r_pc, "read"); }

bool in_images(uintptr_t p) {
  for (auto &im : images)
    if (p >= im.first && p < im.second) return true;
  return false;
}
int add_image(struct dl_phdr_info *info, size_t, void *) {
  for (int i = 0; i < info->dlpi_phnum; i++)
    if (info->dlpi_phdr[i].p_type == PT_LOAD) {
      uintptr_t lo = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
      images.push_back({lo, lo + info->dlpi_phdr[i].p_memsz});
    }
  return 0;
}

enum Verb { READ, WRITE, ATOMIC };
const char *const VERBS[] = {"read", "write", "atomic"};

void preempt();
void outside(const void *p, size_t bytes, Verb verb, uintptr_t pc) {
  Region *r = region_at(p);
  if (r && r->live)
    leave("out_of_bounds", "{" + place(r, (const char *)p, bytes) + "," + me(pc, VERBS[verb]) + "}");
  if (in_images((uintptr_t)p)) return;  // constants and the emulator's own data
  images.clear();
  dl_iterate_phdr(add_image, nullptr);
  if (in_images((uintptr_t)p)) return;
  char b[80];
  snprintf(b, sizeof b, "{\"address\":%lu,\"bytes\":%zu,", (unsigned long)p, bytes);
  leave("out_of_bounds", b + me(pc, VERBS[verb]) + "}");
}

// What one access does to the record of one granule.  True when it races.
struct Touch {
  Region *region;
  char *p;
  size_t bytes;
  Verb verb;
  uintptr_t pc;
  uint32_t short_pc;
  uint16_t thread, warp_epoch;
  bool raced;

  inline void write_conflict(Cell &c) {
    if (verb != READ || c.flags & (W_CHANGED | W_ATOMIC)) {
      if (!raced) found_race(region, p, bytes, writer(c), pc, VERBS[verb], verb == WRITE);
      raced = true;
    } else {
      seen.same_value++;
    }
  }
  inline void read(Cell &c, uint8_t mask) {
    const bool global = region->kind == GLOBAL;
    if (c.w_mask & mask) {  // against the last write
      if (c.w_epoch == epoch) {
        if (c.w_thread != thread &&
            (c.w_thread / 32 != thread / 32 || c.w_warp_epoch == warp_epoch))
          write_conflict(c);
      } else if (global && c.w_epoch >= launch_epoch && c.w_block != block_id && !fence_used) {
        write_conflict(c);
      }
    }
    if (!region->initialised && c.w_epoch < (global ? 1 : block_epoch) && !seen.uninitialised++)
      seen.uninitialised_where = "{" + place(region, p, bytes) + "," + me(pc, "read") + "}";
    if (c.r_epoch == epoch) {
      if (c.r_thread != thread) {
        if (c.r_thread / 32 != thread / 32) c.flags |= R_WARPS;
        else if (c.r_warp_epoch == warp_epoch) c.flags |= R_THREADS;
        else c.flags &= uint8_t(~R_THREADS);
      } else if (c.r_warp_epoch != warp_epoch) {
        c.flags &= uint8_t(~R_THREADS);
      }
      c.r_mask |= mask;
    } else {
      c.flags &= uint8_t(~(R_THREADS | R_WARPS));
      if (c.r_epoch < launch_epoch) c.flags &= uint8_t(~R_BLOCKS);
      else if (c.r_block != block_id) c.flags |= R_BLOCKS;
      c.r_mask = mask;
    }
    c.r_epoch = epoch;
    c.r_block = block_id;
    c.r_thread = thread;
    c.r_warp_epoch = warp_epoch;
    c.r_pc = short_pc;
  }
  inline void write(Cell &c, uint8_t mask) {
    const bool global = region->kind == GLOBAL;
    const bool w_here = c.w_epoch == epoch;
    if (c.w_mask & mask && !(verb == ATOMIC && c.flags & W_ATOMIC)) {  // against the last write
      if (w_here) {
        if (c.w_thread != thread &&
            (c.w_thread / 32 != thread / 32 || c.w_warp_epoch == warp_epoch))
          write_conflict(c);
      } else if (global && c.w_epoch >= launch_epoch && c.w_block != block_id) {
        write_conflict(c);
      }
    }
    if (!raced && c.r_mask & mask) {  // against the last reads
      bool conflict = false;
      if (c.r_epoch == epoch) {
        if (c.flags & R_WARPS || c.r_thread / 32 != thread / 32) conflict = true;
        else conflict = c.r_warp_epoch == warp_epoch && (c.r_thread != thread || c.flags & R_THREADS);
      }
      if (!conflict && global && c.r_epoch >= launch_epoch && !fence_used)
        conflict = c.r_block != block_id || c.flags & R_BLOCKS;
      if (conflict) {
        raced = true;
        found_race(region, p, bytes, reader(c), pc, VERBS[verb], verb == WRITE);
      }
    }
    uint8_t keep = uint8_t(c.flags & ~(W_CHANGED | W_ATOMIC));
    if (w_here) {
      keep |= c.flags & W_CHANGED;
      if (c.w_thread == thread) mask |= c.w_mask;
    }
    c.flags = keep | (verb == ATOMIC ? W_ATOMIC | W_CHANGED : 0);
    c.w_epoch = epoch;
    c.w_block = block_id;
    c.w_thread = thread;
    c.w_warp_epoch = warp_epoch;
    c.w_pc = short_pc;
    c.w_mask = mask;
  }
};

// One access of `bytes` at `pointer`.  Leaves the launch when it is outside every buffer.
inline void access(const void *pointer, size_t bytes, Verb verb, uintptr_t pc, bool aligned) {
  if (!in_launch) return;
  char *p = (char *)pointer;
  const size_t at = size_t(p - arena);
  if (__builtin_expect(at >= slot_bytes * SLOTS, 0)) {
    if (!(p >= stack_pool && p < stack_pool + stack_pool_bytes)) outside(p, bytes, verb, pc);
    return;
  }
  Region *r = &regions[at >> slot_shift];
  const size_t offset = size_t(p - r->lo);
  if (__builtin_expect(offset >= r->bytes || bytes > r->bytes - offset, 0)) {
    outside(p, bytes, verb, pc);
    return;
  }
  if (aligned && bytes <= 16 && (uintptr_t)p & (bytes - 1))
    leave("misaligned", "{" + place(r, p, bytes) + "," + me(pc, VERBS[verb]) + "}");
  Fiber *f = cur;
  if (verb != READ) {  // a read may belong to the statement whose store was announced last
    if (f->pending) finish_store();
    if (suspect.region) settle_suspect();
  }
  if (++f->accesses > 4000000) preempt();
  if (r->constant && verb == READ) return;
  Touch touch{r, p, bytes, verb, pc, uint32_t(pc - image_base), uint16_t(f->index), f->warp_epoch, false};
  const size_t g = size_t(1) << r->shift, first = offset >> r->shift,
               last = (offset + bytes - 1) >> r->shift;
  for (size_t i = first; i <= last; i++) {
    uint8_t mask = uint8_t((1 << g) - 1);
    if (bytes & (g - 1) || offset & (g - 1)) {
      const size_t lo = i == first ? offset - (i << r->shift) : 0;
      const size_t hi = i == last ? offset + bytes - (i << r->shift) : g;
      mask = uint8_t(((1 << (hi - lo)) - 1) << lo);
    }
    if (verb == READ) touch.read(r->cells[i], mask);
    else touch.write(r->cells[i], mask);
  }
  if (verb == WRITE) {
    if (bytes <= 16) {
      f->pending = p;
      f->pending_bytes = uint32_t(bytes);
      switch (bytes) {
        case 4: memcpy(f->old, p, 4); break;
        case 2: memcpy(f->old, p, 2); break;
        default: memcpy(f->old, p, bytes);
      }
    } else {
      for (size_t i = first; i <= last; i++) r->cells[i].flags |= W_CHANGED;
    }
  }
}

// Fibers

void switch_out(State state) {
  Fiber *f = cur;
  if (f->pending) finish_store();
  if (suspect.region) settle_suspect();
  f->accesses = 0;
  f->state = state;
  emu_switch(&f->sp, scheduler_sp);
}
void preempt() { switch_out(PREEMPTED); }
void entry() {
  kernel->call(kernel_args);
  switch_out(DONE);
  abort();
}

void land(Fiber *f, int keep) {
  Fiber *back = cur;
  cur = f;
  std::vector<Copy> left;
  for (Copy &c : f->copies) {
    if (c.group >= f->cp_group - keep) {
      left.push_back(c);
      continue;
    }
    if (c.from_bytes) access(c.from, size_t(c.from_bytes), READ, 0, false);
    access(c.to, size_t(c.bytes), WRITE, 0, false);
    memmove(c.to, c.from, size_t(c.from_bytes));
    memset((char *)c.to + c.from_bytes, 0, size_t(c.bytes - c.from_bytes));
  }
  f->copies.swap(left);
  cur = back;
}

std::string lanes_text(unsigned m) {
  char b[40];
  snprintf(b, sizeof b, "0x%08x", m);
  return b;
}
[[noreturn]] void stuck(const char *why, int line, Fiber *f, const std::string &more = "") {
  cur = f;
  leave("deadlock", "{\"why\":\"" + std::string(why) + "\",\"line\":" + std::to_string(line) + more +
                        "," + me(image_base, "wait") + "}");
}

// Let one group of the warp go on, if one is complete.  Lanes that still run come first.
bool release_warp(int lo, int hi) {
  Fiber *first = nullptr;
  unsigned alive = 0;
  for (int i = lo; i < hi; i++) {
    if (fibers[i].state != DONE) alive |= 1u << (i - lo);
    if (fibers[i].state == READY) return true;
  }
  // Named collectives: complete once every living lane of the mask has come.
  for (int i = lo; i < hi && !first; i++) {
    Fiber &f = fibers[i];
    if (f.state != AT_WARP || f.op == CONVERGE) continue;
    unsigned want = f.mask & alive, have = 0;
    for (int j = lo; j < hi; j++) {
      Fiber &o = fibers[j];
      if (o.state == AT_WARP && o.op == f.op && o.mask == f.mask) have |= 1u << (j - lo);
    }
    if ((want & ~have) == 0) {
      first = &f;
      uint16_t e = ++warp_epochs[size_t(f.warp)];
      for (int j = lo; j < hi; j++)
        if (have >> (j - lo) & 1) {
          fibers[j].group = have;
          fibers[j].warp_epoch = e;
        }
      for (int j = lo; j < hi; j++)
        if (have >> (j - lo) & 1) fibers[j].state = READY;
    }
  }
  if (first) return true;
  // Implicit convergence: the lanes that wait at one place, earliest place first.
  uintptr_t at = ~uintptr_t(0);
  for (int i = lo; i < hi; i++)
    if (fibers[i].state == AT_WARP && fibers[i].op == CONVERGE) at = std::min(at, fibers[i].where);
  if (at == ~uintptr_t(0)) return false;
  unsigned group = 0;
  for (int i = lo; i < hi; i++)
    if (fibers[i].state == AT_WARP && fibers[i].op == CONVERGE && fibers[i].where == at)
      group |= 1u << (i - lo);
  uint16_t e = ++warp_epochs[size_t(lo / 32)];
  for (int i = lo; i < hi; i++)
    if (group >> (i - lo) & 1) {
      fibers[i].group = group;
      fibers[i].warp_epoch = e;
      fibers[i].state = READY;
    }
  return true;
}

void run_block(int n) {
  const int warps = (n + 31) / 32;
  std::vector<int> warp_order(static_cast<size_t>(warps)), lanes;
  for (;;) {
    for (int i = 0; i < warps; i++) warp_order[size_t(i)] = settings.order == 1 ? warps - 1 - i : i;
    if (settings.order >= 2) shuffle(warp_order);
    bool preempted = false;
    for (int w : warp_order) {
      const int lo = w * 32, hi = std::min(n, lo + 32);
      lanes.clear();
      for (int i = lo; i < hi; i++) lanes.push_back(settings.order == 1 ? hi - 1 - (i - lo) : i);
      for (bool moved = true; moved;) {
        moved = false;
        if (settings.order >= 2) shuffle(lanes);
        for (int i : lanes)
          if (fibers[size_t(i)].state == READY) {
            cur = &fibers[size_t(i)];
            emu_switch(&scheduler_sp, cur->sp);
            moved = true;
          }
        if (release_warp(lo, hi)) moved = true;
      }
    }
    int waiting = 0, done = 0, line = -1;
    Fiber *first = nullptr, *at_warp = nullptr, *other = nullptr;
    for (Fiber &f : fibers) {
      if (f.state == DONE) done++;
      if (f.state == AT_WARP && !at_warp) at_warp = &f;
      if (f.state == PREEMPTED) {
        preempted = true;
        f.state = READY;
      }
      if (f.state == AT_BARRIER) {
        waiting++;
        if (!first) first = &f, line = f.line;
        else if (f.line != line && !other) other = &f;
      }
    }
    if (preempted) continue;
    if (done == n) return;
    if (at_warp)
      stuck("warp", at_warp->line, at_warp,
            ",\"mask\":\"" + lanes_text(at_warp->mask) + "\"");
    if (done) stuck("barrier", line, first, ",\"arrived\":" + std::to_string(waiting) + ",\"threads\":" + std::to_string(n));
    if (other) stuck("barriers", line, first, ",\"other_line\":" + std::to_string(other->line));
    epoch++;
    int any = 0, all = 1, count = 0;
    for (Fiber &f : fibers) {
      any |= f.predicate != 0;
      all &= f.predicate != 0;
      count += f.predicate != 0;
    }
    for (Fiber &f : fibers) {
      f.result = f.mask == 0 ? count : f.mask == 1 ? all : any;
      f.state = READY;
    }
  }
}

volatile bool expired;
void on_signal(int signal, siginfo_t *info, void *) {
  if (!in_launch && signal == SIGPROF) {
    expired = true;
    return;
  }
  if (!in_launch) {
    ::signal(signal, SIG_DFL);
    raise(signal);
    return;
  }
  if (signal == SIGPROF) leave("limit", cur ? "{" + me(image_base, "run") + "}" : "{}");
  if (signal == SIGFPE) leave("arithmetic", "{" + me(image_base, "divide") + "}");
  Region *r = region_at(info->si_addr);
  if (r && r->live && cur)
    leave("out_of_bounds", "{" + place(r, (char *)info->si_addr, 1) + "," +
                               me(image_base, "touch") + "}");
  leave("crash", cur ? "{" + me(image_base, "touch") + "}" : "{}");
}

void make_stacks(size_t n) {
  size_t need = n * stack_bytes;
  if (stack_pool_bytes >= need) return;
  if (stack_pool) munmap(stack_pool, stack_pool_bytes);
  stack_pool = (char *)mmap(nullptr, need, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  stack_pool_bytes = need;
  for (size_t i = 0; i < n; i++) mprotect(stack_pool + i * stack_bytes, 4096, PROT_NONE);
}

std::vector<uint32_t> blocks_to_run(uint64_t total) {
  std::vector<uint32_t> ids;
  uint64_t sample = total;
  if (settings.fraction < 1)
    sample = std::max<uint64_t>(std::min<uint64_t>(8, total), uint64_t(double(total) * settings.fraction));
  if (sample >= total) {
    for (uint64_t i = 0; i < total; i++) ids.push_back(uint32_t(i));
  } else {
    std::map<uint32_t, bool> chosen;
    chosen[0] = chosen[uint32_t(total - 1)] = true;
    while (chosen.size() < sample) chosen[next_random() % uint32_t(total)] = true;
    for (auto &c : chosen) ids.push_back(c.first);
  }
  if (settings.order == 1) std::reverse(ids.begin(), ids.end());
  if (settings.order >= 2) shuffle(ids);
  return ids;
}

const char *cannot_launch(char *text, size_t room) {
  uint64_t threads = uint64_t(block_dim.x) * block_dim.y * block_dim.z;
  emu_u3 g = grid_dim, b = block_dim;
  if (!g.x || !g.y || !g.z)
    snprintf(text, room, "a grid of %u x %u x %u blocks; CUDA refuses a grid without blocks", g.x, g.y, g.z);
  else if (!threads)
    snprintf(text, room, "a block of %u x %u x %u threads", b.x, b.y, b.z);
  else if (threads > uint64_t(settings.max_threads) || b.x > 1024 || b.y > 1024 || b.z > 64)
    snprintf(text, room, "a block of %u x %u x %u = %lu threads; the limit is %d (1024 x 1024 x 64)",
             b.x, b.y, b.z, (unsigned long)threads, settings.max_threads);
  else if (g.x > 0x7fffffffu || g.y > 65535 || g.z > 65535)
    snprintf(text, room, "a grid of %u x %u x %u blocks; the limit is 2147483647 x 65535 x 65535", g.x, g.y, g.z);
  else if (long(dynamic_bytes) > settings.shared_limit)
    snprintf(text, room, "%zu bytes of dynamic shared memory; the limit is %ld", dynamic_bytes, settings.shared_limit);
  else
    return nullptr;
  return text;
}

}  // namespace

// Called by kernels

emu_u3 emu_thread_idx() { return cur->tid; }
emu_u3 emu_block_idx() { return block_idx; }
emu_u3 emu_block_dim() { return block_dim; }
emu_u3 emu_grid_dim() { return grid_dim; }
int emu_lane() { return cur->lane; }

int emu_launch(const EmuKernel *k, const EmuAny *args, int count) {
  if (!seen.fatal_kind.empty()) return 0;
  uint32_t dims[7] = {1, 1, 1, 1, 1, 1, 0};
  const std::string &tags = launch_params[k->name];
  int64_t wide[7] = {1, 1, 1, 1, 1, 1, 0};
  for (int i = k->params; i < count && size_t(i - k->params) < tags.size(); i++) {
    wide[tags[size_t(i - k->params)] - '0'] = args[i].i;
  }
  for (int i = 0; i < 7; i++)
    dims[i] = wide[i] < 0 ? 0 : wide[i] > 0xffffffffll ? 0xffffffffu : uint32_t(wide[i]);
  grid_dim = {dims[0], dims[1], dims[2]};
  block_dim = {dims[3], dims[4], dims[5]};
  dynamic_bytes = dims[6];
  static_bytes = 0;
  kernel = k;
  kernel_args = args;
  seen.launches++;
  char text[200];
  if (cannot_launch(text, sizeof text)) {
    seen.fatal_kind = "cannot_launch";
    seen.fatal = "{\"why\":" + json_text(text) + ",\"kernel\":" + json_text(k->name) + "}";
    return 0;
  }
  const int n = int(block_dim.x * block_dim.y * block_dim.z);
  make_stacks(size_t(n));
  fibers.resize(size_t(n));
  Dl_info where{};
  dladdr((const void *)k->call, &where);
  image_base = (uintptr_t)where.dli_fbase;
  for (auto &s : shared_slots) close_region(regions[s.second]);
  shared_slots.clear();
  fence_used = false;
  launch_epoch = ++epoch;
  random_state = settings.seed * 2654435761u + 12345;
  const uint64_t total = uint64_t(grid_dim.x) * grid_dim.y * grid_dim.z;
  seen.all_blocks += long(total);

  stack_t alternate{};
  static char *signal_stack = (char *)malloc(262144);
  alternate.ss_sp = signal_stack;
  alternate.ss_size = 262144;
  stack_t old_stack{};
  sigaltstack(&alternate, &old_stack);
  struct sigaction act{}, old_act[4];
  act.sa_sigaction = on_signal;
  act.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  const int signals[4] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
  for (int i = 0; i < 4; i++) sigaction(signals[i], &act, &old_act[i]);
  cur = nullptr;
  if (!sigsetjmp(launch_exit, 1)) {
    in_launch = true;
    if (expired) leave("limit", "{}");
    for (uint32_t id : blocks_to_run(total)) {
      block_id = id;
      block_idx = block_of(id);
      seen.blocks++;
      block_epoch = ++epoch;
      warp_epochs.assign(size_t(n + 31) / 32, 1);
      for (int i = 0; i < n; i++) {
        Fiber &f = fibers[size_t(i)];
        f.index = i;
        f.stack = stack_pool + size_t(i) * stack_bytes;
        f.tid = thread_of(i);
        f.lane = i % 32;
        f.warp = i / 32;
        f.state = READY;
        f.warp_epoch = 1;
        f.cp_group = 0;
        f.copies.clear();
        f.locals.clear();
        f.accesses = 0;
        f.pending = nullptr;
        f.predicate = 0;
        f.sp = prepare_stack(f.stack + stack_bytes, entry);
      }
      for (auto &s : shared_slots) {
        Region &r = regions[s.second];
        memset(r.lo, settings.poison, r.bytes);
      }
      run_block(n);
      for (Fiber &f : fibers)
        if (!f.copies.empty()) {
          cur = &f;
          leave("cp_async", "{" + me(image_base, "copy") + "}");
        }
    }
  }
  in_launch = false;
  suspect.region = nullptr;
  for (int i = 0; i < 4; i++) sigaction(signals[i], &old_act[i], nullptr);
  sigaltstack(&old_stack, nullptr);
  return 0;
}

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
void emu_warp_done(int line) { warp_wait(GATHER, 0xffffffffu, line); }

void emu_cp_async(void *to, const void *from, int bytes, int from_bytes) {
  uintptr_t pc = (uintptr_t)__builtin_return_address(0);
  if (from_bytes) access(from, size_t(from_bytes), READ, pc, false);
  access(to, size_t(bytes), WRITE, pc, true);
  cur->pending = nullptr;  // it lands later; for the shadow the store is on its way from here on
  Region *r = region_at(to);
  for (size_t i = size_t((char *)to - r->lo) >> r->shift,
              last = size_t((char *)to - r->lo + bytes - 1) >> r->shift; i <= last; i++)
    r->cells[i].flags |= W_CHANGED;
  if (suspect.region) settle_suspect();
  cur->copies.push_back({to, from, bytes, from_bytes, cur->cp_group});
}
void emu_cp_commit() { cur->cp_group++; }
void emu_cp_wait(int pending) {
  if (pending < 0) cur->cp_group++, pending = 0;  // wait_all covers what is not committed, too
  land(cur, pending);
}
void emu_fence() { fence_used = true; }
void emu_local(const char *name, const void *p, emu_size n) {
  cur->locals.push_back({name, (char *)p, n});
}
void emu_trap(const char *what, int line) {
  leave("trap", "{\"why\":" + json_text(what) + ",\"line\":" + std::to_string(line) + "}");
}

// Called by the compiler's instrumentation (-fsanitize=thread, without its runtime)

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
API void *__tsan_memcpy(void *to, const void *from, emu_size n) {
  access(from, n, READ, PC, false);
  access(to, n, WRITE, PC, false);
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
static void array_bounds(BoundsData *d, uintptr_t index) {
  if (!in_launch) return;
  auto *type = (const TypeName *)d->array_type;
  leave("array_bounds", "{\"line\":" + std::to_string(d->at.line) + ",\"column\":" +
                            std::to_string(d->at.column) + ",\"index\":" +
                            std::to_string(int64_t(index)) + ",\"type\":" + json_text(type->name) +
                            "," + me(image_base, "index") + "}");
}
API void __ubsan_handle_out_of_bounds(BoundsData *d, uintptr_t i) { array_bounds(d, i); }
API void __ubsan_handle_out_of_bounds_abort(BoundsData *d, uintptr_t i) { array_bounds(d, i); }

// Called from Python

API int emu_open() {
  if (arena) return 0;
  for (slot_shift = 34; slot_shift >= 26; slot_shift -= 2) {
    slot_bytes = size_t(1) << slot_shift;
    void *p = mmap(nullptr, slot_bytes * SLOTS, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p != MAP_FAILED) {
      arena = (char *)p;
      return 0;
    }
  }
  return -1;
}
/// A buffer.  `kind`: 0 a result, 1 read and written, 2 an input, of which reads are not recorded.
API void *emu_buffer(const char *name, emu_size bytes, emu_size elem, int kind) {
  int slot = open_region(name, bytes, elem, GLOBAL, kind != 0);
  if (slot < 0) return nullptr;
  regions[slot].constant = kind == 2;
  return regions[slot].lo;
}
API void emu_clear() {
  for (Region &r : regions)
    if (r.live) close_region(r);
  shared_slots.clear();
}
API void emu_configure(int order, unsigned seed, int poison, int max_threads, long static_limit,
                       long shared_limit, double fraction) {
  settings.order = order;
  settings.seed = seed;
  settings.poison = (unsigned char)poison;
  settings.max_threads = max_threads;
  settings.static_shared_limit = static_limit;
  settings.shared_limit = shared_limit;
  settings.fraction = fraction;
}
API void emu_launch_params(const char *name, const char *tags) { launch_params[name] = tags; }
API void emu_begin(double seconds) {
  seen = Seen();
  expired = false;
  struct sigaction act{};
  act.sa_sigaction = on_signal;
  act.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART;
  sigaction(SIGPROF, &act, nullptr);
  itimerval t{};
  t.it_value.tv_sec = long(seconds);
  t.it_value.tv_usec = long((seconds - double(long(seconds))) * 1e6);
  setitimer(ITIMER_PROF, &t, nullptr);
}
API const char *emu_end() {
  itimerval t{};
  setitimer(ITIMER_PROF, &t, nullptr);
  static std::string out;
  auto or_null = [](const std::string &s) { return s.empty() ? std::string("null") : s; };
  out = "{\"fatal\":" + json_text(seen.fatal_kind) + ",\"fatal_detail\":" + or_null(seen.fatal) +
        ",\"races\":" + std::to_string(seen.races) + ",\"race\":" + or_null(seen.race) +
        ",\"same_value\":" + std::to_string(seen.same_value) +
        ",\"uninitialised\":" + std::to_string(seen.uninitialised) +
        ",\"uninitialised_where\":" + or_null(seen.uninitialised_where) +
        ",\"launches\":" + std::to_string(seen.launches) +
        ",\"blocks\":" + std::to_string(seen.blocks) +
        ",\"all_blocks\":" + std::to_string(seen.all_blocks) + "}";
  return out.c_str();
}
/// Which granules of a buffer a run has written since it began: 1 byte per element.
API void emu_written(const void *buffer, unsigned char *out, uint32_t since) {
  Region *r = region_at(buffer);
  size_t n = r->bytes / r->elem, per = r->elem >> r->shift;
  for (size_t i = 0; i < n; i++) out[i] = r->cells[i * (per ? per : 1)].w_epoch >= since;
}
API uint32_t emu_epoch() { return epoch; }
/// Stands in for TVMBackendAllocWorkspace: an intermediate buffer of the host function.
API void *EmuAllocWorkspace(int, int, uint64_t bytes, int, int bits) {
  int slot = open_region("workspace", bytes, size_t(bits + 7) / 8, GLOBAL, false);
  if (slot < 0) return nullptr;
  memset(regions[slot].lo, settings.poison, bytes);
  return regions[slot].lo;
}
API int EmuFreeWorkspace(int, int, void *p) {
  Region *r = region_at(p);
  if (r && r->live) close_region(*r);
  return 0;
}
