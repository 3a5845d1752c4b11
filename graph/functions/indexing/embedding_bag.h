// Sums, means and maxima of rows of a table, a bag of rows each, under PyTorch's name.
#pragma once

#include <cstdint>
#include <optional>

#include "graph/tensor/tensor.h"

namespace tilewright {

enum class BagMode : std::uint8_t { sum, mean, max };
struct BagOptions {
  BagMode mode = BagMode::mean;
  Tensor weights = {};                           // of each index, for sums alone
  bool has_last_offset = false;                  // the last offset is the end, and no bag's
  std::optional<std::int64_t> ignored_row = {};  // indices of it count nothing
};

// From table [rows, C] to [bags, C]. Indices are [n], with offsets [bags] where bags begin, the
// first at 0 and none before the one in front of it; or [bags, m] without offsets. Those of an
// empty bag are 0. Sums of 16 bits are carried in f32. A row outside the table is an `Error`
// eagerly, and inside a compiled function as far as Options::index_checks says. Misuse raises
// `Error`; safe to call from several threads.
Tensor embedding_bag(const TensorOperand& indices, const Tensor& table, const Tensor& offsets = {},
                     const BagOptions& options = {});

// The table [rows, C] with the rows that the indices name scaled to a norm of at most `most`, of
// that order; floats.
Tensor embedding_renorm(const TensorOperand& table, const Tensor& indices, double most,
                        double order = 2);

}  // namespace tilewright
