#include "graph/passes/score_function.h"

#include <algorithm>
#include <map>

#include "dsl/ir/immediates.h"
#include "graph/ops/attention_operands.h"
#include "graph/passes/passes.h"
#include "graph/passes/score_masks.h"

namespace tilewright::graph {
namespace {

// What is longer is rather computed once and read.
constexpr std::size_t most_score_nodes = 96, most_readings = 6;

bool is_joining_view(const Node& node) { return node.op == Op::reshape || node.op == Op::expand; }

class FunctionReader {
 public:
  FunctionReader(const Graph& graph, const AffineForms& forms, NodeId scores, const Shape& sizes,
                 DType carried)
      : graph_(graph),
        forms_(forms),
        scores_(scores),
        sizes_(sizes),
        carried_(carried),
        builder_(function_.body) {
    inputs_.push_back(builder_.input(carried, {}));
    for (std::size_t i = 1; i < ScoreInputs::operands; ++i)
      inputs_.push_back(builder_.input(DType::i32, {}));
  }

  std::optional<ScoreFunction> run(NodeId result, std::vector<int> axes,
                                   const std::vector<int>& uses) {
    std::optional<NodeId> value = visit({result, std::move(axes)});
    if (!value) return std::nullopt;
    for (const auto& [id, count] : read_)
      if (id != result && uses[id] != count) return std::nullopt;
    if (builder_.node(*value).dtype != carried_)
      value = builder_.append(Op::to, {*value}, {}, carried_);
    function_.body.outputs = {*value};
    function_.body = dead_code(canonicalise(decompose(function_.body)));
    for (const Node& node : function_.body.nodes)
      if (node.op != Op::input && node.op != Op::full && info(node.op).kind != Kind::pointwise)
        return std::nullopt;
    return std::move(function_);
  }

 private:
  const Node& node(NodeId id) const { return graph_.node(id); }
  DType dtype_here(DType dtype) const { return is_float16(dtype) ? carried_ : dtype; }

  // Whether scores are part of what it is made of.
  bool is_of_scores(NodeId id) {
    if (id <= scores_) return id == scores_;
    const auto [known, is_new] = of_scores_.emplace(id, false);
    if (!is_new) return known->second;
    return of_scores_[id] = std::ranges::any_of(
               node(id).operands, [&](NodeId operand) { return is_of_scores(operand); });
  }

  std::optional<NodeId> visit(const ScoreReading& at) {
    if (auto made = made_.find({at.id, at.axes}); made != made_.end()) return made->second;
    if (function_.body.nodes.size() > most_score_nodes) return std::nullopt;
    const std::optional<NodeId> value = is_of_scores(at.id) ? of_scores(at) : of_places(at);
    if (value) made_[{at.id, at.axes}] = *value;
    return value;
  }
  std::optional<NodeId> of_scores(const ScoreReading& at) {
    if (at.id == scores_) return inputs_[ScoreInputs::score];
    const Node& n = node(at.id);
    for (NodeId operand : n.operands)
      if (is_of_scores(operand)) ++read_[operand];
    if (is_joining_view(n)) {
      const auto before = without_view(at);
      return before && node(before->id).shape.rank() >= 3 ? visit(*before) : std::nullopt;
    }
    return info(n.op).is_elementwise ? elementwise(at) : std::nullopt;
  }
  std::optional<NodeId> of_places(ScoreReading at) {
    while (is_joining_view(node(at.id)) && !forms_.of(at.id)) {
      const auto before = without_view(at);
      if (!before) break;
      at = *before;
    }
    const Node& n = node(at.id);
    if (const auto number = number_of(graph_, at.id))
      return builder_.full(dtype_here(n.dtype), {}, *number);
    if (const auto& form = forms_.of(at.id)) return counted(at, *form);
    const bool differs = std::ranges::find(at.axes, 2) != at.axes.end() &&
                         std::ranges::find(at.axes, 3) != at.axes.end();
    if (differs && info(n.op).is_elementwise) return elementwise(at);
    return read(at);
  }
  std::optional<ScoreReading> without_view(const ScoreReading& at) const {
    const Node& n = node(at.id);
    const NodeId operand = n.operands[0];
    const Shape& before = node(operand).shape;
    if (n.op == Op::reshape) {
      auto axes = axes_before(before, n.shape, at.axes);
      return axes ? std::optional(ScoreReading{operand, std::move(*axes)}) : std::nullopt;
    }
    std::vector<int> axes = at.axes;
    for (int axis = 0; axis < before.rank(); ++axis)
      if (before[axis] == 1) axes[static_cast<std::size_t>(axis)] = -1;
    return ScoreReading{operand, std::move(axes)};
  }

  std::optional<NodeId> elementwise(const ScoreReading& at) {
    const Node& n = node(at.id);
    if (n.attributes.custom.is_defined() || n.op == Op::random_bits) return std::nullopt;
    std::vector<NodeId> operands;
    for (NodeId operand : n.operands) {
      const auto value = visit({operand, at.axes});
      if (!value) return std::nullopt;
      operands.push_back(*value);
    }
    if (n.op != Op::to) return builder_.append(n.op, operands, n.attributes);
    return converted(operands[0], dtype_here(n.dtype));
  }
  NodeId converted(NodeId value, DType dtype) {
    return builder_.node(value).dtype == dtype ? value
                                               : builder_.append(Op::to, {value}, {}, dtype);
  }

  // start + step * place + ..., in 32 bits where all of it fits.
  std::optional<NodeId> counted(const ScoreReading& at, const AffineForm& form) {
    const Node& n = node(at.id);
    if (!is_integer(n.dtype)) {
      const auto constant = constant_of(form);
      return constant ? std::optional(builder_.full(n.dtype, {}, static_cast<double>(*constant)))
                      : std::nullopt;
    }
    __int128 least = form.offset, most = form.offset, largest = 0;
    for (int axis = 0; axis < n.shape.rank(); ++axis) {
      const __int128 reach = static_cast<__int128>(form.strides[axis]) * (n.shape[axis] - 1);
      (reach < 0 ? least : most) += reach;
      largest = std::max(largest, reach < 0 ? -reach : reach);
    }
    constexpr __int128 limit = std::int64_t{1} << 31;
    const bool is_short = least >= -limit && most < limit && largest < limit;
    const DType dtype = is_short ? DType::i32 : DType::i64;
    auto number = [&](std::int64_t value) {
      return builder_.full({}, ir::Scalar::of_integer(dtype, value));
    };
    std::optional<NodeId> sum;
    auto add = [&](NodeId term) { sum = sum ? builder_.append(Op::add, {*sum, term}) : term; };
    for (int axis = 0; axis < n.shape.rank(); ++axis) {
      const std::int64_t step = form.strides[axis];
      if (step == 0 || n.shape[axis] == 1) continue;
      const int of_scores = at.axes[static_cast<std::size_t>(axis)];
      if (of_scores < 0) return std::nullopt;
      NodeId place =
          converted(inputs_[static_cast<std::size_t>(of_scores) + ScoreInputs::batch], dtype);
      add(step == 1 ? place : builder_.append(Op::mul, {place, number(step)}));
    }
    if (form.offset != 0 || !sum) add(number(form.offset));
    return converted(*sum, n.dtype);
  }

  std::optional<NodeId> read(const ScoreReading& at) {
    const Node& n = node(at.id);
    if (is_float8(n.dtype) || function_.readings.size() == most_readings) return std::nullopt;
    int last = -1;
    for (int axis = 0; axis < n.shape.rank(); ++axis) {
      const int of_scores = at.axes[static_cast<std::size_t>(axis)];
      if (n.shape[axis] == 1) continue;
      if (of_scores <= last || n.shape[axis] != sizes_[of_scores]) return std::nullopt;
      last = of_scores;
    }
    function_.readings.push_back(at);
    const NodeId input = builder_.input(n.dtype, {});
    return converted(input, dtype_here(n.dtype));
  }

  const Graph& graph_;
  const AffineForms& forms_;
  NodeId scores_;
  const Shape& sizes_;
  DType carried_;
  ScoreFunction function_;
  GraphBuilder builder_;
  std::vector<NodeId> inputs_;
  std::map<NodeId, bool> of_scores_;
  std::map<std::pair<NodeId, std::vector<int>>, NodeId> made_;
  std::map<NodeId, int> read_;  // how often what is made of scores is
};

}  // namespace

std::optional<std::vector<int>> axes_before(const Shape& from, const Shape& to,
                                            const std::vector<int>& axes) {
  std::vector<int> before(from.size(), -1);
  int next = 0;
  auto skip = [&] {
    while (next < to.rank() && to[next] == 1) ++next;
  };
  for (int axis = 0; axis < from.rank(); ++axis) {
    if (from[axis] == 1) continue;
    skip();
    if (next == to.rank() || to[next] != from[axis]) return std::nullopt;
    before[static_cast<std::size_t>(axis)] = axes[static_cast<std::size_t>(next++)];
  }
  skip();
  return next == to.rank() ? std::optional(before) : std::nullopt;
}

std::optional<ScoreFunction> read_score_function(const Graph& graph, const AffineForms& forms,
                                                 const std::vector<int>& uses, NodeId scores,
                                                 NodeId result, std::vector<int> axes,
                                                 const Shape& sizes, DType carried) {
  return FunctionReader(graph, forms, scores, sizes, carried).run(result, std::move(axes), uses);
}

std::vector<NodeId> elementwise_sources(const Graph& graph, NodeId result) {
  std::vector<NodeId> found = {result};
  for (std::size_t i = 0; i < found.size() && found.size() < most_score_nodes; ++i) {
    const Node& node = graph.node(found[i]);
    if (!info(node.op).is_elementwise && !is_joining_view(node)) continue;
    for (NodeId operand : node.operands)
      if (std::ranges::find(found, operand) == found.end()) found.push_back(operand);
  }
  return found;
}

}  // namespace tilewright::graph
