// A log of the values of tensors, for tests of `print` and `log_callback`.
#pragma once

#include <vector>

#include "graph/compile/compile.h"
#include "graph/functions/log.h"
#include "tests/tensors.h"

namespace tilewright::testing_log {

using Values = std::vector<float>;

constexpr Mode modes[] = {Mode::default_, Mode::reduce_overhead, Mode::max_autotune};

// One logged entry.
struct Record {
  std::vector<Values> values;
  void add(const Tensor& tensor) {
    log_callback(tensor, [this](const Tensor& t) { values.push_back(t.to_vector<float>()); });
  }
};

inline Tensor two(float a, float b) { return Tensor::from(Values{a, b}, {2}); }

}  // namespace tilewright::testing_log
