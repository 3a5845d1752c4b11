// Operators that arrange elements anew: other sizes, cuts, joins and frames.
#include <algorithm>
#include <limits>

#include "graph/functions/convolving/padding.h"
#include "graph/functions/indexing/advanced_indexing.h"
#include "graph/functions/indexing/arranging.h"
#include "graph/functions/indexing/gathering.h"
#include "models/onnx/operators/sizes.h"
#include "models/onnx/operators/table.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace arrangement_rows {
namespace {

// The elements of the axis in the order that `places`, i64 [..], says.
Tensor reordered(const Tensor& x, int axis, const Tensor& places) {
  std::vector<Tensor> indices(static_cast<std::size_t>(axis) + 1);
  indices.back() = places;
  return tilewright::index(x, indices);
}

Tensor transposed(const Call& call) {
  Tensor x = call.tensor(0);
  std::vector<int> order = call.axes("perm");
  if (order.empty())
    for (int axis = x.rank() - 1; axis >= 0; --axis) order.push_back(axis);
  return x.permute(order);
}
Tensor expanded(const Call& call) {
  Tensor x = call.tensor(0);
  Shape wanted = call.integers(1);
  auto shape = broadcast_shapes(x.shape(), wanted);
  require(shape.has_value(), "[onnx] [", x.shape(), "] does not broadcast to [", wanted,
          "]; sizes must be equal or 1, counted from the last axis");
  return x.expand(*shape);
}
Tensor tiled(const Call& call) {
  Tensor x = call.tensor(0);
  Shape repeats = call.integers(1), apart, spread, whole;
  require(repeats.rank() == x.rank(), "[onnx] [", x.shape(), "] is repeated [", repeats,
          "] times; a number an axis is wanted");
  for (int axis = 0; axis < x.rank(); ++axis) {
    apart.insert(apart.end(), {1, x.shape()[axis]});
    spread.insert(spread.end(), {repeats[axis], x.shape()[axis]});
    whole.push_back(repeats[axis] * x.shape()[axis]);
  }
  return x.reshape(apart).expand(spread).reshape(whole);
}
Tensor joined(const Call& call) {
  std::vector<Tensor> parts = call.tensors();
  require(!parts.empty(), "[onnx] it has no inputs; at least one is wanted");
  return cat(parts, call.axis_within("axis", {}, parts[0].rank()));
}
std::vector<Tensor> split(const Call& call) {
  Tensor x = call.tensor(0);
  int axis = call.axis_within("axis", 0, x.rank());
  std::vector<Tensor> parts;
  std::int64_t start = 0;
  for (std::int64_t size : split_sizes(call, axis)) {
    parts.push_back(x.slice(axis, start, start + size));
    start += size;
  }
  return parts;
}
Tensor sliced(const Call& call) {
  Tensor x = call.tensor(0);
  for (const Cut& cut : cuts_of(call))
    if (cut.count == 0)
      x = x.slice(cut.axis, 0, 0);
    else if (cut.step > 0)
      x = x.slice(cut.axis, cut.start, cut.start + (cut.count - 1) * cut.step + 1, cut.step);
    else
      x = reordered(x, cut.axis, cut.start + arange(0, cut.count) * cut.step);
  return x;
}

Tensor depth_to_space(const Call& call) {
  Tensor x = call.tensor(0);
  std::int64_t block = call.integer("blocksize");
  std::string mode = call.text("mode", "DCR");
  require(block <= INT32_MAX, "[onnx] blocks of ", block, "; they have less than 2^31 elements");
  require(x.rank() == 4 && block > 0 && x.size(1) % (block * block) == 0, "[onnx] blocks of ",
          block, " do not fit [", x.shape(), "]; four axes are wanted, with a multiple of ",
          block * block, " channels");
  std::int64_t n = x.size(0), c = x.size(1) / (block * block), h = x.size(2), w = x.size(3);
  Tensor y = mode == "DCR" ? x.reshape({n, block, block, c, h, w}).permute({0, 3, 4, 1, 5, 2})
                           : x.reshape({n, c, block, block, h, w}).permute({0, 1, 4, 2, 5, 3});
  if (mode != "DCR" && mode != "CRD") call.refuse("mode", "is neither DCR nor CRD");
  return y.reshape({n, c, h * block, w * block});
}
Tensor space_to_depth(const Call& call) {
  Tensor x = call.tensor(0);
  std::int64_t block = call.integer("blocksize");
  require(x.rank() == 4 && block > 0 && x.size(2) % block == 0 && x.size(3) % block == 0,
          "[onnx] blocks of ", block, " do not fit [", x.shape(),
          "]; four axes are wanted, with multiples of ", block, " as the last two sizes");
  std::int64_t n = x.size(0), c = x.size(1), h = x.size(2) / block, w = x.size(3) / block;
  return x.reshape({n, c, h, block, w, block})
      .permute({0, 3, 5, 1, 2, 4})
      .reshape({n, c * block * block, h, w});
}

PadMode pad_mode(const Call& call) {
  std::string mode = call.text("mode", "constant");
  if (mode == "reflect") return PadMode::reflect;
  if (mode == "edge") return PadMode::replicate;
  if (mode == "wrap") return PadMode::circular;
  if (mode != "constant") call.refuse("mode", "is none of constant, reflect, edge and wrap");
  return PadMode::constant;
}
// With other modes axis by axis, as pad takes not all axes at once there.
Tensor framed(const Tensor& x, const std::vector<int>& axes, const Shape& pads, PadMode mode,
              const Number& value) {
  Shape before(static_cast<std::size_t>(x.rank()), 0), after = before;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    before[axes[i]] = pads[static_cast<int>(i)];
    after[axes[i]] = pads[static_cast<int>(i + axes.size())];
  }
  if (mode == PadMode::constant) {
    Shape all;
    for (int axis = x.rank() - 1; axis >= 0; --axis)
      all.insert(all.end(), {before[axis], after[axis]});
    return pad(x, all, mode, value);
  }
  Tensor result = x;
  for (int axis = 0; axis < x.rank(); ++axis) {
    std::int64_t size = x.size(axis), count = size + before[axis] + after[axis];
    if (before[axis] == 0 && after[axis] == 0) continue;
    require(size > 0 && count > 0 && count < INT32_MAX, "[onnx] axis ", axis, " of [", x.shape(),
            "] is padded by ", before[axis], " and ", after[axis],
            "; elements are wanted to pad with, and a result of 1 to ", INT32_MAX - 1);
    std::vector<std::int64_t> places;
    // Elements that are cut off are not repeated at the other end.
    const std::int64_t cut =
        mode == PadMode::circular ? std::max<std::int64_t>(-before[axis], 0) : 0;
    std::int64_t period = mode == PadMode::reflect ? std::max<std::int64_t>(2 * size - 2, 1) : size;
    if (mode == PadMode::circular) period -= cut + std::max<std::int64_t>(-after[axis], 0);
    require(period > 0, "[onnx] axis ", axis, " of [", x.shape(), "] is cut by ", before[axis],
            " and ", after[axis], "; elements must remain to be repeated");
    for (std::int64_t i = -before[axis]; i < size + after[axis]; ++i) {
      std::int64_t at = cut + (((i - cut) % period) + period) % period;
      if (mode == PadMode::replicate) at = std::clamp<std::int64_t>(i, 0, size - 1);
      places.push_back(at < size ? at : period - at);
    }
    result = reordered(result, axis, constant_of(places, {std::ssize(places)}));
  }
  return result;
}
Tensor padded(const Call& call) {
  Tensor x = call.tensor(0);
  Shape pads = list_of(call, 1, "pads", 11);
  std::vector<int> axes;
  if (call.has(3))
    for (int axis : call.axes(3)) axes.push_back(call.within(axis, x.rank()));
  else
    for (int axis = 0; axis < x.rank(); ++axis) axes.push_back(axis);
  require(pads.size() == 2 * axes.size(), "[onnx] ", axes.size(), " axes are padded by [", pads,
          "]; ", 2 * axes.size(), " numbers are wanted, those in front and then those behind");
  Number value = is_floating(x.dtype()) ? Number(0.0) : Number(0);
  if (call.opset() < 11) value = Number(call.number("value", 0));
  if (call.has(2) && element_count(call.shape(2)) > 0) value = call.scalar(2);
  return framed(x, axes, pads, pad_mode(call), value);
}
Tensor centred(const Call& call) {
  Tensor x = call.tensor(0);
  Shape wanted = call.integers(1);
  std::vector<int> axes;
  for (int axis : call.axes("axes")) axes.push_back(call.within(axis, x.rank()));
  if (!call.has("axes"))
    for (int axis = 0; axis < x.rank(); ++axis) axes.push_back(axis);
  require(wanted.size() == axes.size(), "[onnx] ", axes.size(), " axes are to have the sizes [",
          wanted, "]; a size each is wanted");
  Shape before, after;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t size = wanted[static_cast<int>(i)];
    require(size >= 0, "[onnx] an axis is to have the size ", size, "; it must be in [0, 2^63)");
    std::int64_t more = size - x.size(axes[i]);
    std::int64_t front = more >= 0 ? more / 2 : -((-more) / 2);
    before.push_back(front);
    after.push_back(more - front);
  }
  before.insert(before.end(), after.begin(), after.end());
  return framed(x, axes, before, PadMode::constant,
                is_floating(x.dtype()) ? Number(0.0) : Number(0));
}

// Elements above or below a diagonal stay.
Tensor triangle(const Call& call) {
  Tensor x = call.tensor(0);
  bool is_upper = call.flag("upper", true);
  std::int64_t offset = call.has(1) ? call.scalar(1).as_integer() : 0;
  require(x.rank() >= 2, "[onnx] [", x.shape(), "] is no matrix; at least two axes are wanted");
  std::int64_t height = x.size(-2), width = x.size(-1);
  offset = std::clamp<std::int64_t>(offset, -height - 1, width + 1);
  return is_upper ? triu(x, offset) : tril(x, offset);
}

// The first elements of each sequence, as many as it says, in the other order.
Tensor sequences_reversed(const Call& call) {
  Tensor x = call.tensor(0), lengths = call.tensor(1).to(i64);
  int time = call.axis_within("time_axis", 0, x.rank()),
      batch = call.axis_within("batch_axis", 1, x.rank());
  require(x.rank() >= 2 && time != batch && time < 2 && batch < 2,
          "[onnx] the axes of time and batch must be the first two");
  return reverse_sequences(x, lengths, batch == 0);
}

constexpr Operator rows[] = {
    {"CenterCropPad", 18, by<centred>},
    {"Concat", 4, by<joined>},
    {"DepthToSpace", 1, by<depth_to_space>},
    {"Expand", 8, by<expanded>},
    {"Flatten", 1, [](const Call& c) { return c.tensor(0).reshape(flattened_sizes(c)); }},
    {"Pad", 2, by<padded>},
    {"Reshape", 5, [](const Call& c) { return c.tensor(0).reshape(reshaped_sizes(c)); }},
    {"ReverseSequence", 10, by<sequences_reversed>},
    {"Slice", 1, by<sliced>},
    {"SpaceToDepth", 1, by<space_to_depth>},
    {"Split", 2, by<split>},
    {"Squeeze", 1, [](const Call& c) { return c.tensor(0).reshape(squeezed_sizes(c)); }},
    {"Tile", 6, by<tiled>},
    {"Transpose", 1, by<transposed>},
    {"Trilu", 14, by<triangle>},
    {"Unsqueeze", 1, [](const Call& c) { return c.tensor(0).reshape(unsqueezed_sizes(c)); }},
    {"com.microsoft.Pad", 1, by<padded>},
    {"com.microsoft.Trilu", 1, by<triangle>},
};

}  // namespace
}  // namespace arrangement_rows

std::span<const Operator> arrangement_operators() { return arrangement_rows::rows; }

}  // namespace tilewright::onnx
