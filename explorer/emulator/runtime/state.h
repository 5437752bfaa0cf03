// What the emulated device knows: memory, fibers, settings, and what was seen.
#pragma once

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
std::vector<char *> free_stacks;
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

COLD std::string json_text(const std::string &s) {
  std::string out = "\"";
  for (char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    out += c < ' ' ? ' ' : c;
  }
  return out + "\"";
}
COLD std::string triple(emu_u3 v) {
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
COLD std::string actor(uint32_t block, int thread, uint32_t pc, const char *verb) {
  char b[64];
  snprintf(b, sizeof b, ",\"pc\":%u,\"verb\":\"%s\"}", pc, verb);
  return "{\"block\":" + triple(block_of(block)) + ",\"thread\":" + triple(thread_of(thread)) + b;
}
COLD std::string place(const Region *r, const char *p, size_t bytes) {
  char b[160];
  long offset = long(p - r->lo);
  snprintf(b, sizeof b, ",\"offset\":%ld,\"bytes\":%zu,\"size\":%zu,\"elem\":%zu,\"shared\":%s",
           offset, bytes, r->bytes, r->elem, r->kind == SHARED ? "true" : "false");
  return "\"buffer\":" + json_text(r->name) + b;
}

[[noreturn]] COLD void leave(const char *kind, const std::string &text) {
  if (seen.fatal_kind.empty()) {
    seen.fatal_kind = kind;
    seen.fatal = text;
  }
  siglongjmp(launch_exit, 1);
}
COLD std::string me(uintptr_t pc, const char *verb) {
  return "\"who\":" + actor(block_id, cur->index, uint32_t(pc - image_base), verb) +
         ",\"kernel\":" + json_text(kernel->name);
}

}  // namespace
