#include "graph/tensor/memory/strided_copy.h"

#include <cstring>

namespace tilewright::graph {
namespace {

struct Axis {
  std::int64_t size, to, from;  // strides in elements
};

// The axes that matter, neighbours merged where both sides step through them as one axis.
std::vector<Axis> merged_axes(const StridedView& to, const StridedView& from) {
  std::vector<Axis> axes;
  for (int i = 0; i < to.shape.rank(); ++i) {
    Axis axis{to.shape[i], to.strides[i], from.strides[i]};
    if (axis.size == 1) continue;
    if (!axes.empty() && axes.back().to == axis.to * axis.size &&
        axes.back().from == axis.from * axis.size)
      axes.back() = {axes.back().size * axis.size, axis.to, axis.from};
    else
      axes.push_back(axis);
  }
  return axes;
}

template <typename Word>
void copy_line(Word* to, const Word* from, const Axis& axis) {
  if (axis.to == 1 && axis.from == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(axis.size) * sizeof(Word));
    return;
  }
  for (std::int64_t i = 0; i < axis.size; ++i) to[i * axis.to] = from[i * axis.from];
}

template <typename Word>
void copy_axes(Word* to, const Word* from, const Axis* axis, std::size_t count) {
  if (count == 1) return copy_line(to, from, *axis);
  for (std::int64_t i = 0; i < axis->size; ++i)
    copy_axes(to + i * axis->to, from + i * axis->from, axis + 1, count - 1);
}

template <typename Word>
void copy_words(void* to, const StridedView& to_placement, const void* from,
                const StridedView& from_placement) {
  std::vector<Axis> axes = merged_axes(to_placement, from_placement);
  if (axes.empty()) axes.push_back({1, 1, 1});
  copy_axes(static_cast<Word*>(to) + to_placement.offset,
            static_cast<const Word*>(from) + from_placement.offset, axes.data(), axes.size());
}

}  // namespace

void copy_elements(void* to, const StridedView& to_placement, const void* from,
                   const StridedView& from_placement, std::int64_t element_bytes) {
  if (element_count(to_placement.shape) == 0) return;
  switch (element_bytes) {
    case 1: return copy_words<std::uint8_t>(to, to_placement, from, from_placement);
    case 2: return copy_words<std::uint16_t>(to, to_placement, from, from_placement);
    case 4: return copy_words<std::uint32_t>(to, to_placement, from, from_placement);
    default: return copy_words<std::uint64_t>(to, to_placement, from, from_placement);
  }
}

}  // namespace tilewright::graph
