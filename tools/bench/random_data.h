// Arguments for measuring: normal random numbers, for zeros and patterns let a GPU run at higher
// clocks than real data does.
//
// A million numbers are drawn, and a tensor repeats them by copies that the device itself makes,
// so that a gigabyte takes milliseconds and needs no kernel to be right.
#pragma once

#include <map>

#include "graph/tensor/tensor.h"

namespace tilewright::tools {

class RandomData {
 public:
  explicit RandomData(Device device) : device_(std::move(device)) {}
  // Normal with that deviation; integers are in [0, below). Each call begins at another number.
  Tensor make(DType dtype, const Shape& shape, double deviation = 1, std::int64_t below = 1);

 private:
  const std::vector<std::byte>& period(DType dtype, double deviation, std::int64_t below);
  Device device_;
  std::int64_t calls_ = 0;
  std::map<std::tuple<DType, double, std::int64_t>, std::vector<std::byte>> periods_;
};

}  // namespace tilewright::tools
