// The derivative of attention: an op of its own, which computes scores again and keeps none. With a
// mask of numbers, a function of scores, or keys and values that are codes or in pages it is that
// of the formula written out: scores, their function and masks, weights, and their product with the
// values. So is the derivative of that op.
#include <limits>

#include "graph/ir/evaluate.h"
#include "graph/ops/attention_operands.h"
#include "graph/ops/derivatives/differential.h"

namespace tilewright::graph {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Term matrix_product(const Term& a, const Term& b, DType dtype) {
  return {a.builder, a.builder->append(Op::matmul, {a.id, b.id}, {}, dtype)};
}

// All rows see the first key at least, unless a window, a mask or a function of scores hides it.
bool every_row_sees_a_key(const Attributes& attributes, const AttentionOperands& given) {
  return given.position == 0 && given.mask == 0 && attributes.bodies.empty() &&
         (!attributes.causal || (attributes.window == 0 && attributes.start >= 0));
}

AttentionOperands places_of(const Attributes& attributes, const std::vector<Term>& operands) {
  return {attributes, operands.size(), [&](std::size_t i) { return operands[i].shape().size(); }};
}

// Attention of these operands, as terms of a graph of its own.
class WrittenAttention {
 public:
  WrittenAttention(const Node& node, std::vector<Term> given)
      : at_(node.attributes),
        operands_(std::move(given)),
        places_(places_of(at_, operands_)),
        carried_(accumulator(node.dtype)) {
    const std::vector<Term>& operands = operands_;
    if (places_.are_pages())
      for (std::size_t i : places_.keys_and_values())
        operands_[i] = in_order(operands[i], operands[places_.page_table]);
    if (places_.are_codes()) {
      operands_[1] = decoded(operands[1], operands[places_.key_scales]).to(node.dtype);
      operands_[2] = decoded(operands[2], operands[places_.value_scales]).to(node.dtype);
    }
    const Shape q = operands[0].shape(), k = operands[1].shape();
    sizes_ = {q[0], q[1], q[2], k[2]};
  }

  std::vector<NodeId> results() const {
    const Term scores = masked(changed(scaled()));
    std::vector<NodeId> all = {result(scores).id};
    if (at_.gives_sums) all.push_back(sums(scores).id);
    return all;
  }

  // The gradients of q, k and v, as `attention_gradient` gives them.
  std::vector<Term> gradients(const Term& of_result, const Term& sums, const Term& products) const {
    const Shape of_rows{sizes_[0], sizes_[1], sizes_[2], 1};
    Term before = scaled();
    Term scores = masked(changed(before));
    Term weights = unary(Op::exp, scores - sums.reshape(of_rows).like(scores));
    Term value = turned(for_each_head(operands_[2]));
    Term gradient =
        matrix_product(of_result, value, carried_) - products.reshape(of_rows).like(scores);
    gradient = weights * gradient;
    if (!at_.bodies.empty()) gradient = applied(at_.bodies[1], before, gradient);
    if (at_.cap != 0) {
      Term bent = before * (1 / at_.cap);
      gradient = gradient * (bent * bent * -1.0 + 1.0);
    }
    const DType dtype = of_result.dtype();
    gradient = gradient.to(dtype);
    Term of_q = matrix_product(gradient, for_each_head(operands_[1]), carried_) * at_.number;
    Term of_k = mixed_back(gradient, operands_[0]) * at_.number;
    return {of_q.to(dtype), of_k.to(dtype), mixed_back(weights.to(dtype), of_result).to(dtype)};
  }

 private:
  Term result(const Term& scores) const {
    if (every_row_sees_a_key()) return mixed(softmax(scores));
    Term sees_none = compared(Op::eq, scores.reduce(Op::amax, {3}), -infinity);
    Term hidden = sees_none.like(scores);
    Term weights = softmax(choice(hidden, scores.number(0), scores));
    Term result = mixed(choice(hidden, weights.number(0), weights));
    const double unseen = at_.nan_unseen ? std::numeric_limits<double>::quiet_NaN() : 0;
    return choice(sees_none.like(result), result.number(unseen), result);
  }

  Term sums(Term scores) const {
    Term sees_none = compared(Op::eq, scores.reduce(Op::amax, {3}), -infinity);
    scores = choice(sees_none.like(scores), scores.number(0), scores);
    Term top = scores.reduce(Op::amax, {3});
    Term sums = top + unary(Op::log, summed(unary(Op::exp, scores - top.like(scores)), {3}));
    return choice(sees_none, sums.number(infinity), sums)
        .reshape({sizes_[0], sizes_[1], sizes_[2]});
  }

  // Keys and values of a group, once for each of its heads.
  Term for_each_head(const Term& x) const {
    const Shape own = x.shape();
    const std::int64_t together = sizes_[1] / own[1];
    return x.reshape({own[0], own[1], 1, own[2], own[3]})
        .expand({own[0], own[1], together, own[2], own[3]})
        .reshape({own[0], sizes_[1], own[2], own[3]});
  }

  static Term turned(const Term& x) {
    return x.make(Op::permute, {x.id}, {.axes = {0, 1, 3, 2}, .sizes = {}});
  }

  // For each key the sum of rows times their numbers, over the heads of its group.
  Term mixed_back(const Term& numbers, const Term& rows) const {
    const std::int64_t groups = operands_[1].shape()[1], together = sizes_[1] / groups * sizes_[2];
    Term of_group = numbers.reshape({sizes_[0], groups, together, sizes_[3]});
    return matrix_product(turned(of_group),
                          rows.reshape({sizes_[0], groups, together, rows.shape()[3]}), carried_);
  }

  // Rows of pages, or their scales, one after the other.
  static Term in_order(const Term& pages, const Term& page_table) {
    const Shape own = pages.shape(), table = page_table.shape();
    const Term numbers = page_table.to(DType::i64);
    const Term first = numbers.number(0), last = numbers.number(static_cast<double>(own[0] - 1));
    const Term inside =
        numbers.make(Op::minimum, {numbers.make(Op::maximum, {numbers.id, first.id}).id, last.id});
    const Term lines = pages.reshape({own[0], element_count(own) / own[0]});
    Shape apart = own, joined = own;
    apart.insert(apart.begin(), table[0]);
    apart[1] = table[1];
    joined[0] = table[0];
    joined[2] *= table[1];
    std::vector<int> axes = {0, 2, 1, 3, 4};
    axes.resize(apart.size());
    const Term rows = lines.make(Op::embedding, {lines.id, inside.id}).reshape(apart);
    return rows.make(Op::permute, {rows.id}, {.axes = axes, .sizes = {}}).reshape(joined);
  }

  Term decoded(const Term& codes, const Term& scales) const {
    Shape of_rows = codes.shape();
    of_rows[-1] = 1;
    const Term numbers = codes.to(carried_);
    return numbers * scales.reshape(of_rows).like(numbers);
  }

  Term scaled() const {
    Term scores = matrix_product(operands_[0], turned(for_each_head(operands_[1])), carried_);
    scores = scores * at_.number;
    return at_.cap == 0 ? scores : unary(Op::tanh, scores * (1 / at_.cap)) * at_.cap;
  }

  bool every_row_sees_a_key() const {
    return tilewright::graph::every_row_sees_a_key(at_, places_);
  }

  // An op, since the rule of that has no need of the greatest score.
  static Term softmax(const Term& scores) {
    return scores.make(Op::softmax, {scores.id}, {.axes = {3}, .sizes = {}});
  }

  Term mixed(const Term& weights) const {
    Term value = for_each_head(operands_[2]);
    return matrix_product(weights.to(value.dtype()), value, value.dtype());
  }

  Term changed(const Term& scores) const {
    return at_.bodies.empty() ? scores : applied(at_.bodies[0], scores, std::nullopt);
  }
  // The values of a body of each score, its places and operands, and `more`.
  Term applied(const Graph& body, const Term& scores, const std::optional<Term>& more) const {
    const std::int64_t count = element_count(sizes_);
    std::vector<Term> inputs = {scores.reshape({count})};
    for (int axis = 0; axis < 4; ++axis)
      inputs.push_back(places_along(scores, sizes_, axis, DType::i32).reshape({count}));
    for (std::size_t i = places_.of_scores; i < operands_.size(); ++i)
      inputs.push_back(operands_[i].reshape({count}));
    if (more) inputs.push_back(more->reshape({count}));
    return spliced(for_each_score(body, count), *scores.builder, inputs)[0].reshape(sizes_);
  }

  Term masked(Term scores) const {
    const Term hidden = scores.number(-infinity);
    if (places_.mask != 0) {
      const Term& mask = operands_[places_.mask];
      scores = is_boolean(mask.dtype()) ? choice(mask, scores, hidden) : scores + mask.to(carried_);
    }
    if (!at_.causal) return scores;
    Term last = places_along(scores, sizes_, 2, DType::i64) + first_position(scores);
    Term key = places_along(scores, sizes_, 3, DType::i64);
    Term is_seen = compared(Op::le, key, last);
    if (at_.window != 0)
      is_seen = both(is_seen, compared(Op::gt, key + static_cast<double>(at_.window), last));
    return choice(is_seen, scores, hidden);
  }

  Term first_position(const Term& like) const {
    if (places_.position == 0) {
      GraphBuilder& builder = *like.builder;
      return {&builder, builder.full(DType::i64, sizes_, static_cast<double>(at_.start))};
    }
    const Term position = operands_[places_.position].to(DType::i64);
    return position.reshape({element_count(position.shape()), 1, 1, 1}).expand(sizes_);
  }

  const Attributes& at_;
  std::vector<Term> operands_;
  const AttentionOperands places_;
  const DType carried_;
  Shape sizes_;  // of the scores
};

}  // namespace

Graph formula_of_gradient(const Node& node, const std::vector<ValueType>& operands) {
  Graph formula;
  GraphBuilder builder(formula);
  builder.set_location(node.where);
  builder.set_origin(node.origin);
  std::vector<Term> inputs;
  for (const ValueType& operand : operands)
    inputs.push_back({&builder, builder.input(operand.dtype, operand.shape)});
  const GradientOperands given(inputs.size());
  const std::vector<Term> of_attention(
      inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(given.gradient));
  for (const Term& gradient :
       WrittenAttention(node, of_attention)
           .gradients(inputs[given.gradient], inputs[given.sums], inputs[given.products]))
    formula.outputs.push_back(gradient.id);
  return formula;
}

namespace {

// From the inputs of a function of scores and the gradient of its result, that of the score.
Graph gradient_of_score(const Graph& function, const dsl::Target& target) {
  Graph result = gradient_graph(function, {.inputs = {ScoreInputs::score}, .outputs = {0}}, target);
  result.outputs = {result.outputs[1]};
  return result;
}

// The logarithm of a row's sum where all of its scores are -1e30 is rounded to its highest score,
// and says nothing of the weights.
bool may_have_large_scores(const Differential& d) {
  return places_of(d.node.attributes, d.operands)
      .may_have_large_scores(d.node.attributes,
                             [&](std::size_t i) { return d.operands[i].dtype(); });
}

bool has_elements(const Differential& d) {
  return element_count(d.operands[0].shape()) != 0 && element_count(d.operands[1].shape()) != 0;
}

Cotangents of_written_attention(const Differential& d) {
  return by_nodes(d, [&](GraphBuilder& builder, const std::vector<NodeId>& ids) {
    std::vector<Term> inputs;
    for (NodeId id : ids) inputs.push_back({&builder, id});
    return WrittenAttention(d.node, inputs).results();
  });
}

}  // namespace

// The logarithm of a row's sum changes with a score as the row's weights say, so that a cotangent
// of it is one that the products lack.
Cotangents derivative(The<Op::attention>, const Differential& d) {
  if (!has_elements(d)) return d.none();
  bool wants_of_scores = false;
  for (std::size_t i = 3; i < d.operands.size(); ++i) wants_of_scores |= d.wants(i);
  const AttentionOperands given = places_of(d.node.attributes, d.operands);
  if (wants_of_scores || given.are_codes() || given.are_pages() || !d.node.attributes.gives_sums ||
      may_have_large_scores(d))
    return of_written_attention(d);
  Attributes attributes = d.node.attributes;
  attributes.gives_sums = false;
  if (!attributes.bodies.empty())
    attributes.bodies =
        Bodies({attributes.bodies[0], gradient_of_score(attributes.bodies[0], d.target)});
  const Term& sums = d.results[1];
  Term gradient = d.cotangent(), value = d.result();
  // The value of a row that sees nothing is a constant, whatever the function makes of it.
  if (!every_row_sees_a_key(attributes, given)) {
    Shape of_rows = gradient.shape();
    of_rows[-1] = 1;
    Term sees_none = compared(Op::eq, sums, infinity).reshape(of_rows).like(gradient);
    gradient = choice(sees_none, gradient.number(0), gradient);
    if (attributes.nan_unseen) value = choice(sees_none, value.number(0), value);
  }
  Term products = summed(gradient * value, {3}).reshape(sums.shape());
  if (d.cotangents[1]) products = products - *d.cotangents[1];
  std::vector<NodeId> operands;
  for (const Term& operand : d.operands) operands.push_back(operand.id);
  for (const Term& more : {gradient.to(d.node.dtype), sums, products}) operands.push_back(more.id);
  GraphBuilder& builder = d.builder();
  Cotangents all = d.none();
  const std::vector<NodeId> gradients =
      builder.results_of(builder.append(Op::attention_gradient, operands, attributes));
  for (std::size_t i = 0; i < gradients.size(); ++i) all[i] = Term{&builder, gradients[i]};
  return all;
}

Cotangents derivative(The<Op::attention_gradient>, const Differential& d) {
  if (!has_elements(d)) return d.none();
  std::vector<ValueType> types;
  for (const Term& operand : d.operands) types.push_back({operand.dtype(), operand.shape()});
  return by_formula(formula_of_gradient(d.node, types), d);
}

HostTensor meaning(The<Op::attention_gradient>, const Node& node, const Operands& operands) {
  std::vector<HostTensor> inputs;
  std::vector<ValueType> types;
  for (const HostTensor* operand : operands) {
    inputs.push_back(*operand);
    types.push_back({operand->dtype, operand->shape});
  }
  std::vector<HostTensor> results =
      evaluate(formula_of_gradient(node, types), inputs, Rounding::double_).outputs;
  HostTensor first = std::move(results[0]);
  first.others.assign(std::make_move_iterator(results.begin() + 1),
                      std::make_move_iterator(results.end()));
  return first;
}

}  // namespace tilewright::graph
