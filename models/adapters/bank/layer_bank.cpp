#include "models/adapters/bank/layer_bank.h"

#include <algorithm>

#include "graph/functions/dynamic_scalar.h"
#include "models/adapters/bank/text_slots.h"
#include "models/weights/convert.h"
#include "runtime/base/error.h"

namespace tilewright::adapters {
namespace {

template <typename T>
Tensor zeroed(const Shape& shape) {
  return Tensor::from(std::vector<T>(static_cast<std::size_t>(element_count(shape)), 0), shape);
}

// Memory that is written only where adapters lie.
Tensor pool_of(std::int64_t rows, std::int64_t columns, DType dtype, const Device& device) {
  Tensor pool = Tensor::empty({rows, columns}, dtype, device);
  graph::mark_setting(pool);
  return pool;
}

}  // namespace

LayerBank::LayerBank(const Linear& layer, std::int64_t rows, std::int64_t slots, DType dtype,
                     const Device& device)
    : path_(layer.path()), free_(rows), held_(static_cast<std::size_t>(slots)) {
  pool_ = {.a = pool_of(rows, layer.in(), dtype, device),
           .b = pool_of(rows, layer.out(), dtype, device),
           .table = zeroed<std::int64_t>({slots, table_columns}).to(device),
           .weights = zeroed<float>({slots, weight_columns}).to(device)};
  graph::mark_setting(pool_.table);
  graph::mark_setting(pool_.weights);
}

Tensor LayerBank::added(const Tensor& x, const Tensor& y) const {
  const TextSlots* slots = slots_of_scope();
  return slots == nullptr ? y : with_row_updates(x, y, slots->tensor, pool_);
}

std::vector<Tensor*> LayerBank::tensors() {
  return {&pool_.a, &pool_.b, &pool_.table, &pool_.weights};
}

std::int64_t LayerBank::bytes_held() const {
  return (rows() - free_rows()) * (pool_.a.size(1) + pool_.b.size(1)) * size_bytes(pool_.a.dtype());
}

void LayerBank::write_rows(Tensor& pool, std::int64_t first, std::span<const float> values) const {
  const auto count = static_cast<std::int64_t>(values.size());
  const std::int64_t rows = count / pool.size(1);
  Tensor converted = Tensor::empty({rows, pool.size(1)}, pool.dtype());
  weights::convert(values.data(), f32, converted.data(), pool.dtype(), count);
  Tensor place = pool.slice(0, first, first + rows);
  place.copy_from(converted);
}

void LayerBank::hold(std::int64_t slot, const LayerUpdate& update) {
  Held held{.rows = update.rows()};
  std::int64_t done = 0;
  auto part = [&](const std::vector<float>& values, std::int64_t width, std::int64_t count) {
    return std::span(values).subspan(static_cast<std::size_t>(done * width),
                                     static_cast<std::size_t>(count * width));
  };
  for (const RowRun& run : free_.take(update.rank)) {
    write_rows(pool_.a, run.first, part(update.a, pool_.a.size(1), run.count));
    write_rows(pool_.b, run.first, part(update.b, pool_.b.size(1), run.count));
    for (std::int64_t row = 0; row < run.count; row += block_ranks)
      held.blocks.push_back({run.first + row, std::min(block_ranks, run.count - row)});
    done += run.count;
  }
  auto add_vector = [&](const std::vector<float>& values, VectorKind kind) {
    if (values.empty()) return;
    held.vectors.push_back({free_.take(1)[0].first, kind});
    write_rows(pool_.b, held.vectors.back().row, values);
  };
  add_vector(update.factors, VectorKind::factor);
  add_vector(update.offsets, VectorKind::offset);
  Held& own = held_[static_cast<std::size_t>(slot)];
  own = std::move(held);
  require(std::ssize(own.blocks) <= most_blocks, "[adapters] what is free of \"", path_,
          "\" lies in ", own.blocks.size(), " pieces; an adapter of rank ", update.rank,
          " has up to ", most_blocks, " of them: remove adapters, or grow() the bank");
  const std::pair<const Held*, double> all[] = {{&own, 1.0}};
  list(slot, all);
}

void LayerBank::release(std::int64_t slot) {
  list(slot, {});
  Held& held = held_[static_cast<std::size_t>(slot)];
  for (const RowRun& run : held.blocks) free_.give(run);
  for (const Vector& vector : held.vectors) free_.give({vector.row, 1});
  held = {};
}

void LayerBank::stack(std::int64_t slot, std::span<const std::pair<std::int64_t, double>> parts) {
  std::vector<std::pair<const Held*, double>> all;
  for (const auto& [part, weight] : parts)
    all.emplace_back(&held_[static_cast<std::size_t>(part)], weight);
  list(slot, all);
}

std::pair<std::int64_t, std::int64_t> LayerBank::size_of(std::int64_t slot) const {
  const Held& held = held_[static_cast<std::size_t>(slot)];
  return {std::ssize(held.blocks), std::ssize(held.vectors)};
}

void LayerBank::list(std::int64_t slot, std::span<const std::pair<const Held*, double>> parts) {
  std::vector<std::int64_t> entries(static_cast<std::size_t>(table_columns), 0);
  std::vector<float> weights(static_cast<std::size_t>(weight_columns), 0);
  std::int64_t &blocks = entries[0], &vectors = entries[1];
  for (const auto& [held, weight] : parts) {
    for (const RowRun& block : held->blocks) {
      const auto at = static_cast<std::size_t>(first_block + 2 * blocks);
      entries[at] = block.first;
      entries[at + 1] = block.count;
      weights[static_cast<std::size_t>(blocks++)] = static_cast<float>(weight);
    }
    for (const Vector& vector : held->vectors) {
      const auto at = static_cast<std::size_t>(first_vector + 2 * vectors);
      entries[at] = vector.row;
      entries[at + 1] = static_cast<std::int64_t>(vector.kind);
      weights[static_cast<std::size_t>(most_blocks + vectors++)] = static_cast<float>(weight);
    }
  }
  Tensor row = pool_.table.slice(0, slot, slot + 1);
  row.copy_from(Tensor::from(entries, {1, table_columns}));
  write_rows(pool_.weights, slot, weights);
}

void LayerBank::grow(std::int64_t rows) {
  const std::int64_t before = this->rows();
  for (Tensor* pool : {&pool_.a, &pool_.b}) {
    Tensor greater = pool_of(rows, pool->size(1), pool->dtype(), pool->device());
    Tensor begin = greater.slice(0, 0, before);
    begin.copy_from(*pool);
    *pool = greater;
  }
  free_.give({before, rows - before});
}

}  // namespace tilewright::adapters
