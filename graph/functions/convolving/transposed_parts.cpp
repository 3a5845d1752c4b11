#include "graph/functions/convolving/transposed_parts.h"

#include <algorithm>
#include <numeric>

#include "graph/functions/convolving/windows.h"
#include "graph/functions/indexing/numbered.h"
#include "graph/tensor/functional.h"

namespace tilewright::graph {
namespace {

using std::source_location;

constexpr std::int64_t most_parts = 32;
// Parts read x once each; putting results between each other costs more than two or three copies.
constexpr std::int64_t most_places = 3;  // of an axis that is divided in any case
// Products with the zeros that fill up the filters, per product with a tap: beyond this, another
// axis is divided into parts.
constexpr double most_filled = 1.35;

std::int64_t floor_divided(std::int64_t a, std::int64_t b) { return (a - (a % b + b) % b) / b; }

std::int64_t kernel_of(const TransposedSite& site, int axis) { return site.weight.size(2 + axis); }
std::int64_t blocks_of(const TransposedSite& site, int axis) {
  return (kernel_of(site, axis) + site.stride[axis] - 1) / site.stride[axis];
}

// The axes whose places have convolutions of their own.
std::vector<bool> divided_axes(const TransposedSite& site) {
  const int rank = site.stride.rank();
  std::vector<bool> divided;
  std::vector<double> filled;
  double all = 1;
  for (int i = 0; i < rank; ++i) {
    const std::int64_t stride = site.stride[i];
    divided.push_back(stride > 1 && (stride <= most_places || site.dilation[i] > 1));
    filled.push_back(divided.back() ? 1
                                    : static_cast<double>(blocks_of(site, i) * stride) /
                                          static_cast<double>(kernel_of(site, i)));
    all *= filled.back();
  }
  while (all > most_filled) {
    const auto most = std::ranges::max_element(filled);
    divided[static_cast<std::size_t>(most - filled.begin())] = true;
    all /= *most;
    *most = 1;
  }
  return divided;
}

class Parts {
 public:
  Parts(const TransposedSite& site, std::vector<bool> divided)
      : site_(site), rank_(site.stride.rank()), divided_(std::move(divided)) {}

  std::int64_t count() const {
    std::int64_t parts = 1;
    for (int i = 0; i < rank_; ++i) parts *= is_divided(i) ? site_.stride[i] : 1;
    return parts;
  }

  Tensor all() const {
    auto w = site_.where;
    if (count() == 1) return convolved(site_);
    Tensor y = divided_along(site_, 0);
    Shape joined = {y.size(0), y.size(1)};
    for (int i = 0, axis = 2; i < rank_; ++i, ++axis) {
      joined.push_back(y.size(axis));
      if (is_divided(i)) joined[2 + i] *= y.size(++axis);
    }
    y = y.reshape(joined, w);
    for (int i = 0; i < rank_; ++i) y = y.slice(2 + i, 0, site_.sizes[i], 1, w);
    return y;
  }

 private:
  bool is_divided(int axis) const { return divided_[static_cast<std::size_t>(axis)]; }

  // Divides this axis and those behind it: [N, O, blocks, places, ..], with places behind each axis
  // that is divided; here one of each axis in front.
  Tensor divided_along(const TransposedSite& site, int axis) const {
    auto w = site.where;
    while (axis < rank_ && !is_divided(axis)) ++axis;
    if (axis == rank_) return with_place_axes(convolved(site));
    const std::int64_t stride = site.stride[axis];
    std::vector<Tensor> parts;
    for (std::int64_t place = 0; place < stride; ++place) {
      const std::optional<TransposedSite> part = at_place(site, axis, place);
      parts.push_back(part ? divided_along(*part, axis + 1) : without_taps(site, axis));
    }
    return cat(parts, place_axis(axis), w);
  }
  int place_axis(int axis) const {
    int result = 2;
    for (int i = 0; i <= axis; ++i) result += is_divided(i) && i < axis ? 2 : 1;
    return result;
  }
  Tensor with_place_axes(const Tensor& y) const {
    Shape sizes = {y.size(0), y.size(1)};
    for (int i = 0; i < rank_; ++i) {
      sizes.push_back(y.size(2 + i));
      if (is_divided(i)) sizes.push_back(1);
    }
    return y.reshape(sizes, site_.where);
  }

  // The elements at one place of an axis, a transposed convolution without a stride there; nothing
  // if no tap comes to it.
  static std::optional<TransposedSite> at_place(const TransposedSite& site, int axis,
                                                std::int64_t place) {
    const std::int64_t stride = site.stride[axis], dilation = site.dilation[axis];
    const std::int64_t step = stride / std::gcd(stride, dilation), at = place + site.padding[axis];
    std::int64_t tap = 0;
    while (tap < step && (at - tap * dilation) % stride != 0) ++tap;
    if (tap == step || tap >= kernel_of(site, axis)) return std::nullopt;
    TransposedSite part = site;
    part.weight = site.weight.slice(2 + axis, tap, kernel_of(site, axis), step, site.where);
    part.stride[axis] = 1;
    part.dilation[axis] = dilation * step / stride;
    part.padding[axis] = (at - tap * dilation) / stride;
    part.sizes[axis] = (site.sizes[axis] + stride - 1) / stride;
    return part;
  }
  // The result of `divided_along` for one place of the axis that no tap comes to.
  Tensor without_taps(const TransposedSite& site, int axis) const {
    Shape sizes = {site.x.size(0), site.weight.size(1) * site.groups};
    for (int i = 0; i < rank_; ++i) {
      const std::int64_t stride = i >= axis && is_divided(i) ? site.stride[i] : 1;
      sizes.push_back((site.sizes[i] + stride - 1) / stride);
      if (is_divided(i)) sizes.push_back(i > axis ? stride : 1);
    }
    return of_bias(site, sizes);
  }
  static Tensor of_bias(const TransposedSite& site, const Shape& sizes) {
    auto w = site.where;
    if (!site.bias.defined()) return zeros(sizes, DType::f32, w);
    Shape along(sizes.size(), 1);
    along[1] = sizes[1];
    return broadcast_to(reshape_operand(site.bias, along, w), sizes, "convolution", w);
  }

  // All places of blocks as outputs.
  static Tensor convolved(const TransposedSite& site) {
    auto w = site.where;
    const int rank = site.stride.rank();
    const std::int64_t places = element_count(site.stride);
    Attributes attributes;
    attributes.window_strides = Shape(site.stride.size(), 1);
    attributes.dilations = site.dilation;
    attributes.groups = site.groups;
    Shape blocks, first;
    Tensor x = site.x;
    for (int i = 0; i < rank; ++i) {
      const std::int64_t stride = site.stride[i], padding = site.padding[i];
      blocks.push_back(blocks_of(site, i));
      first.push_back(floor_divided(padding, stride));  // block that the result begins in
      attributes.sizes.push_back(floor_divided(padding + site.sizes[i] - 1, stride) + 1 - first[i]);
      const std::int64_t before = site.dilation[i] * (blocks[i] - 1) - first[i];
      attributes.before.push_back(std::max<std::int64_t>(before, 0));
      if (before < 0) x = x.slice(2 + i, std::min(-before, x.size(2 + i)), x.size(2 + i), 1, w);
    }
    Shape sizes = {x.size(0), site.weight.size(1) * site.groups};
    sizes.insert(sizes.end(), site.sizes.begin(), site.sizes.end());
    if (x.count() == 0) return of_bias(site, sizes);
    std::vector<Tensor> operands = {
        x, filters_by_place(site.weight, site.groups, site.stride, blocks, w)};
    if (site.bias.defined())
      operands.push_back(broadcast_to(reshape_operand(site.bias, {sizes[1], 1}, w),
                                      {sizes[1], places}, "convolution", w)
                             .reshape({sizes[1] * places}, w));
    Tensor y = joined_blocks(apply(Op::convolution, operands, attributes, w), site.stride, w);
    for (int i = 0; i < rank; ++i) {
      const std::int64_t begin = site.padding[i] - first[i] * site.stride[i];
      y = y.slice(2 + i, begin, begin + site.sizes[i], 1, w);
    }
    return y;
  }

  const TransposedSite& site_;
  int rank_;
  std::vector<bool> divided_;
};

}  // namespace

Tensor filters_by_place(const Tensor& weight, std::int64_t groups, const Shape& stride,
                        const Shape& blocks, source_location w) {
  const int rank = stride.rank();
  const std::int64_t in = weight.size(0) / groups, out = weight.size(1);
  Shape behind, apart = {groups, in, out};
  std::vector<int> order = {0, 2}, block_axes;
  for (int i = 0; i < rank; ++i) {
    behind.push_back(blocks[i] * stride[i] - weight.size(2 + i));
    apart.insert(apart.end(), {blocks[i], stride[i]});
    order.push_back(4 + 2 * i);
    block_axes.push_back(3 + 2 * i);
  }
  order.push_back(1);
  order.insert(order.end(), block_axes.begin(), block_axes.end());
  Shape sizes = {groups * out * element_count(stride), in};
  sizes.insert(sizes.end(), blocks.begin(), blocks.end());
  Tensor whole = padded(weight, pads(Shape(stride.size(), 0), behind), 0, w);
  whole = whole.reshape(apart, w);
  for (int axis : block_axes)
    if (const std::int64_t count = whole.size(axis); count > 1)
      whole = backwards(whole, axis, count - 1, count, w);
  return whole.permute(order, w).reshape(sizes, w);
}

Tensor joined_blocks(const Tensor& y, const Shape& stride, source_location w) {
  if (element_count(stride) == 1) return y;
  const int rank = stride.rank();
  Shape apart = {y.size(0), y.size(1) / element_count(stride)}, sizes = apart;
  std::vector<int> order = {0, 1};
  apart.insert(apart.end(), stride.begin(), stride.end());
  for (int i = 0; i < rank; ++i) {
    apart.push_back(y.size(2 + i));
    sizes.push_back(y.size(2 + i) * stride[i]);
    order.insert(order.end(), {2 + rank + i, 2 + i});
  }
  return y.reshape(apart, w).permute(order, w).reshape(sizes, w);
}

std::optional<Tensor> transposed_in_parts(const TransposedSite& site) {
  const Parts parts(site, divided_axes(site));
  if (parts.count() > most_parts) return std::nullopt;
  return parts.all();
}

}  // namespace tilewright::graph
