// What Python calls.
#pragma once

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
API COLD void emu_launch_params(const char *name, const char *tags) { launch_params[name] = tags; }
API COLD void emu_begin(double seconds) {
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
API COLD const char *emu_end() {
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
