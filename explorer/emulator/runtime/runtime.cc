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

// What runs rarely, above all the words about what was seen: for size, it compiles in a third less.
#define COLD __attribute__((cold, noinline))
#define API extern "C" __attribute__((visibility("default")))

// One translation unit, in the order in which each part needs the others.
#include "fiber_switch.h"
#include "state.h"
#include "memory.h"
#include "shadow.h"
#include "schedule.h"
#include "launch.h"
#include "device_calls.h"
#include "hooks.h"
#include "host_calls.h"
