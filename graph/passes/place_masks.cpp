// Masks that say by places which keys a row sees become causal rows and windows of the attention,
// which then leaves out the keys that no row of a block sees; and masks that say nothing go. As a
// tensor a mask is read for each score, and scores that it hides are computed all the same.
#include <algorithm>
#include <cmath>
#include <vector>

#include "graph/ops/attention_operands.h"
#include "graph/passes/affine_form.h"
#include "graph/passes/passes.h"
#include "graph/passes/rewriter.h"
#include "graph/passes/score_function.h"
#include "graph/passes/score_masks.h"

namespace tilewright::graph {
namespace {

__int128 floor_of(__int128 a, __int128 divisor) {
  const __int128 rest = ((a % divisor) + divisor) % divisor;
  return (a - rest) / divisor;
}

// The keys that row i sees: from i + first on, up to i + last.
struct Band {
  std::optional<std::int64_t> first, last;
};
// A condition on scores that must hold, or must not. Its axes are these of the scores; one of size
// 1 may be none.
struct Condition {
  NodeId id;
  std::vector<int> axes;
  bool wanted;
};
struct Reading {
  Band band;
  std::vector<Condition> rest;  // what no band says
};

class MaskReader {
 public:
  MaskReader(const Graph& graph, const AffineForms& forms, const Shape& scores)
      : graph_(graph), forms_(forms), scores_(scores) {}

  // Nothing where nothing is known.
  std::optional<Reading> read(NodeId mask) {
    std::vector<int> axes;
    for (int axis = 0; axis < scores_.rank(); ++axis) axes.push_back(axis);
    const Condition whole = without_views({mask, axes, true});
    const Node& node = graph_.node(whole.id);
    if (is_boolean(node.dtype)) {
      see(whole);
      const bool says_more = reading_.band.first || reading_.band.last || reading_.rest.empty();
      return says_more ? std::optional(reading_) : std::nullopt;
    }
    if (number_of(graph_, whole.id) == 0.0) return reading_;
    if (node.op != Op::where) return std::nullopt;
    const auto yes = number_of(graph_, node.operands[1]), no = number_of(graph_, node.operands[2]);
    if (!yes || !no) return std::nullopt;
    const bool is_seen = *yes == 0 && *no <= lowest_score;
    if (!is_seen && !(*no == 0 && *yes <= lowest_score)) return std::nullopt;
    see({node.operands[0], whole.axes, is_seen});
    // What is finite hides only from rows that see something.
    const bool hides = std::isinf(is_seen ? *no : *yes);
    if (!hides && !(reading_.rest.empty() && each_row_sees_some())) return std::nullopt;
    return reading_;
  }

 private:
  Condition without_views(Condition at) const {
    for (;;) {
      const Node& node = graph_.node(at.id);
      if (node.op == Op::reshape) {
        auto axes = axes_before(graph_.node(node.operands[0]).shape, node.shape, at.axes);
        if (!axes) return at;
        at.axes = std::move(*axes);
      } else if (node.op != Op::expand) {
        return at;
      }
      at.id = node.operands[0];
    }
  }
  void see(const Condition& viewed) {
    const Condition at = without_views(viewed);
    const Node& node = graph_.node(at.id);
    if (const auto known = forms_.constant(at.id); known && (*known != 0) == at.wanted) return;
    if (node.op == Op::logical_not) return see({node.operands[0], at.axes, !at.wanted});
    const bool is_both = node.op == Op::logical_and || node.op == Op::bitwise_and,
               is_either = node.op == Op::logical_or || node.op == Op::bitwise_or;
    if (at.wanted ? is_both : is_either) {
      for (NodeId operand : node.operands) see({operand, at.axes, at.wanted});
    } else if (!see_band(at)) {
      reading_.rest.push_back(at);
    }
  }

  // A comparison of what grows with the key and shrinks with the row, or the other way round.
  bool see_band(const Condition& at) {
    const Node& node = graph_.node(at.id);
    const Op op = node.op;
    if (op != Op::lt && op != Op::le && op != Op::gt && op != Op::ge) return false;
    if (!is_integer(graph_.node(node.operands[0]).dtype)) return false;
    const auto distance = forms_.difference(node.operands[0], node.operands[1]);
    if (!distance) return false;
    std::int64_t by_row = 0, by_key = 0;
    for (int axis = 0; axis < node.shape.rank(); ++axis) {
      const std::int64_t step = distance->strides[axis];
      if (step == 0) continue;
      const int of_scores = at.axes[static_cast<std::size_t>(axis)];
      if (of_scores < scores_.rank() - 2) return false;
      (of_scores == scores_.rank() - 1 ? by_key : by_row) = step;
    }
    if (by_key == 0 || by_row != -by_key) return false;
    // by_key * (key - row) <= bound, or >= bound.
    const bool is_upper = (op == Op::lt || op == Op::le) == at.wanted;
    const bool is_strict = (op == Op::lt || op == Op::gt) == at.wanted;
    __int128 bound = -static_cast<__int128>(distance->offset), by = by_key;
    if (is_strict) bound += is_upper ? -1 : 1;
    const bool is_last = is_upper == (by > 0);
    if (by < 0) {
      bound = -bound;
      by = -by;
    }
    return limit(is_last, is_last ? floor_of(bound, by) : -floor_of(-bound, by));
  }
  bool limit(bool is_last, __int128 to) {
    constexpr std::int64_t most = std::int64_t{1} << 31;
    if (to < -most || to > most) return false;
    std::optional<std::int64_t>& end = is_last ? reading_.band.last : reading_.band.first;
    const auto now = static_cast<std::int64_t>(to);
    if (!end || (is_last ? now < *end : now > *end)) end = now;
    return true;
  }
  bool each_row_sees_some() const {
    const auto& [first, last] = reading_.band;
    if (scores_[-1] == 0 || (last && *last < 0)) return false;
    return !first || ((!last || *first <= *last) && scores_[-2] - 1 + *first < scores_[-1]);
  }

  const Graph& graph_;
  const AffineForms& forms_;
  const Shape& scores_;
  Reading reading_;
};

// The condition as a mask for all scores.
NodeId spread(const Condition& condition, const Shape& scores, const Rewriter& rewriter,
              GraphBuilder& builder) {
  NodeId made = rewriter.at(condition.id);
  const Shape own = builder.node(made).shape;
  Shape shape(scores.size(), 1);
  for (int axis = 0; axis < own.rank(); ++axis)
    if (own[axis] != 1) shape[condition.axes[static_cast<std::size_t>(axis)]] = own[axis];
  if (!condition.wanted) made = builder.append(Op::logical_not, {made});
  if (shape != own) made = builder.append(Op::reshape, {made}, {.axes = {}, .sizes = shape});
  if (shape != scores) made = builder.append(Op::expand, {made}, {.axes = {}, .sizes = scores});
  return made;
}

}  // namespace

Graph place_masks(const Graph& graph) {
  const bool has_masks = std::ranges::any_of(graph.nodes, [](const Node& node) {
    return node.op == Op::attention && node.operands.size() > 3;
  });
  if (!has_masks) return graph;
  const AffineForms forms(graph);
  return rewrite(graph, [&](Rewriter& rewriter, NodeId id) -> std::optional<NodeId> {
    const Node& node = graph.node(id);
    if (node.op != Op::attention || node.operands.size() < 4) return std::nullopt;
    const AttentionOperands given(node.attributes, node.operands.size(), [&](std::size_t i) {
      return graph.node(node.operands[i]).shape.size();
    });
    if (given.mask == 0) return std::nullopt;
    const Shape& scores = graph.node(node.operands[given.mask]).shape;
    const auto reading = MaskReader(graph, forms, scores).read(node.operands[given.mask]);
    if (!reading) return std::nullopt;
    Attributes attributes = node.attributes;
    if (const auto& [first, last] = reading->band; first || last) {
      // A window ends where its row stands.
      if (!last || attributes.causal || (first && *first > *last)) return std::nullopt;
      attributes.causal = true;
      attributes.start = *last;
      if (first) attributes.window = *last - *first + 1;
    }
    GraphBuilder builder = rewriter.builder(node);
    std::optional<NodeId> mask;
    for (const Condition& condition : reading->rest) {
      const NodeId made = spread(condition, scores, rewriter, builder);
      mask = mask ? builder.append(Op::logical_and, {*mask, made}) : made;
    }
    std::vector<NodeId> operands = rewriter.operands_of(node);
    if (mask)
      operands[given.mask] = *mask;
    else
      operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(given.mask));
    return builder.append(Op::attention, operands, attributes);
  });
}

}  // namespace tilewright::graph
