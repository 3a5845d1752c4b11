#include "graph/ops/padding_proof.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "graph/ir/location.h"
#include "graph/ops/attention_operands.h"
#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

// A size, as the call has it and as it is padded.
struct Factor {
  std::int64_t given, padded;
  // All elements along it are the same, in both: those of a value that was repeated. So they are
  // also those along other factors of the same size.
  bool is_uniform = false;
  bool operator==(const Factor&) const = default;
  bool is_padded() const { return given != padded; }
};
using Axis = std::vector<Factor>;  // the outermost first; empty: of one element
using Value = std::vector<Axis>;   // of a node, an axis each

// The end of a proof, without the op that it is about.
struct Obstacle {
  std::string text;
  std::optional<NodeId> node = {};
  std::string operation = {}, reason = {};
};

bool is_padded(const Axis& axis) { return std::ranges::any_of(axis, &Factor::is_padded); }
bool is_padded(const Value& value) {
  return std::ranges::any_of(value, [](const Axis& axis) { return is_padded(axis); });
}
// True if places along it are those of one factor, or the same in both.
bool is_simple(const Axis& axis) { return axis.size() <= 1 || !is_padded(axis); }

void add(Axis& axis, Factor factor) {
  if (factor == Factor{1, 1}) return;
  if (!axis.empty() && !factor.is_padded() && !axis.back().is_padded()) {
    axis.back().given *= factor.given;
    axis.back().padded *= factor.padded;
  } else {
    axis.push_back(factor);
  }
}
Axis axis_of(std::int64_t given, std::int64_t padded) {
  Axis axis;
  add(axis, {given, padded});
  return axis;
}
Value value_of(const Shape& given, const Shape& padded) {
  Value value;
  for (int axis = 0; axis < given.rank(); ++axis)
    value.push_back(axis_of(given[axis], padded[axis]));
  return value;
}

// One node of both graphs, with what is known of its operands.
struct NodePair {
  const Node &given, &padded;
  const std::vector<Value>& operands;
  const std::vector<Shape>& shapes;  // of the operands, as given
  Value plain() const { return value_of(given.shape, padded.shape); }
};

void need(bool holds, const char* otherwise) {
  if (!holds) throw Obstacle{otherwise};
}
bool is_uniform(const Axis& axis) { return axis.size() == 1 && axis[0].is_uniform; }
// The axes of what takes these two together, place by place.
Value common_axes(const Value& a, const Value& b) {
  need(a.size() == b.size(), "it takes values together of which one has more axes");
  Value result = a;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (is_uniform(a[i])) result[i] = b[i];
    need(result[i] == b[i] || is_uniform(b[i]),
         "it takes values together that are padded in different places");
  }
  return result;
}
Axis uniform_axis(Axis axis) {
  if (axis.size() == 1) axis[0].is_uniform = axis[0].is_padded();
  return axis;
}
// Along which elements may differ.
Axis varying(Axis axis) {
  for (Factor& factor : axis) factor.is_uniform = false;
  return axis;
}
constexpr const char* goes_over = "it goes over a padded axis";

// The next factor of `axis` from the front of `rest`, which is to be parted where only a part of it
// fits.
void move_factor(Axis& axis, Factor& left, Axis& rest) {
  Factor& front = rest.front();
  if (left.given % front.given == 0 && left.padded % front.padded == 0) {
    left = {left.given / front.given, left.padded / front.padded};
    add(axis, front);
    rest.erase(rest.begin());
    return;
  }
  need(!front.is_padded() && !left.is_padded() && front.given % left.given == 0,
       "it joins or parts a padded axis so that elements change their places");
  add(axis, left);
  front = {front.given / left.given, front.padded / left.padded};
  left = {1, 1};
}

Value reshaped(const NodePair& pair) {
  Axis rest;
  for (const Axis& axis : pair.operands[0])
    for (const Factor& factor : varying(axis)) add(rest, factor);
  Value result;
  for (int i = 0; i < pair.given.shape.rank(); ++i) {
    Factor left{pair.given.shape[i], pair.padded.shape[i]};
    Axis axis;
    while (left != Factor{1, 1}) {
      need(!rest.empty(), "it joins or parts a padded axis so that elements change their places");
      move_factor(axis, left, rest);
    }
    result.push_back(std::move(axis));
  }
  return result;
}

Value expanded(const NodePair& pair) {
  Value result = pair.plain();
  for (std::size_t i = 0; i < result.size(); ++i) {
    const Axis& operand = pair.operands[0][i];
    if (operand.empty()) {  // of one element in both
      result[i] = uniform_axis(result[i]);
      continue;
    }
    need(pair.shapes[0][static_cast<int>(i)] == pair.given.shape[static_cast<int>(i)],
         "it repeats a padded axis");
    result[i] = operand;
  }
  return result;
}

Value sliced(const NodePair& pair) {
  auto axis = static_cast<std::size_t>(pair.given.attributes.axes.at(0));
  need(is_simple(pair.operands[0][axis]), "it takes a part of an axis that was joined with others");
  need(pair.given.attributes.step > 0 || !is_padded(pair.operands[0][axis]),
       "it goes backwards along an axis that is padded");
  Value result = pair.operands[0];
  result[axis] = pair.plain()[axis];
  return result;
}

Value viewed(const NodePair& pair) {
  const Op op = pair.given.op;
  if (op == Op::reshape) return reshaped(pair);
  if (op == Op::expand) return expanded(pair);
  if (op == Op::slice) return sliced(pair);
  need(op == Op::permute, "what it makes of padded values is not known");
  Value result;
  for (int axis : pair.given.attributes.axes)
    result.push_back(pair.operands[0][static_cast<std::size_t>(axis)]);
  return result;
}

Value reduced(const NodePair& pair) {
  Value result = pair.operands[0];
  for (int axis : pair.given.attributes.axes) {
    Axis& over = result[static_cast<std::size_t>(axis)];
    need(!is_padded(over), goes_over);
    over.clear();
  }
  return result;
}

Value multiplied(const NodePair& pair) {
  Value a = pair.operands[0], b = pair.operands[1];
  need(!is_padded(a.back()) && !is_padded(b[b.size() - 2]), goes_over);
  a.back() = b.back();
  b[b.size() - 2] = a[a.size() - 2];
  b.back() = a.back();
  return common_axes(a, b);
}

Value looked_up(const NodePair& pair) {
  need(!is_padded(pair.operands[0]), "its table is padded");
  Value result = pair.operands[1];
  result.push_back(pair.operands[0][1]);
  return result;
}

Value joined(const NodePair& pair) {
  auto along = static_cast<std::size_t>(pair.given.attributes.axes.at(0));
  Value result = pair.operands.back();
  for (const Value& operand : pair.operands) {
    const bool is_last = &operand == &pair.operands.back();
    need(is_last ? is_simple(operand[along]) : !is_padded(operand[along]),
         "it joins something behind a padded axis");
    Value others = operand;
    others[along] = result[along];
    result = common_axes(others, result);
  }
  result[along] = pair.plain()[along];
  return result;
}

// Rows of q see, where causal, the keys up to their own.
Value attended(const NodePair& pair) {
  const Value &q = pair.operands[0], &k = pair.operands[1];
  need(pair.given.op == Op::attention && !pair.given.attributes.gives_sums,
       "what the gradients of an attention make of padding is not known");
  const AttentionOperands given(pair.given.attributes, pair.operands.size(),
                                [&](std::size_t i) { return pair.operands[i].size(); });
  need(!given.are_codes(), "its keys and values are codes");
  need(!given.are_pages(), "its keys and values lie in pages");
  common_axes(k, pair.operands[2]);
  common_axes({q[0]}, {k[0]});
  need(!is_padded(q[1]) && !is_padded(k[1]) && !is_padded(q[3]), goes_over);
  const Attributes& a = pair.given.attributes;
  if (a.causal) need(is_simple(q[2]), "its rows were joined with another axis");
  need(a.bodies.empty(), "what its function makes of padded scores is not known");
  need(given.mask == 0 || !is_padded(pair.operands[given.mask]), "its mask is padded");
  if (is_padded(k[2])) {
    need(a.causal && is_simple(k[2]),
         "its rows see all keys, padded ones too; causal ones would not");
    need(given.position == 0, "its position is not known");
    need(pair.shapes[0][2] - 1 + a.start < pair.shapes[1][2], "its rows see padded keys");
  }
  Value result;
  for (const Axis& axis : q) result.push_back(varying(axis));
  return result;
}

Value ordered(const NodePair& pair) {
  Value result = pair.operands[0];
  need(!is_padded(result.back()), goes_over);
  result.back() = pair.plain().back();
  return result;
}

// Padding lies behind all elements that count.
Value accumulated(const NodePair& pair) {
  const auto along = static_cast<std::size_t>(pair.given.attributes.axes.at(0));
  need(is_simple(pair.operands[0][along]), "its axis was joined with another one");
  Value result = pair.operands[0];
  result[along] = varying(result[along]);
  return result;
}

// Of a batch each by itself.
Value convolved(const NodePair& pair) {
  Value result = pair.plain();
  result[0] = pair.operands[0][0];
  for (std::size_t i = 1; i < result.size(); ++i)
    need(!is_padded(pair.operands[0][i]) && !is_padded(result[i]), goes_over);
  for (std::size_t i = 1; i < pair.operands.size(); ++i)
    need(!is_padded(pair.operands[i]), "its filters are padded");
  return result;
}

Value constant_axes(const NodePair& pair) {
  Value result = pair.plain();
  if (pair.given.op == Op::full)
    for (Axis& axis : result) axis = uniform_axis(axis);
  return result;
}

Value rule(const NodePair& pair) {
  const Value all = pair.plain();
  // What is the same throughout is the same whatever is computed of it.
  if (std::ranges::none_of(pair.operands, [](const Value& value) { return is_padded(value); }) &&
      !is_padded(all) && !pair.operands.empty())
    return all;
  switch (info(pair.given.op).kind) {
    case Kind::input: return all;
    case Kind::constant: return constant_axes(pair);
    case Kind::pointwise:
      return std::accumulate(pair.operands.begin() + 1, pair.operands.end(), pair.operands[0],
                             common_axes);
    case Kind::view: return viewed(pair);
    case Kind::reduction: return reduced(pair);
    case Kind::contraction: return multiplied(pair);
    case Kind::gather: return looked_up(pair);
    case Kind::concat: return joined(pair);
    case Kind::attention: return attended(pair);
    case Kind::convolution: return convolved(pair);
    case Kind::ordering: return ordered(pair);
    case Kind::cumulation: return accumulated(pair);
    case Kind::grouped_product:
    case Kind::custom:
    case Kind::control:
    case Kind::scatter:
    case Kind::accumulation:
    case Kind::projection:
    case Kind::composite: break;
  }
  throw Obstacle{"its effect on padded values is not known"};
}

// Sizes are what differs, and where numbers of an `arange` or a slice end.
bool differ_in_sizes_alone(const Node& given, const Node& padded) {
  Attributes of_sizes = given.attributes;
  of_sizes.sizes = padded.attributes.sizes;
  const Kind kind = info(given.op).kind;
  if (kind == Kind::view || kind == Kind::constant) of_sizes.end = padded.attributes.end;
  return given.op == padded.op && given.dtype == padded.dtype &&
         given.operands == padded.operands && of_sizes == padded.attributes &&
         given.shape.rank() == padded.shape.rank() && given.others.size() == padded.others.size();
}

std::string_view word_of(const Node& node) {
  return info(node.origin.op == Op::input ? node.op : node.origin.op).name;
}
std::string text_of(const Node& node, const std::string& obstacle) {
  std::string where = node.where.line() > 0 ? " at " + describe(node.where) : "";
  return concat(word_of(node), where, ": ", obstacle);
}

class Prover {
 public:
  Prover(const Graph& given, const Graph& padded) : given_(given), padded_(padded) {}

  void go_through(std::size_t arguments, const std::function<bool(std::size_t)>& reads_same) {
    need(given_.inputs == padded_.inputs, "it reads other tensors where it is padded");
    for (std::size_t i = arguments; i < given_.inputs.size(); ++i)
      require_same_input(i, reads_same);
    // Nodes of one graph alone come behind: those before them say where the two part.
    for (NodeId id = 0; id < std::min(given_.nodes.size(), padded_.nodes.size()); ++id) visit(id);
    need(given_.nodes.size() == padded_.nodes.size() && given_.outputs == padded_.outputs,
         "the function computes something else for the padded sizes");
    for (std::size_t i = 0; i < given_.mutations.size(); ++i)
      require_same_mutation(given_.mutations[i], padded_.mutations.at(i));
  }
  std::vector<Shape> results() const {
    std::vector<Shape> shapes;
    for (NodeId id : given_.outputs) {
      need(std::ranges::all_of(values_[id], is_simple),
           "a result has a padded axis joined with another one");
      shapes.push_back(given_.node(id).shape);
    }
    return shapes;
  }

 private:
  void visit(NodeId id) {
    const Node &given = given_.node(id), &padded = padded_.node(id);
    try {
      need(differ_in_sizes_alone(given, padded), "it is another one for the padded sizes");
      need(std::ranges::find(given.shape, 0) == given.shape.end(), "it has no elements");
      std::vector<Value> operands;
      std::vector<Shape> shapes;
      for (NodeId operand : given.operands) {
        operands.push_back(values_[operand]);
        shapes.push_back(given_.node(operand).shape);
      }
      values_.push_back(rule({given, padded, operands, shapes}));
    } catch (const Obstacle& obstacle) {
      throw Obstacle{text_of(given, obstacle.text), given.origin.node, std::string(word_of(given)),
                     obstacle.text};
    }
  }
  // For a tensor that is not an argument: the same memory, perhaps seen further.
  void require_same_input(std::size_t i, const std::function<bool(std::size_t)>& reads_same) const {
    const Shape &shape = given_.node(given_.inputs[i]).shape,
                &longer = padded_.node(padded_.inputs[i]).shape;
    need(reads_same(i) && shape.rank() == longer.rank(),
         "it reads other tensors where it is padded");
    const Strides here = strides(given_, i), there = strides(padded_, i);
    for (int axis = 0; axis < shape.rank(); ++axis)
      need(shape[axis] <= 1 || here[axis] == there[axis],
           "it reads other tensors where it is padded");
  }
  static Strides strides(const Graph& graph, std::size_t i) {
    if (i < graph.input_strides.size() && !graph.input_strides[i].empty())
      return graph.input_strides[i];
    return row_major_strides(graph.node(graph.inputs[i]).shape);
  }
  void require_same_mutation(const Mutation& given, const Mutation& padded) const {
    need(given.input == padded.input && given.value == padded.value &&
             !is_padded(values_[given.value]) && !is_padded(values_[given.input]),
         "it writes a padded tensor in place");
  }

  const Graph &given_, &padded_;
  std::vector<Value> values_;
};

}  // namespace

PaddingProof prove_padding(const Graph& given, const Graph& padded, std::size_t arguments,
                           const std::function<bool(std::size_t)>& reads_same) {
  Prover prover(given, padded);
  try {
    prover.go_through(arguments, reads_same);
    return {{}, prover.results()};
  } catch (const Obstacle& obstacle) {
    return {obstacle.text, {}, obstacle.node, obstacle.operation, obstacle.reason};
  }
}

}  // namespace tilewright::graph
