// The gradients of a loss with respect to the parameters of a module, by their names.
//
//   auto step = value_and_grad(model, [&](const Tensor& x, const Tensor& y) {
//     return cross_entropy(model.forward(x), y);
//   });
//   auto [loss, gradients] = step(x, y);   // gradients.at("layers.0.weight")
//
// The loss refers to the module, and is written as it is without derivatives. A parameter is known
// by its memory: layers that share a tensor have one gradient, and views of a parameter that the
// loss takes count, but not views that were taken before. Parameters that are not floating have no
// gradients, nor has a buffer. Tensors that the loss writes in place (running statistics, a
// generator's state) are written once a call; a write to a parameter (an optimizer's step within
// the loss) is an Error, as in PyTorch. Errors are those of value_and_grad
// (graph/differentiating/differentiate.h); safe to call from several threads, as far as the loss
// is.
#pragma once

#include <map>
#include <source_location>
#include <string>
#include <utility>

#include "graph/differentiating/differentiate.h"
#include "models/layers/module.h"

namespace tilewright {

using NamedTensors = std::map<std::string, Tensor>;

// The floating parameters of the module by name: handles that share their bytes.
NamedTensors differentiable_parameters(Module& module);

namespace detail {

TensorList tensors_in(const NamedTensors& named);
// These tensors under the names of others.
NamedTensors named_like(const NamedTensors& names, const TensorList& tensors);

}  // namespace detail

// A function that gives the pair of the loss, with other results as in value_and_grad, and the
// gradients of the module's parameters.
template <typename F>
auto value_and_grad(Module& module, F loss,
                    std::source_location w = std::source_location::current()) {
  return [&module, loss = std::move(loss),
          w]<typename... Arguments>(const Arguments&... arguments) {
    const NamedTensors parameters = differentiable_parameters(module);
    const detail::StructuredCall<F, Arguments...> call(
        "value_and_grad", loss, w, detail::tensors_in(parameters), arguments...);
    const auto all =
        call.function().gradients(call.function().references(),
                                  detail::loss_cotangents("value_and_grad", call.function(), w));
    return std::pair{call.result(all.results), detail::named_like(parameters, all.gradients)};
  };
}

}  // namespace tilewright
