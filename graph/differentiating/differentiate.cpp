#include "graph/differentiating/differentiate.h"

#include "graph/custom/custom_call.h"
#include "graph/functions/control/control_flow.h"
#include "graph/functions/creation.h"
#include "graph/functions/differentiating/gradient_node.h"
#include "graph/ir/location.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/functional.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using graph::DifferentiatedFunction;
using std::source_location;

Tensor stop_gradient(const Tensor& x, source_location w) {
  graph::tensor_of({x, w}, "stop_gradient");
  if (!is_floating(x.dtype()) || !detail::is_recorded()) return x;
  graph::Attributes attributes;
  attributes.custom = graph::stop_gradient_op();
  return graph::apply(graph::Op::custom_formula, {x}, attributes, w);
}

namespace detail {

TensorList loss_cotangents(std::string_view name, const DifferentiatedFunction& function,
                           source_location where) {
  TensorList cotangents(function.count());
  require(function.count() > 0, "[", name, "] the function gives no tensor (at ", At{where},
          "); it must give a loss of one element");
  const TensorType loss = function.result(0);
  require(loss.count() == 1 && is_floating(loss.dtype), "[", name, "] the function gives ",
          loss.dtype, " ", loss.shape, " (at ", At{where},
          "); it must give one floating element first: sum it up, or use vjp or jacobian");
  cotangents[0] = full(loss.shape, 1, loss.dtype, where);
  return cotangents;
}

TensorList cotangents_of(const DifferentiatedFunction& function, TensorList given) {
  require(given.size() == function.count(), "[vjp] there are ", given.size(), " cotangents, for ",
          function.count(), " results; they must be as the results");
  for (std::size_t i = 0; i < given.size(); ++i)
    if (!is_floating(function.result(i).dtype)) given[i] = Tensor();
  return given;
}

bool is_recorded() { return graph::Capture::active() != nullptr; }

}  // namespace detail

std::function<Tensor(const Tensor&)> jacobian(std::function<Tensor(const Tensor&)> f,
                                              source_location w) {
  return [f = std::move(f), w](const Tensor& x) {
    auto of_list = [&f](const detail::TensorList& inputs) {
      return detail::TensorList{f(inputs[0])};
    };
    const DifferentiatedFunction function("jacobian", of_list, {x}, w);
    const TensorType type = function.result(0);
    require(type.count() > 0, "[jacobian] the function gives no elements, ", type.shape, " (at ",
            At{w}, "); it must give one at least");
    require(is_floating(type.dtype), "[jacobian] the function gives ", type.dtype, " ", type.shape,
            " (at ", At{w}, "); only floating results have derivatives");
    const DifferentiatedFunction::Split split = function.split({0});
    Shape rows = type.shape, whole = type.shape;
    rows.insert(rows.begin(), type.count());
    whole.insert(whole.end(), x.shape().begin(), x.shape().end());
    const Tensor unit = eye(type.count(), {}, type.dtype, w).reshape(rows, w);
    auto turn = [&](const Tensors&, const Tensors& row) -> Turn {
      return {{}, split.pullback(row)};
    };
    return scan(turn, {}, {unit}, {}, w).second[0].reshape(whole, w);
  };
}

std::function<Tensor(const Tensor&)> hessian(std::function<Tensor(const Tensor&)> f,
                                             source_location w) {
  return jacobian([slope = grad(std::move(f), w)](const Tensor& x) { return slope(x); }, w);
}

}  // namespace tilewright
