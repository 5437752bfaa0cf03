// The emulated device with a counter: sectors of global memory and wavefronts of shared memory that
// the lanes of each warp ask for together, from the addresses they really touch.
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
#include <set>
#include <string>
#include <sys/mman.h>
#include <sys/time.h>
#include <tuple>
#include <vector>

#define COLD __attribute__((cold, noinline))
#define API extern "C" __attribute__((visibility("default")))

#include "fiber_switch.h"
#include "state.h"
#include "memory.h"
#include "shadow.h"

namespace {
struct Lane {
  size_t at, bytes;
};
// Place in the code, warp, and how often the lane has come there: lanes that agree go together.
using Place = std::tuple<uintptr_t, int, long>;
struct Count {
  double blocks = 0, requests = 0, sectors = 0, shared_requests = 0, wavefronts = 0;
};
std::map<Place, std::vector<Lane>> pending_global, pending_shared;
std::map<std::pair<uintptr_t, int>, long> visits;
std::map<std::string, Count> counts;
uint32_t counted_block = ~0u, counted_epoch = ~0u;

void settle() {
  if (!kernel) return;
  Count &count = counts[kernel->name];
  for (auto &entry : pending_global) {
    std::set<size_t> sectors;
    for (const Lane &lane : entry.second)
      for (size_t s = lane.at / 32; s <= (lane.at + lane.bytes - 1) / 32; s++) sectors.insert(s);
    count.requests++;
    count.sectors += double(sectors.size());
  }
  for (auto &entry : pending_shared) {
    std::map<size_t, std::set<size_t>> banks;
    size_t most = 1;
    for (const Lane &lane : entry.second)
      for (size_t w = lane.at / 4; w <= (lane.at + lane.bytes - 1) / 4; w++) {
        banks[w % 32].insert(w);
        most = std::max(most, banks[w % 32].size());
      }
    count.shared_requests++;
    count.wavefronts += double(most);
  }
  pending_global.clear();
  pending_shared.clear();
}

void counted(const void *pointer, size_t bytes, Verb verb, uintptr_t pc, bool aligned) {
  if (in_launch && cur) {
    Region *r = region_at(pointer);
    if (r && r->live) {
      if (counted_epoch != epoch) settle();
      if (counted_block != block_epoch) {
        visits.clear();
        counts[kernel->name].blocks++;
      }
      counted_epoch = epoch;
      counted_block = block_epoch;
      long visit = visits[{pc, cur->index}]++;
      auto &pending = r->kind == SHARED ? pending_shared : pending_global;
      pending[{pc, cur->index / 32, visit}].push_back({size_t((const char *)pointer - r->lo), bytes});
    }
  }
  access(pointer, bytes, verb, pc, aligned);
}
}  // namespace
#define access counted
#include "schedule.h"
#include "launch.h"
#include "device_calls.h"
#include "hooks.h"
#include "host_calls.h"
#undef access

API const char *counted_text() {
  settle();
  static std::string out;
  out = "{";
  for (auto &entry : counts) {
    char numbers[300];
    const Count &c = entry.second;
    snprintf(numbers, sizeof numbers,
             "%s{\"blocks\":%.0f,\"requests\":%.0f,\"sectors\":%.0f,\"shared_requests\":%.0f,"
             "\"wavefronts\":%.0f}",
             (out.size() > 1 ? "," + json_text(entry.first) + ":" : json_text(entry.first) + ":").c_str(),
             c.blocks, c.requests, c.sectors, c.shared_requests, c.wavefronts);
    out += numbers;
  }
  out += "}";
  return out.c_str();
}
