// One launch: its limits, the blocks it runs, and the way out of a kernel that goes wrong.
#pragma once

namespace {

COLD void make_stacks(size_t n) {
  size_t need = n * stack_bytes;
  if (stack_pool_bytes >= need) return;
  if (stack_pool) munmap(stack_pool, stack_pool_bytes);
  stack_pool = (char *)mmap(nullptr, need, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  stack_pool_bytes = need;
  for (size_t i = 0; i < n; i++) mprotect(stack_pool + i * stack_bytes, 4096, PROT_NONE);
  free_stacks.clear();
}
// A thread that never waits leaves its stack to the next one, still in the cache.
void refill_stacks(size_t n) {
  free_stacks.clear();
  for (size_t i = n; i-- > 0;) free_stacks.push_back(stack_pool + i * stack_bytes);
}

COLD std::vector<uint32_t> blocks_to_run(uint64_t total) {
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

COLD const char *cannot_launch(char *text, size_t room) {
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
      refill_stacks(size_t(n));
      block_id = id;
      block_idx = block_of(id);
      seen.blocks++;
      block_epoch = ++epoch;
      warp_epochs.assign(size_t(n + 31) / 32, 1);
      for (int i = 0; i < n; i++) {
        Fiber &f = fibers[size_t(i)];
        f.index = i;
        f.stack = nullptr;
        f.tid = thread_of(i);
        f.lane = i % 32;
        f.warp = i / 32;
        f.state = READY;
        f.warp_epoch = 1;
        f.cp_group = 0;
        f.copies.clear();
        f.accesses = 0;
        f.pending = nullptr;
        f.predicate = 0;
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
  suspect.open = false;
  for (int i = 0; i < 4; i++) sigaction(signals[i], &old_act[i], nullptr);
  sigaltstack(&old_stack, nullptr);
  return 0;
}
