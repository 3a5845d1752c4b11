#include "graph/tensor/index_ranges.h"

#include <algorithm>
#include <atomic>

#include "graph/ir/location.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/memory/step.h"
#include "graph/tensor/recording/graph_break.h"
#include "runtime/base/error.h"
#include "runtime/cpu/parallel.h"

namespace tilewright::graph {
namespace {

constexpr std::int64_t many_numbers = 1 << 16;  // which several threads look at

// True if one of `count` numbers is less than `least` or not less than `end`: without a branch and
// with what vectors of any processor can do: the sign of one of two differences says so, and where
// one wraps around, the other does not.
template <typename T>
bool is_any_outside(const T* numbers, std::int64_t count, const IndexRange& range) {
  struct Task {
    const T* numbers;
    std::uint64_t least, last;
    std::atomic<std::uint64_t> signs{0};
  } task{numbers, static_cast<std::uint64_t>(range.least),
         static_cast<std::uint64_t>(range.end) - 1};
  auto look = [](void* context, std::int64_t begin, std::int64_t end, int) {
    Task& t = *static_cast<Task*>(context);
    const std::uint64_t least = t.least, last = t.last;
    std::uint64_t signs = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      const auto number = static_cast<std::uint64_t>(static_cast<std::int64_t>(t.numbers[i]));
      signs |= (number - least) | (last - number);
    }
    t.signs.fetch_or(signs, std::memory_order_relaxed);
  };
  if (count < many_numbers)
    look(&task, 0, count, 0);
  else
    parallel_for(count, look, &task);
  return static_cast<std::int64_t>(task.signs.load(std::memory_order_relaxed)) < 0;
}

// The first of `count` numbers that is outside, if there is one.
template <typename T>
std::optional<std::int64_t> outside(const T* numbers, std::span<const std::int64_t> offsets,
                                    std::int64_t count, const IndexRange& range) {
  auto is_wrong = [&](T n) { return !is_inside(range, static_cast<std::int64_t>(n)); };
  if (!offsets.empty()) {
    for (std::int64_t at : offsets)
      if (is_wrong(numbers[at])) return static_cast<std::int64_t>(numbers[at]);
    return std::nullopt;
  }
  if (!is_any_outside(numbers, count, range)) return std::nullopt;
  const T* found = std::find_if(numbers, numbers + count, is_wrong);
  return found == numbers + count ? std::nullopt : std::optional(static_cast<std::int64_t>(*found));
}

}  // namespace

bool is_inside(const IndexRange& range, std::int64_t element) {
  return (element >= range.least && element < range.end) || element == range.ignored;
}

// Without the node, if one of a foreign program used the index.
static OutsideText text_around(const IndexRange& range) {
  using Noun = IndexRange::Noun;
  const std::string begin = concat("[", range.operation, "] ");
  const std::string interval = concat("[", range.least, ", ", range.end, ")");
  const std::string at = concat(" (at ", At{range.where}, "); ");
  switch (range.noun) {
    case Noun::index:
      return {begin + "index ",
              concat(" is outside ", range.end, " places", at, "it must be in ", interval)};
    case Noun::id:
      return {begin + "id ", concat(" is outside a table of ", range.end, " rows", at,
                                    "ids must be in ", interval)};
    case Noun::row:
      return {begin + "row ",
              concat(" is outside an axis of size ", range.end, at, "rows must be in ", interval)};
    case Noun::target:
      return {begin + "target ",
              concat(" is outside ", range.end, " classes", at, "targets must be in ", interval,
                     range.ignored ? concat(" or ", *range.ignored) : "")};
    case Noun::length:
      return {begin + "length ",
              concat(" is outside ", range.end - 1, " steps", at, "lengths must be from ",
                     range.least, " to ", range.end - 1)};
  }
  __builtin_unreachable();
}

OutsideText text_of_outside(const IndexRange& range) {
  OutsideText text = text_around(range);
  if (!range.node.empty()) text.after += "\n  in " + range.node;
  return text;
}

void raise_outside(const IndexRange& range, std::int64_t element) {
  const OutsideText around = text_of_outside(range);
  const std::string text = concat(around.before, element, around.after);
  if (range.node.empty()) raise_error(text);
  throw ForeignNodeError(text);
}

void require_inside_at(const IndexRange& range, const TensorBody& body,
                       std::span<const std::int64_t> offsets, std::int64_t count) {
  dispatch(body.dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>)
      if (auto found = outside(static_cast<const T*>(address_of(body)), offsets, count, range))
        raise_outside(range, *found);
  });
}

void require_inside(const Tensor& index, IndexRange range) {
  if (index.count() == 0) return;
  if (Capture* capture = Capture::active()) return capture->note_index(index, std::move(range));
  if (index.is_symbolic()) return;  // whoever computes with it says what is wrong
  const Tensor here = index.to(Device::cpu(), range.where);
  StepAccess access(here.body()->token, range.operation, range.where);
  const TensorBody& body = *here.body();
  StridedView place = without_repeats(body.view);
  place.offset = 0;  // from its first element
  require_inside_at(range, body, offsets_of(place), element_count(place.shape));
}

StridedView without_repeats(StridedView place) {
  for (int axis = 0; axis < place.shape.rank(); ++axis)
    if (place.strides[axis] == 0) place.shape[axis] = 1;
  return place;
}

std::vector<std::int64_t> offsets_of(const StridedView& place) {
  if (place.offset == 0 && is_row_major(place.shape, place.strides)) return {};
  return element_offsets(place);
}

}  // namespace tilewright::graph
