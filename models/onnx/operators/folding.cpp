// Operators on numbers that the host knows: those by which programs compute sizes, bounds and
// indices of few elements. Each means what its row in the families means for tensors.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <unordered_map>

#include "graph/ir/shape_rules.h"
#include "models/onnx/operators/sizes.h"
#include "models/onnx/operators/table.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace {

using Folded = std::optional<Results>;
using Fold = Folded (*)(const Call&);

Folded result(Known known) {
  constexpr int most_axes = 64;  // as of tensors
  require(known.shape.rank() <= most_axes, "[onnx] the result would have ", known.shape.rank(),
          " axes; at most ", most_axes, " are supported");
  Results results;
  results.emplace_back(std::move(known));
  return results;
}
bool is_small(const Shape& shape) {
  std::int64_t count = 1;
  for (std::int64_t size : shape)
    if (size < 0 || __builtin_mul_overflow(count, size, &count)) return false;
  return count <= most_known;
}

// The element of x that belongs to element `at` of a shape to which x broadcasts.
const Number& broadcast_element(const Known& x, const Shape& shape, std::int64_t at) {
  std::int64_t place = 0, stride = 1;
  for (int i = 1; i <= shape.rank(); ++i) {
    std::int64_t along = at % shape[-i];
    at /= shape[-i];
    if (i > x.shape.rank()) continue;
    if (x.shape[-i] != 1) place += along * stride;
    stride *= x.shape[-i];
  }
  return x.elements[static_cast<std::size_t>(place)];
}

// Of elements that broadcast to one another; nothing where they do not, or are many.
template <typename F>
Folded elementwise(const Call& call, DType dtype, const F& f) {
  Shape shape = call.shape(0);
  for (std::size_t i = 1; i < call.count(); ++i) {
    auto both = broadcast_shapes(shape, call.shape(i));
    if (!both || !is_small(*both)) return std::nullopt;
    shape = *both;
  }
  Known known{dtype, shape, {}};
  std::vector<Number> operands(call.count(), Number(0));
  for (std::int64_t at = 0; at < element_count(shape); ++at) {
    for (std::size_t i = 0; i < operands.size(); ++i)
      operands[i] = broadcast_element(*call.known(i), shape, at);
    known.elements.push_back(as_element(f(operands), dtype));
  }
  return result(std::move(known));
}

using Numbers = std::vector<Number>;
std::int64_t wrapped(std::uint64_t value) { return static_cast<std::int64_t>(value); }
std::uint64_t bits(const Number& x) { return static_cast<std::uint64_t>(x.as_integer()); }

template <typename Integers, typename Floats>
Folded arithmetic(const Call& call, const Integers& integers, const Floats& floats) {
  DType dtype = call.dtype(0);
  return elementwise(call, dtype, [&](const Numbers& x) {
    return is_floating(dtype) ? Number(floats(x[0].as_double(), x[1].as_double()))
                              : Number(integers(x[0], x[1]));
  });
}
template <typename Compare>
Folded compared(const Call& call, const Compare& compare) {
  bool are_integers = !is_floating(call.dtype(0));
  return elementwise(call, DType::boolean, [&](const Numbers& x) {
    return Number(are_integers ? compare(x[0].as_integer(), x[1].as_integer())
                               : compare(x[0].as_double(), x[1].as_double()));
  });
}
Folded joined_flags(const Call& call, bool (*join)(bool, bool)) {
  return elementwise(call, DType::boolean, [&](const Numbers& x) {
    return Number(join(x[0].as_integer() != 0, x[1].as_integer() != 0));
  });
}
Folded quotient(const Call& call) {
  if (!is_floating(call.dtype(0)))
    for (const Number& divisor : call.known(1)->elements)
      if (divisor.as_integer() == 0 || divisor.as_integer() == -1) return std::nullopt;
  return arithmetic(
      call, [](const Number& a, const Number& b) { return a.as_integer() / b.as_integer(); },
      [](double a, double b) { return a / b; });
}
// Of the sign of the divisor.
Folded remainder_of(const Call& call) {
  if (call.flag("fmod", false) || is_floating(call.dtype(0))) return std::nullopt;
  for (const Number& divisor : call.known(1)->elements)
    if (divisor.as_integer() == 0 || divisor.as_integer() == -1) return std::nullopt;
  return elementwise(call, call.dtype(0), [](const Numbers& x) {
    const std::int64_t by = x[1].as_integer(), rest = x[0].as_integer() % by;
    return Number(rest != 0 && (rest < 0) != (by < 0) ? rest + by : rest);
  });
}
Folded negated(const Call& call) {
  const bool is_float = is_floating(call.dtype(0));
  return elementwise(call, call.dtype(0), [&](const Numbers& x) {
    return is_float ? Number(-x[0].as_double()) : Number(wrapped(0 - bits(x[0])));
  });
}
template <typename F>
Folded of_float(const Call& call, const F& f) {
  if (!is_floating(call.dtype(0))) return std::nullopt;
  return elementwise(call, call.dtype(0),
                     [&](const Numbers& x) { return Number(f(x[0].as_double())); });
}
// The least or the greatest of all operands, one by one.
template <typename IsBetter>
Folded chosen(const Call& call, const IsBetter& is_better) {
  if (is_floating(call.dtype(0)) || call.count() > 64) return std::nullopt;
  return elementwise(call, call.dtype(0), [&](const Numbers& x) {
    Number best = x[0];
    for (const Number& each : x)
      if (is_better(each.as_integer(), best.as_integer())) best = each;
    return best;
  });
}
Folded selected(const Call& call) {
  return elementwise(call, call.dtype(1),
                     [](const Numbers& x) { return x[0].as_integer() != 0 ? x[1] : x[2]; });
}
Folded converted(const Call& call) {
  DType dtype = call.dtype("to");
  call.flag("saturate", true);
  if (!can_be_known(dtype) || call.text("round_mode", "up") != "up") return std::nullopt;
  return elementwise(call, dtype, [](const Numbers& x) { return x[0]; });
}

// The same elements with other sizes.
Folded with_sizes(const Call& call, const Shape& sizes) {
  Known known = *call.known(0);
  if (element_count(sizes) != std::ssize(known.elements)) return std::nullopt;
  known.shape = sizes;
  return result(std::move(known));
}

// Elements of x by their places, row-major.
Folded picked(const Known& x, const Shape& shape, const std::vector<std::int64_t>& places) {
  Known known{x.dtype, shape, {}};
  for (std::int64_t place : places)
    known.elements.push_back(x.elements[static_cast<std::size_t>(place)]);
  return result(std::move(known));
}

Folded gathered(const Call& call) {
  const Known &x = *call.known(0), &index = *call.known(1);
  if (x.shape.rank() != 1) return std::nullopt;
  call.axis("axis", 0);
  std::vector<std::int64_t> places;
  for (const Number& each : index.elements) {
    std::int64_t place = each.as_integer(), size = x.shape[0];
    if (place < 0) place += size;
    require(place >= 0 && place < size, "[onnx] index ", each.as_integer(),
            " is outside an axis of ", size, "; it must be in [", -size, ", ", size, ")");
    places.push_back(place);
  }
  return picked(x, index.shape, places);
}
// Elements of x at places of each axis: of axis i `along[i]`.
Folded picked_along(const Known& x, const std::vector<std::vector<std::int64_t>>& along) {
  Shape shape;
  std::vector<std::int64_t> places = {0};
  for (int axis = 0; axis < x.shape.rank(); ++axis) {
    const auto& of_axis = along[static_cast<std::size_t>(axis)];
    shape.push_back(std::ssize(of_axis));
    std::vector<std::int64_t> further;
    for (std::int64_t place : places)
      for (std::int64_t at : of_axis) further.push_back(place * x.shape[axis] + at);
    places = std::move(further);
  }
  return picked(x, shape, places);
}
Folded sliced(const Call& call) {
  const Known& x = *call.known(0);
  std::vector<std::vector<std::int64_t>> along(x.shape.size());
  for (int axis = 0; axis < x.shape.rank(); ++axis) {
    auto& places = along[static_cast<std::size_t>(axis)];
    places.resize(static_cast<std::size_t>(x.shape[axis]));
    std::iota(places.begin(), places.end(), 0);
  }
  std::vector<bool> is_cut(x.shape.size());
  for (const Cut& cut : cuts_of(call)) {
    if (is_cut[static_cast<std::size_t>(cut.axis)]) return std::nullopt;
    is_cut[static_cast<std::size_t>(cut.axis)] = true;
    auto& places = along[static_cast<std::size_t>(cut.axis)];
    places.clear();
    for (std::int64_t i = 0; i < cut.count; ++i) places.push_back(cut.start + i * cut.step);
  }
  return picked_along(x, along);
}
// Of matrices, as the sizes of frames are turned round.
Folded transposed(const Call& call) {
  const Known& x = *call.known(0);
  const std::vector<int> order = call.axes("perm");
  if (x.shape.rank() != 2 || !(order.empty() || order == std::vector<int>{1, 0}))
    return std::nullopt;
  std::vector<std::int64_t> places;
  for (std::int64_t column = 0; column < x.shape[1]; ++column)
    for (std::int64_t row = 0; row < x.shape[0]; ++row) places.push_back(row * x.shape[1] + column);
  return picked(x, {x.shape[1], x.shape[0]}, places);
}
Folded joined(const Call& call) {
  Known known{call.dtype(0), {0}, {}};
  call.axis("axis");
  for (std::size_t i = 0; i < call.count(); ++i) {
    const Known& part = *call.known(i);
    if (part.shape.rank() != 1 || part.dtype != known.dtype || call.count() > 64)
      return std::nullopt;
    known.elements.insert(known.elements.end(), part.elements.begin(), part.elements.end());
  }
  known.shape = {std::ssize(known.elements)};
  if (!is_small(known.shape)) return std::nullopt;
  return result(std::move(known));
}
Folded split(const Call& call) {
  const Known& x = *call.known(0);
  if (x.shape.rank() != 1) return std::nullopt;
  call.axis("axis", 0);
  Results results;
  std::int64_t at = 0;
  for (std::int64_t size : split_sizes(call, 0)) {
    Known part{x.dtype, {size}, {}};
    part.elements.assign(x.elements.begin() + at, x.elements.begin() + at + size);
    results.emplace_back(std::move(part));
    at += size;
  }
  return results;
}
Folded expanded(const Call& call) {
  const Known& x = *call.known(0);
  auto shape = broadcast_shapes(x.shape, call.integers(1));
  if (!shape || !is_small(*shape)) return std::nullopt;
  Known known{x.dtype, *shape, {}};
  for (std::int64_t at = 0; at < element_count(*shape); ++at)
    known.elements.push_back(broadcast_element(x, *shape, at));
  return result(std::move(known));
}
Folded filled(const Call& call) {
  Shape shape = call.integers(0);
  Known value{f32, {1}, {Number(0.0)}};
  if (call.has("value")) {
    Value constant = call.constant("value");
    if (constant.known() == nullptr) return std::nullopt;
    value = *constant.known();
  }
  if (!is_small(shape) || value.elements.size() != 1) return std::nullopt;
  return result({value.dtype, shape,
                 Numbers(static_cast<std::size_t>(element_count(shape)), value.elements[0])});
}
Folded range(const Call& call) {
  DType dtype = call.dtype(0);
  Number start = call.scalar(0), limit = call.scalar(1), step = call.scalar(2);
  if (is_integer(dtype) && step.as_integer() == 0) return std::nullopt;
  const double count = is_integer(dtype)
                           ? static_cast<double>(graph::count_of_range(
                                 start.as_integer(), limit.as_integer(), step.as_integer()))
                           : std::ceil((limit.as_double() - start.as_double()) / step.as_double());
  if (!(count <= static_cast<double>(most_known))) return std::nullopt;
  Known known{dtype, {}, {}};
  for (std::int64_t i = 0; static_cast<double>(i) < count; ++i)
    known.elements.push_back(
        as_element(is_floating(dtype)
                       ? Number(start.as_double() + static_cast<double>(i) * step.as_double())
                       : Number(wrapped(bits(start) + static_cast<std::uint64_t>(i) * bits(step))),
                   dtype));
  known.shape = {std::ssize(known.elements)};
  return result(std::move(known));
}

// Of all elements of integers; axes other than all of a list are for tensors.
template <typename Join>
Folded reduced(const Call& call, std::int64_t neutral, const Join& join) {
  const Known& x = *call.known(0);
  if (!is_integer(x.dtype) || x.shape.rank() != 1 || call.has(1) || call.has("axes") ||
      call.flag("noop_with_empty_axes", false))
    return std::nullopt;
  Known known{x.dtype, call.flag("keepdims", true) ? Shape{1} : Shape{}, {}};
  std::int64_t all = neutral;
  for (const Number& each : x.elements) all = join(all, each.as_integer());
  known.elements.push_back(as_element(Number(all), x.dtype));
  return result(std::move(known));
}

Folded shape_of(const Call& call) {
  const Shape& shape = call.shape(0);
  std::int64_t rank = shape.rank();
  auto bound = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  std::int64_t start = bound(call.integer("start", 0)), end = bound(call.integer("end", rank));
  Known known{i64, {}, {}};
  for (std::int64_t axis = start; axis < end; ++axis)
    known.elements.emplace_back(shape[static_cast<int>(axis)]);
  known.shape = {std::ssize(known.elements)};
  return result(std::move(known));
}

const std::unordered_map<std::string_view, Fold>& folds() {
  static const std::unordered_map<std::string_view, Fold> rows = {
      {"Add",
       [](const Call& c) {
         return arithmetic(
             c, [](const Number& a, const Number& b) { return wrapped(bits(a) + bits(b)); },
             std::plus<double>());
       }},
      {"Sub",
       [](const Call& c) {
         return arithmetic(
             c, [](const Number& a, const Number& b) { return wrapped(bits(a) - bits(b)); },
             std::minus<double>());
       }},
      {"Mul",
       [](const Call& c) {
         return arithmetic(
             c, [](const Number& a, const Number& b) { return wrapped(bits(a) * bits(b)); },
             std::multiplies<double>());
       }},
      {"Div", quotient},
      {"Mod", remainder_of},
      {"Neg", negated},
      {"Floor", [](const Call& c) { return of_float(c, [](double x) { return std::floor(x); }); }},
      {"Ceil", [](const Call& c) { return of_float(c, [](double x) { return std::ceil(x); }); }},
      {"Sqrt", [](const Call& c) { return of_float(c, [](double x) { return std::sqrt(x); }); }},
      {"Max", [](const Call& c) { return chosen(c, std::greater<>()); }},
      {"Min", [](const Call& c) { return chosen(c, std::less<>()); }},
      {"Equal", [](const Call& c) { return compared(c, std::equal_to<>()); }},
      {"Less", [](const Call& c) { return compared(c, std::less<>()); }},
      {"LessOrEqual", [](const Call& c) { return compared(c, std::less_equal<>()); }},
      {"Greater", [](const Call& c) { return compared(c, std::greater<>()); }},
      {"GreaterOrEqual", [](const Call& c) { return compared(c, std::greater_equal<>()); }},
      {"And", [](const Call& c) { return joined_flags(c, [](bool a, bool b) { return a && b; }); }},
      {"Or", [](const Call& c) { return joined_flags(c, [](bool a, bool b) { return a || b; }); }},
      {"Not",
       [](const Call& c) {
         return elementwise(c, DType::boolean,
                            [](const Numbers& x) { return Number(x[0].as_integer() == 0); });
       }},
      {"Where", selected},
      {"Cast", converted},
      {"Identity", [](const Call& c) { return with_sizes(c, c.shape(0)); }},
      {"Reshape", [](const Call& c) { return with_sizes(c, reshaped_sizes(c)); }},
      {"Squeeze", [](const Call& c) { return with_sizes(c, squeezed_sizes(c)); }},
      {"Transpose", transposed},
      {"Unsqueeze", [](const Call& c) { return with_sizes(c, unsqueezed_sizes(c)); }},
      {"Flatten", [](const Call& c) { return with_sizes(c, flattened_sizes(c)); }},
      {"Gather", gathered},
      {"Slice", sliced},
      {"Concat", joined},
      {"Split", split},
      {"Expand", expanded},
      {"ConstantOfShape", filled},
      {"Range", range},
      {"ReduceSum",
       [](const Call& c) {
         return reduced(c, 0, [](std::int64_t a, std::int64_t b) {
           return wrapped(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
         });
       }},
      {"ReduceProd",
       [](const Call& c) {
         return reduced(c, 1, [](std::int64_t a, std::int64_t b) {
           return wrapped(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
         });
       }},
  };
  return rows;
}

}  // namespace

std::optional<Results> folded(const Call& call) {
  const std::string& op = call.node().op;
  if (op == "Shape" && call.count() == 1) return shape_of(call);
  if (op == "Size" && call.count() == 1)
    return result({i64, {}, {Number(element_count(call.shape(0)))}});
  auto found = folds().find(op);
  if (found == folds().end() || call.count() == 0) return std::nullopt;
  for (std::size_t i = 0; i < call.count(); ++i)
    if (call.node().inputs[i] == no_value || call.value(i).known() == nullptr) return std::nullopt;
  return found->second(call);
}

}  // namespace tilewright::onnx
