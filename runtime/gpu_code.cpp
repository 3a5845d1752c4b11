#include "runtime/gpu_code.h"

#include <algorithm>

#include "runtime/base/error.h"

namespace tilewright {

std::optional<std::string> with_all_registers(const std::string& ptx, int threads) {
  constexpr int of_a_multiprocessor = 64 << 10, most = 255, quantum = 8;
  if (ptx.find(".maxnreg") != std::string::npos || ptx.find(".local") != std::string::npos)
    return std::nullopt;
  std::size_t size = ptx.find(".reqntid");
  std::size_t end = size == std::string::npos ? size : ptx.find('\n', size);
  if (end == std::string::npos) return std::nullopt;
  int registers = std::min(most, of_a_multiprocessor / threads / quantum * quantum);
  return ptx.substr(0, end) + concat("\n.maxnreg ", registers) + ptx.substr(end);
}

}  // namespace tilewright
