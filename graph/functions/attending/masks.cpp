#include "graph/functions/attending/masks.h"

#include <limits>

#include "graph/ir/location.h"
#include "graph/ir/user_call.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;

Tensor bias_of_mask(const TensorOperand& operand, const ScoreSizes& sizes, double hidden) {
  return graph::of_user_call("bias_of_mask", operand.where, [&] {
    const Tensor& mask = graph::tensor_of(operand, "bias_of_mask");
    const auto [batch, rows, keys] = sizes;
    require(mask.dtype() == i32, "[bias_of_mask] the mask is ", mask.dtype(), " (at ",
            At{operand.where}, "); it must be i32");
    const Tensor places = arange(0, keys, 1, i32).reshape({1, keys});
    const Shape of_all_rows = {batch, 1, 1, keys};
    Tensor is_hidden;
    if (mask.shape() == Shape({batch, keys})) {
      is_hidden = (mask <= 0).reshape(of_all_rows);
    } else if (mask.shape() == Shape({batch, rows, keys})) {
      is_hidden = (mask <= 0).unsqueeze(1);
    } else if (mask.shape() == Shape({batch})) {
      is_hidden = (places >= mask.unsqueeze(1)).reshape(of_all_rows);
    } else if (mask.shape() == Shape({2 * batch})) {
      const Tensor ends = mask.slice(0, 0, batch).unsqueeze(1),
                   starts = mask.slice(0, batch, 2 * batch).unsqueeze(1);
      is_hidden = logical_or(places >= ends, places < starts).reshape(of_all_rows);
    } else {
      raise_error(concat("[bias_of_mask] a mask [", mask.shape(), "] for ", batch, " rows of ",
                         rows, " queries and ", keys, " keys (at ", At{operand.where}, "); [",
                         Shape({batch, keys}), "], [", Shape({batch, rows, keys}), "], [", batch,
                         "] and [", 2 * batch, "] are supported"));
    }
    return where(is_hidden, hidden, zeros({}));
  });
}

Tensor bias_of_places(const TensorOperand& rows, std::int64_t keys, std::int64_t window) {
  return graph::of_user_call("bias_of_places", rows.where, [&] {
    const Tensor own = graph::tensor_of(rows, "bias_of_places").unsqueeze(2),
                 places = arange(0, keys);
    Tensor is_hidden = places > own;
    if (window > 0) is_hidden = logical_or(is_hidden, places <= own - window);
    return where(is_hidden, -std::numeric_limits<float>::max(), zeros({})).unsqueeze(1);
  });
}

Tensor keys_within(const TensorOperand& operand, const ScoreSizes& sizes, bool causal) {
  return graph::of_user_call("keys_within", operand.where, [&] {
    const Tensor& counts = graph::tensor_of(operand, "keys_within");
    require(counts.shape() == Shape({sizes.batch}), "[keys_within] the numbers of keys are ",
            counts.shape(), " (at ", At{operand.where}, "); ", Shape({sizes.batch}), " is wanted");
    const Tensor keys = arange(0, sizes.keys),
                 ends = counts.to(i64).reshape({sizes.batch, 1, 1, 1});
    if (!causal) return keys < ends;
    return keys <= ends + arange(-sizes.rows, 0).reshape({sizes.rows, 1});
  });
}

Tensor joined_mask(const Tensor& seen, const Tensor& mask) {
  constexpr double nothing = -std::numeric_limits<double>::infinity();
  if (!seen.defined() || !mask.defined()) return seen.defined() ? seen : mask;
  if (is_boolean(mask.dtype())) return logical_and(seen, mask);
  return where(seen, mask, nothing).to(mask.dtype());
}
Tensor joined_bias(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() ? a : b;
  return a + b;
}

}  // namespace tilewright
