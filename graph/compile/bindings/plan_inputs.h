// The inputs of a plan: the tensors that it reads, and the addresses that a run passes.
//
// They come in the order of the graph's inputs: the arguments of a call, the tensors that the
// function uses besides (captured tensors), and values that follow from frozen weights
// (frozen_values.h). Behind them come addresses of packed copies of weights (weight_copies.h).
// Arguments are new at each call; the others are bound until the function is captured again. Some
// arguments of a segment are weights, which several runs in turn may pass, as the layers of a model
// do: copies and values are kept for each. Where the plan runs on a GPU, tensors of the host are
// copied there for each call (host_arguments.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "graph/compile/bindings/frozen_values.h"
#include "graph/compile/bindings/host_arguments.h"
#include "graph/run/plan.h"
#include "graph/tensor/tensor.h"

namespace tilewright::graph {

// All that was made of frozen weights.
struct FrozenMemory {
  std::int64_t packed = 0, packed_bytes = 0;
  std::int64_t values = 0, value_bytes = 0;
};

class PlanInputs {
 public:
  // The inputs of a plan that runs in this memory (null: the host's).
  PlanInputs(std::size_t arguments, std::vector<Tensor> captured, DeviceMemory* memory);

  std::size_t arguments() const { return arguments_; }
  std::size_t size() const { return arguments_ + captured_.size() + frozen_.tensors().size(); }
  const std::vector<Tensor>& captured() const { return captured_; }
  const FrozenValues& frozen() const { return frozen_; }
  FrozenMemory frozen_memory() const;
  const std::vector<std::shared_ptr<Buffer>>& packed() const { return packed_; }
  // Input `i` of a call with these arguments.
  const Tensor& at(std::size_t i, const std::vector<Tensor>& arguments) const {
    if (i < arguments_) return arguments[i];
    i -= arguments_;
    return i < captured_.size() ? captured_[i] : frozen_.tensors()[i - captured_.size()];
  }

  // Takes what follows from frozen weights out of the graph, and computes it. `options` are those
  // of the graph's plan, `arguments` those of the call at hand.
  void freeze(Graph& graph, PlanOptions& options, const std::vector<Tensor>& arguments);
  // Other captured tensors from now on, of the same types; `bind` must follow.
  void replace_captured(std::vector<Tensor> captured);
  // Finds the addresses of all but the arguments. `arguments` are those at hand, of which weights
  // among them are used.
  void bind(const Plan& plan, const std::vector<Tensor>& arguments);
  void pack_again(const Plan& plan);  // the copies that another plan reads
  void forget(const Buffer& weight);  // the copies and values of one, among the arguments

  // For the call that is about to run.
  void set(const Plan& plan, const std::vector<Tensor>& arguments);
  std::span<void* const> addresses() const { return addresses_; }
  // After the call: input `i`, which it has written, where that was copied to the device.
  void take_back(std::size_t i, const std::vector<Tensor>& arguments);
  // True where the plan runs on a GPU: tensors of the host are copied there.
  bool are_copied() const { return host_arguments_.has_value(); }
  std::int64_t copied_bytes() const;  // by a call

 private:
  // Copies and values made of some weights among the arguments.
  struct Bound {
    std::vector<std::weak_ptr<Buffer>> weights;
    std::vector<const void*> addresses;
    std::vector<Tensor> values;
    std::vector<std::shared_ptr<Buffer>> packed;
  };
  bool is_copied(const Tensor& tensor) const;
  void* address_for_plan(std::size_t i, const Tensor& tensor);
  void compute_frozen(const std::vector<Tensor>& arguments);
  void pack(const Plan& plan, const std::vector<Tensor>& arguments);
  void find_weights(const Plan& plan);
  bool is_of(const Bound& bound, const std::vector<Tensor>& arguments) const;
  void bind_weights(const Plan& plan, const std::vector<Tensor>& arguments);
  void keep_bound(const std::vector<Tensor>& arguments);

  std::size_t arguments_;
  std::vector<Tensor> captured_;
  FrozenValues frozen_;
  std::vector<std::shared_ptr<Buffer>> packed_;
  DeviceMemory* memory_;
  std::optional<HostArguments> host_arguments_;  // where the plan is a GPU's
  std::vector<void*> addresses_;
  std::vector<std::size_t> weights_;  // arguments that copies and values were made of
  std::vector<Bound> bound_;
  std::size_t now_ = 0;  // of these
};

}  // namespace tilewright::graph
