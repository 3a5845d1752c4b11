// Spaces with a known time for every point: what strategies are judged on without measuring.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "autotune/search/search.h"

namespace tilewright::autotune {

struct Landscape {
  std::string name;
  Space space;
  std::map<Point, double> seconds;  // of every legal point; infinite: it fails
  std::map<Point, double> estimates;
  std::map<Point, std::vector<double>> features;  // empty: none
  Point preferred;

  Problem problem() const;
  // As if the default were no better than half of all configurations, and nothing were estimated:
  // what is left to the search.
  Landscape without_advice() const;
  double best() const;
  // Share of the best that the point reaches, 0 to 1.
  double quality(const Point& point) const { return best() / seconds.at(point); }
};

// Tiles of a product: times by a model of caches, vectors and a tail, with ruggedness that the
// estimate (a coarser model) does not know.
Landscape product_landscape(std::uint64_t seed);

// Kernels of GPT-2 and Llama 3.2 1B as they were measured on a processor: tests/autotune/data,
// which says on which.
std::vector<Landscape> measured_landscapes();

// The search's quality after `trials` measurements.
double quality_after(const Landscape& landscape, std::string_view strategy, double trials,
                     std::uint64_t seed);
// Trials until the best found reaches the share; the size of the space if it never does.
double trials_to_reach(const Landscape& landscape, std::string_view strategy, double share,
                       std::uint64_t seed);

}  // namespace tilewright::autotune
