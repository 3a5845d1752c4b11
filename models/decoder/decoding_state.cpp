#include "models/decoder/decoding_state.h"

#include <algorithm>
#include <utility>

#include "graph/functions/dynamic_scalar.h"
#include "runtime/base/error.h"

namespace tilewright {

namespace {

std::vector<KeyValueCache> caches_of(const TextPages& pages) {
  std::vector<KeyValueCache> caches;
  for (std::size_t layer = 0; layer < pages.pool()->groups().layers.size(); ++layer)
    caches.push_back(pages.cache(layer));
  return caches;
}

}  // namespace

DecodingState::DecodingState(std::unique_ptr<TextPages> pages, bool has_length)
    : DecodingState(caches_of(*pages), has_length) {
  pages_ = std::move(pages);
}

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
  if (pages_) return pages_->distinct_pages() * pages_->pool()->bytes_of_page();
  std::int64_t bytes = 0;
  for (const KeyValueCache& cache : caches_)
    for (const Tensor* part : cache.tensors())
      bytes += part->count() * tilewright::size_bytes(part->dtype());
  return bytes;
}

void DecodingState::to(const Device& device) {
  if (pages_) {
    pages_->to(device);
  } else {
    for (KeyValueCache& cache : caches_)
      for (Tensor* part : cache.tensors()) part->move_to(device);
  }
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

void DecodingState::require_text(std::string_view operation, std::int64_t text,
                                 std::int64_t rows) const {
  require(text >= 0 && text < batch(), "[", operation, "] text ", text, " of ", batch(),
          "; there is none such");
  require(rows >= 0 && rows <= max_positions(), "[", operation, "] ", rows, " rows of text ", text,
          "; from 0 to ", max_positions(), " are possible");
}

void DecodingState::prepare(std::int64_t text, std::int64_t first, std::int64_t rows) {
  require(first >= 0 && rows >= 0, "[prepare] ", rows, " rows from row ", first, " of text ", text,
          "; both must be 0 or more");
  require_text("prepare", text, std::max(first, rows));
  require_text("prepare", text, first + rows);
  if (!pages_ || rows == 0) return;
  Use use(*this, "prepare");
  pages_->prepare(text, first, rows);
}

void DecodingState::require_prepared(std::string_view operation, const Tensor& position,
                                     std::int64_t rows) const {
  if (!pages_) return;
  const auto first = position.to_vector<std::int64_t>();
  for (std::int64_t text = 0; text < batch(); ++text) {
    const std::int64_t from = first.size() == 1 ? first[0] : first[static_cast<std::size_t>(text)];
    require(pages_->is_prepared(text, from, rows), "[", operation, "] ", rows, " rows from row ",
            from, " on of text ", text,
            " have no pages that can be written; DecodingState::prepare makes them so before a "
            "call");
  }
}

void DecodingState::rest(std::int64_t text) {
  require_text("rest", text, 0);
  if (!pages_) return;
  Use use(*this, "rest");
  pages_->rest(text);
}

bool DecodingState::holds(std::int64_t text, std::int64_t rows) const {
  require_text("holds", text, rows);
  return !pages_ || pages_->holds(text, rows);
}

void DecodingState::cut(std::int64_t text, std::int64_t rows) {
  require_text("cut", text, rows);
  if (!pages_) return;
  Use use(*this, "cut");
  pages_->cut(text, rows);
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
      std::ranges::equal(caches_, other.caches_,
                         [](const auto& a, const auto& b) { return a.is_like(b); });
  require(is_alike,
          "[copy_text] the states are of different models or devices, or one has pages; they must "
          "be alike");
  require(!pages_ || pages_->pool() == other.pages_->pool(),
          "[copy_text] the states have pages of different pools; they must share one "
          "(LanguageModel::new_pages)");
  if (this == &other && to == from) return;
  Use use(*this, "copy_text");
  if (pages_)
    pages_->begin_as(to, *other.pages_, from, rows);
  else
    for (std::size_t i = 0; i < caches_.size(); ++i)
      caches_[i].copy_text(to, other.caches_[i], from, rows);
  if (adapters_ && other.adapters_) adapters_->copy(to, *other.adapters_, from);
}

DecodingState::Use::Use(DecodingState& state, std::string_view operation) {
  static thread_local const char of_this_thread = 0;
  const void* own = &of_this_thread;
  const void* user = nullptr;
  if (state.user().compare_exchange_strong(user, own, std::memory_order_acquire)) {
    state_ = &state;
    return;
  }
  require(user == own, "[", operation, "] another thread is using this state",
          state.pages_ ? ", or one that shares its pages" : "",
          "; a conversation needs one of its own (LanguageModel::new_state)");
}

DecodingState::Use::~Use() {
  if (state_ != nullptr) state_->user().store(nullptr, std::memory_order_release);
}

void DecodingState::set_adapters(std::unique_ptr<TextAdapters> adapters) {
  adapters_ = std::move(adapters);
}

}  // namespace tilewright
