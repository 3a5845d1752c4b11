// Numbers that programs compute beside tensors: sizes, and what follows from them.
#include <string>

#include "models/exported/aten/operators.h"
#include "models/programs/size_arithmetic.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace size_rows {
namespace {

using programs::SizeFunction;

std::string text_of(const Number& number) {
  return number.is_integral() ? std::to_string(number.as_integer()) : concat(number.as_double());
}
Value value_of(const Number& number) {
  if (is_boolean(number.dtype())) return number.as_integer() != 0;
  if (number.is_integral()) return number.as_integer();
  return number.as_double();
}

template <SizeFunction function>
Value of_one(const Call& call) {
  const Number a = call.scalar(call.has("x") ? "x" : "a");
  const auto result = programs::applied(function, a);
  require(result.has_value(), "[exported] ", text_of(a), " has no such result in 64 bits");
  return value_of(*result);
}
template <SizeFunction function>
Value of_two(const Call& call) {
  const Number a = call.scalar("a"), b = call.scalar("b");
  const auto result = programs::applied(function, a, b);
  require(result.has_value(), "[exported] ", text_of(a), " and ", text_of(b),
          " have no such result in 64 bits");
  return value_of(*result);
}

Value chosen_number(const Call& call) {
  const bool holds = call.scalar("b").as_double() != 0;
  const Number chosen = call.scalar(holds ? "t" : "f");
  call.has(holds ? "f" : "t");
  return value_of(chosen);
}

// The only element of a tensor, as a number. Inside compile() the graph breaks here.
Value element(const Call& call) {
  Tensor x = call.tensor("self");
  require(x.count() == 1, "[exported] a tensor of shape ", x.shape(),
          " is taken as a number; it must have one element");
  if (is_boolean(x.dtype())) return x.item<bool>();
  if (is_floating(x.dtype())) return x.to(f64).item<double>();
  return x.to(i64).item<std::int64_t>();
}

Results checked_dtype(const Call& call) {
  Tensor x = call.tensor("a");
  auto dtype = call.dtype();
  require(!dtype || *dtype == x.dtype(), "[exported] a tensor is ", x.dtype(),
          "; the program was exported for ", dtype.value_or(f32));
  return {};
}
Results refused_unless(bool holds, const Call& call) {
  const std::string reason = call.text("assert_msg", "an assertion failed");
  require(holds, "[exported] ", reason);
  return {};
}
Results checked_scalar(const Call& call) {
  return refused_unless(call.scalar("self").as_double() != 0, call);
}
Results checked_element(const Call& call) {
  Tensor x = call.tensor("self");
  require(x.count() == 1, "[exported] a tensor of shape ", x.shape(),
          " is asserted; it must have one element");
  return refused_unless((x != 0).item<bool>(), call);
}
// The range itself was used when the program was exported.
Results checked_range(const Call& call) {
  std::int64_t size = call.integer(call.has("size") ? "size" : "symbol");
  std::int64_t min = call.integer("min", INT64_MIN), max = call.integer("max", INT64_MAX);
  require(size >= min && size <= max, "[exported] a size is ", size, "; ", min, " to ", max,
          " were allowed when the program was exported");
  return {};
}

constexpr Operator rows[] = {
    {"aten.sym_size.int",
     [](const Call& c) -> Value { return c.tensor("self").size(c.axis("dim")); }},
    {"aten.sym_numel.default", [](const Call& c) -> Value { return c.tensor("self").count(); }},
    // Each tensor counts as one that begins its memory.
    {"aten.sym_storage_offset.default",
     [](const Call& c) -> Value {
       c.tensor("self");
       return std::int64_t{0};
     }},
    {"aten._local_scalar_dense.default", by<element>},
    {"aten.item.default", by<element>},
    {"aten._assert_tensor_metadata.default", by<checked_dtype>},
    {"aten._assert_scalar.default", by<checked_scalar>},
    {"aten._assert_async.default", by<checked_element>},
    {"aten._assert_async.msg", by<checked_element>},
    {"aten.sym_constrain_range.default", by<checked_range>},
    {"aten.sym_constrain_range_for_size.default", by<checked_range>},
    {"_operator.add", by<of_two<SizeFunction::add>>},
    {"_operator.sub", by<of_two<SizeFunction::subtract>>},
    {"_operator.mul", by<of_two<SizeFunction::multiply>>},
    {"_operator.floordiv", by<of_two<SizeFunction::floor_divide>>},
    {"_operator.mod", by<of_two<SizeFunction::remainder>>},
    {"_operator.truediv", by<of_two<SizeFunction::true_divide>>},
    {"_operator.pow", by<of_two<SizeFunction::power>>},
    {"_operator.neg", by<of_one<SizeFunction::negative>>},
    {"_operator.pos", by<of_one<SizeFunction::identity>>},
    {"_operator.lshift", by<of_two<SizeFunction::shift_left>>},
    {"_operator.rshift", by<of_two<SizeFunction::shift_right>>},
    {"_operator.eq", by<of_two<SizeFunction::equal>>},
    {"_operator.ne", by<of_two<SizeFunction::unequal>>},
    {"_operator.lt", by<of_two<SizeFunction::less>>},
    {"_operator.le", by<of_two<SizeFunction::less_equal>>},
    {"_operator.gt", by<of_two<SizeFunction::greater>>},
    {"_operator.ge", by<of_two<SizeFunction::greater_equal>>},
    {"_operator.and_", by<of_two<SizeFunction::bit_and>>},
    {"_operator.or_", by<of_two<SizeFunction::bit_or>>},
    {"torch.sym_float", by<of_one<SizeFunction::to_float>>},
    {"torch._sym_sqrt", by<of_one<SizeFunction::sqrt>>},
    {"torch.sym_int", by<of_one<SizeFunction::trunc>>},
    {"math.trunc", by<of_one<SizeFunction::trunc>>},
    {"torch.sym_not", by<of_one<SizeFunction::logical_not>>},
    {"torch.sym_max", by<of_two<SizeFunction::maximum>>},
    {"torch.sym_min", by<of_two<SizeFunction::minimum>>},
    {"torch.sym_ite", by<chosen_number>},
};

}  // namespace
}  // namespace size_rows

std::span<const Operator> size_operators() { return size_rows::rows; }

}  // namespace tilewright::exported
