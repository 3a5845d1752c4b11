#include "graph/functions/reducing/distances.h"

#include "graph/functions/reducing/loss_reduction.h"
#include "graph/functions/reducing/reductions.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
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
  const Shape shape = terms[0].tensor().shape();
  graph::axis_of(axis, shape, "cosine_similarity", a.where);
  auto unit = [&](const Formula& x) {
    Formula length = sqrt(sum_over(x * x, axis, true));
    Formula divisor = greater(length, length.number(eps));
    Tensor spread = graph::broadcast_to(divisor.tensor(), shape, "cosine_similarity", a.where);
    return x / Formula(spread, a.where);
  };
  return terms.result(sum_over(unit(terms[0]) * unit(terms[1]), axis, false));
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
  return terms.result(distance(terms[0], terms[1], order, eps, keep_dims));
}

Tensor cosine_embedding_loss(const TensorOperand& a, const TensorOperand& b, const Tensor& target,
                             double margin, LossReduction reduction) {
  constexpr double least_square = 1e-12;
  Terms terms = loss_terms("cosine_embedding_loss", {&a, &b});
  require_rows(terms, "cosine_embedding_loss");
  const Formula &x = terms[0], &y = terms[1];
  Formula squares =
      (sum_over(x * x, -1, false) + least_square) * (sum_over(y * y, -1, false) + least_square);
  Formula cosine = sum_over(x * y, -1, false) / sqrt(squares);
  const Shape& rows = cosine.tensor().shape();
  Tensor given = graph::tensor_of({target, a.where}, "cosine_embedding_loss");
  Formula t(graph::broadcast_to(given, rows, "cosine_embedding_loss", a.where), a.where);
  Formula apart = choice(t == -1, graph::positive_part(cosine - margin), 0);
  return graph::reduced_loss(choice(t == 1, 1 - cosine, apart), reduction, terms.dtype);
}

Tensor triplet_margin_loss(const TensorOperand& anchor, const TensorOperand& positive,
                           const TensorOperand& negative, const TripletOptions& options) {
  Terms terms = loss_terms("triplet_margin_loss", {&anchor, &positive, &negative});
  require_rows(terms, "triplet_margin_loss");
  auto apart = [&](std::size_t i, std::size_t k) {
    return distance(terms[i], terms[k], options.order, options.eps, false);
  };
  Formula to_negative = apart(0, 2);
  if (options.swap) to_negative = lesser(to_negative, apart(1, 2));
  Formula loss = graph::positive_part(apart(0, 1) + options.margin - to_negative);
  return graph::reduced_loss(loss, options.reduction, terms.dtype);
}

}  // namespace tilewright
