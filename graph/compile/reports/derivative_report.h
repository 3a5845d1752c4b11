// Reports of the gradients in a compiled function: which values of the function they keep, and by
// which rules they are made. As data, and as text for explain().
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <vector>

#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"

namespace tilewright {

// A value that the function computes and its derivative reads.
struct SavedValue {
  std::string op;     // that computes it, as the user wrote it
  std::string where;  // the line
  DType dtype;
  Shape shape;
  std::int64_t bytes;
};
// How the derivative of an operation is made.
struct DerivativeRule {
  std::string op;
  std::string rule;        // "of the op", "of the function", "of its formula", "the program's own"
  std::int64_t count = 1;  // of the operations in the function
};
struct DerivativeReport {
  std::string where;              // the line of grad, value_and_grad, vjp, ..
  std::vector<SavedValue> saved;  // the largest first
  std::int64_t saved_bytes = 0;
  std::int64_t inputs = 0;          // of the function that the derivative reads: they are not kept
  std::int64_t computed_again = 0;  // calls of checkpointed functions
  std::vector<DerivativeRule> rules;  // in the order of the function
};

namespace graph {

class CustomReference;
// For a node that has a gradient.
DerivativeReport derivative_report(const CustomReference& gradient, std::source_location where);
std::string text_of(const DerivativeReport& report);

}  // namespace graph
}  // namespace tilewright
