#include "graph/functions/derivatives/attention.h"

#include <cmath>

#include "graph/ir/location.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;

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
