#include "graph/functions/shaping/joining.h"

#include <algorithm>

#include "graph/functions/convolving/padding.h"
#include "graph/functions/shaping/axes.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using std::source_location;
using Tensors = std::vector<Tensor>;

namespace {

void require_some(std::string_view name, const Tensors& tensors, source_location w) {
  require(!tensors.empty(), "[", name, "] there are no tensors (at ", At{w},
          "); one at least is wanted");
}
void require_vectors(std::string_view name, const Tensors& vectors, source_location w) {
  require_some(name, vectors, w);
  for (std::size_t i = 0; i < vectors.size(); ++i)
    require(vectors[i].rank() <= 1, "[", name, "] tensor ", i, " is ", vectors[i].shape(), " (at ",
            At{w}, "); vectors are wanted");
}

Tensors grid_of(const Tensors& vectors, source_location w) {
  Shape sizes;
  Tensors grid;
  for (const Tensor& x : vectors) sizes.push_back(x.count());
  for (int axis = 0; axis < sizes.rank(); ++axis) {
    Shape own(sizes.size(), 1);
    own[axis] = sizes[axis];
    grid.push_back(vectors[static_cast<std::size_t>(axis)].reshape(own, w).expand(sizes, w));
  }
  return grid;
}

}  // namespace

Tensor stack(const Tensors& tensors, int axis, source_location w) {
  require_some("stack", tensors, w);
  Tensors parts;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    require(tensors[i].shape() == tensors[0].shape(), "[stack] tensor ", i, " is ",
            tensors[i].shape(), ", tensor 0 ", tensors[0].shape(), " (at ", At{w},
            "); they must have one shape");
    parts.push_back(tensors[i].unsqueeze(axis, w));
  }
  return cat(parts, axis, w);
}

Tensor hstack(const Tensors& tensors, source_location w) {
  require_some("hstack", tensors, w);
  Tensors parts;
  for (const Tensor& x : tensors) parts.push_back(atleast_1d(x, w));
  return cat(parts, parts[0].rank() == 1 ? 0 : 1, w);
}
Tensor vstack(const Tensors& tensors, source_location w) {
  require_some("vstack", tensors, w);
  Tensors parts;
  for (const Tensor& x : tensors) parts.push_back(atleast_2d(x, w));
  return cat(parts, 0, w);
}
Tensor dstack(const Tensors& tensors, source_location w) {
  require_some("dstack", tensors, w);
  Tensors parts;
  for (const Tensor& x : tensors) parts.push_back(atleast_3d(x, w));
  return cat(parts, 2, w);
}
Tensor column_stack(const Tensors& tensors, source_location w) {
  require_some("column_stack", tensors, w);
  Tensors parts;
  for (const Tensor& x : tensors) parts.push_back(x.rank() < 2 ? x.reshape({x.count(), 1}, w) : x);
  return cat(parts, 1, w);
}

Tensor block_diag(const Tensors& tensors, source_location w) {
  require_some("block_diag", tensors, w);
  std::int64_t width = 0, at = 0;
  Tensors blocks, rows;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    blocks.push_back(atleast_2d(tensors[i], w));
    require(blocks.back().rank() == 2, "[block_diag] tensor ", i, " is ", tensors[i].shape(),
            " (at ", At{w}, "); matrices, vectors and scalars are wanted");
    width += blocks.back().size(1);
  }
  for (const Tensor& x : blocks) {
    rows.push_back(pad({x, w}, {at, width - at - x.size(1)}));
    at += x.size(1);
  }
  return cat(rows, 0, w);
}

Tensors broadcast_tensors(const Tensors& tensors, source_location w) {
  Shape common;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    auto wider = broadcast_shapes(common, tensors[i].shape());
    require(wider.has_value(), "[broadcast_tensors] tensor ", i, " is ", tensors[i].shape(),
            ", those before it ", common, " (at ", At{w}, "); sizes must be equal, or 1");
    common = *wider;
  }
  Tensors views;
  for (const Tensor& x : tensors) views.push_back(x.expand(common, w));
  return views;
}

Tensors meshgrid(const Tensors& vectors, GridOrder order, source_location w) {
  require_vectors("meshgrid", vectors, w);
  Tensors along = vectors;
  const bool is_xy = order == GridOrder::xy && vectors.size() > 1;
  if (is_xy) std::swap(along[0], along[1]);
  Tensors grid = grid_of(along, w);
  if (is_xy) std::swap(grid[0], grid[1]);
  return grid;
}

Tensor cartesian_prod(const Tensors& vectors, source_location w) {
  require_vectors("cartesian_prod", vectors, w);
  if (vectors.size() == 1) return vectors[0];
  return column_stack(
      [&] {
        Tensors columns = grid_of(vectors, w);
        for (Tensor& x : columns) x = x.reshape({x.count()}, w);
        return columns;
      }(),
      w);
}

}  // namespace tilewright
