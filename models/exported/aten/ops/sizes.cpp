// Numbers that programs compute beside tensors: sizes, and what follows from them.
#include <algorithm>
#include <cmath>

#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace size_rows {
namespace {

// Of two integers where both are, else of two floats.
template <typename Integers, typename Floats>
Value of_both(const Call& call, Integers integers, Floats floats) {
  Number a = call.scalar("a"), b = call.scalar("b");
  if (!a.is_integral() || !b.is_integral()) return floats(a.as_double(), b.as_double());
  std::int64_t result = 0;
  require(integers(a.as_integer(), b.as_integer(), &result), "[exported] ", a.as_integer(), " and ",
          b.as_integer(), " have no such result in 64 bits");
  return result;
}
template <typename Compare>
Value compared(const Call& call, Compare compare) {
  Number a = call.scalar("a"), b = call.scalar("b");
  bool are_integers = a.is_integral() && b.is_integral();
  return are_integers ? compare(a.as_integer(), b.as_integer())
                      : compare(a.as_double(), b.as_double());
}
// Of one number, which stays an integer if it is one.
template <typename Integers, typename Floats>
Value of_one(const Call& call, Integers integers, Floats floats) {
  Number a = call.scalar("a");
  if (!a.is_integral()) return floats(a.as_double());
  std::int64_t result = 0;
  require(integers(a.as_integer(), &result), "[exported] ", a.as_integer(),
          " has no such result in 64 bits");
  return result;
}
bool truth(const Call& call, std::string_view name) { return call.scalar(name).as_double() != 0; }
bool floor_quotient(std::int64_t a, std::int64_t b, std::int64_t* result) {
  if (b == 0 || (a == INT64_MIN && b == -1)) return false;
  *result = a / b - (a % b != 0 && (a < 0) != (b < 0));
  return true;
}

// Of integers an integer, as long as the exponent is none below 0.
Value power(const Call& call) {
  Number a = call.scalar("a"), b = call.scalar("b");
  if (!a.is_integral() || !b.is_integral() || b.as_integer() < 0)
    return std::pow(a.as_double(), b.as_double());
  std::int64_t result = 1, base = a.as_integer();
  for (std::int64_t left = b.as_integer(); left > 0; left /= 2) {
    require((left % 2 == 0 || !__builtin_mul_overflow(result, base, &result)) &&
                (left < 2 || !__builtin_mul_overflow(base, base, &base)),
            "[exported] ", a.as_integer(), " to the power ", b.as_integer(),
            " does not fit into 64 bits");
  }
  return result;
}

// Without what is behind the point.
Value truncated(const Call& call) {
  Number a = call.scalar(call.has("x") ? "x" : "a");
  if (a.is_integral()) return a.as_integer();
  const double whole = std::trunc(a.as_double());
  require(std::abs(whole) < 0x1p63, "[exported] ", a.as_double(),
          " becomes an integer; it must fit into 64 bits");
  return static_cast<std::int64_t>(whole);
}
template <typename Shift>
Value shifted(const Call& call, Shift shift) {
  const std::int64_t a = call.integer("a"), by = call.integer("b");
  std::int64_t result = 0;
  require(by >= 0 && shift(a, by, &result), "[exported] ", a, " moved by ", by,
          " bits has no such result in 64 bits");
  return result;
}

Value chosen_number(const Call& call) {
  const bool holds = truth(call, "b");
  Number chosen = call.scalar(holds ? "t" : "f");
  call.has(holds ? "f" : "t");
  if (is_boolean(chosen.dtype())) return chosen.as_integer() != 0;
  if (chosen.is_integral()) return chosen.as_integer();
  return chosen.as_double();
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
    // Each tensor counts as one that begins its memory, as for as_strided.
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
    {"_operator.add",
     [](const Call& c) {
       return of_both(
           c, [](auto a, auto b, auto* r) { return !__builtin_add_overflow(a, b, r); },
           [](double a, double b) { return a + b; });
     }},
    {"_operator.sub",
     [](const Call& c) {
       return of_both(
           c, [](auto a, auto b, auto* r) { return !__builtin_sub_overflow(a, b, r); },
           [](double a, double b) { return a - b; });
     }},
    {"_operator.mul",
     [](const Call& c) {
       return of_both(
           c, [](auto a, auto b, auto* r) { return !__builtin_mul_overflow(a, b, r); },
           [](double a, double b) { return a * b; });
     }},
    {"_operator.floordiv",
     [](const Call& c) {
       return of_both(c, floor_quotient, [](double a, double b) { return std::floor(a / b); });
     }},
    {"_operator.mod",
     [](const Call& c) {
       return of_both(
           c,
           [](std::int64_t a, std::int64_t b, std::int64_t* r) {
             if (!floor_quotient(a, b, r)) return false;
             *r = a - *r * b;
             return true;
           },
           [](double a, double b) { return a - std::floor(a / b) * b; });
     }},
    {"_operator.truediv",
     [](const Call& c) -> Value { return c.scalar("a").as_double() / c.scalar("b").as_double(); }},
    {"_operator.pow", by<power>},
    {"torch.sym_float", [](const Call& c) -> Value { return c.scalar("a").as_double(); }},
    {"torch._sym_sqrt",
     [](const Call& c) -> Value { return std::sqrt(c.scalar("a").as_double()); }},
    {"torch.sym_int", by<truncated>},
    {"math.trunc", by<truncated>},
    {"torch.sym_ite", by<chosen_number>},
    {"torch.sym_not", [](const Call& c) -> Value { return !truth(c, "a"); }},
    {"torch.sym_max",
     [](const Call& c) {
       return of_both(
           c, [](auto a, auto b, auto* r) { return *r = std::max(a, b), true; },
           [](double a, double b) { return std::max(a, b); });
     }},
    {"torch.sym_min",
     [](const Call& c) {
       return of_both(
           c, [](auto a, auto b, auto* r) { return *r = std::min(a, b), true; },
           [](double a, double b) { return std::min(a, b); });
     }},
    {"_operator.neg",
     [](const Call& c) {
       return of_one(
           c,
           [](std::int64_t a, std::int64_t* r) {
             return !__builtin_sub_overflow(std::int64_t{0}, a, r);
           },
           [](double a) { return -a; });
     }},
    {"_operator.pos",
     [](const Call& c) {
       return of_one(
           c, [](std::int64_t a, std::int64_t* r) { return *r = a, true; },
           [](double a) { return a; });
     }},
    {"_operator.lshift",
     [](const Call& c) {
       return shifted(c, [](std::int64_t a, std::int64_t bits, std::int64_t* r) {
         return bits < 63 && !__builtin_mul_overflow(a, std::int64_t{1} << bits, r);
       });
     }},
    {"_operator.rshift",
     [](const Call& c) {
       return shifted(c, [](std::int64_t a, std::int64_t bits, std::int64_t* r) {
         return *r = a >> std::min<std::int64_t>(bits, 63), true;
       });
     }},
    {"_operator.eq",
     [](const Call& c) { return compared(c, [](auto a, auto b) { return a == b; }); }},
    {"_operator.ne",
     [](const Call& c) { return compared(c, [](auto a, auto b) { return a != b; }); }},
    {"_operator.lt",
     [](const Call& c) { return compared(c, [](auto a, auto b) { return a < b; }); }},
    {"_operator.le",
     [](const Call& c) { return compared(c, [](auto a, auto b) { return a <= b; }); }},
    {"_operator.gt",
     [](const Call& c) { return compared(c, [](auto a, auto b) { return a > b; }); }},
    {"_operator.ge",
     [](const Call& c) { return compared(c, [](auto a, auto b) { return a >= b; }); }},
    {"_operator.and_",
     [](const Call& c) -> Value {
       const bool a = truth(c, "a"), b = truth(c, "b");
       return a && b;
     }},
    {"_operator.or_",
     [](const Call& c) -> Value {
       const bool a = truth(c, "a"), b = truth(c, "b");
       return a || b;
     }},
};

}  // namespace
}  // namespace size_rows

std::span<const Operator> size_operators() { return size_rows::rows; }

}  // namespace tilewright::exported
