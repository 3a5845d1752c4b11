// The adapters of one linear layer: where in the layer's pool each has its rows, and the tables by
// which the kernels find them (row_updates.h).
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "models/adapters/bank/free_rows.h"
#include "models/adapters/bank/row_updates.h"
#include "models/layers/layers.h"

namespace tilewright::adapters {

// An adapter's part for a layer, on the host.
struct LayerUpdate {
  std::int64_t rank = 0;
  std::vector<float> a, b;     // [rank, in], [rank, out]; the scale is in b
  std::vector<float> factors;  // [out], what is added to 1, or none
  std::vector<float> offsets;  // [out], or none
  std::int64_t rows() const { return rank + (factors.empty() ? 0 : 1) + (offsets.empty() ? 0 : 1); }
  bool is_empty() const { return rows() == 0; }
};

class LayerBank : public RowUpdates {
 public:
  LayerBank(const Linear& layer, std::int64_t rows, std::int64_t slots, DType dtype,
            const Device& device);

  // Texts have the slots of the thread's scope (text_slots.h); without one: y.
  Tensor added(const Tensor& x, const Tensor& y) const override;
  std::vector<Tensor*> tensors() override;

  const std::string& path() const { return path_; }
  std::int64_t free_rows() const { return free_.count(); }
  std::int64_t rows() const { return pool_.a.size(0); }
  std::int64_t rows_of(std::int64_t slot) const {
    return held_[static_cast<std::size_t>(slot)].rows;
  }
  std::int64_t bytes_held() const;  // by all adapters
  // Puts an update into the pool, which has room for it, and lists it in the slot.
  void hold(std::int64_t slot, const LayerUpdate& update);
  // Frees the rows of a slot, which is empty then.
  void release(std::int64_t slot);
  // Makes a slot the weighted sum of others, which hold their rows.
  void stack(std::int64_t slot, std::span<const std::pair<std::int64_t, double>> parts);
  // The blocks and vectors that a slot lists.
  std::pair<std::int64_t, std::int64_t> size_of(std::int64_t slot) const;
  // A pool with more rows takes the place of this one.
  void grow(std::int64_t rows);

 private:
  struct Vector {
    std::int64_t row;
    VectorKind kind;
  };
  struct Held {
    std::vector<RowRun> blocks;
    std::vector<Vector> vectors;
    std::int64_t rows = 0;
  };
  void write_rows(Tensor& pool, std::int64_t first, std::span<const float> values) const;
  void list(std::int64_t slot, std::span<const std::pair<const Held*, double>> parts);

  std::string path_;
  LayerPool pool_;
  FreeRows free_;
  std::vector<Held> held_;  // by slot; empty for stacks
};

}  // namespace tilewright::adapters
