#include "graph/functions/pooling/pooled_axes.h"

#include <limits>

#include "graph/functions/indexing/numbered.h"
#include "graph/ir/location.h"
#include "runtime/base/error.h"

namespace tilewright::graph {

using std::source_location;

Shape pool_values(std::string_view name, std::string_view what, int rank, const Shape& given,
                  std::int64_t missing, std::int64_t least, source_location w) {
  Shape values = given.empty() ? Shape{missing} : given;
  if (values.rank() == 1) values = Shape(static_cast<std::size_t>(rank), values[0]);
  require(values.rank() == rank, "[", name, "] there are ", given.rank(), " values of ", what,
          " (at ", At{w}, "); there must be one, or ", rank);
  for (std::int64_t value : values)
    require(value >= least && value <= INT32_MAX, "[", name, "] a value of ", what, " is ", value,
            " (at ", At{w}, "); it must be in [", least, ", ", INT32_MAX, "]");
  return values;
}

PooledAxes pooled_axes(std::string_view name, int rank, const Tensor& x,
                       const PoolSettings& settings, source_location w) {
  require(x.rank() == rank + 1 || x.rank() == rank + 2, "[", name, "] x is ", x.shape(), " (at ",
          At{w}, "); it must have ", rank + 1, " or ", rank + 2, " axes");
  PooledAxes axes;
  require(!settings.kernel.empty(), "[", name, "] there is no kernel (at ", At{w},
          "); it must have a size, or one an axis");
  axes.windows.kernel = pool_values(name, "the kernel", rank, settings.kernel, 1, 1, w);
  axes.windows.stride = settings.stride.empty()
                            ? axes.windows.kernel
                            : pool_values(name, "the stride", rank, settings.stride, 1, 1, w);
  axes.windows.dilation = pool_values(name, "the dilation", rank, settings.dilation, 1, 1, w);
  const Shape padding = pool_values(name, "the padding", rank, settings.padding, 0, 0, w);
  for (int i = 0; i < rank; ++i) {
    const std::int64_t size = x.size(x.rank() - rank + i), stride = axes.windows.stride[i],
                       pad = padding[i];
    std::int64_t& kernel = axes.windows.kernel[i];
    const std::int64_t dilation = axes.windows.dilation[i];
    std::int64_t span = dilation * (kernel - 1) + 1, room = size + 2 * pad - span;
    const bool reaches_over =
        settings.ceil_mode && size > 0 && room < 0 && room + stride > 0 && 2 * pad <= kernel;
    require(2 * pad <= kernel && (room >= 0 || reaches_over), "[", name, "] a kernel of ", kernel,
            " with a padding of ", pad,
            dilation == 1 ? "" : concat(" and a dilation of ", dilation),
            " does not fit an axis of ", size, " (at ", At{w},
            "); it must be at most that with its padding, which is half a kernel at most");
    std::int64_t count = room < 0 ? 1 : (room + (settings.ceil_mode ? stride - 1 : 0)) / stride + 1;
    if (reaches_over) {
      // One window that reaches over everything, of which nothing counts that is further away.
      kernel = (size + 2 * pad - 1) / dilation + 1;
      span = dilation * (kernel - 1) + 1;
    }
    // A last window must begin in the tensor or what is in front of it.
    if (settings.ceil_mode && (count - 1) * stride >= size + pad) --count;
    axes.sizes.push_back(size);
    axes.counts.push_back(count);
    axes.before.push_back(pad);
    axes.after.push_back((count - 1) * stride + span - size - pad);
  }
  return axes;
}

Formula PooledAxes::starts(const Shape& result, int axis, source_location w) const {
  const int at = result.rank() - rank() + axis;
  return places_along(result, at, w) * static_cast<double>(windows.stride[axis]) -
         static_cast<double>(before[axis]);
}

std::vector<Number> PooledAxes::settings() const {
  std::vector<Number> all;
  for (const Shape& list :
       {windows.kernel, windows.stride, windows.dilation, counts, before, after})
    add_settings(all, list);
  return all;
}

std::pair<Tensor, Formula> greatest_and_place(const Tensor& x, int axis, source_location w) {
  auto [best, first] = max({x, w}, axis);
  Formula place(first, w);
  if (!is_floating(x.dtype())) return {best, place};
  Formula here = places_along(x.shape(), axis, w);
  Formula of_nan = choice(is_nan({x, w}), here, -1);
  Formula last(amax({of_nan.tensor(), w}, {axis}), w);
  return {best, choice(last > last.number(-1), last, place)};
}

Number least_of(DType dtype) {
  if (is_floating(dtype)) return -std::numeric_limits<double>::infinity();
  return is_signed(dtype) ? -(std::int64_t{1} << (bit_width(dtype) - 2)) * 2 : 0;
}

Shape pooled_sizes(const Tensor& x, const Shape& counts) {
  Shape sizes(x.shape().begin(), x.shape().end() - counts.rank());
  sizes.insert(sizes.end(), counts.begin(), counts.end());
  return sizes;
}

}  // namespace tilewright::graph
