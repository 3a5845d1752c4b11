// The algebra of axis_info: what is known of one value, and how operations change it.
//
// Beside the public facts, a value may be known to be nowhere negative, without which division and
// remainder (which round towards zero) say nothing about runs. Walking the function is
// axis_info.cpp's affair.
#pragma once

#include "dsl/analysis/axis_info.h"

namespace tilewright::dsl {

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
// What holds of either value.
AxisFacts join(const ir::Type& type, const AxisFacts& a, const AxisFacts& b);
// The largest known power of two that divides every element.
std::int64_t divisor_of_all(const AxisFacts& facts);
std::int64_t power_of_two_in(std::int64_t value);  // capped at 2^30

// Of an elementwise operation; `type` is the result's, `operand` the first operand's.
AxisFacts elementwise_facts(const ir::Inst& inst, const ir::Type& type, const ir::Type& operand,
                            const std::vector<AxisFacts>& operands);
// Of expand_dims, broadcast, reshape and permute.
AxisFacts shape_facts(const ir::Inst& inst, const ir::Type& type, const ir::Type& operand,
                      const AxisFacts& x);

}  // namespace tilewright::dsl
