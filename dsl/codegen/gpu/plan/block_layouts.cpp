#include "dsl/codegen/gpu/plan/block_layouts.h"

#include <algorithm>
#include <bit>

#include "dsl/layout/families.h"
#include "runtime/base/error.h"

namespace tilewright::dsl::gpu {

using ir::Inst;
using ir::Op;

Layout natural_layout(const Shape& shape, int element_bytes, int warps) {
  Shape physical = physical_shape(shape);
  std::int64_t each = std::max<std::int64_t>(1, element_count(physical) / (32 * warps));
  std::int64_t contiguous = std::min<std::int64_t>(each, std::max(1, 16 / element_bytes));
  return layout::blocked(physical, static_cast<int>(std::min(contiguous, physical.back())), warps);
}

// The format in which tensor cores multiply operands of a type.
static std::optional<emulator::Format> multiplied_format(DType operand, const Inst& dot) {
  const bool may_cut = dot.get<ir::Precision>().input == ir::InputPrecision::tf32;
  for (const emulator::NumberFormat& row : emulator::number_formats)
    if (row.dtype == operand && (may_cut || row.ignored_bits == 0)) return row.format;
  return std::nullopt;
}

std::optional<TensorCoreDot> tensor_core_dot(const ir::Function& function, const Inst& dot,
                                             int warps, const Target& target) {
  const ir::Type &a = function.type(dot.operands[0]), &result = function.type(dot.results[0]);
  std::optional<emulator::Format> format = multiplied_format(a.dtype, dot);
  if (!format) return std::nullopt;
  int bits = 8 * emulator::bytes_of(*format), k = 256 / bits;
  Shape left = physical_shape(a.shape), both = physical_shape(result.shape);
  if (both[0] < 16 || both[1] < 8 || left[1] < k) return std::nullopt;
  // Each warp gets a part as square as can be: it then reads least of the operands. Warpgroups own
  // rows only.
  bool warpgroups = target.gpu().has_warpgroup_products && warps % 4 == 0 &&
                    both[0] == 16 * warps && both[1] <= 256;
  int warps_m = warpgroups ? warps : 1, warps_n = 1;
  while (warps_m * warps_n < warps) {
    bool room_m = both[0] / warps_m > 16, room_n = both[1] / warps_n > 8;
    if (room_m && (!room_n || both[0] / warps_m >= both[1] / warps_n))
      warps_m *= 2;
    else
      warps_n *= 2;  // past the last column warps replicate
  }
  Shape right{left[1], both[1]};
  return TensorCoreDot{warps_m,
                       warps_n,
                       k,
                       *format,
                       warpgroups,
                       layout::mma_operand_a(left, warps_m, warps_n, bits),
                       layout::mma_operand_b(right, warps_m, warps_n, bits),
                       layout::mma_result(both, warps_m, warps_n)};
}

std::optional<Layout> multiply_add_layout(const Shape& result, int warps) {
  const Shape both = physical_shape(result);
  if (both.rank() != 2 || element_count(both) < 16 * 32 * warps) return std::nullopt;
  std::int64_t next[2] = {1, 1};  // the first bit of each axis that nobody has yet
  std::vector<Layout::Basis> registers, lanes, warp_bits;
  auto rest = [&](std::size_t axis) { return both[static_cast<int>(axis)] / next[axis]; };
  auto take = [&](std::vector<Layout::Basis>& to, std::size_t axis) {
    Layout::Basis basis(2, 0);
    basis[axis] = static_cast<std::int32_t>(next[axis]);
    next[axis] *= 2;
    to.push_back(std::move(basis));
  };
  auto take_some = [&](std::vector<Layout::Basis>& to, std::size_t axis, int count) {
    for (; count > 0 && rest(axis) > 1; --count) take(to, axis);
  };
  take_some(registers, 1, 2);
  take_some(registers, 0, 2);
  take_some(lanes, 1, 3);
  take_some(lanes, 0, 5 - static_cast<int>(lanes.size()));
  take_some(lanes, 1, 5 - static_cast<int>(lanes.size()));
  for (int w = 1; w < warps; w *= 2) take(warp_bits, rest(0) >= rest(1) ? 0 : 1);
  for (std::size_t axis : {std::size_t{1}, std::size_t{0}})
    while (rest(axis) > 1) take(registers, axis);
  return Layout(both, std::move(registers), std::move(lanes), std::move(warp_bits));
}

int choose_warps(const ir::Function& function, const Target& target) {
  std::int64_t most = 1, most_product = 0, most_multiplied = 0, rows = 0, loaded_bytes = 0;
  int products = 0, multiplied = 0;  // on tensor cores, and in all
  bool reduces = false;
  for (const ir::Type& type : function.types)
    if (!type.is_descriptor()) most = std::max(most, element_count(physical_shape(type.shape)));
  ir::for_each_inst(function.body, [&](const Inst& inst) {
    reduces |= ir::info(inst.op).op_class == ir::OpClass::reduction;
    if (inst.op == Op::dot_) {
      ++multiplied;
      most_multiplied = element_count(physical_shape(function.type(inst.results[0]).shape));
    }
    if (inst.op == Op::load_ || inst.op == Op::load_desc_)
      if (const ir::Type& type = function.type(inst.results[0]); type.is_value())
        loaded_bytes = std::max(loaded_bytes, element_count(type.shape) * size_bytes(type.dtype));
    if (inst.op != Op::dot_ || !tensor_core_dot(function, inst, 1, target)) return;
    Shape shape = physical_shape(function.type(inst.results[0]).shape);
    most_product = std::max(most_product, element_count(shape));
    rows = std::max(rows, shape[0]);
    ++products;
  });
  if (most_product == 0) {
    // 16 registers a thread keep enough loads on their way, and code that is straight in them
    // short; but sums within a warp need no barrier, products reuse what they hold, and what is
    // unpacked was loaded 16 bytes at a time.
    std::int64_t each = multiplied > 0 || (reduces && most <= 32 * 32) ? 32 : 16;
    if (multiplied == 1 && most_multiplied >= 128 * 64) each = 64;
    if (reduces && loaded_bytes > 0 && most >= 2 * loaded_bytes) each = 32;
    // A whole layer of a small model keeps more at once than its largest tile says.
    constexpr int many_products = 16;
    std::int64_t least = multiplied > many_products ? 2 : 1;
    return static_cast<int>(std::clamp<std::int64_t>(most / (32 * each), least, 16));
  }
  // Four warps for each 64 rows, as wgmma takes them.
  if (target.gpu().has_warpgroup_products && products == 1 && (rows == 64 || rows == 128) &&
      most_product >= 64 * 32)
    return static_cast<int>(rows / 16);
  // Several products, as in attention, leave 32 registers to each.
  if (products > 1)
    return static_cast<int>(std::clamp<std::int64_t>(most_product / (32 * 32), 1, 8));
  // Accumulators: 32 registers a thread with up to 4 warps, then 64, then more of them.
  std::int64_t warps = std::clamp<std::int64_t>(most_product / (32 * 32), 1, 4);
  return static_cast<int>(std::clamp<std::int64_t>(most_product / (32 * 64), warps, 8));
}

}  // namespace tilewright::dsl::gpu
