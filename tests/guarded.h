// Memory for what code under test writes to, with a line of known bytes before it and behind: code
// that a compiler made is not instrumented, so no sanitizer sees where it stores.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

namespace tilewright {

// Aligned as buffers are. Copies are as whole or as harmed as what they were copied from.
class GuardedMemory {
 public:
  explicit GuardedMemory(std::size_t size_bytes)
      : size_bytes_(size_bytes), lines_((size_bytes + sizeof(Line) - 1) / sizeof(Line) + 2) {
    std::memset(lines_.data(), guard, lines_.size() * sizeof(Line));
    std::memset(data(), 0, size_bytes);
  }
  void* data() { return lines_.data() + 1; }
  const void* data() const { return lines_.data() + 1; }
  // True if nothing was written outside.
  bool is_whole() const {
    const auto* first = reinterpret_cast<const unsigned char*>(lines_.data());
    const auto* begin = first + sizeof(Line);
    auto is_guard = [](unsigned char byte) { return byte == guard; };
    return std::all_of(first, begin, is_guard) &&
           std::all_of(begin + size_bytes_, first + lines_.size() * sizeof(Line), is_guard);
  }

 private:
  static constexpr unsigned char guard = 0xa5;
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::size_t size_bytes_;
  std::vector<Line> lines_;
};

}  // namespace tilewright
