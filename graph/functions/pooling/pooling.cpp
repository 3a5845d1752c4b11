#include "graph/functions/pooling/pooling.h"

#include <algorithm>
#include <limits>

#include "graph/functions/convolving/channels_last.h"
#include "graph/functions/indexing/numbered.h"
#include "graph/functions/named/named_function.h"
#include "graph/functions/named/rules.h"
#include "graph/functions/pointwise/arithmetic.h"
#include "graph/functions/pointwise/elementary.h"
#include "graph/functions/pooling/pooled_axes.h"
#include "graph/ir/location.h"
#include "graph/tensor/precision/autocast_call.h"
#include "graph/tensor/ruled_functions.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using graph::Formula;
using graph::FunctionCall;
using graph::NamedFunction;
using graph::PooledAxes;
using std::source_location;

namespace {

void require_numbers(const Tensor& x, std::string_view name, source_location w) {
  require(!is_boolean(x.dtype()) && !is_float8(x.dtype()), "[", name, "] x is ", x.dtype(), " (at ",
          At{w}, "); it must be of integers, or floats of 16 bits or more");
}

Tensor around(const Tensor& x, const PooledAxes& axes, const Number& value, source_location w) {
  return graph::padded(x, graph::pads(axes.before, axes.after), value, w);
}

// How many elements count in each window.
Formula element_counts(const PooledAxes& axes, bool include_pad, source_location w) {
  Formula all(graph::constant(DType::i64, axes.counts, 1, w), w);
  for (int i = 0; i < axes.rank(); ++i) {
    Formula start = axes.starts(axes.counts, i, w);
    auto least = [&](const Formula& a, std::int64_t b) { return lesser(a, a.number(b)); };
    Formula end =
        least(start + static_cast<double>(axes.windows.kernel[i]), axes.sizes[i] + axes.before[i]);
    if (!include_pad) {
      end = least(end, axes.sizes[i]);
      start = greater(start, start.number(0));
    }
    all = all * (end - start);
  }
  return all;
}

// True if the elements of windows are joined one axis after the other, false if place by place,
// which is one program, but reads every element by itself where windows do not overlap.
bool are_joined_by_axes(const graph::Windows& windows) {
  const std::int64_t places = element_count(windows.kernel);
  const bool are_adjacent =
      windows.stride == windows.kernel &&
      std::ranges::all_of(windows.dilation, [](auto step) { return step == 1; });
  return places > graph::most_slices || (are_adjacent && windows.rank() > 1 && places > 4);
}

Tensor averaged(std::string_view name, int rank, const TensorOperand& x, const Shape& kernel,
                const AveragePoolOptions& options) {
  auto w = x.where;
  const Tensor given = graph::tensor_of(x, name);
  require_numbers(given, name, w);
  const PooledAxes axes = graph::pooled_axes(
      name, rank, given, {kernel, options.stride, options.padding, {}, options.ceil_mode}, w);
  const std::int64_t divisor = options.divisor_override.value_or(0);
  require(!options.divisor_override || divisor != 0, "[", name, "] the divisor is 0 (at ", At{w},
          "); it must be another number");
  std::vector<Number> settings = axes.settings();
  settings.insert(settings.end(), {options.count_include_pad, divisor});
  auto function = [&](std::span<const Tensor> t) -> std::vector<Tensor> {
    const DType sums = accumulator(t[0].dtype());
    const Shape sizes = graph::pooled_sizes(t[0], axes.counts);
    Tensor whole = around(graph::reshape_operand(t[0], t[0].shape(), w).to(sums, w), axes, 0, w);
    const std::int64_t places = element_count(axes.windows.kernel);
    std::optional<Formula> total;
    const bool by_axes = are_joined_by_axes(axes.windows);
    if (by_axes) {
      auto along = [&](const Tensor& a, int axis) { return sum({a, w}, {axis}).to(sums, w); };
      auto two = [&](const Tensor& a, const Tensor& b) { return add({a, w}, {b, w}); };
      total = Formula(graph::joined_windows(whole, axes.windows, {along, two}, w), w);
    }
    for (std::int64_t place = 0; place < places && !by_axes; ++place) {
      Formula term(graph::at_place(whole, axes.windows, place, w), w);
      total = total ? *total + term : term;
    }
    Formula count = divisor != 0 ? Formula(graph::constant(DType::i64, axes.counts, divisor, w), w)
                                 : element_counts(axes, options.count_include_pad, w);
    Formula divided = *total / graph::spread(count.to(sums).tensor(), sizes, w);
    return {divided.to(t[0].dtype()).tensor()};
  };
  return graph::apply_function(name, {&given, 1}, settings, function, w)[0];
}

constexpr double least = -std::numeric_limits<double>::infinity();

// Of a place in the windows, row-major, the number of the element of x that it meets; of the
// places in front of x that of the first that the window meets there.
Formula number_at(const PooledAxes& axes, const Shape& result, const std::vector<Formula>& places,
                  source_location w) {
  std::optional<Formula> number;
  for (int i = 0; i < axes.rank(); ++i) {
    const double step = static_cast<double>(axes.windows.dilation[i]);
    Formula start = axes.starts(result, i, w);
    Formula element = start + places[static_cast<std::size_t>(i)] * step;
    Formula outside = (greater(-start, start.number(0)) + (step - 1)) / start.number(step);
    element = greater(element, start + outside * step);
    number = number ? *number * static_cast<double>(axes.sizes[i]) + element : element;
  }
  return *number;
}

// Place by place; a NaN, and what is greater, takes the place of what was before.
std::vector<Tensor> greatest_in_slices(const PooledAxes& axes, const Tensor& whole,
                                       const Shape& sizes, bool wants_indices, source_location w) {
  std::optional<Formula> best, number;
  for (std::int64_t place = 0; place < element_count(axes.windows.kernel); ++place) {
    Formula here(graph::at_place(whole, axes.windows, place, w), w);
    if (!wants_indices) {
      best = best ? greater(*best, here) : here;
      continue;
    }
    std::vector<Formula> places(static_cast<std::size_t>(axes.rank()),
                                {graph::constant(DType::i64, sizes, 0, w), w});
    std::int64_t rest = place;
    for (int i = axes.rank() - 1; i >= 0; rest /= axes.windows.kernel[i--])
      places[static_cast<std::size_t>(i)] =
          places[static_cast<std::size_t>(i)].number(rest % axes.windows.kernel[i]);
    Formula own = number_at(axes, sizes, places, w);
    if (!best) {
      best = here;
      number = own;
      continue;
    }
    Formula wins = (here > *best) | is_nan(here);
    best = choice(wins, here, *best);
    number = choice(wins, own, *number);
  }
  if (!wants_indices) return {best->tensor()};
  return {best->tensor(), number->tensor()};
}

Tensor greatest_along_axes(const PooledAxes& axes, const Tensor& whole, source_location w) {
  auto along = [&](const Tensor& a, int axis) { return amax({a, w}, {axis}); };
  auto two = [&](const Tensor& a, const Tensor& b) {
    return greater(Formula(a, w), Formula(b, w)).tensor();
  };
  return graph::joined_windows(whole, axes.windows, {along, two}, w);
}

// Gathered first.
std::vector<Tensor> greatest_of_many(const PooledAxes& axes, const Tensor& whole,
                                     const Shape& sizes, source_location w) {
  Tensor all = graph::all_places(whole, axes.windows, w);
  auto [values, place] = graph::greatest_and_place(all, all.rank() - 2, w);
  Formula rest(place.tensor().reshape(sizes, w), w);
  std::vector<Formula> places(static_cast<std::size_t>(axes.rank()), rest);
  for (int i = axes.rank() - 1; i >= 0; --i) {
    Formula kernel = rest.number(axes.windows.kernel[i]), above = rest / kernel;
    places[static_cast<std::size_t>(i)] = rest - above * kernel;
    rest = above;
  }
  return {values.reshape(sizes, w), number_at(axes, sizes, places, w).tensor()};
}

std::vector<Tensor> greatest(const NamedFunction& function, int rank, const TensorOperand& x,
                             const Shape& kernel, const MaxPoolOptions& options,
                             bool wants_indices) {
  auto w = x.where;
  const std::string_view name = function.name();
  const Tensor given = graph::tensor_of(x, name);
  require_numbers(given, name, w);
  const PooledAxes axes = graph::pooled_axes(
      name, rank, given,
      {kernel, options.stride, options.padding, options.dilation, options.ceil_mode}, w);
  return function({given},
                  {{"kernel", graph::pool_values(name, "the kernel", rank, kernel, 1, 1, w)},
                   {"stride", axes.windows.stride},
                   {"padding", axes.before},
                   {"dilation", axes.windows.dilation},
                   {"ceil_mode", options.ceil_mode},
                   {"indices", wants_indices}},
                  w);
}

std::vector<Tensor> greatest_body(std::string_view name, int rank, const FunctionCall& call) {
  auto w = call.where;
  const graph::Settings& s = call.settings;
  const Tensor& x = call[0];
  const PooledAxes axes =
      graph::pooled_axes(name, rank, x,
                         {s.sizes("kernel"), s.sizes("stride"), s.sizes("padding"),
                          s.sizes("dilation"), s.flag("ceil_mode")},
                         w);
  const bool wants_indices = s.flag("indices");
  std::optional<Tensor> last;
  if (call.target.is_gpu())
    last = graph::padded_channels_last(x, axes.before, axes.after, least, w);
  Tensor whole = last ? *last : around(x, axes, graph::least_of(x.dtype()), w);
  const Shape sizes = graph::pooled_sizes(x, axes.counts);
  if (!wants_indices && are_joined_by_axes(axes.windows))
    return {greatest_along_axes(axes, whole, w)};
  return element_count(axes.windows.kernel) > graph::most_slices
             ? greatest_of_many(axes, whole, sizes, w)
             : greatest_in_slices(axes, whole, sizes, wants_indices, w);
}

std::pair<Tensor, Tensor> as_pair(const std::vector<Tensor>& both) { return {both[0], both[1]}; }

Tensor norm_pooled(std::string_view name, int rank, const TensorOperand& x, double order,
                   const Shape& kernel, const NormPoolOptions& options) {
  auto w = x.where;
  const Tensor& given = graph::tensor_of(x, name);
  require(is_floating(given.dtype()) && order != 0, "[", name, "] x is ", given.dtype(),
          ", the order ", order, " (at ", At{w}, "); x must be floating, and the order not 0");
  Tensor means = averaged(name, rank, {pow({given, w}, {order, w}), w}, kernel,
                          {.stride = options.stride, .ceil_mode = options.ceil_mode});
  const Shape all = graph::pool_values(name, "the kernel", rank, kernel, 1, 1, w);
  Tensor sums = mul({means, w}, {static_cast<double>(element_count(all)), w});
  return graph::with_rule(
      "root of sum", {sums}, {1 / order},
      [&](std::span<const Tensor> t) {
        return pow({t[0], w}, {1 / order, w});
      },
      w);
}

}  // namespace

namespace graph::named {

extern const NamedFunction max_pool1d_function;
const NamedFunction max_pool1d_function(
    "max_pool1d", [](const FunctionCall& call) { return greatest_body("max_pool1d", 1, call); },
    max_pool_derivative);
extern const NamedFunction max_pool2d_function;
const NamedFunction max_pool2d_function(
    "max_pool2d", [](const FunctionCall& call) { return greatest_body("max_pool2d", 2, call); },
    max_pool_derivative);
extern const NamedFunction max_pool3d_function;
const NamedFunction max_pool3d_function(
    "max_pool3d", [](const FunctionCall& call) { return greatest_body("max_pool3d", 3, call); },
    max_pool_derivative);

}  // namespace graph::named

Tensor avg_pool1d(const TensorOperand& x, const Sizes& kernel, const AveragePoolOptions& options) {
  return averaged("avg_pool1d", 1, x, kernel, options);
}
Tensor avg_pool2d(const TensorOperand& x, const Sizes& kernel, const AveragePoolOptions& options) {
  return averaged("avg_pool2d", 2, x, kernel, options);
}
Tensor avg_pool3d(const TensorOperand& x, const Sizes& kernel, const AveragePoolOptions& options) {
  if (const graph::AutocastCall cast("avg_pool3d", x.where); cast.is_listed())
    return avg_pool3d(cast(x), kernel, options);
  return averaged("avg_pool3d", 3, x, kernel, options);
}

Tensor max_pool1d(const TensorOperand& x, const Sizes& kernel, const MaxPoolOptions& options) {
  return greatest(graph::named::max_pool1d_function, 1, x, kernel, options, false)[0];
}
Tensor max_pool2d(const TensorOperand& x, const Sizes& kernel, const MaxPoolOptions& options) {
  return greatest(graph::named::max_pool2d_function, 2, x, kernel, options, false)[0];
}
Tensor max_pool3d(const TensorOperand& x, const Sizes& kernel, const MaxPoolOptions& options) {
  if (const graph::AutocastCall cast("max_pool3d", x.where); cast.is_listed())
    return max_pool3d(cast(x), kernel, options);
  return greatest(graph::named::max_pool3d_function, 3, x, kernel, options, false)[0];
}
std::pair<Tensor, Tensor> max_pool1d_with_indices(const TensorOperand& x, const Sizes& kernel,
                                                  const MaxPoolOptions& options) {
  return as_pair(greatest(graph::named::max_pool1d_function, 1, x, kernel, options, true));
}
std::pair<Tensor, Tensor> max_pool2d_with_indices(const TensorOperand& x, const Sizes& kernel,
                                                  const MaxPoolOptions& options) {
  return as_pair(greatest(graph::named::max_pool2d_function, 2, x, kernel, options, true));
}
std::pair<Tensor, Tensor> max_pool3d_with_indices(const TensorOperand& x, const Sizes& kernel,
                                                  const MaxPoolOptions& options) {
  if (const graph::AutocastCall cast("max_pool3d", x.where); cast.is_listed())
    return max_pool3d_with_indices(cast(x), kernel, options);
  return as_pair(greatest(graph::named::max_pool3d_function, 3, x, kernel, options, true));
}

Tensor lp_pool1d(const TensorOperand& x, double order, const Sizes& kernel,
                 const NormPoolOptions& options) {
  return norm_pooled("lp_pool1d", 1, x, order, kernel, options);
}
Tensor lp_pool2d(const TensorOperand& x, double order, const Sizes& kernel,
                 const NormPoolOptions& options) {
  return norm_pooled("lp_pool2d", 2, x, order, kernel, options);
}
Tensor lp_pool3d(const TensorOperand& x, double order, const Sizes& kernel,
                 const NormPoolOptions& options) {
  return norm_pooled("lp_pool3d", 3, x, order, kernel, options);
}

}  // namespace tilewright
