// Which captures are going on in this process, on any thread: what tells a symbolic tensor of one
// that is over, which nobody may use any more, from one that another thread is still capturing.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace tilewright::graph {

// Tells of one capture as long as it lives. If more than some hundred go on at a time, it does not
// tell of all. Thread safe.
class RunningCapture {
 public:
  explicit RunningCapture(std::uint64_t serial) noexcept;
  ~RunningCapture() { end(); }
  RunningCapture(const RunningCapture&) = delete;
  RunningCapture& operator=(const RunningCapture&) = delete;
  // Its symbolic tensors have this number from now on.
  void go_on_as(std::uint64_t serial) noexcept {
    if (place_ != nullptr) place_->store(serial, std::memory_order_relaxed);
  }
  void end() noexcept {
    if (place_ != nullptr) place_->store(0, std::memory_order_release);
    place_ = nullptr;
  }
  static bool is_of_one(std::uint64_t serial) noexcept;

 private:
  using Places = std::array<std::atomic<std::uint64_t>, 128>;  // 0: free
  static Places places_;
  std::atomic<std::uint64_t>* place_ = nullptr;
};

}  // namespace tilewright::graph
