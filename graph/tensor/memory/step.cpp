#include "graph/tensor/memory/step.h"

#include <algorithm>
#include <functional>

#include "graph/ir/location.h"
#include "runtime/base/error.h"

namespace tilewright::graph {

void require_current(const StepToken& token, std::string_view operation,
                     std::optional<std::source_location> where) {
  if (token.count == nullptr) [[likely]]
    return;
  std::int64_t latest = token.count->latest.load(std::memory_order_relaxed);
  if (latest == token.step) return;
  std::string place = where ? concat(" (at ", At{*where}, ")") : std::string();
  raise_error(concat("[", operation, "] the tensor is output ", token.output, " of step ",
                     token.step, " of a function compiled with reduce-overhead, and step ", latest,
                     " has overwritten it", place,
                     "; clone() it before the next call, or compile in the default mode"));
}

void StepAccess::begin(std::string_view operation, std::optional<std::source_location> where) {
  if (entries_.empty()) [[likely]] {
    if (step_ != nullptr) step_->memory.lock();
    is_held_ = step_ != nullptr;
    return;
  }
  hold_all();
  try {
    for (const Entry& entry : entries_)
      if (entry.token != nullptr) require_current(*entry.token, operation, where);
  } catch (...) {
    release();
    throw;
  }
}

// Each once, for writing where the step is among them.
void StepAccess::hold_all() {
  if (step_ != nullptr) entries_.push_back({step_, nullptr});
  std::ranges::sort(entries_, std::less<>(), &Entry::count);
  const StepCount* held = nullptr;
  for (const Entry& entry : entries_) {
    if (entry.count == held) continue;
    held = entry.count;
    if (held == step_)
      held->memory.lock();
    else
      held->memory.lock_shared();
  }
  is_held_ = true;
}

void StepAccess::release() noexcept {
  if (!is_held_) return;
  is_held_ = false;
  if (step_ != nullptr) step_->memory.unlock();
  const StepCount* held = step_;
  for (const Entry& entry : entries_) {
    if (entry.count == held || entry.count == step_) continue;
    held = entry.count;
    held->memory.unlock_shared();
  }
}

StepAccess::~StepAccess() { release(); }

}  // namespace tilewright::graph
