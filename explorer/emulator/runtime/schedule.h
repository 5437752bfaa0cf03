// Fibers of one block: run warp by warp, released at warp operations and barriers.
#pragma once

namespace {

void switch_out(State state) {
  Fiber *f = cur;
  if (f->pending) finish_store();
  if (suspect.open) settle_suspect();
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

COLD std::string lanes_text(unsigned m) {
  char b[40];
  snprintf(b, sizeof b, "0x%08x", m);
  return b;
}
[[noreturn]] COLD void stuck(const char *why, int line, Fiber *f, const std::string &more = "") {
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
  // Implicit convergence: the lanes that wait at one place, earliest place first.  Of one line the
  // compiler may have made several places, one for each branch that leads there.
  for (int i = lo; i < hi; i++) {
    Fiber &f = fibers[i];
    if (f.state == AT_WARP && f.op == CONVERGE && (!first || f.where < first->where)) first = &f;
  }
  if (!first) return false;
  unsigned group = 0;
  for (int i = lo; i < hi; i++) {
    Fiber &f = fibers[i];
    if (f.state != AT_WARP || f.op != CONVERGE) continue;
    if (f.where == first->where || (f.line && f.line == first->line)) group |= 1u << (i - lo);
  }
  uint16_t e = ++warp_epochs[size_t(lo / 32)];
  for (int i = lo; i < hi; i++)
    if (group >> (i - lo) & 1) {
      fibers[i].group = group;
      fibers[i].warp_epoch = e;
      fibers[i].state = READY;
    }
  return true;
}

void run_fiber(Fiber &f) {
  cur = &f;
  if (!f.stack) {
    f.stack = free_stacks.back();
    free_stacks.pop_back();
    // Tops at different distances from the page's end: equal ones would share cache sets.
    f.sp = prepare_stack(f.stack + stack_bytes - size_t(f.index % 32) * 128, entry);
  }
  emu_switch(&scheduler_sp, f.sp);
  if (f.state == DONE) free_stacks.push_back(f.stack);
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
            run_fiber(fibers[size_t(i)]);
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
COLD void on_signal(int signal, siginfo_t *info, void *) {
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

}  // namespace
