#include "tests/layout/layout_cases.h"

#include <algorithm>

#include "dsl/layout/families.h"
#include "runtime/base/error.h"

namespace tilewright::dsl::layout {
namespace {

void add_blocked(std::vector<LayoutCase>& cases, const Shape& physical, int warps) {
  for (int contiguous : {1, 2, 8})
    cases.push_back({concat("blocked ", contiguous), blocked(physical, contiguous, warps)});
  std::vector<int> columns_first;
  for (int axis = 0; axis < physical.rank(); ++axis) columns_first.push_back(axis);
  cases.push_back({"blocked by columns", blocked(physical, 4, warps, 32, columns_first)});
}

void add_fragments(std::vector<LayoutCase>& cases, const Shape& physical, int warps) {
  std::int64_t m = physical[0], n = physical[1];
  int warps_m = warps >= 4 ? 2 : 1, warps_n = warps / warps_m;
  if (m >= 16 && n >= 8) {
    cases.push_back({"mma result", mma_result(physical, warps_m, warps_n)});
    cases.push_back({"mma result by rows", mma_result(physical, warps, 1)});
  }
  for (int bits : {8, 16, 32}) {
    int k = 256 / bits;
    if (m >= 16 && n >= k)
      cases.push_back(
          {concat("operand a of ", bits), mma_operand_a(physical, warps_m, warps_n, bits)});
    if (m >= k && n >= 8)
      cases.push_back(
          {concat("operand b of ", bits), mma_operand_b(physical, warps_m, warps_n, bits)});
  }
  int rows = static_cast<int>(m), columns = static_cast<int>(n), groups = warps / 4;
  if (groups >= 1 && m >= 64 * groups && n >= 16) {
    cases.push_back({"wgmma result", wgmma_result(rows, columns, groups)});
    cases.push_back({"wgmma operand a", wgmma_operand_a(rows, columns, groups, 16)});
  }
}

// Layouts that operations on shapes leave behind.
void add_derived(std::vector<LayoutCase>& cases, const Shape& physical, int warps) {
  Shape longer = physical;
  longer.insert(longer.begin(), 16);
  cases.push_back({"slice of rows", slice(blocked(longer, 4, warps), 0)});
  longer = physical;
  longer.push_back(64);
  cases.push_back({"slice of columns", slice(blocked(longer, 2, warps), physical.rank())});
  if (physical.rank() != 2) return;
  Shape transposed{physical[1], physical[0]};
  cases.push_back({"transposed", permute(blocked(transposed, 4, warps), {1, 0})});
  cases.push_back({"reshaped", *reshape(blocked(transposed, 8, warps), physical)});
}

}  // namespace

std::vector<LayoutCase> layout_cases(const Shape& physical, int warps) {
  std::vector<LayoutCase> cases;
  add_blocked(cases, physical, warps);
  if (physical.rank() == 2) add_fragments(cases, physical, warps);
  add_derived(cases, physical, warps);
  return cases;
}

Layout random_layout(std::mt19937_64& random, const Shape& physical, int lane_bits, int warp_bits,
                     int spare_registers) {
  int elements = element_bits(physical);
  int threads = lane_bits + warp_bits;
  int bits = std::max(elements, threads) + spare_registers;
  while (true) {
    std::vector<Layout::Basis> bases;
    for (int bit = 0; bit < bits; ++bit) {
      std::uint64_t flat = random() & ((std::uint64_t{1} << elements) - 1);
      if (random() % 2 == 0 && elements > 0) flat = std::uint64_t{1} << random() % elements;
      bases.push_back(coordinates_of(physical, flat));
    }
    BitMatrix matrix(elements, [&] {
      std::vector<std::uint64_t> columns;
      for (const auto& basis : bases) columns.push_back(flat_index(physical, basis));
      return columns;
    }());
    if (!matrix.is_onto()) continue;
    auto lanes = bases.begin() + lane_bits, warps = lanes + warp_bits;
    return {physical, {warps, bases.end()}, {bases.begin(), lanes}, {lanes, warps}};
  }
}

Shape random_physical_shape(std::mt19937_64& random, int most_bits) {
  Shape shape(random() % 4, 1);
  int bits = shape.empty() ? 0 : static_cast<int>(random() % (most_bits + 1));
  for (; bits > 0; --bits) shape[static_cast<int>(random() % shape.size())] *= 2;
  return shape;
}

}  // namespace tilewright::dsl::layout
