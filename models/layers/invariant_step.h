// Which calls of a model are steps of decoding whose rows have the same bits as each alone: layers
// that could compute few rows and many in different ways compute those in one.
#pragma once

#include <cstdint>

#include "dsl/target/step_rows.h"
#include "graph/ir/options/batch_invariance.h"

namespace tilewright {

// For a call with so many rows of each of so many texts, in a function that is batch invariant: up
// to 16 rows, but for 16 of one text, which are a piece of a prompt
// (models/generate/prompt_reader.h).
inline bool is_invariant_step(std::int64_t texts, std::int64_t rows) {
  return graph::BatchInvariance::is_asked() && rows < dsl::rows_of_a_step &&
         texts * rows <= dsl::rows_of_a_step;
}

}  // namespace tilewright
