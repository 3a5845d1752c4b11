#include "models/layers/gradients.h"

namespace tilewright {

NamedTensors differentiable_parameters(Module& module) {
  NamedTensors all;
  for (NamedParameter& parameter : module.named_parameters())
    if (parameter.tensor.defined() && is_floating(parameter.tensor.dtype()))
      all.emplace(parameter.name, parameter.tensor);
  return all;
}

namespace detail {

TensorList tensors_in(const NamedTensors& named) {
  TensorList tensors;
  for (const auto& [name, tensor] : named) tensors.push_back(tensor);
  return tensors;
}

NamedTensors named_like(const NamedTensors& names, const TensorList& tensors) {
  NamedTensors named;
  auto next = tensors.begin();
  for (const auto& [name, tensor] : names) named.emplace(name, *next++);
  return named;
}

}  // namespace detail

}  // namespace tilewright
