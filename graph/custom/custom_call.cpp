#include "graph/custom/custom_call.h"

#include "runtime/base/error.h"

namespace tilewright {

const TensorType& CustomCall::operand(std::size_t i) const {
  require(i < operands_.size(), "[", name_, "] there is no operand ", i, "; the call has ",
          operands_.size());
  return operands_[i];
}

const TensorType& CustomCall::result(std::size_t i) const {
  require(i < results_.size(), "[", name_, "] there is no result ", i, "; the call has ",
          results_.size());
  return results_[i];
}

std::int64_t CustomCall::operator[](std::string_view name) const {
  if (auto at = configuration_.find(name); at != configuration_.end()) return at->second;
  std::string known;
  for (const auto& [there, value] : configuration_) known += (known.empty() ? "" : ", ") + there;
  raise_error(concat("[", name_, "] the configuration has no \"", name, "\"; it has ",
                     known.empty() ? "nothing" : known));
}

void BufferView::require_dtype(DType wanted) const {
  require(type.dtype == wanted, "[custom_op] the buffer's elements are ", type.dtype,
          ", and are asked for as ", wanted, "; ask for ", type.dtype);
}

}  // namespace tilewright
