// Shadow memory: who read and wrote each granule last, and which accesses race.
#pragma once

namespace {

bool stored_changed;  // whether the last finished store changed a byte
void finish_store() {
  Fiber *f = cur;
  char *p = f->pending;
  f->pending = nullptr;
  Region *r = region_at(p);
  if (f->pending_bytes == 4 && r->shift == 2) {
    uint32_t old, now;
    memcpy(&old, f->old, 4);
    memcpy(&now, p, 4);
    stored_changed = old != now;
    if (stored_changed) r->cells[size_t(p - r->lo) >> 2].flags |= W_CHANGED;
    return;
  }
  size_t first = size_t(p - r->lo) >> r->shift;
  size_t last = size_t(p - r->lo + f->pending_bytes - 1) >> r->shift;
  size_t g = size_t(1) << r->shift;
  stored_changed = memcmp(p, f->old, f->pending_bytes) != 0;
  for (size_t c = first; c <= last; c++) {
    char *lo = std::max(p, r->lo + c * g), *hi = std::min(p + f->pending_bytes, r->lo + (c + 1) * g);
    if (memcmp(lo, f->old + (lo - p), hi - lo)) r->cells[c].flags |= W_CHANGED;
  }
}
struct Suspect {  // a conflict that counts only when the store changes the value
  bool open = false;
  std::string text;
};
Suspect suspect;

void settle_suspect() {
  if (!suspect.open) return;
  // Not the cell's flag: that one also remembers the store before, by the other thread.
  suspect.open = false;
  if (!stored_changed) {
    if (!seen.same_value++) seen.same_value_where = suspect.text;
    return;
  }
  if (!seen.races++) seen.race = suspect.text;
}

COLD void found_race(Region *r, char *p, size_t bytes, const std::string &other, uintptr_t pc,
                const char *verb, bool is_store) {
  if (seen.races && !is_store) {
    seen.races++;
    return;
  }
  std::string text = "{" + place(r, p, bytes) + "," + me(pc, verb) + ",\"other\":" + other + "}";
  if (is_store) {
    suspect = {true, text};
    return;
  }
  seen.races++;
  seen.race = text;
}

COLD std::string writer(const Cell &c) {
  return actor(c.w_block, c.w_thread, c.w_pc, c.flags & W_ATOMIC ? "atomic" : "write");
}
COLD std::string reader(const Cell &c) { return actor(c.r_block, c.r_thread, c.r_pc, "read"); }

COLD bool in_images(uintptr_t p) {
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
COLD void outside(const void *p, size_t bytes, Verb verb, uintptr_t pc) {
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
    if (suspect.open) settle_suspect();
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
      stored_changed = true;
      for (size_t i = first; i <= last; i++) r->cells[i].flags |= W_CHANGED;
    }
  }
}

}  // namespace
