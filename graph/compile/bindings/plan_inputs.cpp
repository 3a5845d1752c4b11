#include "graph/compile/bindings/plan_inputs.h"

#include <algorithm>
#include <set>
#include <utility>

#include "graph/compile/bindings/weight_copies.h"
#include "graph/tensor/tensor_body.h"

namespace tilewright::graph {

constexpr std::size_t most_bound = 256;  // sets of weights that a segment keeps copies of

PlanInputs::PlanInputs(std::size_t arguments, std::vector<Tensor> captured, DeviceMemory* memory)
    : arguments_(arguments), captured_(std::move(captured)), memory_(memory) {
  if (memory != nullptr) host_arguments_.emplace(memory);
}

void PlanInputs::compute_frozen(const std::vector<Tensor>& arguments) {
  frozen_.bind([&](std::size_t i) -> const Tensor& { return at(i, arguments); });
}

void PlanInputs::freeze(Graph& graph, PlanOptions& options, const std::vector<Tensor>& arguments) {
  frozen_ = FrozenValues(graph, options, [&](std::size_t i) {
    const TensorBody& body = *at(i, arguments).body();
    return body.buffer->memory() == memory_ && body.token.count == nullptr;
  });
  compute_frozen(arguments);
}

void PlanInputs::replace_captured(std::vector<Tensor> captured) {
  captured_ = std::move(captured);
  compute_frozen({});
}

void PlanInputs::bind(const Plan& plan, const std::vector<Tensor>& arguments) {
  addresses_.resize(arguments_);
  for (const Tensor& tensor : captured_) addresses_.push_back(address_of(*tensor.body()));
  for (const Tensor& value : frozen_.tensors()) addresses_.push_back(address_of(*value.body()));
  pack(plan, arguments);
  find_weights(plan);
  bound_.clear();
  if (!weights_.empty()) keep_bound(arguments);
}

void PlanInputs::find_weights(const Plan& plan) {
  weights_.clear();
  auto add = [&](std::size_t input) {
    if (input < arguments_ && std::ranges::find(weights_, input) == weights_.end())
      weights_.push_back(input);
  };
  for (std::size_t input : frozen_.weights()) add(input);
  for (const PackedWeight& weight : plan.packed_weights())
    add(static_cast<std::size_t>(weight.input));
}

void PlanInputs::pack(const Plan& plan, const std::vector<Tensor>& arguments) {
  packed_.clear();
  addresses_.resize(size());
  packed_ = packed_copies(plan, [&](std::size_t i) -> const Tensor& { return at(i, arguments); });
  for (const std::shared_ptr<Buffer>& copy : packed_) addresses_.push_back(copy->data());
}

void PlanInputs::pack_again(const Plan& plan) {
  if (weights_.empty()) return pack(plan, {});
  bound_.clear();  // the next run binds what it passes
}

bool PlanInputs::is_of(const Bound& bound, const std::vector<Tensor>& arguments) const {
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    const TensorBody& body = *arguments[weights_[i]].body();
    if (address_of(body) != bound.addresses[i] || bound.weights[i].lock() != body.buffer)
      return false;
  }
  return true;
}

void PlanInputs::keep_bound(const std::vector<Tensor>& arguments) {
  auto is_gone = [](const Bound& bound) {
    return std::ranges::any_of(bound.weights, [](const auto& weight) { return weight.expired(); });
  };
  std::erase_if(bound_, is_gone);
  if (bound_.size() == most_bound) bound_.erase(bound_.begin());
  Bound bound{{}, {}, frozen_.tensors(), packed_};
  for (std::size_t i : weights_) {
    const TensorBody& body = *arguments[i].body();
    bound.weights.push_back(body.buffer);
    bound.addresses.push_back(address_of(body));
  }
  bound_.push_back(std::move(bound));
  now_ = bound_.size() - 1;
}

// The copies and values of the weights that these arguments are.
void PlanInputs::bind_weights(const Plan& plan, const std::vector<Tensor>& arguments) {
  const auto known =
      std::ranges::find_if(bound_, [&](const Bound& bound) { return is_of(bound, arguments); });
  if (known == bound_.end()) {
    compute_frozen(arguments);
    pack(plan, arguments);
    keep_bound(arguments);
  } else {
    now_ = static_cast<std::size_t>(known - bound_.begin());
    frozen_.use(known->values);
    packed_ = known->packed;
  }
  std::size_t at = arguments_ + captured_.size();
  for (const Tensor& value : frozen_.tensors()) addresses_[at++] = address_of(*value.body());
  for (const std::shared_ptr<Buffer>& copy : packed_) addresses_[at++] = copy->data();
}

void PlanInputs::forget(const Buffer& weight) {
  auto is_of_it = [&](const Bound& bound) {
    return std::ranges::any_of(bound.weights,
                               [&](const auto& each) { return each.lock().get() == &weight; });
  };
  if (std::erase_if(bound_, is_of_it) == 0) return;
  now_ = 0;
  frozen_.use({});
  packed_.clear();
}

FrozenMemory PlanInputs::frozen_memory() const {
  FrozenMemory result;
  std::set<const Buffer*> seen;
  auto add = [&](const Buffer& buffer, std::int64_t& count, std::int64_t& bytes) {
    if (!seen.insert(&buffer).second) return;
    ++count;
    bytes += buffer.size_bytes();
  };
  auto add_all = [&](const auto& values, const auto& packed) {
    for (const Tensor& value : values)
      add(*value.body()->buffer, result.values, result.value_bytes);
    for (const std::shared_ptr<Buffer>& copy : packed)
      add(*copy, result.packed, result.packed_bytes);
  };
  if (weights_.empty()) add_all(frozen_.tensors(), packed_);
  for (const Bound& bound : bound_) add_all(bound.values, bound.packed);
  return result;
}

bool PlanInputs::is_copied(const Tensor& tensor) const {
  return host_arguments_ && memory_of(tensor) == nullptr;
}

void* PlanInputs::address_for_plan(std::size_t i, const Tensor& tensor) {
  return is_copied(tensor) ? host_arguments_->bring(i, tensor) : address_of(*tensor.body());
}

void PlanInputs::set(const Plan& plan, const std::vector<Tensor>& arguments) {
  if (!weights_.empty() && (now_ >= bound_.size() || !is_of(bound_[now_], arguments)))
    bind_weights(plan, arguments);
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
