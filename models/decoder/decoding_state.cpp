#include "models/decoder/decoding_state.h"

#include <algorithm>
#include <utility>

#include "graph/functions/dynamic_scalar.h"
#include "runtime/base/error.h"

namespace tilewright {

DecodingState::DecodingState(std::vector<KeyValueCache> caches, bool has_length)
    : caches_(std::move(caches)) {
  check(!caches_.empty(), "a state of a model without layers");
  if (!has_length) return;
  expected_rows_ =
      Tensor::from(std::vector<std::int64_t>(static_cast<std::size_t>(batch()), 0), {batch()})
          .to(device());
  graph::mark_setting(expected_rows_);
}

std::int64_t DecodingState::size_bytes() const {
  std::int64_t bytes = 0;
  for (const KeyValueCache& cache : caches_)
    for (const Tensor* part : cache.tensors())
      bytes += part->count() * tilewright::size_bytes(part->dtype());
  return bytes;
}

void DecodingState::to(const Device& device) {
  for (KeyValueCache& cache : caches_)
    for (Tensor* part : cache.tensors()) part->move_to(device);
  if (expected_rows_.defined()) expected_rows_.move_to(device);
  if (adapters_) adapters_->move_to(device);
}

std::shared_ptr<const void> DecodingState::reading_adapters() const {
  return adapters_ ? adapters_->reading() : nullptr;
}

void DecodingState::expect(std::int64_t rows) {
  expect(std::vector<std::int64_t>(static_cast<std::size_t>(batch()), rows));
}

void DecodingState::expect(const std::vector<std::int64_t>& rows) {
  require(std::ssize(rows) == batch(), "[expect] ", rows.size(),
          " lengths of texts; the state has ", batch(), " texts");
  if (expected_rows_.defined()) expected_rows_.copy_from(Tensor::from(rows, {batch()}));
}

void DecodingState::copy_text(std::int64_t to, const DecodingState& other, std::int64_t from,
                              std::int64_t rows) {
  require(to >= 0 && to < batch() && from >= 0 && from < other.batch(), "[copy_text] text ", from,
          " of ", other.batch(), " to text ", to, " of ", batch(), "; there are none such");
  require(rows >= 0 && rows <= max_positions() && rows <= other.max_positions(), "[copy_text] ",
          rows, " rows from ", other.max_positions(), " positions to ", max_positions(),
          "; both must have as many");
  const bool is_alike =
      layers() == other.layers() && device() == other.device() &&
      std::ranges::equal(caches_, other.caches_, [](const auto& a, const auto& b) {
        return a.values.dtype() == b.values.dtype() && a.values.size(1) == b.values.size(1) &&
               a.values.size(3) == b.values.size(3);
      });
  require(is_alike,
          "[copy_text] the states are of different models or devices; they must be alike");
  if (this == &other && to == from) return;
  Use use(*this, "copy_text");
  for (std::size_t i = 0; i < caches_.size(); ++i)
    caches_[i].copy_text(to, other.caches_[i], from, rows);
  if (adapters_ && other.adapters_) adapters_->copy(to, *other.adapters_, from);
}

DecodingState::Use::Use(DecodingState& state, std::string_view operation) {
  static thread_local const char of_this_thread = 0;
  const void* own = &of_this_thread;
  const void* user = nullptr;
  if (state.user_.compare_exchange_strong(user, own, std::memory_order_acquire)) {
    state_ = &state;
    return;
  }
  require(user == own, "[", operation,
          "] another thread is using this state; a conversation needs one of its own "
          "(LanguageModel::new_state)");
}

DecodingState::Use::~Use() {
  if (state_ != nullptr) state_->user_.store(nullptr, std::memory_order_release);
}

void DecodingState::set_adapters(std::unique_ptr<TextAdapters> adapters) {
  adapters_ = std::move(adapters);
}

}  // namespace tilewright
