#include "graph/functions/resampling/grid_sample.h"

#include "graph/functions/indexing/numbered.h"
#include "graph/functions/resampling/axis_taps.h"
#include "graph/ir/location.h"
#include "graph/tensor/precision/autocast_call.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using graph::Formula;
using std::source_location;

namespace {

// The contribution of one axis to an element of the result: a place, which may be outside, and a
// weight.
struct Tap {
  Formula place;  // a whole number, floating
  Formula weight;
};

// One of the axes that are sampled.
struct SampledAxis {
  std::int64_t size;
  GridSampleOptions options;
  bool moves_positions = false;  // inside before elements are taken, as ONNX has it

  Formula last(const Formula& x) const { return x.number(size - 1); }
  // -1 and 1 as elements.
  Formula position(const Formula& x) const {
    const auto count = static_cast<double>(size);
    return options.align_corners ? (x + 1) / x.number(2) * (count - 1)
                                 : ((x + 1) * count - 1) / x.number(2);
  }
  // NaN becomes 0. Choices have the derivative 0 at the ends, as in PyTorch.
  Formula clamped(const Formula& x) const {
    Formula above = choice(x > 0, x, 0);
    return choice(above < last(x), above, last(x));
  }
  // Reflected at the ends so often as it takes.
  Formula reflected(const Formula& x) const {
    const double low = options.align_corners ? 0 : -0.5,
                 span = static_cast<double>(options.align_corners ? size - 1 : size);
    if (span == 0) return x.number(0);
    Formula from_low = abs(x - low), turns = floor(from_low / x.number(span));
    Formula extra = from_low - turns * span;
    Formula is_even = floor(turns / x.number(2)) * 2 == turns;
    return choice(is_even, extra + low, span - extra + low);
  }
  Formula kept_inside(const Formula& x) const {
    switch (options.padding) {
      case SamplePadding::zeros: return x;
      case SamplePadding::border: return clamped(x);
      case SamplePadding::reflection: return clamped(reflected(x));
    }
    __builtin_unreachable();
  }
  // A position beyond the ends, which are those of elements or of edges.
  Formula moved_inside(const Formula& x) const {
    if (options.padding == SamplePadding::zeros) return x;
    const double low = options.align_corners ? 0 : -0.5;
    Formula is_outside = (x < low) | (x > static_cast<double>(size - 1) - low);
    return choice(is_outside, options.padding == SamplePadding::border ? clamped(x) : reflected(x),
                  x);
  }
  std::vector<Tap> moved_taps(const Formula& given) const {
    const Formula at = position(given);
    if (options.mode == SampleMode::nearest)
      return {{kept_inside(moved_inside(round(at))), at.number(1)}};
    const Formula inside = moved_inside(at), below = floor(inside), share = inside - below;
    return {{kept_inside(below), 1 - share}, {kept_inside(below + 1), share}};
  }
  // Each of the four elements around a position is brought inside by itself.
  std::vector<Tap> cubic_taps(const Formula& at) const {
    const Formula below = floor(at), share = at - below;
    std::vector<Tap> all;
    for (int i = -1; i <= 2; ++i)
      all.push_back(
          {kept_inside(below + i), graph::cubic_weight(abs(share - i), graph::sharpness_of_cubic)});
    return all;
  }
  std::vector<Tap> taps(const Formula& given) const {
    if (options.mode == SampleMode::bicubic) return cubic_taps(position(given));
    if (moves_positions) return moved_taps(given);
    const Formula at = kept_inside(position(given));
    if (options.mode == SampleMode::nearest) return {{round(at), at.number(1)}};
    const Formula below = floor(at), share = at - below;
    return {{below, 1 - share}, {below + 1, share}};
  }
};

void require_sampled(const Tensor& x, const Tensor& grid, source_location w) {
  const int axes = x.rank() - 2;
  Shape wanted = grid.shape();
  bool fits = grid.rank() == x.rank();
  if (fits) {
    wanted[0] = x.shape()[0];
    wanted[-1] = axes;
  }
  require(fits && wanted == grid.shape(), "[grid_sample] x is ", x.shape(), ", the grid ",
          grid.shape(), " (at ", At{w}, "); the grid must have as many axes, x's first, and ", axes,
          " coordinates in its last");
  require(is_floating(x.dtype()) && x.dtype() == grid.dtype(), "[grid_sample] x is ", x.dtype(),
          ", the grid ", grid.dtype(), " (at ", At{w}, "); both must be of one floating dtype");
  require(element_count(Shape(x.shape().begin() + 2, x.shape().end())) > 0, "[grid_sample] x is ",
          x.shape(), " (at ", At{w}, "); the axes that are sampled must have elements");
}

// Sampling of each channel of x, [N, C, ..]: values that depend on the point alone are computed
// once for all.
struct Sampler {
  Tensor x;
  Shape sizes;   // of the axes that are sampled
  Shape points;  // [N, ..]: where the grid has a position
  source_location where;

  Shape all() const {  // [N, C, ..] of the result
    Shape result = points;
    result.insert(result.begin() + 1, x.size(1));
    return result;
  }
  // The elements at these places of each point, for all channels; 0 where one is outside.
  Formula at(const std::vector<Formula>& places) const {
    const DType dtype = graph::dtype_of_numbers(x.count());
    const std::int64_t elements = element_count(sizes);
    Formula number = graph::places_along(points, 0, where, dtype);
    number = number * number.number(x.size(1));
    std::optional<Formula> is_inside;
    for (int i = 0; i < sizes.rank(); ++i) {
      const Formula& place = places[static_cast<std::size_t>(i)];
      Formula inside = (place >= 0) & (place <= place.number(sizes[i] - 1));
      is_inside = is_inside ? *is_inside & inside : inside;
      number = number * number.number(sizes[i]) + choice(inside, place, 0).to(dtype);
    }
    Formula channel = graph::places_along(all(), 1, where, dtype);
    Formula numbers = of_channels(number) + channel * channel.number(elements);
    Formula found(graph::elements_at(x, numbers.tensor(), where), where);
    return choice(of_channels(*is_inside), found, 0);
  }
  // A value a point for all of its channels.
  Formula of_channels(const Formula& value) const {
    return graph::spread(value.tensor().unsqueeze(1, where), all(), where);
  }
  // The sum over all choices of a tap an axis.
  Formula sum_of(const std::vector<std::vector<Tap>>& taps) const {
    std::optional<Formula> total;
    std::size_t count = 1;
    for (const auto& axis : taps) count *= axis.size();
    for (std::size_t i = 0; i < count; ++i) {
      std::vector<Formula> places;
      std::optional<Formula> weight;
      std::size_t rest = i;
      for (const auto& axis : taps) {
        const Tap& tap = axis[rest % axis.size()];
        rest /= axis.size();
        places.push_back(tap.place);
        weight = weight ? *weight * tap.weight : tap.weight;
      }
      Formula term = at(places);
      if (count > 1) term = term * of_channels(*weight);
      total = total ? *total + term : term;
    }
    return *total;
  }
};

}  // namespace

Tensor graph::sampled_at(const TensorOperand& x, const Tensor& grid,
                         const GridSampleOptions& options, bool moves_positions) {
  auto w = x.where;
  const Tensor given = graph::tensor_of(x, "grid_sample"),
               positions = graph::tensor_of({grid, w}, "grid_sample");
  require_sampled(given, positions, w);
  const Tensor operands[] = {given, positions};
  auto function = [&](std::span<const Tensor> t) -> std::vector<Tensor> {
    const DType own = t[0].dtype(), wide = accumulator(own);
    const Shape sizes(t[0].shape().begin() + 2, t[0].shape().end());
    const Shape points(t[1].shape().begin(), t[1].shape().end() - 1);
    Tensor wide_x = graph::reshape_operand(t[0], t[0].shape(), w).to(wide, w);
    Tensor wide_grid = graph::reshape_operand(t[1], t[1].shape(), w).to(wide, w);
    std::vector<std::vector<Tap>> taps;
    for (int i = 0; i < sizes.rank(); ++i) {
      Formula coordinate(wide_grid.select(-1, sizes.rank() - 1 - i, w), w);
      if (moves_positions) coordinate = choice(is_nan(coordinate), -1, coordinate);
      taps.push_back(SampledAxis{sizes[i], options, moves_positions}.taps(coordinate));
    }
    return {Sampler{wide_x, sizes, points, w}.sum_of(taps).tensor().to(own, w)};
  };
  return graph::apply_function("grid_sample", operands,
                               {static_cast<int>(options.mode), static_cast<int>(options.padding),
                                options.align_corners, moves_positions},
                               function, w)[0];
}

Tensor grid_sample(const TensorOperand& x, const Tensor& grid, const GridSampleOptions& options) {
  if (const graph::AutocastCall cast("grid_sampler", x.where, {x.tensor, grid}); cast.is_listed())
    return grid_sample(cast(x), cast(grid), options);
  const int axes = graph::tensor_of(x, "grid_sample").rank() - 2;
  require(axes == 2 || axes == 3, "[grid_sample] x is ", x.tensor.shape(), " (at ", At{x.where},
          "); it must have four or five axes");
  return graph::sampled_at(x, grid, options, false);
}

Tensor affine_grid(const TensorOperand& theta, const Shape& sizes, bool align_corners) {
  require(sizes.rank() == 4 || sizes.rank() == 5, "[affine_grid] the sizes are ", sizes, " (at ",
          At{theta.where}, "); there must be four or five");
  return graph::affine_positions(theta, sizes, align_corners, 0);
}

Tensor graph::affine_positions(const TensorOperand& theta, const Shape& sizes, bool align_corners,
                               double single) {
  auto w = theta.where;
  const Tensor given = graph::tensor_of(theta, "affine_grid");
  const int axes = sizes.rank() - 2;
  require(axes >= 1, "[affine_grid] the sizes are ", sizes, " (at ", At{w},
          "); there must be at least three");
  for (std::int64_t size : sizes)
    require(size > 0, "[affine_grid] the sizes are ", sizes, " (at ", At{w},
            "); they must be positive");
  require(is_floating(given.dtype()) && given.shape() == Shape({sizes[0], axes, axes + 1}),
          "[affine_grid] theta is ", given.dtype(), " ", given.shape(), " (at ", At{w},
          "); it must be floating, ", Shape({sizes[0], axes, axes + 1}));
  std::vector<Number> settings = {align_corners, single};
  graph::add_settings(settings, sizes);
  auto function = [&](std::span<const Tensor> t) -> std::vector<Tensor> {
    const DType own = t[0].dtype(), wide = accumulator(own);
    Shape result = {sizes[0]};
    result.insert(result.end(), sizes.begin() + 2, sizes.end());
    result.push_back(axes);
    // Column k of theta, for each position.
    auto column = [&](int k) {
      Shape along(static_cast<std::size_t>(axes) + 2, 1);
      along[0] = sizes[0];
      along[-1] = axes;
      Tensor all = graph::reshape_operand(t[0], t[0].shape(), w).to(wide, w).select(2, k, w);
      return graph::spread(all.reshape(along, w), result, w);
    };
    Formula total = column(axes);
    for (int i = 0; i < axes; ++i) {
      const std::int64_t size = sizes[i + 2];
      const double span = static_cast<double>(align_corners ? size - 1 : size);
      Formula place = graph::places_along(result, i + 1, w).to(wide);
      Formula at = size == 1 ? place.number(single)
                             : (place * 2 - static_cast<double>(size - 1)) / place.number(span);
      total = total + at * column(axes - 1 - i);
    }
    return {total.to(own).tensor()};
  };
  return graph::apply_function("affine_grid", {&given, 1}, settings, function, w)[0];
}

}  // namespace tilewright
