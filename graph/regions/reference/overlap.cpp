#include "graph/regions/reference/overlap.h"

#include <algorithm>
#include <cstdlib>
#include <ranges>
#include <vector>

namespace tilewright::graph {
namespace {

struct Digit {
  std::int64_t stride = 0, size = 1;
};

// From the largest stride on.
void sort(std::vector<Digit>& digits) {
  std::ranges::sort(digits, [](const Digit& a, const Digit& b) {
    return std::abs(a.stride) > std::abs(b.stride);
  });
}
// True if numbers below each size, times their strides, have different sums: the steps of each
// stride are longer than all smaller ones reach together.
bool nest(const std::vector<Digit>& digits) {
  std::int64_t reach = 0;
  for (const Digit& digit : digits | std::views::reverse) {
    const std::int64_t stride = std::abs(digit.stride);
    if (stride <= reach) return false;
    reach += (digit.size - 1) * stride;
  }
  return true;
}

// Where a task writes: its place, whose scattered axis goes to any row that there is.
StridedView reach_of(const Task& task) {
  StridedView reach = task.place;
  if (task.kind == TaskKind::scatter) {
    reach.shape[task.scatter_axis] = task.scatter_size;
    reach.strides[task.scatter_axis] = task.scatter_stride;
  }
  return reach;
}

}  // namespace

Extent extent_of(const StridedView& view) {
  Extent extent{view.offset, view.offset};
  for (int axis = 0; axis < view.shape.rank(); ++axis) {
    std::int64_t reach = (view.shape[axis] - 1) * view.strides[axis];
    (reach < 0 ? extent.first : extent.last) += reach;
  }
  return extent;
}

namespace {

template <typename Visit>
void for_each_element(const StridedView& view, const Visit& visit) {
  for (std::int64_t number = 0, count = element_count(view.shape); number < count; ++number) {
    std::int64_t rest = number, place = view.offset;
    for (int axis = view.shape.rank() - 1; axis >= 0; --axis) {
      place += rest % view.shape[axis] * view.strides[axis];
      rest /= view.shape[axis];
    }
    visit(place);
  }
}

// Element by element, of small views; false of others.
bool share_no_element(const StridedView& x, const StridedView& y) {
  constexpr std::int64_t most = 1 << 20;
  const Extent in_x = extent_of(x);
  const std::int64_t reach = in_x.last - in_x.first + 1;
  if (reach > 16 * most || element_count(x.shape) > most || element_count(y.shape) > most)
    return false;
  std::vector<bool> is_in_x(static_cast<std::size_t>(reach));
  for_each_element(
      x, [&](std::int64_t place) { is_in_x[static_cast<std::size_t>(place - in_x.first)] = true; });
  bool is_apart = true;
  for_each_element(y, [&](std::int64_t place) {
    if (place >= in_x.first && place <= in_x.last)
      is_apart &= !is_in_x[static_cast<std::size_t>(place - in_x.first)];
  });
  return is_apart;
}

// True if no element is in both: for views one after the other in memory, or beside each other
// along one axis of a whole; or for small ones that interleave in any way.
bool lie_apart(StridedView x, StridedView y) {
  const Extent in_x = extent_of(x), in_y = extent_of(y);
  if (in_x.last < in_y.first || in_y.last < in_x.first) return true;
  if (x.offset > y.offset) std::swap(x, y);
  if (x.strides != y.strides) return share_no_element(x, y);
  const std::int64_t apart = y.offset - x.offset;
  for (int axis = 0; axis < x.shape.rank(); ++axis) {
    const std::int64_t stride = x.strides[axis];
    if (stride <= 0 || apart % stride != 0 || apart / stride < x.shape[axis]) continue;
    // Both are boxes of one whole if their coordinates are digits of one number there.
    std::vector<Digit> whole;
    for (int i = 0; i < x.shape.rank(); ++i) {
      std::int64_t size = std::max(x.shape[i], (i == axis ? apart / stride : 0) + y.shape[i]);
      if (size != 1) whole.push_back({x.strides[i], size});
    }
    sort(whole);
    if (nest(whole)) return true;
  }
  return share_no_element(x, y);
}

}  // namespace

bool is_injective(const StridedView& view) {
  if (element_count(view.shape) == 0 || is_row_major(view.shape, view.strides)) return true;
  std::vector<Digit> digits;
  for (int axis = 0; axis < view.shape.rank(); ++axis)
    if (view.shape[axis] != 1) digits.push_back({view.strides[axis], view.shape[axis]});
  sort(digits);
  return nest(digits);
}

bool write_apart(const Task& a, const Task& b) {
  return a.storage != b.storage || lie_apart(reach_of(a), reach_of(b));
}
bool writes_apart_from(const Task& writer, const StridedView& read) {
  return lie_apart(reach_of(writer), read);
}

}  // namespace tilewright::graph
