#include "graph/functions/convolving/padding.h"

#include <algorithm>

#include "graph/functions/convolving/windows.h"
#include "graph/functions/indexing/numbered.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/precision/autocast_call.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using std::source_location;

namespace {

struct Edge {
  int axis;
  std::int64_t count;  // that are added
  bool is_front;
};

Tensor part_beyond(const Tensor& x, const Edge& edge, PadMode mode, source_location w) {
  const auto [axis, count, is_front] = edge;
  const std::int64_t size = x.size(axis);
  if (mode == PadMode::circular)
    return is_front ? x.slice(axis, size - count, size, 1, w) : x.slice(axis, 0, count, 1, w);
  if (mode == PadMode::reflect)
    return graph::backwards(x, axis, is_front ? count : size - 2, count, w);
  Tensor last = is_front ? x.slice(axis, 0, 1, 1, w) : x.slice(axis, size - 1, size, 1, w);
  Shape sizes = x.shape();
  sizes[axis] = count;
  return graph::broadcast_to(last, sizes, "pad", w);
}

void require_elements(const Tensor& x, const Edge& edge, PadMode mode, source_location w) {
  const std::int64_t size = x.size(edge.axis), count = edge.count;
  const std::int64_t most = mode == PadMode::reflect    ? size - 1
                            : mode == PadMode::circular ? size
                            : size == 0                 ? 0
                                                        : INT64_MAX;
  require(count <= most, "[pad] ", count, " elements are to be added to axis ", edge.axis, " of ",
          x.shape(), " (at ", At{w}, "); the axis has ", std::max<std::int64_t>(most, 0),
          " to add in this mode");
}

// Negative numbers cut off what is there.
void require_what_is_cut(const Tensor& x, const Shape& pad, source_location w) {
  for (int i = 0; i < std::min(pad.rank() / 2, x.rank()); ++i) {
    const int axis = x.rank() - 1 - i;
    const std::int64_t size = x.size(axis), before = std::min<std::int64_t>(pad[2 * i], 0),
                       after = std::min<std::int64_t>(pad[2 * i + 1], 0);
    require(before >= -size && after >= -size - before, "[pad] ", before, " and ", after,
            " elements are to be added to axis ", axis, " of ", x.shape(), " (at ", At{w},
            "); at most as many as it has, ", size, ", can be cut off");
  }
}

// PyTorch's name of the function that adds elements of x at the borders of so many axes.
std::string_view border_function(const Shape& pad, PadMode mode) {
  constexpr std::string_view reflections[] = {"reflection_pad1d", "reflection_pad2d",
                                              "reflection_pad3d"},
                             replications[] = {"replication_pad1d", "replication_pad2d",
                                               "replication_pad3d"};
  const int axes = pad.rank() / 2;
  if (axes < 1 || axes > 3) return "pad";
  if (mode == PadMode::reflect) return reflections[axes - 1];
  return mode == PadMode::replicate ? replications[axes - 1] : "pad";
}

}  // namespace

Tensor pad(const TensorOperand& given, const Shape& pad, PadMode mode, const Number& value) {
  if (const graph::AutocastCall cast(border_function(pad, mode), given.where); cast.is_listed())
    return tilewright::pad(cast(given), pad, mode, value);
  auto w = given.where;
  Tensor x = graph::tensor_of(given, "pad");
  x = graph::reshape_operand(x, x.shape(), w);
  require_what_is_cut(x, pad, w);
  if (mode == PadMode::constant) {
    graph::require_fits(value, x.dtype(), "pad", w);
    return graph::padded(x, pad, value, w);
  }
  Shape cut;
  for (std::int64_t count : pad) cut.push_back(std::min<std::int64_t>(count, 0));
  // PyTorch's reflect mode sees the elements that are cut off, the other modes do not.
  const bool cuts_first = mode != PadMode::reflect;
  Tensor inner = graph::padded(x, cuts_first ? cut : Shape(pad.size(), 0), 0, w);
  for (int i = 0; i < pad.rank() / 2; ++i) {
    const int axis = x.rank() - 1 - i;
    const Edge front{axis, pad[2 * i], true}, back{axis, pad[2 * i + 1], false};
    for (const Edge& edge : {front, back}) require_elements(inner, edge, mode, w);
    std::vector<Tensor> parts;
    if (front.count > 0) parts.push_back(part_beyond(inner, front, mode, w));
    parts.push_back(inner);
    if (back.count > 0) parts.push_back(part_beyond(inner, back, mode, w));
    if (parts.size() > 1) inner = cat(parts, axis, w);
  }
  return cuts_first ? inner : graph::padded(inner, cut, 0, w);
}

Tensor pad(const TensorOperand& x, const Shape& pad, const Number& value) {
  return tilewright::pad(x, pad, PadMode::constant, value);
}

}  // namespace tilewright
