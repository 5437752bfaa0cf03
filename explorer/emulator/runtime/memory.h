// Buffers and shared arrays: opened, closed, found by address.
#pragma once

namespace {

Region *region_at(const void *p) {
  size_t at = size_t((const char *)p - arena);
  if (at >= slot_bytes * SLOTS) return nullptr;
  return &regions[at >> slot_shift];
}

COLD int open_region(const char *name, size_t bytes, size_t elem, Kind kind, bool initialised) {
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
COLD void close_region(Region &r) {
  size_t mapped = (r.bytes + 4096 + 4095) & ~size_t(4095);
  mmap(r.lo, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  munmap(r.cells, r.cell_bytes);
  r = Region();
}

}  // namespace
