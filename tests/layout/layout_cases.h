// The layouts that tests go through: of every family, for one physical shape.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "dsl/layout/layout.h"

namespace tilewright::dsl::layout {

struct LayoutCase {
  std::string name;
  Layout layout;
};

// All that fit a shape, in a block of so many warps: blocked ones, fragments, slices, broadcasts,
// transposed and regrouped ones, with and without replicas.
std::vector<LayoutCase> layout_cases(const Shape& physical, int warps);

// Any layout at all: bases drawn at random until the map is onto.
Layout random_layout(std::mt19937_64& random, const Shape& physical, int lane_bits, int warp_bits,
                     int spare_registers);
Shape random_physical_shape(std::mt19937_64& random, int most_bits);

}  // namespace tilewright::dsl::layout
