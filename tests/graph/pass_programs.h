// Small programs for tests of graph passes, which compare texts.
#pragma once

#include "graph/compile/compile.h"
#include "graph/ir/text.h"
#include "graph/passes/pipeline.h"

namespace tilewright::graph::testing_passes {

// A graph over inputs x: f32[4x6] (%0) and y: f16[4x6] (%1), returning node `last`.
inline Graph graph_of(const std::string& body, int last) {
  return parse(concat("graph {\n%0: f32[4x6] = input\n%1: f16[4x6] = input\n", body,
                      "\ninputs %0 %1\nreturn %", last, "\n}\n"));
}
inline void expect_equal(const Graph& got, const Graph& wanted) {
  EXPECT_EQ(print(got), print(wanted));
}

}  // namespace tilewright::graph::testing_passes
