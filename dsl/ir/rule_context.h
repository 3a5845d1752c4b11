// The input of a type rule, and the checks that many rules share. Apart from the rules
// (type_rules.cpp), of which there is one for each row of ops.def that needs one.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "dsl/ir/function.h"
#include "runtime/base/error.h"

namespace tilewright::ir {

// The input of a rule: the op (for messages), its operands' types and its immediate.
struct RuleContext {
  Op op;
  std::span<const Type> operands;
  const Immediate& immediate;
  std::span<const std::vector<Type>> yielded;

  std::string name() const { return "[" + std::string(info(op).name) + "] "; }
  const Type& operand(std::size_t i) const { return operands[i]; }
  template <typename T>
  const T& get() const {
    return std::get<T>(immediate);
  }
  template <typename... Parts>
  void expect(bool condition, const Parts&... parts) const {
    if (!condition) raise_error(name() + concat(parts...));
  }
  void expect_value(std::size_t i) const {
    expect(operand(i).is_value(), "operand ", i, " is ", operand(i),
           "; it must be a scalar or a tile of numbers");
  }
  void expect_integer_scalar(std::size_t i, const char* role) const {
    expect(operand(i).is_value() && operand(i).is_scalar() && is_integer(operand(i).dtype), role,
           " is ", operand(i), "; it must be an integer scalar");
  }
};

inline void expect_positive(const RuleContext& site, const Shape& shape) {
  for (std::int64_t size : shape)
    site.expect(size > 0, "the shape ", shape, " has a size of ", size, "; sizes must be positive");
}

inline void expect_one_type(const RuleContext& site, std::size_t from) {
  for (std::size_t i = from; i < site.operands.size(); ++i)
    site.expect(site.operand(i) == site.operand(from),
                "operands differ in type: ", site.operand(from), " and ", site.operand(i),
                "; cast or broadcast one of them");
}

inline void expect_arithmetic(const RuleContext& site, DType dtype) {
  site.expect(!is_float8(dtype), "the operands are ", dtype,
              "; floats of 8 bits are stored, cast and multiplied (dot): cast them to f32");
}

inline void expect_properties(const RuleContext& site, DType dtype) {
  const OpInfo& row = info(site.op);
  expect_arithmetic(site, dtype);
  if (row.has(float_only))
    site.expect(is_floating(dtype), "operands are ", dtype, "; they must be floating");
  if (row.has(integer_only))
    site.expect(!is_floating(dtype), "operands are ", dtype, "; they must be integer or bool");
}

}  // namespace tilewright::ir
