// The implementation of a custom op that cannot be computed: each call raises the same `Error`.
//
// A BufferFunction that other parts can recognise: plans and packages hold it as data
// (runtime/plan/refused_call.h).
#pragma once

#include <span>
#include <string>

#include "graph/custom/custom_call.h"
#include "runtime/base/error.h"

namespace tilewright {

struct Refusal {
  std::string error;
  void operator()(std::span<const BufferView>, std::span<const BufferView>) const {
    raise_error(error);
  }
};

}  // namespace tilewright
