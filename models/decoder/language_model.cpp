#include "models/decoder/language_model.h"

#include <initializer_list>
#include <limits>
#include <utility>

#include "graph/functions/attending/row_codes.h"
#include "graph/tensor/guarded.h"
#include "runtime/base/error.h"

namespace tilewright {

namespace {

// A product of sizes, or nothing beyond 2^63.
std::optional<std::int64_t> product(std::initializer_list<std::int64_t> sizes) {
  std::int64_t result = 1;
  for (std::int64_t size : sizes)
    if (__builtin_mul_overflow(result, size, &result)) return std::nullopt;
  return result;
}

std::string mib(std::int64_t bytes) { return concat((bytes + (1 << 20) - 1) >> 20, " MiB"); }

// The budget where there is one; and in words where it comes from.
std::optional<std::int64_t> budget_of(const ModelOptions& options, std::int64_t parameters,
                                      std::string& origin) {
  if (options.cache_budget_bytes) {
    origin = "cache_budget_bytes";
    return options.cache_budget_bytes;
  }
  if (options.max_positions) return std::nullopt;
  std::int64_t bytes = parameters * size_bytes(options.dtype);
  origin = concat("the usual for parameters of ", mib(bytes));
  return default_cache_budget(bytes);
}

}  // namespace

LanguageModel::LanguageModel(std::string model, const ModelOptions& options, std::int64_t positions,
                             const ModelMemory& memory)
    : model_(std::move(model)),
      max_positions_(options.max_positions.value_or(positions)),
      memory_(memory),
      dtype_(options.dtype),
      cache_dtype_(options.cache_dtype),
      budget_bytes_(budget_of(options, memory.parameters, budget_origin_)) {
  require(max_positions_ > 0 && max_positions_ <= positions, "[", model_, "] a cache for ",
          max_positions_, " positions; the model has ", positions, " positions");
  require(!cache_dtype_ || is_row_code(*cache_dtype_), "[", model_, "] a cache of ",
          cache_dtype_.value_or(f32),
          " (ModelOptions::cache_dtype); it may be i8, f8e4m3, f8e5m2 or "
          "another float of 8 bits, or have the dtype of the parameters, ",
          dtype_, ", where none is given");
  require_memory_for(1);
}

std::optional<std::int64_t> LanguageModel::bytes_of_rows(std::int64_t rows,
                                                         std::int64_t batch) const {
  const std::int64_t row = memory_.row_elements * size_bytes(cache_dtype_.value_or(dtype_)) +
                           (cache_dtype_ ? memory_.row_heads * size_bytes(accumulator(dtype_)) : 0);
  return product({row, rows, batch});
}

void LanguageModel::require_memory_for(std::int64_t batch) const {
  auto cache = bytes_of_rows(max_positions_, batch);
  auto tables = product({memory_.table_bytes, max_positions_});
  std::int64_t bytes = 0;
  require(cache && tables && !__builtin_add_overflow(*cache, *tables, &bytes), "[", model_,
          "] a cache for ", batch, " sequences of ", max_positions_,
          " positions has more than 2^63 bytes");
  require(!budget_bytes_ || bytes <= *budget_bytes_, "[", model_, "] a cache for ", batch,
          " sequences of ", max_positions_, " positions takes ", mib(bytes), ", ", mib(*tables),
          " of it for rotary positions; the budget is ", mib(budget_bytes_.value_or(0)), " (",
          budget_origin_,
          "): ask for as many positions as the texts need (ModelOptions::max_positions), or raise "
          "ModelOptions::cache_budget_bytes");
}

void LanguageModel::require_ids(const Tensor& ids, std::optional<std::int64_t> batch) const {
  require(ids.rank() == 2 && is_integer(ids.dtype()) && (!batch || ids.size(0) == *batch), "[",
          model_, "] ids are ", ids.dtype(), " ", ids.shape(), "; integers of ",
          batch ? concat(*batch) : "batch", " x rows are needed");
  require(ids.size(1) >= 1 && ids.size(1) <= max_positions_, "[", model_, "] ", ids.size(1),
          " rows at once; from 1 to ", max_positions_, " are allowed");
}

std::unique_ptr<DecodingState> LanguageModel::new_state(std::int64_t batch) const {
  require(batch > 0, "[", model_, "] a state for ", batch, " texts; it must be for at least 1");
  require_memory_for(batch);
  return with_adapters(make_state(batch));
}

std::unique_ptr<DecodingState> LanguageModel::with_adapters(
    std::unique_ptr<DecodingState> state) const {
  if (adapters_) state->set_adapters(adapters_->texts(state->batch(), device()));
  return state;
}

std::shared_ptr<PagePool> LanguageModel::new_pages(std::int64_t rows) const {
  require(rows > 0, "[", model_, "] pages for ", rows, " rows; there must be at least 1");
  const auto bytes = bytes_of_rows(rows);
  require(bytes && rows <= std::numeric_limits<std::int64_t>::max() - PagePool::page_rows, "[",
          model_, "] pages for ", rows, " rows have more than 2^63 bytes");
  require(!budget_bytes_ || *bytes <= *budget_bytes_, "[", model_, "] pages for ", rows,
          " rows take ", mib(*bytes), "; the budget is ", mib(budget_bytes_.value_or(0)), " (",
          budget_origin_, "): ask for fewer, or raise ModelOptions::cache_budget_bytes");
  const LayerGroups groups = layer_groups();
  const std::int64_t pages = PagePool::pages_of(rows) * std::ssize(groups.windows);
  return std::make_shared<PagePool>(
      groups, make_pages(pages + CommonPages::count, PagePool::page_rows), pages);
}

bool LanguageModel::fits(const PagePool& pages) const {
  if (layer_groups() != pages.groups() || device() != pages.device()) return false;
  const std::vector<KeyValueCache> own = make_pages(1, PagePool::page_rows);
  for (std::size_t slot = 0; slot < own.size(); ++slot)
    if (!own[slot].is_like(pages.slot(slot))) return false;
  return true;
}

std::unique_ptr<DecodingState> LanguageModel::new_state(std::int64_t batch,
                                                        std::shared_ptr<PagePool> pages) const {
  require(batch > 0, "[", model_, "] a state for ", batch, " texts; it must be for at least 1");
  require(pages != nullptr, "[", model_, "] a state in pages that are null; new_pages makes some");
  constexpr std::int64_t most_numbers = std::int64_t{1} << 30;
  const auto numbers = product({batch, PagePool::pages_of(max_positions_)});
  require(numbers && *numbers <= most_numbers, "[", model_, "] a state for ", batch, " texts of ",
          max_positions_, " positions; a table of pages may have ", most_numbers,
          " numbers, one for each page of each text");
  require(fits(*pages), "[", model_,
          "] a state in pages of another model or device; new_pages of this model makes some that "
          "fit");
  return with_adapters(std::make_unique<DecodingState>(
      std::make_unique<TextPages>(std::move(pages), batch, max_positions_),
      reread_beyond().has_value()));
}

Adapters& LanguageModel::adapters(const AdapterBankOptions& options) {
  if (!adapters_) adapters_ = std::make_unique<Adapters>(*this, options);
  return *adapters_;
}

Tensor LanguageModel::forward(const Tensor& ids) const {
  require_ids(ids, std::nullopt);
  return logits(hidden_rows(ids, arange(0, 1), nullptr));
}

Tensor LanguageModel::next_rows(const Tensor& ids, const Tensor& position,
                                DecodingState& state) const {
  DecodingState::Use use(state, model_);
  require_ids(ids, state.batch());
  const bool fits = position.shape() == Shape{1} || position.shape() == Shape{state.batch()};
  require(fits && position.dtype() == i64, "[", model_, "] position is ", position.dtype(), " ",
          position.shape(), "; one i64 is needed, or one for each of ", state.batch(), " texts");
  if (!graph::is_capturing()) state.require_prepared(model_, position, ids.size(1));
  return hidden_rows(ids, position, &state);
}

Tensor LanguageModel::decode(const Tensor& ids, const Tensor& position,
                             DecodingState& state) const {
  const TextAdapters::Scope scope(state.adapters());
  return logits(next_rows(ids, position, state));
}

Tensor LanguageModel::decode_last(const Tensor& ids, const Tensor& position,
                                  DecodingState& state) const {
  const TextAdapters::Scope scope(state.adapters());
  Tensor x = next_rows(ids, position, state);
  return logits(x.select(1, x.size(1) - 1));
}

}  // namespace tilewright
