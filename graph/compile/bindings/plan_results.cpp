#include "graph/compile/bindings/plan_results.h"

#include <algorithm>
#include <utility>

#include "graph/tensor/tensor_body.h"
#include "graph/tensor/tensor_copy.h"

namespace tilewright::graph {

PlanResults::PlanResults(std::vector<ResultOrigin> origins, bool come_to_host)
    : origins_(std::move(origins)), come_to_host_(come_to_host) {}

void PlanResults::bind(const Plan& plan) {
  changes_ = changes_of_results(origins_, *plan.executable());
}

void PlanResults::bind(std::vector<ResultOrigin> origins, const Plan& plan) {
  origins_ = std::move(origins);
  bind(plan);
}

std::vector<Tensor> PlanResults::tensors(const Plan& plan,
                                         const std::vector<std::shared_ptr<Buffer>>& buffers,
                                         const PlanInputs& inputs,
                                         const std::vector<Tensor>& arguments,
                                         const std::shared_ptr<StepCount>& steps) const {
  std::vector<Tensor> result;
  result.reserve(buffers.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const PlanOutput& output = plan.outputs()[i];
    if (output.input) {
      result.push_back(inputs.at(static_cast<std::size_t>(*output.input), arguments));
      continue;
    }
    result.push_back(make_tensor(output.dtype, row_major(output.shape), buffers[i]));
    // One tensor that is returned twice is one there too.
    const auto first = std::ranges::find(buffers, buffers[i]) - buffers.begin();
    if (come_to_host_ && inputs.are_copied())
      result.back() = static_cast<std::size_t>(first) < i
                          ? make_tensor(output.dtype, row_major(output.shape),
                                        result[static_cast<std::size_t>(first)].body()->buffer)
                          : copy_to(result.back(), Device::cpu());
    else if (steps != nullptr)
      result.back().body()->token = {steps, steps->latest, static_cast<int>(i)};
  }
  if (!changes_.empty()) [[unlikely]]
    change(result, inputs, arguments);
  return result;
}

std::vector<std::int64_t> PlanResults::copied_bytes(const Plan& plan) const {
  std::vector<std::int64_t> bytes;
  for (const ResultChange& change : changes_) {
    const PlanOutput& output = plan.outputs()[change.result];
    if (change.kind == ResultChange::Kind::copied)
      bytes.push_back(element_count(output.shape) * size_bytes(output.dtype));
  }
  return bytes;
}

void PlanResults::change(std::vector<Tensor>& results, const PlanInputs& inputs,
                         const std::vector<Tensor>& arguments) const {
  for (const auto& [i, kind, other] : changes_) {
    Tensor& result = results[i];
    switch (kind) {
      case ResultChange::Kind::copied: result = copy_row_major(result); break;
      case ResultChange::Kind::input: result = inputs.at(other, arguments); break;
      case ResultChange::Kind::view:
        result = view_of_input(inputs.at(other, arguments), origins_[i].views);
        break;
      case ResultChange::Kind::joined:
        result =
            make_tensor(result.dtype(), row_major(result.shape()), results[other].body()->buffer);
    }
  }
}

}  // namespace tilewright::graph
