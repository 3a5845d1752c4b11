#include "graph/functions/derivatives/attention.h"

#include <cmath>

#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using std::source_location;

namespace {

// The op's shapes: queries, keys and values [batch, heads, .., width] of one width.
bool is_op(const Tensor& gradient, const AttentionOperands& o) {
  const DType dtype = o.query.dtype();
  return o.query.rank() == 4 && o.query.count() > 0 && o.key.count() > 0 &&
         o.key.shape() == o.value.shape() && o.query.size(0) == o.key.size(0) &&
         o.query.size(1) == o.key.size(1) && o.key.dtype() == dtype && o.value.dtype() == dtype &&
         gradient.dtype() == dtype;
}

AttentionGradients by_op(const Tensor& gradient, const AttentionOperands& o, double scale,
                         source_location w) {
  const DType wide = accumulator(o.query.dtype());
  const Tensor products = sum({gradient.to(wide, w) * o.output.to(wide, w), w}, {-1});
  std::vector<Tensor> operands = {o.query, o.key, o.value};
  if (o.mask.defined())
    operands.push_back(graph::broadcast_to(
        o.mask, {o.query.size(0), o.query.size(1), o.query.size(2), o.key.size(2)},
        "attention_backward", w));
  for (const Tensor& more : {gradient, o.logsumexp.to(wide, w), products}) operands.push_back(more);
  graph::Attributes attributes;
  attributes.number = scale;
  attributes.causal = o.causal;
  std::vector<Tensor> found =
      graph::apply_all(graph::Op::attention_gradient, operands, attributes, w);
  return {found[0], found[1], found[2]};
}

}  // namespace

AttentionGradients attention_backward(const Tensor& gradient, const AttentionOperands& o,
                                      std::source_location w) {
  require(o.query.rank() >= 2 && o.key.rank() == o.query.rank() &&
              o.value.rank() == o.query.rank() && o.key.size(-1) == o.query.size(-1) &&
              o.value.size(-2) == o.key.size(-2),
          "[attention_backward] queries [", o.query.shape(), "], keys [", o.key.shape(),
          "] and values [", o.value.shape(), "] (at ", At{w},
          "); as many keys as values, of the queries' width, are wanted");
  require(!o.mask.defined() || o.mask.dtype() == o.query.dtype(), "[attention_backward] a mask of ",
          o.mask.defined() ? o.mask.dtype() : o.query.dtype(), " for queries of ", o.query.dtype(),
          " (at ", At{w}, "); both must have one dtype");
  const DType dtype = o.query.dtype(), wide = accumulator(dtype);
  const std::int64_t rows = o.query.size(-2), columns = o.key.size(-2);
  const double scale = o.scale.value_or(1 / std::sqrt(static_cast<double>(o.query.size(-1))));
  if (is_op(gradient, o)) return by_op(gradient, o, scale, w);
  const Tensor q = o.query.to(wide), k = o.key.to(wide), v = o.value.to(wide),
               given = gradient.to(wide);
  Tensor scores = matmul(q, k.transpose(-1, -2)) * scale;
  if (o.mask.defined()) scores = scores + o.mask.to(wide);
  Tensor weights = exp(scores - o.logsumexp.to(wide).unsqueeze(-1));
  if (o.causal) weights = where(arange(0, rows).unsqueeze(1) >= arange(0, columns), weights, 0);
  const Tensor share = sum(given * o.output.to(wide), {-1}, true),
               change = weights * (matmul(given, v.transpose(-1, -2)) - share);
  return {(matmul(change, k) * scale).to(dtype),
          (matmul(change.transpose(-1, -2), q) * scale).to(dtype),
          matmul(weights.transpose(-1, -2), given).to(dtype)};
}

}  // namespace tilewright
