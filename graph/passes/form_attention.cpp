// Products around a softmax become attention, whose scores never lie in memory and whose programs
// serve many sizes. Exporters write it out: softmax(q k^T * c + mask) v, with views between, with
// the number on either side of the product, with several masks, added or chosen, and with rows that
// see nothing made 0 afterwards. What is none of these, but elementwise, is a function of scores
// (score_function.h).
#include <algorithm>
#include <cmath>
#include <limits>
#include <ranges>
#include <vector>

#include "graph/ir/shape_rules.h"
#include "graph/passes/passes.h"
#include "graph/passes/rewriter.h"
#include "graph/passes/score_function.h"
#include "graph/passes/score_masks.h"

namespace tilewright::graph {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Mask {
  enum class Kind : std::uint8_t { added, seen, hidden };
  NodeId node;  // of the shape that scores have there
  Kind kind;
  double number;  // times which it is added; or the score of what is not seen
};
// What scores are made of.
struct Scores {
  NodeId product = 0;
  double factor = 1;
  double cap = 0;  // 0: none; the factor is of what is under it
  std::vector<Mask> masks;
  // Where a function is between them and the masks: what it is of, and what it makes.
  std::optional<NodeId> before = {}, after = {};
};
// Masks that are computed for more elements are rather computed where they are added.
constexpr std::int64_t most_added = std::int64_t{1} << 18;

// Scores of few bits are as good in more, in which they are carried.
bool is_carried(DType dtype) { return dtype == DType::f32 || is_float16(dtype); }

// Finds what a node of the old graph is made of.
class Matcher {
 public:
  explicit Matcher(const Graph& graph) : graph_(graph), uses_(graph.nodes.size()) {
    for (const Node& node : graph.nodes)
      for (NodeId operand : node.operands) ++uses_[operand];
    for (NodeId id : graph.outputs) ++uses_[id];
    for (const Mutation& m : graph.mutations) ++uses_[m.value];
  }
  const Graph& graph() const { return graph_; }
  const std::vector<int>& uses() const { return uses_; }
  const Node& node(NodeId id) const { return graph_.node(id); }
  NodeId operand(NodeId id, std::size_t i) const { return node(id).operands[i]; }

  // What an element of it is, where that is one number.
  std::optional<double> number_of(NodeId id) const { return graph::number_of(graph_, id); }
  // What it is a multiple of, and how many times: x * c, c * x or x / c.
  struct Multiple {
    NodeId of;
    double factor;
  };
  std::optional<Multiple> multiple(NodeId id) const {
    const Op op = node(id).op;
    if (op != Op::mul && op != Op::div) return std::nullopt;
    const std::optional<double> right = number_of(operand(id, 1));
    if (op == Op::div)
      return right && *right != 0 ? std::optional(Multiple{operand(id, 0), 1 / *right})
                                  : std::nullopt;
    if (right) return Multiple{operand(id, 0), *right};
    const std::optional<double> left = number_of(operand(id, 0));
    return left ? std::optional(Multiple{operand(id, 1), *left}) : std::nullopt;
  }
  // Another form of the same matrices: elements in the same order and rows, or in another dtype.
  bool is_form(NodeId id) const {
    const Node& n = node(id);
    if (n.op == Op::to) return is_carried(n.dtype) && is_carried(node(n.operands[0]).dtype);
    return is_view(id);
  }
  bool is_view(NodeId id) const {
    const Node& n = node(id);
    if (n.op != Op::reshape && n.op != Op::expand) return false;
    const Shape &to = n.shape, &from = node(n.operands[0]).shape;
    return to.rank() >= 2 && from.rank() >= 2 && to[-1] == from[-1] && to[-2] == from[-2] &&
           element_count(to) == element_count(from);
  }
  // Without forms that nothing else reads.
  NodeId plain(NodeId id) const {
    while (uses_[id] == 1 && is_form(id)) id = operand(id, 0);
    return id;
  }

  // The scores of the softmax that these weights are, and whether a row that sees nothing is 0.
  struct Weights {
    NodeId scores;
    bool zero_unseen;
  };
  std::optional<Weights> weights(NodeId id) const {
    id = plain(id);
    if (uses_[id] != 1) return std::nullopt;
    if (is_softmax(id)) return Weights{operand(id, 0), false};
    if (node(id).op != Op::where || number_of(operand(id, 1)) != 0.0) return std::nullopt;
    const NodeId softmax = plain(operand(id, 2));
    if (!is_softmax(softmax) || uses_[softmax] != 1) return std::nullopt;
    const NodeId scores = without_unseen(operand(softmax, 0));
    if (!is_unseen(operand(id, 0), scores)) return std::nullopt;
    return Weights{scores, true};
  }

  // Scores with what is made of them; `uses` is how many nodes of the pattern read them.
  std::optional<Scores> scores(NodeId id, int uses) const {
    Scores scores;
    if (find(id, uses, scores) &&
        !std::ranges::any_of(scores.masks, [&](const Mask& mask) { return is_large_sum(mask); }))
      return scores;
    Scores changed;
    if (uses_[id] == uses && find_function(id, changed)) return changed;
    return without_function(id, uses);
  }
  std::optional<Scores> without_function(NodeId id, int uses) const {
    Scores scores;
    return find(id, uses, scores) ? std::optional(scores) : std::nullopt;
  }

 private:
  // Whether it is computed element by element from what is smaller, for many rows and keys. What
  // chooses between two numbers says which keys are seen, and may be causal (place_masks).
  bool is_large_sum(const Mask& mask) const {
    NodeId id = mask.node;
    while (node(id).op == Op::expand || node(id).op == Op::reshape) id = operand(id, 0);
    if (node(id).op == Op::where && number_of(operand(id, 1)) && number_of(operand(id, 2)))
      return false;
    const Shape& shape = node(id).shape;
    return mask.kind == Mask::Kind::added && info(node(id).op).is_elementwise &&
           shape.rank() >= 2 && shape[-1] > 1 && shape[-2] > 1 && element_count(shape) > most_added;
  }
  // A function of a product and its factor, under masks that hide.
  bool find_function(NodeId id, Scores& scores) const {
    for (;;) {
      const Node& n = node(id);
      const std::size_t masks = scores.masks.size();
      if (n.op != Op::where) break;
      for (std::size_t side : {std::size_t{1}, std::size_t{2}})
        if (const auto other = number_of(n.operands[3 - side]);
            other && *other <= lowest_score && scores.masks.size() == masks) {
          scores.masks.push_back(
              {n.operands[0], side == 1 ? Mask::Kind::seen : Mask::Kind::hidden, *other});
          id = n.operands[side];
        }
      if (scores.masks.size() == masks || uses_[id] != 1) break;
    }
    if (!scores.masks.empty() && uses_[id] != 1) return false;
    for (NodeId source : elementwise_sources(graph_, id)) {
      Scores plain;
      if (!find(source, uses_[source], plain) || !plain.masks.empty()) continue;
      scores.product = plain.product;
      scores.factor = plain.factor;
      scores.cap = plain.cap;
      scores.before = source;
      scores.after = id;
      return true;
    }
    return false;
  }

  // Scores down to a product; `uses` is how many nodes of the pattern read them.
  bool find(NodeId id, int uses, Scores& scores) const {
    if (uses_[id] != uses) return false;
    const Node& n = node(id);
    if (n.op == Op::matmul) {
      scores.product = id;
      return true;
    }
    if (is_form(id)) return find(n.operands[0], 1, scores);
    if (auto multiple = this->multiple(id)) {
      scores.factor *= multiple->factor;
      return find(multiple->of, 1, scores);
    }
    if (scores.cap != 0) return false;  // what is under a cap is a product and its factor
    if (n.op == Op::tanh) return find_capped(n, scores);
    if (n.op == Op::where) return find_chosen(n, scores);
    if (n.op != Op::add && n.op != Op::sub) return false;
    for (std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      if (side == 1 && n.op == Op::sub) break;
      Scores rest = scores;
      const double sign = n.op == Op::sub ? -1 : 1;
      rest.masks.push_back({n.operands[1 - side], Mask::Kind::added, sign * scores.factor});
      if (!find(n.operands[side], 1, rest)) continue;
      scores = std::move(rest);
      return true;
    }
    return false;
  }

  bool is_softmax(NodeId id) const {
    return node(id).op == Op::softmax && node(id).attributes.axes[0] == node(id).shape.rank() - 1;
  }
  // A tangent is odd: the sign of what it is multiplied by goes to what is under it.
  bool find_capped(const Node& tangent, Scores& scores) const {
    const double cap = std::abs(scores.factor);
    if (cap == 0 || !std::isfinite(cap)) return false;
    scores.cap = cap;
    return find(tangent.operands[0], 1, scores);
  }
  // Scores where they are seen, elsewhere a number that is as good as none.
  bool find_chosen(const Node& choice, Scores& scores) const {
    for (std::size_t side : {std::size_t{1}, std::size_t{2}}) {
      const std::optional<double> other = number_of(choice.operands[3 - side]);
      if (!other || *other > lowest_score || scores.factor <= 0) continue;
      scores.masks.push_back({choice.operands[0], side == 1 ? Mask::Kind::seen : Mask::Kind::hidden,
                              *other * scores.factor});
      return find(choice.operands[side], 1, scores);
    }
    return false;
  }
  // The scores that are 0 in rows that see nothing, which gives the softmax a derivative there.
  NodeId without_unseen(NodeId id) const {
    const bool is_chosen = node(id).op == Op::where && uses_[id] == 1 &&
                           number_of(operand(id, 1)) == 0.0 &&
                           is_unseen(operand(id, 0), operand(id, 2));
    return is_chosen ? operand(id, 2) : id;
  }
  // Whether it says of each row of these scores that all are minus infinity.
  bool is_unseen(NodeId id, NodeId scores) const {
    while (node(id).op == Op::expand || node(id).op == Op::reshape) id = operand(id, 0);
    auto is_none = [&](NodeId equal) {
      return node(equal).op == Op::eq && operand(equal, 0) == scores &&
             number_of(operand(equal, 1)) == -infinity;
    };
    auto is_along_rows = [&](NodeId reduction) {
      return node(reduction).attributes.axes ==
             std::vector<int>{node(operand(reduction, 0)).shape.rank() - 1};
    };
    if (node(id).op == Op::all) return is_along_rows(id) && is_none(operand(id, 0));
    if (node(id).op != Op::logical_not) return false;
    const NodeId any = operand(id, 0);
    if (node(any).op != Op::any || !is_along_rows(any)) return false;
    const NodeId some = operand(any, 0);
    return node(some).op == Op::logical_not && is_none(operand(some, 0));
  }

  const Graph& graph_;
  std::vector<int> uses_;
};

// Writes the attention that a product is.
class Former {
 public:
  Former(Rewriter& rewriter, const Matcher& matcher, const AffineForms& forms, NodeId id)
      : rewriter_(rewriter),
        matcher_(matcher),
        forms_(forms),
        id_(id),
        builder_(rewriter.builder(matcher.node(id))) {}

  std::optional<NodeId> form() {
    const Node& node = matcher_.node(id_);
    const auto weights = matcher_.weights(node.operands[0]);
    if (!weights) return std::nullopt;
    const NodeId scored = weights->scores;
    const int uses = weights->zero_unseen ? 2 : 1;
    auto found = matcher_.scores(scored, uses);
    std::optional<ScoreFunction> function;
    if (found && found->after && fits(*found, scored) && !(function = this->function(*found)))
      found = matcher_.without_function(scored, uses);
    if (!found || !fits(*found, scored)) return std::nullopt;
    const Scores& scores = *found;

    const Node& product = matcher_.node(scores.product);
    Attributes attributes;
    attributes.number = scores.factor;
    attributes.cap = scores.cap;
    NodeId q = product.operands[0], v = node.operands[1];
    q = without_factor(q, heads(rows_, depth_), attributes.number);
    const Keys keys = transposed(product.operands[1], attributes.number);
    v = source(v, heads(keys_, depth_));
    std::vector<NodeId> operands = {at(q, heads(rows_, depth_)), keys.made,
                                    at(v, heads(keys_, depth_))};
    if (const auto k = keys.old ? shared(*keys.old) : std::nullopt)
      if (const auto shared_values = shared(v);
          shared_values && matcher_.node(*shared_values).shape == matcher_.node(*k).shape)
        operands = {operands[0], rewriter_.at(*k), rewriter_.at(*shared_values)};
    if (!scores.masks.empty()) operands.push_back(mask(scores.masks));
    if (function) {
      for (const ScoreReading& reading : function->readings)
        operands.push_back(for_scores(reading));
      attributes.bodies = Bodies({std::move(function->body)});
    }
    if (function || !scores.masks.empty()) attributes.nan_unseen = !weights->zero_unseen;
    const NodeId made = builder_.append(Op::attention, operands, attributes);
    return in_shape(made, node.shape);
  }

 private:
  // Whether sizes, dtypes and marks are those of one attention.
  bool fits(const Scores& scores, NodeId scored) {
    const Node &node = matcher_.node(id_), &product = matcher_.node(scores.product);
    const Node &q = matcher_.node(product.operands[0]), &k = matcher_.node(product.operands[1]),
               &v = matcher_.node(node.operands[1]);
    // A product of two axes is that of a layer: its weights lie packed.
    if (q.shape.rank() < 3 || v.shape.rank() < 3) return false;
    rows_ = q.shape[-2];
    depth_ = q.shape[-1];
    keys_ = k.shape[-1];
    if (v.shape[-1] != depth_ || v.shape[-2] != keys_) return false;
    for (const Node* operand : {&k, &v, &node})
      if (operand->dtype != q.dtype) return false;
    if (!is_floating(q.dtype) || is_float8(q.dtype) || element_count(product.shape) == 0 ||
        depth_ == 0 || !std::isfinite(scores.factor))
      return false;
    if (product.origin.mark != node.origin.mark) return false;
    carried_ = q.dtype == DType::f64 ? DType::f64 : DType::f32;
    Shape shape = matcher_.node(scored).shape;
    if (shape.rank() != 4 && product.shape.rank() == 4) shape = product.shape;
    const int leading = shape.rank() - 2;
    heads_ = leading > 1 ? shape[leading - 1] : 1;
    batch_ = element_count(product.shape) / (heads_ * rows_ * keys_);
    // Masks of more axes may not be spread in four.
    return shape.rank() <= 4 || scores.masks.empty();
  }
  Shape heads(std::int64_t rows, std::int64_t columns) const {
    return {batch_, heads_, rows, columns};
  }

  std::optional<ScoreFunction> function(const Scores& scores) const {
    const Shape sizes = heads(rows_, keys_);
    auto axes = axes_before(matcher_.node(*scores.after).shape, sizes, {0, 1, 2, 3});
    if (!axes) return std::nullopt;
    return read_score_function(matcher_.graph(), forms_, matcher_.uses(), *scores.before,
                               *scores.after, std::move(*axes), sizes, carried_);
  }
  // A value of other axes as an operand with an element for each score.
  NodeId for_scores(const ScoreReading& reading) {
    const Shape& own = matcher_.node(reading.id).shape;
    Shape shape(4, 1);
    for (int axis = 0; axis < own.rank(); ++axis)
      if (own[axis] != 1) shape[reading.axes[static_cast<std::size_t>(axis)]] = own[axis];
    return spread(at(reading.id, shape), heads(rows_, keys_));
  }

  // The node of this shape that it is a view of; itself where there is none.
  NodeId source(NodeId id, const Shape& shape) const {
    for (NodeId at = id;; at = matcher_.operand(at, 0)) {
      if (matcher_.node(at).shape == shape) return at;
      if (!matcher_.is_view(at)) return id;
    }
  }
  NodeId without_factor(NodeId id, const Shape& shape, double& factor) const {
    id = source(id, shape);
    while (auto multiple = matcher_.multiple(id)) {
      factor *= multiple->factor;
      id = source(multiple->of, shape);
    }
    return id;
  }
  struct Keys {
    NodeId made;
    std::optional<NodeId> old;
  };
  // Keys as rows, of a product's right side.
  Keys transposed(NodeId id, double& factor) {
    id = without_factor(id, heads(depth_, keys_), factor);
    const Node& node = matcher_.node(id);
    const Shape rows = heads(keys_, depth_);
    if (node.op == Op::permute && node.attributes.axes == std::vector<int>{0, 1, 3, 2}) {
      const NodeId old = without_factor(node.operands[0], rows, factor);
      return {at(old, rows), old};
    }
    return {builder_.append(Op::permute, {at(id, heads(depth_, keys_))}, {.axes = {0, 1, 3, 2}}),
            std::nullopt};
  }
  // Keys or values of fewer heads, where each is there for several.
  std::optional<NodeId> shared(NodeId id) const {
    const Node& all = matcher_.node(id);
    if (all.op != Op::reshape || all.shape != heads(keys_, depth_)) return std::nullopt;
    const Node& spread = matcher_.node(all.operands[0]);
    if (spread.op != Op::expand || spread.shape.rank() != 5 || spread.shape[0] != batch_)
      return std::nullopt;
    const Shape own = {batch_, spread.shape[1], keys_, depth_};
    const NodeId narrow = spread.operands[0];
    if (matcher_.node(narrow).shape != Shape{batch_, own[1], 1, keys_, depth_}) return std::nullopt;
    if (matcher_.node(narrow).op != Op::reshape) return std::nullopt;
    const NodeId found = matcher_.operand(narrow, 0);
    return matcher_.node(found).shape == own ? std::optional(found) : std::nullopt;
  }

  NodeId in_shape(NodeId made, const Shape& shape) {
    if (builder_.node(made).shape == shape) return made;
    return builder_.append(Op::reshape, {made}, {.axes = {}, .sizes = shape});
  }
  NodeId at(NodeId old, const Shape& shape) { return in_shape(rewriter_.at(old), shape); }

  // Masks are put together, the innermost first, before they are spread over heads and rows that
  // share them.
  NodeId mask(const std::vector<Mask>& masks) {
    std::optional<NodeId> added, seen;
    auto see = [&](NodeId some) { seen = seen ? joined(Op::logical_and, *seen, some) : some; };
    auto all = [&] {
      if (!seen) return *added;
      return added ? chosen(*seen, *added, -infinity) : *seen;
    };
    for (const Mask& one : masks | std::views::reverse) {
      if (one.kind == Mask::Kind::added) {
        if (const auto choice = seen_of(one)) {
          see(*choice);
          continue;
        }
        NodeId made = narrow(one.node);
        if (builder_.node(made).dtype != carried_ && (masks.size() > 1 || one.number != 1))
          made = builder_.append(Op::to, {made}, {}, carried_);
        if (one.number != 1) made = joined(Op::mul, made, number(made, one.number));
        added = added ? joined(Op::add, *added, made) : made;
        continue;
      }
      NodeId shown = narrow(one.node);
      if (one.kind == Mask::Kind::hidden) shown = builder_.append(Op::logical_not, {shown});
      if (one.number == -infinity) {
        see(shown);
        continue;
      }
      // Rows whose scores all are as low have equal weights: a number that is added.
      if (seen && !added) added = number_in(carried_, *seen, 0);
      added = chosen(shown, added ? all() : number_in(carried_, shown, 0), one.number);
      seen.reset();
    }
    return spread(all(), heads(rows_, keys_));
  }
  NodeId chosen(NodeId shown, NodeId added, double otherwise) {
    const Shape shape = joint(shown, added);
    return builder_.append(Op::where,
                           {spread(shown, shape), spread(added, shape),
                            builder_.full(builder_.node(added).dtype, shape, otherwise)});
  }
  // A mask that is 0 or minus infinity says what is seen.
  std::optional<NodeId> seen_of(const Mask& mask) {
    const NodeId id = narrow_source(mask.node);
    const Node& choice = matcher_.node(id);
    if (choice.op != Op::where || mask.number <= 0) return std::nullopt;
    const auto yes = matcher_.number_of(choice.operands[1]),
               no = matcher_.number_of(choice.operands[2]);
    if (yes == 0.0 && no == -infinity) return narrow(choice.operands[0]);
    if (yes == -infinity && no == 0.0)
      return builder_.append(Op::logical_not, {narrow(choice.operands[0])});
    return std::nullopt;
  }
  NodeId narrow_source(NodeId id) const {
    if (matcher_.node(id).shape.rank() != 4) id = source(id, heads(rows_, keys_));
    while (matcher_.node(id).op == Op::expand && matcher_.node(id).shape.rank() == 4)
      id = matcher_.operand(id, 0);
    return id;
  }
  // In four axes, those of size 1 as they were.
  NodeId narrow(NodeId old) {
    const NodeId id = narrow_source(old);
    return matcher_.node(id).shape.rank() == 4 ? rewriter_.at(id) : at(id, heads(rows_, keys_));
  }
  NodeId number(NodeId like, double number) {
    return number_in(builder_.node(like).dtype, like, number);
  }
  NodeId number_in(DType dtype, NodeId like, double number) {
    return builder_.full(dtype, Shape(builder_.node(like).shape), number);
  }
  Shape joint(NodeId a, NodeId b) const {
    Shape shape = builder_.node(a).shape;
    for (int axis = 0; axis < shape.rank(); ++axis)
      shape[axis] = std::max(shape[axis], builder_.node(b).shape[axis]);
    return shape;
  }
  NodeId spread(NodeId made, const Shape& shape) {
    if (builder_.node(made).shape == shape) return made;
    return builder_.append(Op::expand, {made}, {.axes = {}, .sizes = shape});
  }
  NodeId joined(Op op, NodeId a, NodeId b) {
    const Shape shape = joint(a, b);
    return builder_.append(op, {spread(a, shape), spread(b, shape)});
  }

  Rewriter& rewriter_;
  const Matcher& matcher_;
  const AffineForms& forms_;
  NodeId id_;
  GraphBuilder builder_;
  std::int64_t batch_ = 1, heads_ = 1, rows_ = 0, keys_ = 0, depth_ = 0;
  DType carried_ = DType::f32;  // of scores
};

}  // namespace

Graph form_attention(const Graph& graph) {
  const Matcher matcher(graph);
  const AffineForms forms(graph);
  return rewrite(graph, [&](Rewriter& rewriter, NodeId id) -> std::optional<NodeId> {
    if (graph.node(id).op != Op::matmul) return std::nullopt;
    return Former(rewriter, matcher, forms, id).form();
  });
}

}  // namespace tilewright::graph
