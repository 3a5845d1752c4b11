// Tensors made of numbers, and of the sizes of others.
#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace {

// In PyTorch a number becomes what the dtype makes of it.
Tensor filled(const Shape& shape, const Number& value, DType dtype) {
  if (is_boolean(dtype)) return full(shape, value.as_double() != 0, dtype);
  if (is_floating(dtype)) return full(shape, value.as_double(), dtype);
  if (value.is_integral()) return full(shape, value.as_integer(), dtype);
  return full(shape, static_cast<std::int64_t>(value.as_double()), dtype);
}

DType dtype_like(const Call& call) { return call.dtype().value_or(call.tensor("self").dtype()); }

// Memory without a meaning; zeros, so that a program is the same in every run.
Tensor empty(const Call& call) {
  call.has("physical_layout");
  return zeros(call.integers("size"), call.dtype().value_or(f32));
}

Tensor range(const Call& call) {
  Number start = call.scalar("start", 0), end = call.scalar("end"), step = call.scalar("step", 1);
  bool are_integers = start.is_integral() && end.is_integral() && step.is_integral();
  if (!are_integers) call.refuse("end", "is no integer, or the start or step is none");
  return arange(start.as_integer(), end.as_integer(), step.as_integer(),
                call.dtype().value_or(i64));
}

constexpr Operator rows[] = {
    {"aten.full.default",
     [](const Call& c) {
       Number value = c.scalar("fill_value");
       return filled(c.integers("size"), value, c.dtype().value_or(value.dtype()));
     }},
    {"aten.full_like.default",
     [](const Call& c) {
       return filled(c.tensor("self").shape(), c.scalar("fill_value"), dtype_like(c));
     }},
    {"aten.scalar_tensor.default",
     [](const Call& c) { return filled({}, c.scalar("s"), c.dtype().value_or(f32)); }},
    {"aten.zeros.default",
     [](const Call& c) { return zeros(c.integers("size"), c.dtype().value_or(f32)); }},
    {"aten.ones.default",
     [](const Call& c) { return ones(c.integers("size"), c.dtype().value_or(f32)); }},
    {"aten.zeros_like.default",
     [](const Call& c) { return zeros(c.tensor("self").shape(), dtype_like(c)); }},
    {"aten.ones_like.default",
     [](const Call& c) { return ones(c.tensor("self").shape(), dtype_like(c)); }},
    {"aten.empty.memory_format", by<empty>},
    {"aten.empty_permuted.default", by<empty>},
    {"aten.empty_strided.default",
     [](const Call& c) {
       c.has("stride");
       return empty(c);
     }},
    {"aten.empty_like.default",
     [](const Call& c) { return zeros(c.tensor("self").shape(), dtype_like(c)); }},
    {"aten.arange.start_step", by<range>},
    {"aten.arange.start", by<range>},
    {"aten.arange.default", by<range>},
};

}  // namespace

std::span<const Operator> creation_operators() { return rows; }

}  // namespace tilewright::exported
