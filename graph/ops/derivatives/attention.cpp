// The derivative of attention, by that of its formula written out: scores, their function and
// masks, weights, and their product with the values. Scores are computed again and lie in memory.
#include <limits>

#include "graph/ops/attention_operands.h"
#include "graph/ops/derivatives/differential.h"

namespace tilewright::graph {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Term matrix_product(const Term& a, const Term& b, DType dtype) {
  return {a.builder, a.builder->append(Op::matmul, {a.id, b.id}, {}, dtype)};
}

// Attention of these operands, as terms of a graph of its own.
class WrittenAttention {
 public:
  WrittenAttention(const Node& node, const std::vector<Term>& operands)
      : at_(node.attributes), operands_(operands), carried_(accumulator(node.dtype)) {
    const Shape fourth = operands.size() > 3 ? operands[3].shape() : Shape{};
    const AttentionOperands places(at_, operands.size(), fourth.size());
    position_ = places.position;
    mask_ = places.mask;
    of_scores_ = places.of_scores;
    const Shape q = operands[0].shape(), k = operands[1].shape();
    sizes_ = {q[0], q[1], q[2], k[2]};
  }

  std::vector<NodeId> results() const {
    const Term scores = masked(changed(scaled()));
    std::vector<NodeId> all = {result(scores).id};
    if (at_.gives_sums) all.push_back(sums(scores).id);
    return all;
  }

 private:
  Term result(const Term& scores) const {
    if (every_row_sees_a_key()) return mixed(softmax(scores));
    Term sees_none = compared(Op::eq, scores.reduce(Op::amax, {3}), -infinity);
    Term hidden = sees_none.like(scores);
    Term weights = softmax(choice(hidden, scores.number(0), scores));
    Term result = mixed(choice(hidden, weights.number(0), weights));
    if (!at_.nan_unseen) return result;
    return choice(sees_none.like(result), result.number(std::numeric_limits<double>::quiet_NaN()),
                  result);
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

  Term scaled() const {
    Term scores = matrix_product(operands_[0], turned(for_each_head(operands_[1])), carried_);
    scores = scores * at_.number;
    return at_.cap == 0 ? scores : unary(Op::tanh, scores * (1 / at_.cap)) * at_.cap;
  }

  // All rows see the first key at least, unless a window, a mask or a function of scores hides it.
  bool every_row_sees_a_key() const {
    return mask_ == 0 && at_.bodies.empty() && position_ == 0 &&
           (!at_.causal || (at_.window == 0 && at_.start >= 0));
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
    if (at_.bodies.empty()) return scores;
    const std::int64_t count = element_count(sizes_);
    std::vector<Term> inputs = {scores.reshape({count})};
    for (int axis = 0; axis < 4; ++axis)
      inputs.push_back(places_along(scores, sizes_, axis, DType::i32).reshape({count}));
    for (std::size_t i = of_scores_; i < operands_.size(); ++i)
      inputs.push_back(operands_[i].reshape({count}));
    return spliced(for_each_score(at_.bodies[0], count), *scores.builder, inputs)[0].reshape(
        sizes_);
  }

  Term masked(Term scores) const {
    const Term hidden = scores.number(-infinity);
    if (mask_ != 0) {
      const Term& mask = operands_[mask_];
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
    if (position_ == 0) {
      GraphBuilder& builder = *like.builder;
      return {&builder, builder.full(DType::i64, sizes_, static_cast<double>(at_.start))};
    }
    const Term position = operands_[position_].to(DType::i64);
    return position.reshape({element_count(position.shape()), 1, 1, 1}).expand(sizes_);
  }

  const Attributes& at_;
  const std::vector<Term>& operands_;
  const DType carried_;
  std::size_t position_ = 0, mask_ = 0, of_scores_ = 0;
  Shape sizes_;  // of the scores
};

}  // namespace

Cotangents derivative(The<Op::attention>, const Differential& d) {
  const Shape q = d.operands[0].shape(), k = d.operands[1].shape();
  if (element_count(q) == 0 || element_count(k) == 0) return d.none();
  return by_nodes(d, [&](GraphBuilder& builder, const std::vector<NodeId>& ids) {
    std::vector<Term> inputs;
    for (NodeId id : ids) inputs.push_back({&builder, id});
    return WrittenAttention(d.node, inputs).results();
  });
}

}  // namespace tilewright::graph
