// The algebra of axis_info: the facts about one value, and how operations change them.
//
// AxisInfo is what users of the analysis see. Beside it, a value may be known to be nowhere
// negative, without which division and remainder (which round towards zero) say nothing about runs.
// Walking the function is axis_info.cpp's affair.
#pragma once

#include <optional>
#include <vector>

#include "dsl/ir/function.h"

namespace tilewright::dsl {

// An axis falls into groups of `contiguity` neighbours, counted from its start (the last may be
// cut off by the end of the axis); likewise for `constancy`. Sizes need not be powers of two. Index
// arithmetic is assumed not to wrap around; pointer parameters are assumed to be aligned to 64
// bytes, as buffers are.
struct AxisInfo {
  // Per axis: groups of this many neighbours count up by one; groups that are equal; the largest
  // power of two (at most 2^30) that divides the first element of each contiguous group (for a
  // pointer in elements of what it points to). A scalar has one entry, as if it had an axis.
  Shape contiguity, constancy, divisibility;
  std::optional<std::int64_t> constant;  // all elements are this integer
  bool operator==(const AxisInfo&) const = default;
};

struct AxisFacts {
  AxisInfo info;
  bool not_negative = false;
  bool operator==(const AxisFacts&) const = default;
};

// Nothing is known.
AxisFacts unknown_facts(const ir::Type& type);
AxisFacts constant_facts(const ir::Type& type, std::int64_t value);
// Every element is divisible by `divisor`; equal along every axis.
AxisFacts uniform_facts(const ir::Type& type, const AxisFacts& scalar);
// The facts that hold for either value.
AxisFacts join(const ir::Type& type, const AxisFacts& a, const AxisFacts& b);
// The largest known power of two that divides every element.
std::int64_t divisor_of_all(const AxisFacts& facts);
std::int64_t power_of_two_in(std::int64_t value);  // capped at 2^30

// For an elementwise operation; `type` is the result's, `operand` the first operand's.
AxisFacts elementwise_facts(const ir::Inst& inst, const ir::Type& type, const ir::Type& operand,
                            const std::vector<AxisFacts>& operands);
// For expand_dims, broadcast, reshape and permute.
AxisFacts shape_facts(const ir::Inst& inst, const ir::Type& type, const ir::Type& operand,
                      const AxisFacts& x);

}  // namespace tilewright::dsl
