#include "graph/functions/reducing/distances.h"

#include "graph/functions/pointwise/host_constants.h"
#include "graph/functions/reducing/loss_reduction.h"
#include "graph/functions/reducing/reductions.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/precision/autocast_call.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using graph::choice;
using graph::Formula;
using graph::loss_terms;
using graph::Terms;
using std::source_location;

namespace {

Formula sum_over(const Formula& x, int axis, bool keep_dims) {
  return {sum({x.tensor(), x.where()}, {axis}, keep_dims), x.where()};
}

}  // namespace

Tensor cosine_similarity(const TensorOperand& a, const TensorOperand& b, int axis, double eps) {
  Terms terms = loss_terms("cosine_similarity", {&a, &b});
  graph::axis_of(axis, terms[0].tensor().shape(), "cosine_similarity", a.where);
  auto unit = [&](const Formula& x) {
    Formula length = sqrt(sum_over(x * x, axis, true));
    Formula divisor = greater(length, length.number(eps));
    Tensor spread =
        graph::broadcast_to(divisor.tensor(), x.tensor().shape(), "cosine_similarity", x.where());
    return x / Formula(spread, x.where());
  };
  return graph::computed(
      "cosine_similarity", terms,
      [&](const Terms& t) { return sum_over(unit(t[0]) * unit(t[1]), axis, false); }, {axis, eps});
}

namespace {

Formula distance(const Formula& a, const Formula& b, double order, double eps, bool keep_dims) {
  Formula apart = a - b + eps;
  return {linalg_vector_norm({apart.tensor(), a.where()}, order, {-1}, keep_dims), a.where()};
}

void require_rows(const Terms& terms, std::string_view name) {
  require(terms[0].tensor().rank() > 0, "[", name, "] the operands have no axes (at ",
          At{terms[0].where()}, "); distances are over the last axis");
}

}  // namespace

Tensor pairwise_distance(const TensorOperand& a, const TensorOperand& b, double order, double eps,
                         bool keep_dims) {
  Terms terms = loss_terms("pairwise_distance", {&a, &b});
  require_rows(terms, "pairwise_distance");
  return graph::computed(
      "pairwise_distance", terms,
      [&](const Terms& t) { return distance(t[0], t[1], order, eps, keep_dims); },
      {order, eps, keep_dims});
}

Tensor cosine_embedding_loss(const TensorOperand& a, const TensorOperand& b, const Tensor& target,
                             double margin, LossReduction reduction) {
  constexpr double least_square = 1e-12;
  Terms terms = loss_terms("cosine_embedding_loss", {&a, &b});
  require_rows(terms, "cosine_embedding_loss");
  // A target beside each row.
  Shape rows = terms[0].tensor().shape();
  rows.pop_back();
  Tensor given = graph::tensor_of({target, a.where}, "cosine_embedding_loss");
  terms.terms.emplace_back(graph::broadcast_to(given, rows, "cosine_embedding_loss", a.where),
                           a.where);
  auto formula = [&](const Terms& all) {
    const Formula &x = all[0], &y = all[1], &t = all[2];
    Formula squares =
        (sum_over(x * x, -1, false) + least_square) * (sum_over(y * y, -1, false) + least_square);
    Formula cosine = sum_over(x * y, -1, false) / sqrt(squares);
    Formula apart = choice(t == -1, graph::positive_part(cosine - margin), 0);
    return choice(t == 1, 1 - cosine, apart);
  };
  return graph::computed_loss("cosine_embedding_loss", terms, formula, reduction, {margin});
}

Tensor triplet_margin_loss(const TensorOperand& anchor, const TensorOperand& positive,
                           const TensorOperand& negative, const TripletOptions& options) {
  Terms terms = loss_terms("triplet_margin_loss", {&anchor, &positive, &negative});
  require_rows(terms, "triplet_margin_loss");
  auto formula = [&](const Terms& t) {
    auto apart = [&](std::size_t i, std::size_t k) {
      return distance(t[i], t[k], options.order, options.eps, false);
    };
    Formula to_negative = apart(0, 2);
    if (options.swap) to_negative = lesser(to_negative, apart(1, 2));
    return graph::positive_part(apart(0, 1) + options.margin - to_negative);
  };
  return graph::computed_loss("triplet_margin_loss", terms, formula, options.reduction,
                              {options.margin, options.order, options.eps, options.swap});
}

Tensor cdist(const TensorOperand& x1, const Tensor& x2, double order) {
  if (const graph::AutocastCall cast("cdist", x1.where); cast.is_listed())
    return cdist(cast(x1), cast(x2), order);
  const Tensor& a = graph::tensor_of(x1, "cdist");
  require(a.rank() >= 2 && x2.rank() >= 2 && a.size(-1) == x2.size(-1),
          "[cdist] the operands are [", a.shape(), "] and [", x2.shape(), "] (at ", At{x1.where},
          "); rows of one width are wanted");
  return linalg_vector_norm({a.unsqueeze(-2) - x2.unsqueeze(-3), x1.where}, order, {-1});
}
Tensor pdist(const TensorOperand& x, double order) {
  if (const graph::AutocastCall cast("pdist", x.where); cast.is_listed())
    return pdist(cast(x), order);
  const Tensor& given = graph::tensor_of(x, "pdist");
  require(given.rank() == 2, "[pdist] x is [", given.shape(), "] (at ", At{x.where},
          "); two axes are wanted");
  std::vector<std::int64_t> rows, later;
  for (std::int64_t i = 0; i < given.size(0); ++i)
    for (std::int64_t j = i + 1; j < given.size(0); ++j) {
      rows.push_back(i);
      later.push_back(j);
    }
  if (rows.empty()) return zeros({0}, given.dtype());
  auto of = [&](const std::vector<std::int64_t>& numbers) {
    return embedding(graph::constant_of(numbers, {std::ssize(numbers)}), given);
  };
  return linalg_vector_norm({of(rows) - of(later), x.where}, order, {-1});
}

}  // namespace tilewright
