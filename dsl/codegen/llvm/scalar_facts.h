// Compile-time facts about the integer scalars of a program: bounds and a divisor.
//
// Descriptor loads and stores are checked against the sizes of the array. Where the offsets
// provably stay inside, the check and its mask go away, and a store may bypass the caches where its
// address is provably aligned. Facts flow forward once; carried values of loops are unknown.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "dsl/ir/function.h"

namespace tilewright::dsl {

struct ScalarFacts {
  std::int64_t low = INT64_MIN, high = INT64_MAX;  // inclusive
  std::int64_t divisor = 1;                        // divides the value; 0: the value is 0
  std::optional<std::int64_t> constant() const {
    return low == high ? std::optional(low) : std::nullopt;
  }
};

// Indexed by Value; values that are not integer scalars know nothing. A scalar pointer's divisor is
// in elements of its target, counted from an address that is a multiple of 64 bytes.
std::vector<ScalarFacts> scalar_facts(const ir::Function& function);

}  // namespace tilewright::dsl
