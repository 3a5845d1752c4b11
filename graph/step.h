// Whose turn it is with memory that is used again and again.
//
// A function compiled with reduce-overhead leaves its results where the last call left them: a
// result is valid until the next call. Each result knows the call it belongs to, its step, and the
// function keeps count; reading one that a later step has overwritten is an error at once, not
// wrong numbers.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <string_view>

namespace tilewright::graph {

struct StepCount {
  std::atomic<std::int64_t> latest = 0;
};

// What a tensor over such memory holds.
struct StepToken {
  std::shared_ptr<const StepCount> count;  // null: the memory is the tensor's own
  std::int64_t step = 0;
  int output = 0;  // which of the step's results
};

// Raises `Error` that names both steps, `operation` and its line, where it is known, if a later
// step has begun.
void require_current(const StepToken& token, std::string_view operation,
                     std::optional<std::source_location> where);

}  // namespace tilewright::graph
