// What a plan is made of, as its reports and its callers see it: programs, outputs, packed copies
// of weights, marked regions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dsl/target/packed_product.h"
#include "graph/ir/strided_view.h"
#include "graph/regions/winograd.h"

namespace tilewright::graph {

// A matrix in an input of the graph that the plan reads in panels (lower/packed_weights.h).
struct PackedWeight {
  int input = 0;  // index into Graph::inputs
  DType dtype = DType::f32;
  StridedView matrix;  // [depth.., columns], from the input's first element on
  dsl::PackedPanels panels;
  bool is_winograd = false;    // axis 0 are rows of filters, transformed (regions/winograd.h)
  std::int64_t rows() const {  // of panels
    const std::int64_t rows = element_count(matrix.shape) / matrix.shape[-1];
    return is_winograd ? rows / winograd::taps * winograd::products : rows;
  }
  std::int64_t elements() const { return panels.elements(rows(), matrix.shape[-1]); }
  bool operator==(const PackedWeight&) const = default;
};

// What the caller gets for one output.
struct PlanOutput {
  DType dtype;
  Shape shape;  // row-major
  // The output is the memory of this input (index into Graph::inputs): there is no buffer for it.
  std::optional<int> input;
};

// One distinct program of a plan.
struct PlanProgram {
  std::string name, kind;
  std::vector<std::string> ops;       // what was fused, in order
  std::vector<std::string> user_ops;  // what the user wrote of which these are parts
  std::vector<std::string> marks;     // names of the marked regions that it is a part of
  std::string key;                    // hex of its content hash
  std::int64_t bytes = 0;             // read and written by one launch
  std::int64_t bytes_saved = 0;       // that fusion keeps from memory
  std::int64_t instances = 0;         // regions that it computes
  std::int64_t launches = 0;          // in which it does so
  std::int64_t batch = 1;             // regions in the largest of them
  double compile_seconds = 0;         // of code generation for this plan
};

// All marked regions of one name.
struct MarkedRegion {
  std::string name;
  std::int64_t instances = 0;   // calls that compute something
  std::int64_t structures = 0;  // of these that differ
  std::int64_t programs = 0;    // distinct ones of all of them
};

}  // namespace tilewright::graph
