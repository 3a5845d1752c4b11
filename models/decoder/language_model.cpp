#include "models/decoder/language_model.h"

#include <initializer_list>

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
      batch_(options.batch),
      max_positions_(options.max_positions.value_or(positions)) {
  require(batch_ > 0 && max_positions_ > 0 && max_positions_ <= positions, "[", model_,
          "] a cache for ", batch_, " sequences of ", max_positions_, " positions; the model has ",
          positions, " positions");
  auto cache = product({memory.row_elements, size_bytes(options.dtype), max_positions_, batch_});
  auto tables = product({memory.table_bytes, max_positions_});
  std::int64_t bytes = 0;
  require(cache && tables && !__builtin_add_overflow(*cache, *tables, &bytes), "[", model_,
          "] a cache for ", batch_, " sequences of ", max_positions_,
          " positions has more than 2^63 bytes");
  std::string origin;
  std::optional<std::int64_t> budget = budget_of(options, memory.parameters, origin);
  require(!budget || bytes <= *budget, "[", model_, "] a cache for ", batch_, " sequences of ",
          max_positions_, " positions takes ", mib(bytes), ", ", mib(*tables),
          " of it for rotary positions; the budget is ", mib(budget.value_or(0)), " (", origin,
          "): ask for as many positions as the texts need (ModelOptions::max_positions), or raise "
          "ModelOptions::cache_budget_bytes");
}

Tensor LanguageModel::checked_rows(const Tensor& ids, const Tensor& position) {
  require(ids.rank() == 2 && ids.size(0) == batch_ && is_integer(ids.dtype()), "[", model_,
          "] ids are ", ids.dtype(), " ", ids.shape(), "; integers of ", batch_,
          " x rows are needed");
  require(ids.size(1) >= 1 && ids.size(1) <= max_positions_, "[", model_, "] ", ids.size(1),
          " rows at once; from 1 to ", max_positions_, " are allowed");
  require(position.shape() == Shape{1} && position.dtype() == i64, "[", model_, "] position is ",
          position.dtype(), " ", position.shape(), "; one i64 is needed");
  return hidden_rows(ids, position);
}

Tensor LanguageModel::forward(const Tensor& ids, const Tensor& position) {
  return logits(checked_rows(ids, position));
}

Tensor LanguageModel::forward_last(const Tensor& ids, const Tensor& position) {
  Tensor x = checked_rows(ids, position);
  return logits(x.select(1, x.size(1) - 1));
}

}  // namespace tilewright
