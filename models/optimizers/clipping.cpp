#include "models/optimizers/clipping.h"

#include <algorithm>
#include <cmath>

#include "graph/functions/pointwise/elementary.h"
#include "graph/ir/user_call.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

DType dtype_of_norm(const std::vector<Tensor>& gradients) {
  const bool is_wide =
      std::ranges::any_of(gradients, [](const Tensor& g) { return g.dtype() == f64; });
  return is_wide ? f64 : f32;
}

// One gradient's part of the norm of an order that is finite and above 0: sum(|g|^order).
Tensor sum_of_powers(const Tensor& gradient, double order) {
  if (order == 2) return sum(gradient * gradient);
  if (order == 1) return sum(abs(gradient));
  return sum(pow(abs(gradient), order));
}

Tensor joined_norm(const std::vector<Tensor>& gradients, double order) {
  const DType dtype = dtype_of_norm(gradients);
  const bool is_greatest = std::isinf(order);
  Tensor total;
  for (const Tensor& gradient : gradients) {
    if (gradient.count() == 0) continue;
    const Tensor wide = gradient.to(dtype);
    Tensor part = is_greatest  ? amax(abs(wide))
                  : order == 0 ? any(wide != 0.0).to(dtype)
                               : sum_of_powers(wide, order);
    total = !total.defined() ? part : is_greatest ? maximum(total, part) : total + part;
  }
  if (!total.defined()) return full({}, 0, dtype);
  if (is_greatest || order == 0 || order == 1) return total;
  return order == 2 ? sqrt(total) : pow(total, 1 / order);
}

Tensor within(const Tensor& gradient, const TensorOperand& limit) {
  const TensorOperand least = limit.is_number
                                  ? TensorOperand(-limit.number.as_double(), limit.where)
                                  : TensorOperand(-limit.tensor, limit.where);
  return clamp(gradient, least, limit).to(gradient.dtype());
}

std::vector<Tensor> list_of(const NamedTensors& named) { return detail::tensors_in(named); }

}  // namespace

std::vector<Tensor> clip_by_value(const std::vector<Tensor>& gradients,
                                  const TensorOperand& limit) {
  return graph::of_user_call("clip_by_value", limit.where, [&] {
    std::vector<Tensor> clipped;
    for (const Tensor& gradient : gradients) clipped.push_back(within(gradient, limit));
    return clipped;
  });
}
NamedTensors clip_by_value(const NamedTensors& gradients, const TensorOperand& limit) {
  return detail::named_like(gradients, clip_by_value(list_of(gradients), limit));
}

Tensor global_norm(const std::vector<Tensor>& gradients, double order, std::source_location w) {
  require(order >= 0, "[global_norm] the order is ", order, " (at ", describe(w),
          "); it must be 0, above 0, or infinite");
  for (const Tensor& gradient : gradients)
    require(gradient.defined() && is_floating(gradient.dtype()), "[global_norm] a gradient is ",
            gradient.defined() ? concat(gradient.dtype()) : std::string("undefined"), " (at ",
            describe(w), "); gradients are floating tensors");
  return graph::of_user_call("global_norm", w, [&] { return joined_norm(gradients, order); });
}
Tensor global_norm(const NamedTensors& gradients, double order, std::source_location w) {
  return global_norm(list_of(gradients), order, w);
}

ClippedGradients<std::vector<Tensor>> clip_by_global_norm(const std::vector<Tensor>& gradients,
                                                          const TensorOperand& limit, double order,
                                                          std::source_location w) {
  const Tensor norm = global_norm(gradients, order, w);
  return graph::of_user_call("clip_by_global_norm", w, [&] {
    const Tensor factor = minimum(limit / (norm + 1e-6), 1.0);
    std::vector<Tensor> clipped;
    for (const Tensor& gradient : gradients)
      clipped.push_back((gradient * factor).to(gradient.dtype()));
    return ClippedGradients<std::vector<Tensor>>{std::move(clipped), norm};
  });
}
ClippedGradients<NamedTensors> clip_by_global_norm(const NamedTensors& gradients,
                                                   const TensorOperand& limit, double order,
                                                   std::source_location w) {
  auto [clipped, norm] = clip_by_global_norm(list_of(gradients), limit, order, w);
  return {detail::named_like(gradients, clipped), norm};
}

}  // namespace tilewright
