// Memory of the fake driver's devices.
//
// An allocation is pages of the host at an address that no other allocation had before. It can be
// touched only while a `Window` is open, in which kernels run and copies are made; outside of one a
// pointer to device memory is as good as none, as it is on hardware.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "dsl/emulator/options.h"

namespace tilewright::cuda::fake {

class DeviceMemory {
 public:
  ~DeviceMemory();
  // Random bytes; null where the addresses of this process are used up.
  std::byte* allocate(std::size_t bytes, int device);
  // Gives the size and the device; size 0 where nothing begins there.
  struct Allocation {
    std::size_t bytes = 0;
    int device = 0;
  };
  Allocation free(std::byte* begin);
  bool contains(const std::byte* begin, std::size_t bytes) const;
  const std::map<std::byte*, Allocation>& live() const { return live_; }

  class Window {
   public:
    explicit Window(DeviceMemory& memory) : memory_(memory) { memory_.open(); }
    ~Window() { memory_.close(); }
    Window(const Window&) = delete;
    Window& operator=(const Window&) = delete;

   private:
    DeviceMemory& memory_;
  };

 private:
  void open();
  void close();
  std::map<std::byte*, Allocation> live_;
  int windows_ = 0;
};

// The memory that emulated kernels may touch: that of all fake drivers.
const std::shared_ptr<dsl::emulator::GlobalRanges>& ranges_of_kernels();

}  // namespace tilewright::cuda::fake
