#include "models/layers/linear/linear_weight.h"

namespace tilewright {

Tensor PackedLinearWeight::dense() const {
  quant::PackedWeight there = weight_;
  for (Tensor* tensor : there.tensors()) *tensor = tensor->to(Device::cpu());
  const Tensor rows = decoded(there);
  if (!there.order.defined()) return rows;
  // The place of each column among the codes.
  const auto order = there.order.to_vector<std::int64_t>();
  std::vector<std::int64_t> places(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    places[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  return rows.index_select(1, Tensor::from(places, there.order.shape()));
}

Tensor LowRankUpdate::added(const Tensor& x, const Tensor& y) const {
  const Tensor rows = x.dtype() == a.dtype() ? x : x.to(a.dtype());
  const Tensor change = linear(linear(rows, a), b);
  const Tensor sum = y + (change.dtype() == y.dtype() ? change : change.to(y.dtype()));
  if (!factors.defined()) return sum;
  return sum * (factors.dtype() == sum.dtype() ? factors : factors.to(sum.dtype()));
}

}  // namespace tilewright
