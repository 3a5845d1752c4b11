// The check that ends the randomised tests of graphs: every result lies within its bound.
#pragma once

#include <gtest/gtest.h>

#include "tests/property/error_bound.h"

namespace tilewright::graph {

// Where a result does not, the test fails with what `told()` gives, which says how to repeat it.
template <typename Told>
void expect_within(const BoundedEvaluation& expected, const Evaluation& actual, Told&& told) {
  ASSERT_EQ(actual.outputs.size(), expected.outputs.size());
  ASSERT_EQ(actual.mutated.size(), expected.mutated.size());
  auto compare = [&](const std::vector<BoundedTensor>& wanted, const std::vector<HostTensor>& got,
                     const char* what) {
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_EQ(violation(wanted[i], got[i]), "") << what << " " << i << "\n" << told();
  };
  compare(expected.outputs, actual.outputs, "output");
  compare(expected.mutated, actual.mutated, "mutation");
}

}  // namespace tilewright::graph
