#include "graph/compile/bindings/plan_inputs.h"

#include <utility>

#include "graph/compile/bindings/weight_copies.h"
#include "graph/tensor/tensor_body.h"

namespace tilewright::graph {

PlanInputs::PlanInputs(std::size_t arguments, std::vector<Tensor> captured, DeviceMemory* memory)
    : arguments_(arguments), captured_(std::move(captured)), memory_(memory) {
  if (memory != nullptr) host_arguments_.emplace(memory);
}

void PlanInputs::compute_frozen() {
  frozen_.bind([this](std::size_t i) -> const Tensor& { return captured_[i - arguments_]; });
}

void PlanInputs::freeze(Graph& graph, PlanOptions& options, const std::vector<Tensor>& arguments) {
  frozen_ = FrozenValues(graph, options, [&](std::size_t i) {
    const TensorBody& body = *at(i, arguments).body();
    return body.buffer->memory() == memory_ && body.token.count == nullptr;
  });
  compute_frozen();
}

void PlanInputs::replace_captured(std::vector<Tensor> captured) {
  captured_ = std::move(captured);
  compute_frozen();
}

void PlanInputs::bind(const Plan& plan) {
  addresses_.resize(arguments_);
  for (const Tensor& tensor : captured_) addresses_.push_back(address_of(*tensor.body()));
  for (const Tensor& value : frozen_.tensors()) addresses_.push_back(address_of(*value.body()));
  pack(plan);
}

void PlanInputs::pack(const Plan& plan) {
  packed_.clear();
  addresses_.resize(size());
  packed_ = packed_copies(plan, [this](std::size_t i) -> const Tensor& { return at(i, {}); });
  for (const std::shared_ptr<Buffer>& copy : packed_) addresses_.push_back(copy->data());
}

bool PlanInputs::is_copied(const Tensor& tensor) const {
  return host_arguments_ && memory_of(tensor) == nullptr;
}

void* PlanInputs::address_for_plan(std::size_t i, const Tensor& tensor) {
  return is_copied(tensor) ? host_arguments_->bring(i, tensor) : address_of(*tensor.body());
}

void PlanInputs::set(const std::vector<Tensor>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i)
    addresses_[i] = address_for_plan(i, arguments[i]);
  if (host_arguments_)
    for (std::size_t i = arguments.size(); i < size(); ++i)
      addresses_[i] = address_for_plan(i, at(i, arguments));
}

void PlanInputs::take_back(std::size_t i, const std::vector<Tensor>& arguments) {
  if (const Tensor& tensor = at(i, arguments); is_copied(tensor))
    host_arguments_->take_back(i, tensor);
}

std::int64_t PlanInputs::copied_bytes() const {
  return host_arguments_ ? host_arguments_->bytes() : 0;
}

}  // namespace tilewright::graph
