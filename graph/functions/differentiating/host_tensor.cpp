#include "graph/functions/differentiating/host_tensor.h"

namespace tilewright::graph {

std::vector<HostTensor> host_tensors_of(const std::vector<Tensor>& tensors) {
  std::vector<HostTensor> all;
  for (const Tensor& tensor : tensors) {
    const Tensor on_host = tensor.to(Device::cpu());
    HostTensor& host = all.emplace_back(tensor.dtype(), tensor.shape());
    if (is_floating(tensor.dtype()))
      host.floating = on_host.to(DType::f64).to_vector<double>();
    else
      host.integer = on_host.to(DType::i64).to_vector<std::int64_t>();
  }
  return all;
}

}  // namespace tilewright::graph
