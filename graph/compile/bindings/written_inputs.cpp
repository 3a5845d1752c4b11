#include "graph/compile/bindings/written_inputs.h"

#include <algorithm>
#include <utility>

#include "graph/tensor/memory/memory_overlap.h"
#include "graph/tensor/tensor_body.h"
#include "runtime/base/error.h"

namespace tilewright::graph {

WrittenInputs::WrittenInputs(const Graph& graph, std::vector<std::string> names)
    : names_(std::move(names)) {
  for (const Mutation& m : graph.mutations) {
    const auto input = std::ranges::find(graph.inputs, m.input) - graph.inputs.begin();
    numbers_.push_back(static_cast<std::size_t>(input));
    where_.push_back(graph.node(m.value).where);
  }
}

// "argument 0 'x'", "a captured tensor of shape 4x8".
std::string WrittenInputs::text_of(std::size_t input, const Tensor& tensor) const {
  if (input < names_.size()) return names_[input];
  return concat("a captured tensor of shape ", tensor.shape());
}

void WrittenInputs::raise_shared(Shared shared, const PlanInputs& inputs,
                                 const std::vector<Tensor>& arguments) const {
  const std::size_t input = numbers_[shared.written];
  const std::source_location where = where_[shared.written];
  const std::string text = text_of(input, inputs.at(input, arguments));
  raise_error(concat(
      "[compile] input ", input, " is written in place and shares memory with input ", shared.other,
      ": the function ", "writes ", text,
      where.line() > 0 ? concat(", with what is computed at ", describe(where)) : std::string(),
      ", and uses ", text_of(shared.other, inputs.at(shared.other, arguments)),
      " besides; pass a clone of one of them, or compile it without Options::fullgraph"));
}

void WrittenInputs::require_not_frozen(const PlanInputs& inputs,
                                       const std::vector<Tensor>& arguments) const {
  for (const std::size_t written : numbers_) {
    const Tensor& tensor = inputs.at(written, arguments);
    if (tensor.body()->buffer->is_read_only()) [[unlikely]]
      raise_error(concat("[compile] ", text_of(written, tensor),
                         " is written in place and frozen: functions compiled with "
                         "Options::freezing hold copies of it, or what they computed from it; pass "
                         "a clone, or compile those without"));
  }
}

static Elements elements_of_input(const Tensor& tensor) {
  const TensorBody& body = *tensor.body();
  return {body.buffer.get(), body.dtype, body.view};
}

// Captured tensors were compared with each other when they were captured.
std::optional<WrittenInputs::Shared> WrittenInputs::shared(
    const PlanInputs& inputs, const std::vector<Tensor>& arguments) const {
  constexpr std::size_t few = 64;  // comparisons, which cost less than to sort
  std::vector<bool> candidates;
  if (numbers_.size() * inputs.size() > few) {
    std::vector<Elements> all;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      all.push_back(elements_of_input(inputs.at(i, arguments)));
    candidates = sharing_bytes(all);
  }
  auto may_share = [&](std::size_t input) { return candidates.empty() || candidates[input]; };
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    const std::size_t written = numbers_[i];
    if (!may_share(written)) continue;
    const Elements elements = elements_of_input(inputs.at(written, arguments));
    const std::size_t others = written < arguments.size() ? inputs.size() : arguments.size();
    for (std::size_t other = 0; other < others; ++other)
      if (other != written && may_share(other) &&
          may_overlap(elements, elements_of_input(inputs.at(other, arguments))))
        return Shared{i, other};
  }
  return std::nullopt;
}

}  // namespace tilewright::graph
