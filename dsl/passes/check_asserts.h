// Makes a program look whether what its asserts say holds.
//
// Not a pass of the table (passes/pipeline.h), for it changes the parameters of a program: behind
// the others comes a report, an array of i64 that is zero at the launch. Each assert has a few
// words of it: whether one of its conditions was false, and of the first program to find that its
// place in the grid, the element, and the values that its text shows, as words (ir/message.h).
//
// Before: a traced program. After: a traced program that verifies and has no assert, computes the
// same, and says in the report what does not hold. Nothing of a program is left out for that.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dsl/ir/function.h"

namespace tilewright::dsl {

struct AssertSite {
  std::string text;
  std::source_location where;
  Shape shape;                // of the conditions
  std::vector<DType> values;  // of the types that the words in the report have
  std::size_t begin;          // of its words
};

struct AssertChecks {
  ir::Function function;
  std::vector<AssertSite> sites;
  std::size_t words = 0;  // of the report
};

AssertChecks check_asserts(const ir::Function& function);
bool has_asserts(const ir::Function& function);
// The message about the first assert that did not hold; nothing where all did.
std::optional<std::string> broken_assert(const AssertChecks& checks,
                                         std::span<const std::int64_t> report);

}  // namespace tilewright::dsl
