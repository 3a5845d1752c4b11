#include "dsl/layout/families.h"

#include <bit>

#include "runtime/base/error.h"

namespace tilewright::dsl::layout {
namespace {

// The bases of a layout, filled in from the fast bits of each axis to the slow ones.
class Bases {
 public:
  explicit Bases(Shape physical) : shape_(std::move(physical)), next_(shape_.size(), 1) {}

  bool is_full(int axis) const { return next_[static_cast<std::size_t>(axis)] >= shape_[axis]; }

  // The next `bits` bits of an axis go to an input; where the axis is full, zeros.
  void take(In in, int axis, int bits) {
    for (; bits > 0; --bits) {
      Layout::Basis basis(shape_.size(), 0);
      if (!is_full(axis)) {
        auto& next = next_[static_cast<std::size_t>(axis)];
        basis[static_cast<std::size_t>(axis)] = static_cast<std::int32_t>(next);
        next *= 2;
      }
      list(in).push_back(std::move(basis));
    }
  }
  void replicate(In in, int bits) { list(in).insert(list(in).end(), bits, zero()); }

  // Registers take an axis until it has `parts` parts left.
  void repeat(int axis, std::int64_t parts) {
    while (next_[static_cast<std::size_t>(axis)] * parts < shape_[axis])
      take(In::register_, axis, 1);
  }

  Layout finish() {
    return {std::move(shape_), std::move(lists_[0]), std::move(lists_[1]), std::move(lists_[2])};
  }

 private:
  Layout::Basis zero() const { return Layout::Basis(shape_.size(), 0); }
  std::vector<Layout::Basis>& list(In in) { return lists_[static_cast<std::size_t>(in)]; }

  Shape shape_;
  std::vector<std::int64_t> next_;  // by axis, the lowest bit that nothing has taken
  std::array<std::vector<Layout::Basis>, 3> lists_;
};

// Lanes of a fragment: four along `inner`, eight along `outer`.
void take_lanes(Bases& bases, int inner, int outer) {
  bases.take(In::lane, inner, 2);
  bases.take(In::lane, outer, 3);
}

void check_sizes(const Shape& physical, std::int64_t rows, std::int64_t columns) {
  check(physical.rank() == 2 && physical[0] >= rows && physical[1] >= columns,
        "a fragment is smaller than one instruction");
}

// Elements that share a register of 32 bits.
int packed(int bits) {
  check(bits == 8 || bits == 16 || bits == 32, "tensor cores take 8, 16 or 32 bits an element");
  return 32 / bits;
}

// One 16x8 result of four registers, its rows and columns being axes 0 and 1.
Bases result_instruction(const Shape& physical) {
  Bases bases(physical);
  bases.take(In::register_, 1, 1);
  take_lanes(bases, 1, 0);
  bases.take(In::register_, 0, 1);
  return bases;
}

Bases a_instruction(const Shape& physical, int bits) {
  check_sizes(physical, 16, 8 * packed(bits));
  Bases bases(physical);
  bases.take(In::register_, 1, log_of(packed(bits)));
  take_lanes(bases, 1, 0);
  bases.take(In::register_, 0, 1);
  bases.take(In::register_, 1, 1);
  return bases;
}

// A warpgroup's rows: 16 a warp, 64 together, repeated in registers, then shared by warpgroups.
Layout over_warpgroups(Bases bases, int warpgroups) {
  bases.repeat(1, 1);
  bases.take(In::warp, 0, 2);
  bases.repeat(0, warpgroups);
  bases.take(In::warp, 0, log_of(warpgroups));
  return bases.finish();
}

}  // namespace

Layout blocked(const Shape& physical, int contiguous, int warps, int lanes) {
  std::vector<int> order;
  for (int axis = physical.rank(); axis-- > 0;) order.push_back(axis);
  return blocked(physical, contiguous, warps, lanes, order);
}

Layout blocked(const Shape& physical, int contiguous, int warps, int lanes,
               const std::vector<int>& order) {
  check(order.size() == physical.size(), "an order of axes names each once");
  Bases bases(physical);
  auto take_in_order = [&](In in, int bits) {
    for (int axis : order)
      for (; bits > 0 && !bases.is_full(axis); --bits) bases.take(in, axis, 1);
    bases.replicate(in, bits);
  };
  if (!order.empty())
    for (int bits = log_of(contiguous); bits > 0 && !bases.is_full(order[0]); --bits)
      bases.take(In::register_, order[0], 1);
  take_in_order(In::lane, log_of(lanes));
  take_in_order(In::warp, log_of(warps));
  for (int axis : order) bases.repeat(axis, 1);
  return bases.finish();
}

Layout mma_result(const Shape& physical, int warps_m, int warps_n) {
  check_sizes(physical, 16, 8);
  Bases bases = result_instruction(physical);
  bases.repeat(1, warps_n);
  bases.repeat(0, warps_m);
  bases.take(In::warp, 1, log_of(warps_n));
  bases.take(In::warp, 0, log_of(warps_m));
  return bases.finish();
}

Layout mma_operand_a(const Shape& physical, int warps_m, int warps_n, int bits) {
  Bases bases = a_instruction(physical, bits);
  bases.repeat(1, 1);
  bases.repeat(0, warps_m);
  bases.replicate(In::warp, log_of(warps_n));
  bases.take(In::warp, 0, log_of(warps_m));
  return bases.finish();
}

Layout mma_operand_b(const Shape& physical, int warps_m, int warps_n, int bits) {
  check_sizes(physical, 8 * packed(bits), 8);
  Bases bases(physical);
  bases.take(In::register_, 0, log_of(packed(bits)));
  take_lanes(bases, 0, 1);
  bases.take(In::register_, 0, 1);
  bases.repeat(1, warps_n);
  bases.repeat(0, 1);
  bases.take(In::warp, 1, log_of(warps_n));
  bases.replicate(In::warp, log_of(warps_m));
  return bases.finish();
}

Layout wgmma_result(int m, int n, int warpgroups) {
  check_sizes({m, n}, 64 * std::int64_t{warpgroups}, 8);
  return over_warpgroups(result_instruction({m, n}), warpgroups);
}

Layout wgmma_operand_a(int m, int k, int warpgroups, int bits) {
  check_sizes({m, k}, 64 * std::int64_t{warpgroups}, 8 * packed(bits));
  return over_warpgroups(a_instruction({m, k}, bits), warpgroups);
}

}  // namespace tilewright::dsl::layout
