#include "runtime/base/out_of_memory.h"

#include <algorithm>
#include <atomic>
#include <cstdio>

namespace tilewright {
namespace {

// Only the first such message is kept, so that nobody reads what another thread writes.
char kept_message[240];
std::atomic<bool> is_taken = false, is_kept = false;

constexpr const char* advice =
    "free some, ask for something smaller, or raise the limit of the process";

void keep_message(const Activity& a) noexcept {
  if (is_taken.exchange(true)) return;
  auto length = [](std::string_view text) { return static_cast<int>(text.size()); };
  std::snprintf(kept_message, sizeof kept_message, "[%.*s] out of memory while %.*s%s%.*s; %s",
                length(a.operation), a.operation.data(), length(a.what), a.what.data(),
                a.subject.empty() ? "" : " ", std::min(length(a.subject), 100), a.subject.data(),
                advice);
  is_kept = true;
}

}  // namespace

void raise_out_of_memory(const Activity& a) {
  try {
    throw OutOfMemory(concat("[", a.operation, "] out of memory while ", a.what,
                             a.subject.empty() ? "" : " ", a.subject, "; ", advice));
  } catch (const std::bad_alloc&) {
    keep_message(a);
    throw;
  }
}

void raise_refused(const Activity& a, const std::system_error& error) {
  throw Error(concat("[", a.operation, "] ", a.what, a.subject.empty() ? "" : " ", a.subject,
                     ": the system refused: ", error.what()));
}

const char* message_without_memory() noexcept { return is_kept ? kept_message : ""; }

}  // namespace tilewright
