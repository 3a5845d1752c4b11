#include "graph/compile/bindings/written_inputs.h"

#include <algorithm>
#include <utility>

#include "graph/compile/bindings/host_arguments.h"
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

void WrittenInputs::raise_shared(std::size_t written, std::size_t other, const PlanInputs& inputs,
                                 const std::vector<Tensor>& arguments) const {
  const std::size_t input = numbers_[written];
  const std::source_location where = where_[written];
  const std::string text = text_of(input, inputs.at(input, arguments));
  raise_error(concat(
      "[compile] input ", input, " is written in place and shares memory with input ", other,
      ": the function ", "writes ", text,
      where.line() > 0 ? concat(", with what is computed at ", describe(where)) : std::string(),
      ", and uses ", text_of(other, inputs.at(other, arguments)),
      " besides; pass a clone of one of them"));
}

static Elements elements_of_input(const Tensor& tensor) {
  const TensorBody& body = *tensor.body();
  return {body.buffer.get(), body.dtype, body.view};
}

// Looks at each element only of parts of one array that sizes and strides do not tell apart.
static bool may_have_one_element(const Elements& a, const Elements& b) {
  if (are_blocks_apart(a, b)) return false;
  return a.buffer != b.buffer || a.dtype != b.dtype || overlap(a, b);
}

// Captured tensors were compared with each other when they were captured.
void WrittenInputs::require_may_write(const PlanInputs& inputs,
                                      const std::vector<Tensor>& arguments) const {
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    const std::size_t written = numbers_[i];
    const Tensor& tensor = inputs.at(written, arguments);
    if (tensor.body()->buffer->is_read_only()) [[unlikely]]
      raise_error(concat("[compile] ", text_of(written, tensor),
                         " is written in place and frozen: functions compiled with "
                         "Options::freezing hold copies of it, or what they computed from it; pass "
                         "a clone, or compile those without"));
    auto [low, high] = bytes_spanned(tensor);
    const std::size_t others = written < arguments.size() ? inputs.size() : arguments.size();
    for (std::size_t other = 0; other < others; ++other) {
      if (other == written) continue;
      const Tensor& beside = inputs.at(other, arguments);
      auto [other_low, other_high] = bytes_spanned(beside);
      if (other_low < high && low < other_high &&
          may_have_one_element(elements_of_input(tensor), elements_of_input(beside)))
        raise_shared(i, other, inputs, arguments);
    }
  }
}

}  // namespace tilewright::graph
