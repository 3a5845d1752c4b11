#include "graph/tensor/handle_assignments.h"

#include <algorithm>
#include <new>

namespace tilewright::graph {

// A handle on a symbolic tensor of this capture was made in the course of it.
void HandleAssignments::note(Tensor& handle, const std::shared_ptr<TensorBody>& former,
                             bool was_read) noexcept {
  if (former != nullptr && is_own(*former)) return;
  try {
    former_.try_emplace(&handle, Former{former, was_read});
  } catch (const std::bad_alloc&) {
    has_missed_one_ = true;
  }
}

// True if the handle stands for the former tensor of another handle, which stands for something
// else now.
bool HandleAssignments::was_exchanged(const Tensor& handle,
                                      const std::shared_ptr<TensorBody>& before) const {
  if (before == nullptr || before == handle.body()) return false;
  return std::ranges::any_of(former_, [&](const auto& other) {
    return other.first != &handle && other.second.body == handle.body() &&
           other.first->body() != other.second.body;
  });
}

bool HandleAssignments::is_lasting(const Tensor& handle, const Former& former,
                                   std::span<const Buffer* const> read) const {
  const TensorBody* before = former.body.get();
  if (former.was_read && before != nullptr && handle.body().get() != before &&
      std::ranges::find(read, before->buffer.get()) != read.end())
    return true;
  return handle.body() != nullptr && (is_own(*handle.body()) || was_exchanged(handle, former.body));
}

std::vector<Tensor*> HandleAssignments::lasting(std::span<const Buffer* const> read) const {
  if (has_missed_one_) throw std::bad_alloc();
  std::vector<Tensor*> found;
  for (const auto& [handle, former] : former_)
    if (is_lasting(*handle, former, read)) found.push_back(handle);
  return found;
}

const TensorBody& HandleAssignments::named_by(Tensor& handle) const {
  return handle.body() != nullptr ? *handle.body() : *former_.at(&handle).body;
}

void HandleAssignments::give_back(std::span<const Buffer* const> read) {
  for (Tensor* handle : lasting(read)) handle->body_ = former_.at(handle).body;
  former_.clear();
}

}  // namespace tilewright::graph
