#include "models/onnx/operators/sizes.h"

#include <algorithm>

#include "runtime/base/error.h"

namespace tilewright::onnx {

Shape reshaped_sizes(const Call& call) {
  const Shape& from = call.shape(0);
  Shape sizes = call.integers(1);
  bool allows_zero = call.flag("allowzero", false);
  std::int64_t known = 1;
  int open = -1;
  for (int axis = 0; axis < sizes.rank(); ++axis) {
    if (sizes[axis] == 0 && !allows_zero) {
      require(axis < from.rank(), "[onnx] size ", axis, " is to be that of [", from,
              "], which has no such axis; 0 is for the first ", from.rank(), " sizes alone");
      sizes[axis] = from[axis];
    }
    require(sizes[axis] >= -1 && (sizes[axis] != -1 || open < 0), "[onnx] [", from,
            "] is to have the sizes [", sizes, "]; none must be below -1, and one at most -1");
    if (sizes[axis] == -1)
      open = axis;
    else
      require(!__builtin_mul_overflow(known, sizes[axis], &known), "[onnx] the sizes [", sizes,
              "] are too large; fewer than 2^63 elements are wanted");
  }
  if (open >= 0) {
    require(known != 0 && element_count(from) % known == 0, "[onnx] [", from,
            "] is to have the sizes [", sizes, "]; all but -1 must divide its ",
            element_count(from), " elements");
    sizes[open] = element_count(from) / known;
  }
  return sizes;
}

bool has_list(const Call& call, std::size_t input, std::string_view attribute, std::int64_t since) {
  return call.opset() >= since ? call.has(input) : call.has(attribute);
}
Shape list_of(const Call& call, std::size_t input, std::string_view attribute, std::int64_t since) {
  return call.opset() >= since ? call.integers(input) : call.integers(attribute);
}

Shape squeezed_sizes(const Call& call) {
  const Shape& from = call.shape(0);
  bool has_axes = has_list(call, 1, "axes", 13);
  std::vector<int> axes;
  if (has_axes)
    for (std::int64_t axis : list_of(call, 1, "axes", 13))
      axes.push_back(call.within(axis, from.rank()));
  Shape sizes;
  for (int axis = 0; axis < from.rank(); ++axis) {
    bool is_named = std::ranges::find(axes, axis) != axes.end();
    require(!is_named || from[axis] == 1, "[onnx] axis ", axis, " of [", from,
            "] is to be taken away; its size must be 1");
    if (has_axes ? !is_named : from[axis] != 1) sizes.push_back(from[axis]);
  }
  return sizes;
}

Shape unsqueezed_sizes(const Call& call) {
  const Shape& from = call.shape(0);
  Shape added = list_of(call, 1, "axes", 13);
  int rank = from.rank() + added.rank();
  std::vector<bool> is_new(static_cast<std::size_t>(rank));
  for (std::int64_t axis : added) {
    auto at = static_cast<std::size_t>(call.within(axis, rank));
    require(!is_new[at], "[onnx] axis ", axis, " is added twice; each must be another");
    is_new[at] = true;
  }
  Shape sizes;
  auto next = from.begin();
  for (bool each : is_new) sizes.push_back(each ? 1 : *next++);
  return sizes;
}

Shape flattened_sizes(const Call& call) {
  const Shape& from = call.shape(0);
  std::int64_t axis = call.integer("axis", 1);
  int at = axis == from.rank() ? from.rank() : call.within(axis, std::max(from.rank(), 1));
  Shape sizes = {1, 1};
  for (int i = 0; i < from.rank(); ++i) sizes[i < at ? 0 : 1] *= from[i];
  return sizes;
}

Shape parts_of(std::int64_t size, const Shape& sizes) {
  std::int64_t sum = 0;
  for (std::int64_t each : sizes) {
    require(each >= 0 && each <= size, "[onnx] a part of size ", each, " of an axis of ", size,
            "; 0 to ", size, " are wanted");
    sum += each;
  }
  require(sum == size, "[onnx] parts of sizes [", sizes, "] of an axis of ", size,
          "; they must add up to that");
  return sizes;
}
Shape split_sizes(const Call& call, int axis) {
  std::int64_t size = call.shape(0)[axis];
  if (has_list(call, 1, "split", 13)) return parts_of(size, list_of(call, 1, "split", 13));
  std::int64_t count = std::ssize(call.node().outputs);
  require(call.integer("num_outputs", count) == count && count > 0, "[onnx] ", count,
          " results are named; num_outputs is another number");
  std::int64_t each = (size + count - 1) / count;
  Shape sizes;
  for (std::int64_t i = 0; i < count; ++i)
    sizes.push_back(std::clamp<std::int64_t>(size - i * each, 0, each));
  return sizes;
}

std::vector<Cut> cuts_of(const Call& call) {
  const Shape& from = call.shape(0);
  Shape starts = list_of(call, 1, "starts", 10), ends = list_of(call, 2, "ends", 10), axes, steps;
  const bool has_axes = has_list(call, 3, "axes", 10);
  if (has_axes) axes = list_of(call, 3, "axes", 10);
  if (call.has(4)) steps = call.integers(4);
  std::vector<Cut> cuts;
  require(ends.rank() == starts.rank() && (!has_axes || axes.rank() == starts.rank()) &&
              (!call.has(4) || steps.rank() == starts.rank()),
          "[onnx] a slice has ", starts.size(),
          " starts, and other numbers of ends, axes or steps; as many are wanted");
  for (int i = 0; i < starts.rank(); ++i) {
    int axis = call.within(has_axes ? axes[i] : i, from.rank());
    std::int64_t size = from[axis], step = call.has(4) ? steps[i] : 1;
    require(step != 0 && step > INT64_MIN, "[onnx] a slice has the step ", step,
            "; one that is not 0, nor the least of i64, is wanted");
    if (size == 0) {
      cuts.push_back({axis, 0, step, 0});
      continue;
    }
    auto inside = [&](std::int64_t at, std::int64_t least, std::int64_t most) {
      return std::clamp(at < 0 ? at + size : at, least, most);
    };
    std::int64_t start = step > 0 ? inside(starts[i], 0, size) : inside(starts[i], 0, size - 1);
    std::int64_t end = step > 0 ? inside(ends[i], 0, size) : inside(ends[i], -1, size - 1);
    std::int64_t length = step > 0 ? end - start : start - end, stride = step > 0 ? step : -step;
    std::int64_t count = length <= 0 ? 0 : (length - 1) / stride + 1;
    cuts.push_back({axis, start, step, count});
  }
  return cuts;
}

}  // namespace tilewright::onnx
