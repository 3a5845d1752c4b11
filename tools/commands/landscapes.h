// Landscapes: the times of all configurations of kernels, as data on which searches are judged
// without a clock (tests/autotune).
//
// A file of them grows by passes of `tilewright tune --store FILE`. Times are shares of the
// default's, which was measured in the same rounds, so that a machine that is faster in one minute
// than in the next does not matter; of several passes the median counts.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "graph/tune/region_estimate.h"
#include "graph/tune/tune_region.h"

namespace tilewright::tools {

class Landscapes {
 public:
  // With the contents of the file, if it exists; raises `Error` if it is of another kind.
  explicit Landscapes(std::string path);

  // If the default has changed since earlier passes, their times become shares of the new default's
  // time; points that are not configurations any more are dropped. Raises `Error` if the new
  // default was not measured.
  void bring_up_to_date(const std::string& kernel, const graph::RegionSpace& space);
  // Points that another pass need not measure: those that take more than `within` times the best.
  autotune::History far_from_best(const std::string& kernel, double within) const;
  // Adds the measurements of the space that the kernel was brought up to date for, and recomputes
  // all estimates.
  void add(const std::string& kernel, const graph::RegionTuning& tuning,
           const graph::RegionEstimate& estimate);
  // A line a configuration, so that files of thousands can be read and compared.
  void write(const std::string& device) const;

 private:
  std::string path_;
  nlohmann::ordered_json kernels_ = nlohmann::ordered_json::object();  // by name
};

}  // namespace tilewright::tools
