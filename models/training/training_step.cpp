#include "models/training/training_step.h"

#include "graph/functions/creation.h"
#include "runtime/base/error.h"

namespace tilewright::detail {

std::vector<Tensor> micro_batches(const std::vector<Tensor>& batch, std::int64_t parts,
                                  std::source_location w) {
  require(parts > 0, "[accumulate] ", parts, " micro-batches (at ", describe(w),
          "); there must be at least one");
  std::vector<Tensor> all;
  for (const Tensor& tensor : batch) {
    const bool fits = tensor.defined() && tensor.rank() > 0 && tensor.size(0) % parts == 0;
    require(fits, "[accumulate] a batch is ",
            tensor.defined() ? concat(tensor.dtype(), " ", tensor.shape()) : "undefined", " (at ",
            describe(w), "); its first axis must be a multiple of ", parts, " micro-batches");
    Shape shape = {parts, tensor.size(0) / parts};
    for (int axis = 1; axis < tensor.rank(); ++axis) shape.push_back(tensor.size(axis));
    all.push_back(tensor.reshape(shape));
  }
  return all;
}

std::pair<Tensor, std::vector<Tensor>> mean_of_parts(const BatchGradients& gradients,
                                                     const std::vector<Tensor>& parameters,
                                                     const std::vector<Tensor>& parts,
                                                     std::source_location w) {
  require(!parts.empty(), "[accumulate] there is no batch (at ", describe(w),
          "); the loss must take a tensor at least");
  const std::int64_t count = parts[0].size(0);
  auto elements = [&](std::int64_t at) {
    Tensors batch;
    for (const Tensor& part : parts) batch.push_back(part.select(0, at, w));
    return batch;
  };
  if (count == 1) return gradients(elements(0));
  Tensors sums;
  for (const Tensor& parameter : parameters)
    sums.push_back(zeros(parameter.shape(), accumulator(parameter.dtype())));
  auto turn = [&](const Tensors& before, const Tensors& batch) -> Turn {
    const auto [loss, list] = gradients(batch);
    Tensors next;
    for (std::size_t i = 0; i < list.size(); ++i)
      next.push_back(before[i] + list[i].to(before[i].dtype()));
    return {next, {loss}};
  };
  auto [totals, losses] = scan(turn, sums, parts, {.writes = true}, w);
  for (Tensor& total : totals) total = total * (1.0 / static_cast<double>(count));
  return {mean(losses[0]), totals};
}

}  // namespace tilewright::detail
