// NVIDIA's management library for tests: one GPU, on bus 0000:f0:00.0, whose clocks are held down
// at times.
#include <cstring>

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace {
int device, looks;
}

EXPORTED int nvmlInit_v2() { return 0; }

EXPORTED int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** handle) {
  *handle = &device;
  return std::strcmp(bus, "0000:f0:00.0") == 0 ? 0 : 6;  // not found
}

// Clock 1 is that of multiprocessors, 2 that of memory.
EXPORTED int nvmlDeviceGetClockInfo(void* handle, int clock, unsigned* mhz) {
  *mhz = clock == 1 ? 1980 : clock == 2 ? 2619 : 0;
  return handle == &device ? 0 : 2;  // invalid argument
}

// Power at the first look, then the heat of memory, then idle clocks alone, and so on.
EXPORTED int nvmlDeviceGetCurrentClocksThrottleReasons(void* handle, unsigned long long* reasons) {
  constexpr unsigned long long sequence[] = {0x4, 0x40 | 0x4, 0x1 | 0x2};
  *reasons = sequence[looks++ % 3];
  return handle == &device ? 0 : 2;
}
