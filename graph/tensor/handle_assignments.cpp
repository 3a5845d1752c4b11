#include "graph/tensor/handle_assignments.h"

#include <algorithm>
#include <new>

namespace tilewright::graph {

// A handle on a symbolic tensor of this capture was made in the course of it.
void HandleAssignments::note(Tensor& handle, const std::shared_ptr<TensorBody>& former) noexcept {
  if (former != nullptr && is_own(*former)) return;
  try {
    former_.try_emplace(&handle, former);
  } catch (const std::bad_alloc&) {
    has_missed_one_ = true;
  }
}

// Whether the handle stands for the former tensor of another handle, which stands for something
// else now.
bool HandleAssignments::was_exchanged(const Tensor& handle,
                                      const std::shared_ptr<TensorBody>& before) const {
  if (before == nullptr || before == handle.body()) return false;
  return std::ranges::any_of(former_, [&](const auto& other) {
    return other.first != &handle && other.second == handle.body() &&
           other.first->body() != other.second;
  });
}

std::vector<Tensor*> HandleAssignments::lasting() const {
  if (has_missed_one_) throw std::bad_alloc();
  std::vector<Tensor*> found;
  for (const auto& [handle, before] : former_)
    if (handle->body() != nullptr && (is_own(*handle->body()) || was_exchanged(*handle, before)))
      found.push_back(handle);
  return found;
}

void HandleAssignments::give_back() {
  for (Tensor* handle : lasting()) handle->body_ = former_.at(handle);
  former_.clear();
}

}  // namespace tilewright::graph
