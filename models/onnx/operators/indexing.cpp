// Operators that read and write elements by numbers that are themselves tensors.
#include <algorithm>
#include <numeric>

#include "graph/functions/indexing/advanced_indexing.h"
#include "graph/functions/indexing/gathering.h"
#include "graph/functions/indexing/scattering.h"
#include "graph/functions/indexing/scatters.h"
#include "models/onnx/operators/table.h"
#include "runtime/base/error.h"
#include "runtime/base/out_of_memory.h"

namespace tilewright::onnx {
namespace indexing_rows {
namespace {

// Index tensors with gaps for the axes before the one that is named.
std::vector<Tensor> along(int axis, const Tensor& index) {
  std::vector<Tensor> indices(static_cast<std::size_t>(axis) + 1);
  indices.back() = index;
  return indices;
}

// Places of an axis that the host knows are looked at here, inside compile() too.
void check_places(const Call& call, std::int64_t size) {
  const Known* known = call.known(1);
  if (known == nullptr) return;
  for (const Number& element : known->elements) {
    const std::int64_t place = element.as_integer();
    require(place >= -size && place < size, "[onnx] index ", place, " is outside an axis of size ",
            size, "; it must be in [", -size, ", ", size, ")");
  }
}

Tensor gathered(const Call& call) {
  Tensor x = call.tensor(0), index = call.tensor(1);
  const int axis = call.axis_within("axis", 0, x.rank());
  check_places(call, x.size(axis));
  return tilewright::index(x, along(axis, index));
}

Tensor gathered_elements(const Call& call) {
  Tensor x = call.tensor(0), index = call.tensor(1).to(i64);
  int axis = call.axis_within("axis", 0, x.rank());
  check_places(call, x.size(axis));
  return gather_elements(x, axis, index);
}

std::optional<ScatterReduction> reduction_of(const Call& call) {
  const std::string name = call.text("reduction", "none");
  for (const auto& [given, reduction] : {std::pair{"add", ScatterReduction::sum},
                                         {"mul", ScatterReduction::prod},
                                         {"max", ScatterReduction::amax},
                                         {"min", ScatterReduction::amin}})
    if (name == given) return reduction;
  if (name != "none") call.refuse("reduction", "must be none, add, mul, max or min");
  return std::nullopt;
}
Tensor scattered_elements(const Call& call) {
  Tensor x = call.tensor(0), index = call.tensor(1).to(i64), from = call.tensor(2);
  int axis = call.axis_within("axis", 0, x.rank());
  check_places(call, x.size(axis));
  if (auto reduction = reduction_of(call))
    return scatter_elements(x, axis, index, from, *reduction);
  return scatter_elements(x, axis, index, from);
}

Tensor gathered_tuples(const Call& call) {
  return gather_nd(call.tensor(0), call.tensor(1).to(i64), call.axis("batch_dims", 0));
}
Tensor scattered_tuples(const Call& call) {
  return scatter_nd(call.tensor(0), call.tensor(1).to(i64), call.tensor(2), reduction_of(call));
}

Tensor one_hot(const Call& call) {
  Tensor index = call.tensor(0), values = call.tensor(2);
  std::int64_t depth = static_cast<std::int64_t>(call.scalar(1).as_double());
  require(depth > 0 && depth < INT32_MAX && values.count() == 2, "[onnx] a depth of ", depth,
          " and [", values.shape(), "] values; a depth from 1 to ", INT32_MAX - 1,
          " and two values, off and on, are wanted");
  int axis = call.axis_within("axis", -1, index.rank() + 1);
  return tilewright::one_hot(index, depth, values, axis);
}

Tensor nonzero(const Call& call) {
  Tensor x = call.tensor(0);
  return tilewright::nonzero(x.rank() == 0 ? x.reshape({1}) : x).transpose(0, 1);
}
Tensor compressed(const Call& call) {
  Tensor x = call.tensor(0);
  std::vector<std::int64_t> places;
  std::vector<double> stays = call.numbers(1);
  for (std::size_t i = 0; i < stays.size(); ++i)
    if (stays[i] != 0) places.push_back(static_cast<std::int64_t>(i));
  int axis = 0;
  if (call.has("axis"))
    axis = call.axis_within("axis", {}, x.rank());
  else
    x = x.reshape({x.count()});
  return tilewright::index(x, along(axis, constant_of(places, {std::ssize(places)})));
}

// -1, 0 or 1; NaNs are equal to each other and above all numbers.
template <typename T>
int ordered(T a, T b) {
  if (a < b || b < a) return a < b ? -1 : 1;
  return static_cast<int>(a != a) - static_cast<int>(b != b);
}
// Rows of a matrix compared element by element, read on the host.
struct RowsOfHost {
  std::vector<Number> elements;
  std::size_t width;
  int compare(std::size_t a, std::size_t b) const {
    for (std::size_t i = 0; i < width; ++i) {
      const Number &x = elements[a * width + i], &y = elements[b * width + i];
      const auto order = x.is_integral() ? ordered(x.as_integer(), y.as_integer())
                                         : ordered(x.as_double(), y.as_double());
      if (order != 0) return order;
    }
    return 0;
  }
};
std::vector<Tensor> unique_of(const Call& call, bool is_sorted) {
  Tensor x = call.tensor(0), rows = x.reshape({x.count()});
  bool is_flat = !call.has("axis");
  int axis = is_flat ? 0 : call.axis_within("axis", {}, x.rank());
  if (!is_flat) rows = x.transpose(0, axis).contiguous();
  std::int64_t count = rows.size(0);
  RowsOfHost host{known_of(rows).elements,
                  static_cast<std::size_t>(count == 0 ? 0 : rows.count() / count)};
  auto order = host_list<std::size_t>("onnx", count);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](auto a, auto b) { return host.compare(a, b) < 0; });
  std::vector<std::int64_t> firsts;
  std::vector<std::int64_t> group(order.size()), counts;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || host.compare(order[i - 1], order[i]) != 0) {
      firsts.push_back(static_cast<std::int64_t>(order[i]));
      counts.push_back(0);
    }
    group[order[i]] = std::ssize(firsts) - 1;
    ++counts.back();
  }
  std::vector<std::size_t> shown(firsts.size());
  std::iota(shown.begin(), shown.end(), 0);
  if (!is_sorted) std::ranges::sort(shown, [&](auto a, auto b) { return firsts[a] < firsts[b]; });
  std::vector<std::int64_t> places(shown.size()), first, many;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    places[shown[i]] = static_cast<std::int64_t>(i);
    first.push_back(firsts[shown[i]]);
    many.push_back(counts[shown[i]]);
  }
  for (std::int64_t& each : group) each = places[static_cast<std::size_t>(each)];
  auto list = [](const std::vector<std::int64_t>& v) { return constant_of(v, {std::ssize(v)}); };
  Tensor chosen = tilewright::index(is_flat ? rows : x, along(axis, list(first)));
  return {chosen, list(first), list(group), list(many)};
}
std::vector<Tensor> unique(const Call& call) { return unique_of(call, call.flag("sorted", true)); }
// ONNX Runtime's, of a list: in the order in which they come first, without the places of these.
std::vector<Tensor> unique_of_list(const Call& call) {
  require(call.rank(0) == 1, "[onnx] [", call.shape(0), "] is no list; one axis is wanted");
  std::vector<Tensor> results = unique_of(call, false);
  results.erase(results.begin() + 1);
  return results;
}

constexpr Operator rows[] = {
    {"Compress", 9, by<compressed>},
    {"Gather", 1, by<gathered>},
    {"GatherElements", 11, by<gathered_elements>},
    {"GatherND", 11, by<gathered_tuples>},
    {"NonZero", 9, by<nonzero>},
    {"OneHot", 9, by<one_hot>},
    {"Scatter", 9, by<scattered_elements>},
    {"ScatterElements", 11, by<scattered_elements>},
    {"ScatterND", 11, by<scattered_tuples>},
    {"Unique", 11, by<unique>},
    {"com.microsoft.Unique", 1, by<unique_of_list>},
};

}  // namespace
}  // namespace indexing_rows

std::span<const Operator> indexing_operators() { return indexing_rows::rows; }

}  // namespace tilewright::onnx
