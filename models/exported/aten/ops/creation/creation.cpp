// Tensors made of numbers, and of the sizes of others.
#include <cmath>

#include "graph/functions/creation.h"
#include "graph/functions/indexing/arranging.h"
#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace creation_rows {
namespace {

// In PyTorch a number becomes what the dtype makes of it.
Tensor filled(const Shape& shape, const Number& value, DType dtype) {
  if (is_boolean(dtype)) return full(shape, value.as_double() != 0, dtype);
  if (is_floating(dtype)) return full(shape, in_range(value.as_double(), dtype), dtype);
  if (value.is_integral()) return full(shape, value.as_integer(), dtype);
  return full(shape, std::trunc(value.as_double()), dtype);
}

DType dtype_like(const Call& call) { return call.dtype().value_or(call.tensor("self").dtype()); }

// Memory without a meaning; zeros, so that a program is the same in every run.
Tensor empty(const Call& call) {
  call.has("physical_layout");
  return zeros(call.integers("size"), call.dtype().value_or(f32));
}

// start, start + step, ...: computed in f64 unless all are integers.
Tensor range(const Call& call) {
  Number start = call.scalar("start", 0), end = call.scalar("end"), step = call.scalar("step", 1);
  bool are_integers = start.is_integral() && end.is_integral() && step.is_integral();
  if (are_integers)
    return arange(start.as_integer(), end.as_integer(), step.as_integer(),
                  call.dtype().value_or(i64));
  const double count = std::ceil((end.as_double() - start.as_double()) / step.as_double());
  if (!(count >= 0 && count < INT32_MAX)) call.refuse("end", "is not reached by the steps");
  return spaced(start.as_double(), step.as_double(), static_cast<std::int64_t>(count),
                call.dtype().value_or(f32));
}

// An end may be a tensor without axes.
Tensor steps_between(const Call& call, DType dtype) {
  const std::int64_t count = call.integer("steps");
  if (count < 0 || count > INT32_MAX) call.refuse("steps", concat("is ", count));
  return linspace(call.operand("start"), call.operand("end"), count, dtype);
}
Tensor linear_steps(const Call& call) { return steps_between(call, call.dtype().value_or(f32)); }
Tensor logarithmic_steps(const Call& call) {
  return graph::powers_of(call.number("base", 10), steps_between(call, f64),
                          call.dtype().value_or(f32));
}

using Frequencies = Tensor (*)(std::int64_t n, double d, DType dtype, std::source_location w);
template <Frequencies function>
Tensor frequencies(const Call& call) {
  const std::int64_t n = call.integer("n");
  if (n < 1 || n > INT32_MAX) call.refuse("n", concat("is ", n));
  return function(n, call.number("d", 1), call.dtype().value_or(f32),
                  std::source_location::current());
}

Tensor identity(const Call& call) {
  const std::int64_t rows = call.integer("n"), columns = call.integer("m", rows);
  return eye(rows, columns, call.dtype().value_or(f32));
}

// Rows and columns of the places of a triangle, one after the other.
template <bool is_lower>
Tensor triangle(const Call& call) {
  const std::int64_t rows = call.integer("row"), columns = call.integer("col"),
                     offset = call.integer("offset", 0);
  if (rows < 0 || columns < 0 || rows > 65536 || columns > 65536)
    call.refuse("row", "or the column is not between 0 and 65536");
  const Tensor places =
      is_lower ? tril_indices(rows, columns, offset) : triu_indices(rows, columns, offset);
  return places.to(call.dtype().value_or(i64));
}

Tensor filled_anew(const Call& call) {
  Tensor x = call.tensor("self");
  Tensor value = call.operand("value").is_number ? Tensor() : call.tensor("value");
  if (value.defined()) return value.to(x.dtype()).expand(x.shape());
  return filled(x.shape(), call.scalar("value"), x.dtype());
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
    {"aten.new_zeros.default",
     [](const Call& c) { return zeros(c.integers("size"), dtype_like(c)); }},
    {"aten.new_ones.default",
     [](const Call& c) { return ones(c.integers("size"), dtype_like(c)); }},
    {"aten.new_full.default",
     [](const Call& c) {
       return filled(c.integers("size"), c.scalar("fill_value"), dtype_like(c));
     }},
    {"aten.new_empty.default",
     [](const Call& c) { return zeros(c.integers("size"), dtype_like(c)); }},
    {"aten.new_empty_strided.default",
     [](const Call& c) {
       c.has("stride");
       return zeros(c.integers("size"), dtype_like(c));
     }},
    {"aten.fill.Scalar", by<filled_anew>},
    {"aten.fill.Tensor", by<filled_anew>},
    {"aten.zero.default",
     [](const Call& c) { return zeros(c.tensor("self").shape(), c.tensor("self").dtype()); }},
    {"aten.eye.default", by<identity>},
    {"aten.eye.m", by<identity>},
    {"aten.linspace.default", by<linear_steps>},
    {"aten.linspace.Tensor_Tensor", by<linear_steps>},
    {"aten.linspace.Tensor_Scalar", by<linear_steps>},
    {"aten.linspace.Scalar_Tensor", by<linear_steps>},
    {"aten.logspace.default", by<logarithmic_steps>},
    {"aten.logspace.Tensor_Tensor", by<logarithmic_steps>},
    {"aten.logspace.Tensor_Scalar", by<logarithmic_steps>},
    {"aten.logspace.Scalar_Tensor", by<logarithmic_steps>},
    {"aten.fft_fftfreq.default", by<frequencies<fftfreq>>},
    {"aten.fft_rfftfreq.default", by<frequencies<rfftfreq>>},
    {"aten.tril_indices.default", by<triangle<true>>},
    {"aten.triu_indices.default", by<triangle<false>>},
    {"aten.arange.start_step", by<range>},
    {"aten.arange.start", by<range>},
    {"aten.arange.default", by<range>},
};

}  // namespace
}  // namespace creation_rows

std::span<const Operator> creation_operators() { return creation_rows::rows; }

}  // namespace tilewright::exported
