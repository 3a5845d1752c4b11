#include "graph/passes/known_range.h"

#include <algorithm>
#include <utility>

#include "dsl/ir/immediates.h"

namespace tilewright::graph {
namespace {

// Behind so many nodes nothing is looked for.
constexpr int most_nodes_deep = 64;

KnownRange all_of(DType dtype) {
  if (is_boolean(dtype)) return {0, 1};
  const int width = bit_width(dtype);
  if (!is_integer(dtype) || (width == 64 && !is_signed(dtype))) return {};
  if (!is_signed(dtype)) return {0, (std::int64_t{1} << width) - 1};
  const std::int64_t greatest = std::numeric_limits<std::int64_t>::max() >> (64 - width);
  return {-greatest - 1, greatest};
}

bool contains(const KnownRange& outer, const KnownRange& inner) {
  return outer.least <= inner.least && inner.greatest <= outer.greatest;
}
KnownRange joined(const KnownRange& a, const KnownRange& b) {
  return {std::min(a.least, b.least), std::max(a.greatest, b.greatest)};
}

// What an operation, which grows with `a`, gives at the ends; nothing where it overflows.
template <typename Operation>
std::optional<KnownRange> between(Operation operation, const KnownRange& a, std::int64_t for_least,
                                  std::int64_t for_greatest) {
  KnownRange result;
  if (operation(a.least, for_least, &result.least) ||
      operation(a.greatest, for_greatest, &result.greatest))
    return std::nullopt;
  return result;
}

std::optional<KnownRange> sum_of(const KnownRange& a, const KnownRange& b) {
  auto add = [](auto x, auto y, auto* sum) { return __builtin_add_overflow(x, y, sum); };
  return between(add, a, b.least, b.greatest);
}
std::optional<KnownRange> difference_of(const KnownRange& a, const KnownRange& b) {
  auto subtract = [](auto x, auto y, auto* sum) { return __builtin_sub_overflow(x, y, sum); };
  return between(subtract, a, b.greatest, b.least);
}
// By one number that is not negative.
std::optional<KnownRange> product_of(const KnownRange& a, const KnownRange& b) {
  if (b.least != b.greatest && a.least == a.greatest) return product_of(b, a);
  if (b.least != b.greatest || b.least < 0) return std::nullopt;
  auto multiply = [](auto x, auto y, auto* product) {
    return __builtin_mul_overflow(x, y, product);
  };
  return between(multiply, a, b.least, b.least);
}

}  // namespace

KnownRange KnownRanges::of(NodeId id, int depth) {
  const Node& node = graph_.node(id);
  const KnownRange all = all_of(node.dtype);
  if (depth > most_nodes_deep || !(is_integer(node.dtype) || is_boolean(node.dtype))) return all;
  if (auto it = known_.find(id); it != known_.end()) return it->second;
  KnownRange range = computed(node, depth + 1);
  if (!contains(all, range)) range = all;  // it wraps
  return known_[id] = range;
}

KnownRange KnownRanges::computed(const Node& node, int depth) {
  using Rule = KnownRange (KnownRanges::*)(const Node&, int);
  // Of other ops nothing is known.
  static const std::map<Op, Rule> rules = {
      {Op::full, &KnownRanges::of_full},          {Op::arange, &KnownRanges::of_arange},
      {Op::argsort, &KnownRanges::of_places},     {Op::argmax, &KnownRanges::of_places},
      {Op::argmin, &KnownRanges::of_places},      {Op::result, &KnownRanges::of_result},
      {Op::to, &KnownRanges::of_conversion},      {Op::cat, &KnownRanges::of_parts},
      {Op::amin, &KnownRanges::of_first_operand}, {Op::amax, &KnownRanges::of_first_operand},
      {Op::embedding, &KnownRanges::of_rows},     {Op::minimum, &KnownRanges::of_bound},
      {Op::maximum, &KnownRanges::of_bound},      {Op::add, &KnownRanges::of_arithmetic},
      {Op::sub, &KnownRanges::of_arithmetic},     {Op::mul, &KnownRanges::of_arithmetic},
      {Op::div, &KnownRanges::of_division},       {Op::fmod, &KnownRanges::of_division},
      {Op::remainder, &KnownRanges::of_division}, {Op::floor_divide, &KnownRanges::of_division},
      {Op::bitwise_and, &KnownRanges::of_mask},   {Op::where, &KnownRanges::of_choice}};
  if (info(node.op).kind == Kind::view) return of_first_operand(node, depth);
  const auto rule = rules.find(node.op);
  return rule == rules.end() ? all_of(node.dtype) : (this->*rule->second)(node, depth);
}

KnownRange KnownRanges::of_full(const Node& node, int) {
  const std::int64_t value = value_of_full(node).integer;
  return {value, value};
}

KnownRange KnownRanges::of_arange(const Node& node, int) {
  const Attributes& at = node.attributes;
  const std::int64_t steps = std::max<std::int64_t>(node.shape[0], 1) - 1;
  const auto last = sum_of({at.start, at.start},
                           product_of({at.step, at.step}, {steps, steps}).value_or(KnownRange{}));
  return last ? joined({at.start, at.start}, *last) : all_of(node.dtype);
}

KnownRange KnownRanges::places_along(NodeId id, int axis) const {
  return {0, std::max<std::int64_t>(graph_.node(id).shape[axis], 1) - 1};
}

KnownRange KnownRanges::of_places(const Node& node, int) {
  return places_along(node.operands[0], node.op == Op::argsort ? -1 : node.attributes.axes[0]);
}

KnownRange KnownRanges::of_result(const Node& node, int) {
  const Node& of_several = graph_.node(node.operands[0]);
  const bool is_place = of_several.op == Op::max || of_several.op == Op::min;
  return is_place ? places_along(of_several.operands[0], of_several.attributes.axes[0])
                  : all_of(node.dtype);
}

KnownRange KnownRanges::of_conversion(const Node& node, int depth) {
  const DType from = graph_.node(node.operands[0]).dtype;
  return is_integer(from) || is_boolean(from) ? of(node.operands[0], depth) : all_of(node.dtype);
}

KnownRange KnownRanges::of_parts(const Node& node, int depth) {
  KnownRange range = of(node.operands[0], depth);
  for (std::size_t i = 1; i < node.operands.size(); ++i)
    range = joined(range, of(node.operands[i], depth));
  return range;
}

KnownRange KnownRanges::of_first_operand(const Node& node, int depth) {
  return of(node.operands[0], depth);
}

// Zeros from outside of the table.
KnownRange KnownRanges::of_rows(const Node& node, int depth) {
  return joined(of(node.operands[0], depth), {0, 0});
}

KnownRange KnownRanges::of_bound(const Node& node, int depth) {
  const KnownRange a = of(node.operands[0], depth), b = of(node.operands[1], depth);
  if (node.op == Op::minimum) return {std::min(a.least, b.least), std::min(a.greatest, b.greatest)};
  return {std::max(a.least, b.least), std::max(a.greatest, b.greatest)};
}

KnownRange KnownRanges::of_arithmetic(const Node& node, int depth) {
  const KnownRange a = of(node.operands[0], depth), b = of(node.operands[1], depth);
  const auto range = node.op == Op::add   ? sum_of(a, b)
                     : node.op == Op::sub ? difference_of(a, b)
                                          : product_of(a, b);
  return range.value_or(all_of(node.dtype));
}

KnownRange KnownRanges::of_division(const Node& node, int depth) {
  const KnownRange a = of(node.operands[0], depth), by = of(node.operands[1], depth);
  if (by.least != by.greatest || by.least <= 0 || a.least < 0) {
    const bool is_positive = by.least > 0 && node.op == Op::remainder;
    return is_positive ? KnownRange{0, by.greatest - 1} : all_of(node.dtype);
  }
  const std::int64_t divisor = by.least;
  if (node.op == Op::div || node.op == Op::floor_divide)
    return {a.least / divisor, a.greatest / divisor};
  return {0, std::min(a.greatest, divisor - 1)};
}

KnownRange KnownRanges::of_mask(const Node& node, int depth) {
  const KnownRange a = of(node.operands[0], depth), b = of(node.operands[1], depth);
  if (a.least < 0 && b.least < 0) return all_of(node.dtype);
  if (a.least < 0 || b.least < 0) return {0, a.least < 0 ? b.greatest : a.greatest};
  return {0, std::min(a.greatest, b.greatest)};
}

// A choice that is always the same, as of a place counted from the end, is that.
KnownRange KnownRanges::of_choice(const Node& node, int depth) {
  const KnownRange yes = of(node.operands[1], depth), no = of(node.operands[2], depth);
  const std::optional<bool> chosen = truth_of(node.operands[0], depth);
  if (!chosen) return joined(yes, no);
  return *chosen ? yes : no;
}

std::optional<bool> KnownRanges::truth_of(NodeId id, int depth) {
  if (depth > most_nodes_deep) return std::nullopt;
  const Node& node = graph_.node(id);
  if (info(node.op).kind == Kind::view) return truth_of(node.operands[0], depth + 1);
  if (node.op == Op::full) return value_of_full(node).integer != 0;
  if (node.op == Op::logical_not) {
    const std::optional<bool> x = truth_of(node.operands[0], depth + 1);
    return x ? std::optional(!*x) : std::nullopt;
  }
  if (node.op == Op::logical_and || node.op == Op::logical_or) {
    const bool decides = node.op == Op::logical_or;
    const std::optional<bool> a = truth_of(node.operands[0], depth + 1),
                              b = truth_of(node.operands[1], depth + 1);
    if (a == decides || b == decides) return decides;
    return a && b ? std::optional(!decides) : std::nullopt;
  }
  return is_comparison(node.op) ? of_comparison(node, depth + 1) : std::nullopt;
}

std::optional<bool> KnownRanges::of_comparison(const Node& node, int depth) {
  const DType compared = graph_.node(node.operands[0]).dtype;
  const bool is_wider = bit_width(compared) == 64 && !is_signed(compared);
  if (!is_integer(compared) || is_wider) return std::nullopt;
  const KnownRange a = of(node.operands[0], depth), b = of(node.operands[1], depth);
  auto is_less = [](const KnownRange& x, const KnownRange& y) -> std::optional<bool> {
    if (x.greatest < y.least) return true;
    return x.least >= y.greatest ? std::optional(false) : std::nullopt;
  };
  auto negated = [](std::optional<bool> x) { return x ? std::optional(!*x) : std::nullopt; };
  if (node.op == Op::lt) return is_less(a, b);
  if (node.op == Op::gt) return is_less(b, a);
  if (node.op == Op::le) return negated(is_less(b, a));
  if (node.op == Op::ge) return negated(is_less(a, b));
  std::optional<bool> is_equal;
  if (a.greatest < b.least || b.greatest < a.least) is_equal = false;
  if (a.least == a.greatest && b.least == b.greatest && a.least == b.least) is_equal = true;
  return node.op == Op::eq ? is_equal : negated(is_equal);
}

}  // namespace tilewright::graph
