#include "models/decoder/decoding_state.h"

#include <utility>

#include "graph/functions/dynamic_scalar.h"
#include "runtime/base/error.h"

namespace tilewright {

DecodingState::DecodingState(std::vector<KeyValueCache> caches, bool has_length)
    : caches_(std::move(caches)) {
  check(!caches_.empty(), "a state of a model without layers");
  if (!has_length) return;
  expected_rows_ = Tensor::from<std::int64_t>({0}, {1}).to(device());
  graph::mark_setting(expected_rows_);
}

std::int64_t DecodingState::size_bytes() const {
  std::int64_t bytes = 0;
  for (const KeyValueCache& cache : caches_)
    for (const Tensor& part : {cache.keys, cache.values})
      bytes += part.count() * tilewright::size_bytes(part.dtype());
  return bytes;
}

void DecodingState::to(const Device& device) {
  for (KeyValueCache& cache : caches_) {
    cache.keys.move_to(device);
    cache.values.move_to(device);
  }
  if (expected_rows_.defined()) expected_rows_.move_to(device);
}

void DecodingState::expect(std::int64_t rows) {
  if (expected_rows_.defined()) expected_rows_.copy_from(Tensor::from<std::int64_t>({rows}, {1}));
}

DecodingState::Use::Use(DecodingState& state, std::string_view operation) {
  const std::thread::id own = std::this_thread::get_id();
  std::thread::id user{};
  if (state.user_.compare_exchange_strong(user, own, std::memory_order_acquire)) {
    state_ = &state;
    return;
  }
  require(user == own, "[", operation,
          "] another thread is using this state; a conversation needs one of its own "
          "(LanguageModel::new_state)");
}

DecodingState::Use::~Use() {
  if (state_ != nullptr) state_->user_.store({}, std::memory_order_release);
}

}  // namespace tilewright
