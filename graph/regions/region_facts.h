// The facts for choosing block sizes, the same for every machine.
#pragma once

#include <optional>
#include <vector>

#include "graph/regions/region.h"

namespace tilewright::graph {

struct RegionFacts {
  std::vector<std::int64_t> digits;
  std::optional<std::size_t> digit;  // the largest that no product's weights depend on
  bool has_product = false;
  // No product depends on another, so that all may be made first, and the rest after them.
  bool products_come_first = true;
  bool weights_along_depth = true;  // they are contiguous along the inner axis
  bool reduces = false;             // rows, other than in products
  bool scatters_elements = false;   // rows beyond the last would go somewhere
  bool one_row = false;             // a row is found at run time, so a program has one
  std::int64_t widest = 1, depth = 1, element_bytes = 1;
  std::int64_t weight_element_bytes = 1;  // of a product's second operand, in memory
  std::optional<DType> multiplied;        // what all products' operands are, as they are multiplied
  bool on_tensor_cores = true;            // all products, on a GPU
  // Hopper's TMA can fetch what all products take from memory, and its warpgroups multiply
  // it in the order in which it lies.
  bool has_fetched_operands = false;
  // A product's second operand is computed; chunks of the inner axis are multiples of this.
  bool computes_weights = false;
  std::int64_t depth_quantum = 1;
  bool looks_up_weights = false;  // each of a batch of products its own, at run time
  // Columns of a panel where second operands are packed (packed_weights.h): blocks of columns are
  // whole panels. 0: they are not.
  std::int64_t panel_width = 0;
};
std::int64_t stride_of(const IndexMap& map);  // of its first mode; 0 where it is constant
RegionFacts facts_of(const TaskList& list, const Region& region);
// The divisor of chunks of a product's inner axis: where the region computes the second operand,
// all digits of the axis but the outermost are in each chunk whole.
std::int64_t depth_quantum(const TaskList& list, const Region& region, std::size_t product);

// How many elements are contiguous in memory along columns, and along the digit for which they are
// most.
struct Contiguity {
  std::int64_t along_columns = 0, along_digit = 0;
  std::size_t digit = 0;
  // The digit along which the rows of what is stored follow one another.
  std::optional<std::size_t> digit_of_rows = {};
};
Contiguity contiguity_of(const TaskList& list, const Region& region);

}  // namespace tilewright::graph
