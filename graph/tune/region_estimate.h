// The expected cost of a configuration of a region, before anything is compiled: bytes over the
// bandwidth of where they lie, operations over the rate of the vector units, the cost of starting a
// program, and whole rounds of programs over the processors. It ranks configurations and does not
// predict times: its constants are of a typical machine, and learning from measurements corrects it
// (autotune/search).
#pragma once

#include <vector>

#include "graph/lower/lower.h"
#include "graph/lower/product_cost.h"

namespace tilewright::graph {

class RegionEstimate {
 public:
  RegionEstimate(const TaskList& list, const Region& region, const dsl::Target& target);
  // `blocks` with all sizes given.
  double seconds(const BlockSizes& blocks) const;
  // Logarithms of features that may tell good sizes from bad: programs a processor, elements of a
  // tile, elements that a program reads of each operand, and how much of the last programs is
  // beyond the edge.
  std::vector<double> features(const BlockSizes& blocks) const;

 private:
  struct Cut {
    double rows, columns, programs, rounds, used;  // `used`: the share of tiles within the table
  };
  Cut cut(const BlockSizes& blocks) const;

  // As RegionWork, which the lowering of the region gives.
  bool has_product_ = false;
  std::optional<ProductExtent> host_product_;
  dsl::Target target_;
  double rows_ = 1, outer_ = 1, result_passes_ = 0;
  double width_ = 1, depth_ = 1, row_elements_ = 1;
  bool cuts_columns_ = false;
  double element_bytes_ = 4, weight_bytes_ = 4;
  double bytes_moved_ = 0, processors_ = 1, lanes_ = 16;
};

}  // namespace tilewright::graph
