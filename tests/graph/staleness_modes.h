// The modes in which tests change what a compiled function uses between two calls.
#pragma once

#include "graph/compile/compile.h"
#include "graph/tensor/tensor_body.h"
#include "tests/tensors.h"

namespace tilewright::testing_staleness {

inline void fill(const Tensor& tensor, float value) {
  Tensor(tensor).copy_from(full(tensor.shape(), value, tensor.dtype()));
}

inline const Options modes[] = {
    {},
    {.mode = Mode::reduce_overhead},
    {.mode = Mode::max_autotune, .tune_seconds = 0.02, .freezing = true},
};
inline const char* const mode_names[] = {"Default", "ReduceOverhead", "MaxAutotuneFrozen"};

}  // namespace tilewright::testing_staleness
