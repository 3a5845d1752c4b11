// Makes a program look, before each load, store and atomic, whether the address lies in the memory
// of the parameter that it was made from.
//
// Not a pass of the table (passes/pipeline.h), for it changes the parameters of a program: behind
// its own come, for each of them that is a pointer, the bytes that lie there (i64, below 0: not
// known), and last an array of i64, three a site, zero at the launch. An element outside is neither
// read, which gives zero or `other`, nor written; its site gets how often that was found, and of
// the first time the index and the number of the program, along axis 0 first. For a block of a
// descriptor the two corners are compared, and all of it is skipped if one lies outside.
//
// Before: a traced program. After: a traced program that verifies, computes the same where nothing
// lies outside, and never touches what does. Pointers that may be made from several parameters are
// left as they are.
#pragma once

#include <source_location>
#include <string>
#include <vector>

#include "dsl/ir/function.h"

namespace tilewright::dsl {

// One load, store or atomic that is looked at.
struct BoundsSite {
  std::string operation;
  std::source_location where;
  std::size_t param;                       // the array, an index into the parameters of the program
  static constexpr std::size_t words = 3;  // of the report
};

struct BoundsChecks {
  ir::Function function;
  std::vector<std::size_t> sized;  // the parameters whose sizes are wanted, in that order
  std::vector<BoundsSite> sites;
};

BoundsChecks check_bounds(const ir::Function& function);

}  // namespace tilewright::dsl
