#include "models/decoder/experts/expert_stack.h"

#include "graph/functions/reducing/products.h"

namespace tilewright {

ExpertStack::ExpertStack(std::int64_t count, std::int64_t out, std::int64_t in, DType dtype,
                         const Device& device)
    : dense(Tensor::empty({count, out, in}, dtype, device)), count_(count), out_(out), in_(in) {}

bool ExpertStack::pack(quant::PackedWeight matrices) {
  if (matrices.order.defined() || matrices.shape != Shape{count_ * out_, in_}) return false;
  for (Tensor* part : matrices.tensors()) {
    const Tensor of_experts = part->reshape({count_, part->count() / count_});
    *part = of_experts.to(dense.device());
  }
  codes_ = std::move(matrices);
  dense = {};
  return true;
}

std::vector<Tensor*> ExpertStack::packed_tensors() {
  return codes_ ? codes_->tensors() : std::vector<Tensor*>();
}

quant::PackedWeight ExpertStack::of(const Tensor& experts) const {
  quant::PackedWeight some = *codes_;
  const std::int64_t rows = experts.count() * out_;
  for (Tensor* part : some.tensors())
    *part = part->index_select(0, experts).reshape({rows, part->size(1) / out_});
  some.shape = {rows, in_};
  return some;
}

Tensor ExpertStack::of_blocks(const Tensor& x, const Tensor& experts) const {
  if (!codes_) return matmul(x, dense.index_select(0, experts).transpose(1, 2));
  const Tensor matrices = decoded(of(experts)).reshape({experts.count(), out_, in_});
  const DType dtype = x.dtype();
  if (dtype == f32) return matmul(x, matrices.transpose(1, 2));
  // As a packed linear layer multiplies one row and many.
  if (x.size(1) > 1) return matmul(x, matrices.to(dtype).transpose(1, 2));
  return matmul(x.to(f32), matrices.transpose(1, 2)).to(dtype);
}

Tensor ExpertStack::of_groups(const Tensor& x, const Tensor& ends) const {
  return grouped_mm(x, dense.transpose(1, 2), ends);
}

}  // namespace tilewright
