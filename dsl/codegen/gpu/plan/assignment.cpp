#include "dsl/codegen/gpu/plan/assignment.h"

#include <algorithm>
#include <bit>

#include "dsl/codegen/gpu/plan/uses.h"
#include "dsl/layout/families.h"
#include "runtime/base/error.h"

namespace tilewright::dsl::gpu {
namespace {

using ir::Inst;
using ir::Op;
using ir::Value;
using layout::Layout;

class Assigner {
 public:
  Assigner(const ir::Function& function, int warps, const Target& target, bool in_fragments)
      : function_(function), target_(target), uses_(function), in_fragments_(in_fragments) {
    result_.warps = warps;
    result_.of.resize(function.types.size());
  }

  Assignment run() {
    // First, since what follows a product asks where its result is.
    follow_products(function_.body);
    block(function_.body);
    return std::move(result_);
  }

 private:
  bool is_tile(Value value) const {
    const ir::Type& type = function_.type(value);
    return !type.is_scalar() && !type.is_descriptor();
  }
  Layout natural(Value value) const {
    const ir::Type& type = function_.type(value);
    int bytes = type.is_pointer() ? 8 : size_bytes(type.dtype);
    return natural_layout(type.shape, bytes, result_.warps);
  }
  // Of the loads that a value is made from element by element, the least bytes of an element, or
  // `most`: in the natural layout of that load it is where it is wanted.
  int loaded_bytes(Value value, int most, std::vector<bool>& seen) const {
    const Inst* inst = uses_.definition(value);
    if (seen[value] || inst == nullptr) return most;
    seen[value] = true;
    const ir::Type& type = function_.type(value);
    auto follow = [&](Value from) {
      const ir::Type& other = function_.type(from);
      if (is_tile(from) && !other.is_pointer() && other.shape.back() == type.shape.back())
        most = std::min(most, loaded_bytes(from, most, seen));
    };
    if (inst->op == Op::load_ || inst->op == Op::load_desc_) {
      most = std::min(most, std::max(2, static_cast<int>(size_bytes(type.dtype))));
    } else if (inst->op == Op::loop_) {
      for (std::size_t k = 0; k < inst->results.size(); ++k)
        if (inst->results[k] == value) follow(inst->bodies[0].insts.back().operands[k]);
    } else if (ir::info(inst->op).op_class == ir::OpClass::elementwise ||
               inst->op == Op::broadcast_ || inst->op == Op::expand_dims_) {
      for (Value operand : inst->operands) follow(operand);
    }
    return most;
  }
  // How a value lies where the load that has most of its elements has its natural layout; what it
  // is broadcast over lies in registers of one thread.
  struct Origin {
    Layout layout;
    std::int64_t elements = 0;
    bool unpacked = false;  // from elements of a byte, or in another shape
  };
  std::optional<Origin> origin(Value value, std::vector<bool>& seen) const {
    const Inst* inst = uses_.definition(value);
    if (seen[value] || inst == nullptr || !is_tile(value)) return std::nullopt;
    seen[value] = true;
    const ir::Type& type = function_.type(value);
    if (inst->op == Op::load_ || inst->op == Op::load_desc_)
      return Origin{natural(value), element_count(type.shape), size_bytes(type.dtype) == 1};
    if (inst->op == Op::loop_) {
      for (std::size_t k = 0; k < inst->results.size(); ++k)
        if (inst->results[k] == value)
          return origin(inst->bodies[0].insts.back().operands[k], seen);
      return std::nullopt;
    }
    if (ir::info(inst->op).op_class == ir::OpClass::elementwise) {
      std::optional<Origin> largest;
      for (Value operand : inst->operands)
        if (auto from = origin(operand, seen);
            from && (!largest || from->elements > largest->elements))
          largest = std::move(from);
      return largest;
    }
    if (ir::info(inst->op).op_class != ir::OpClass::shape) return std::nullopt;
    auto from = origin(inst->operands[0], seen);
    if (!from) return std::nullopt;
    const Shape& shape = function_.type(inst->operands[0]).shape;
    if (inst->op == Op::expand_dims_) {
      from->layout = layout::expand_dims(from->layout, inst->get<ir::Axis>().axis);
    } else if (inst->op == Op::permute_) {
      from->layout = layout::permute(from->layout, inst->get<ir::Permutation>().dims);
    } else if (inst->op == Op::broadcast_) {
      from->layout = layout::broadcast_in_registers(from->layout, physical_shape(type.shape));
    } else {
      if (physical_shape(type.shape) != type.shape || physical_shape(shape) != shape)
        return std::nullopt;
      auto reshaped = layout::reshape(from->layout, type.shape);
      if (!reshaped) return std::nullopt;
      from->layout = std::move(*reshaped);
      from->unpacked = true;
    }
    return from;
  }
  // The first to want a layout is heard.
  void want(Value value, const Layout& layout) {
    if (is_tile(value) && !result_.of[value]) result_.of[value] = layout;
  }
  const Layout& settled(Value value) {
    if (!result_.of[value]) result_.of[value] = natural(value);
    return *result_.of[value];
  }
  void set(Value value, Layout layout) {
    if (is_tile(value)) result_.of[value] = std::move(layout);
  }

  void block(const ir::Block& block) {
    for (auto inst = block.insts.rbegin(); inst != block.insts.rend(); ++inst) visit(*inst);
  }

  void visit(const Inst& inst) {
    switch (ir::info(inst.op).op_class) {
      case ir::OpClass::control: return control(inst);
      case ir::OpClass::memory: return memory(inst);
      case ir::OpClass::shape: return shape(inst);
      case ir::OpClass::reduction: return reduction(inst);
      case ir::OpClass::contraction: return product(inst);
      case ir::OpClass::exchange:
      case ir::OpClass::elementwise:
        if (!is_tile(inst.results[0])) return;
        for (Value operand : inst.operands) want(operand, settled(inst.results[0]));
        return;
      case ir::OpClass::creation:
        if (is_tile(inst.results[0])) settled(inst.results[0]);
        return;
      case ir::OpClass::hint: return;
    }
  }

  // From the first instruction to the last: accumulators, and what is computed from them element by
  // element or summed up over their rows, stay in the layout of their product, and move only to be
  // stored.
  void follow_products(const ir::Block& block) {
    for (const Inst& inst : block.insts) {
      for (const ir::Block& body : inst.bodies) follow_products(body);
      if (inst.op == Op::dot_) {
        if (auto how = tensor_core_dot(function_, inst, result_.warps, target_))
          set(inst.results[0], how->result);
      } else if (inst.op == Op::loop_ || inst.op == Op::if_) {
        for (const ir::Block& body : inst.bodies)
          for (std::size_t k = 0; k < inst.results.size(); ++k)
            if (const auto& layout = result_.of[body.insts.back().operands[k]])
              set(inst.results[k], *layout);
      } else if (inst.op == Op::reduce_ && is_tile(inst.results[0]) &&
                 result_.of[inst.operands[0]]) {
        set(inst.results[0],
            layout::slice(*result_.of[inst.operands[0]], inst.get<ir::Reduction>().axis));
      } else if (inst.op == Op::expand_dims_ && result_.of[inst.operands[0]]) {
        set(inst.results[0],
            layout::expand_dims(*result_.of[inst.operands[0]], inst.get<ir::Axis>().axis));
      } else if (ir::info(inst.op).op_class == ir::OpClass::elementwise &&
                 is_tile(inst.results[0])) {
        for (Value operand : inst.operands)
          if (result_.of[operand]) set(inst.results[0], *result_.of[operand]);
      }
    }
  }

  // A short line that is wanted 16 bytes a thread: those that want the same find it in the cache.
  bool is_read_along(Value value) const {
    constexpr std::int64_t short_bytes = 4 << 10;
    const ir::Type& type = function_.type(value);
    if (type.is_pointer() || !result_.of[value]) return false;
    std::int64_t bytes = size_bytes(type.dtype), contiguous = 1;
    for (const Layout::Basis& basis : result_.of[value]->bases(layout::In::register_)) {
      Layout::Basis next(basis.size(), 0);
      next.back() = static_cast<std::int32_t>(contiguous);
      if (basis != next) break;
      contiguous *= 2;
    }
    return type.shape.back() == element_count(type.shape) &&
           type.shape.back() * bytes <= short_bytes && contiguous * bytes >= 16;
  }

  void memory(const Inst& inst) {
    if (inst.op == Op::make_desc_) return;
    bool stores = inst.results.empty();
    Value value = stores ? inst.operands[1] : inst.results[0];
    if (!is_tile(value)) return;
    Layout own = natural(value);
    const Shape& shape = function_.type(value).shape;
    bool small = in_fragments_ || shape.rank() <= 1 || element_count(shape) <= 32 * result_.warps ||
                 is_read_along(value);
    if (stores) {
      want(value, own);
    } else if (!small || !result_.of[value]) {
      set(value, own);
    } else {
      own = *result_.of[value];
    }
    if (inst.op == Op::load_ || inst.op == Op::store_ || inst.op == Op::atomic_)
      for (Value operand : inst.operands)
        if (operand != value) want(operand, own);
  }

  // The operand's layout with which nothing moves; a reshape that is more than new axes of one
  // element goes through memory.
  void shape(const Inst& inst) {
    if (!is_tile(inst.operands[0])) {
      if (is_tile(inst.results[0])) settled(inst.results[0]);
      return;
    }
    const Shape& from = function_.type(inst.operands[0]).shape;
    if (!is_tile(inst.results[0])) return;
    const Layout& result = settled(inst.results[0]);
    if (inst.op == Op::expand_dims_)
      return want(inst.operands[0], layout::slice(result, inst.get<ir::Axis>().axis));
    if (inst.op == Op::broadcast_)
      return want(inst.operands[0], layout::broadcast_source(result, physical_shape(from)));
    if (inst.op == Op::permute_) {
      const auto& dims = inst.get<ir::Permutation>().dims;
      std::vector<int> inverse(dims.size());
      for (std::size_t i = 0; i < dims.size(); ++i)
        inverse[static_cast<std::size_t>(dims[i])] = static_cast<int>(i);
      return want(inst.operands[0], layout::permute(result, inverse));
    }
    if (auto source = reshape_source(function_.type(inst.results[0]).shape, from, result))
      want(inst.operands[0], *source);
  }

  void reduction(const Inst& inst) {
    Value operand = inst.operands[0];
    if (!result_.of[operand]) {
      std::vector<bool> seen(function_.types.size(), false);
      const ir::Type& type = function_.type(operand);
      if (auto from = origin(operand, seen); from && from->unpacked) {
        want(operand, from->layout);
      } else {
        seen.assign(seen.size(), false);
        int bytes = loaded_bytes(operand, static_cast<int>(size_bytes(type.dtype)), seen);
        want(operand, natural_layout(type.shape, bytes, result_.warps));
      }
    }
    if (is_tile(inst.results[0]))
      set(inst.results[0], layout::slice(settled(operand), inst.get<ir::Reduction>().axis));
  }

  void product(const Inst& inst) {
    Value result = inst.results[0];
    want(inst.operands[2], settled(result));
    auto how = tensor_core_dot(function_, inst, result_.warps, target_);
    if (in_fragments_ && how) want(inst.operands[0], how->a);
    for (std::size_t i : {std::size_t{0}, std::size_t{1}})
      want(inst.operands[i], natural(inst.operands[i]));
  }

  void control(const Inst& inst) {
    if (inst.op == Op::yield_) return;
    for (std::size_t k = 0; k < inst.results.size(); ++k) {
      if (!is_tile(inst.results[k])) continue;
      if (inst.op == Op::loop_) {
        Value next = inst.bodies[0].insts.back().operands[k];
        Layout layout = settled(inst.results[k]);
        want(inst.operands[3 + k], layout);
        set(inst.bodies[0].params[1 + k], layout);
        want(next, layout);
      } else {
        for (const ir::Block& body : inst.bodies)
          want(body.insts.back().operands[k], settled(inst.results[k]));
      }
    }
    for (auto body = inst.bodies.rbegin(); body != inst.bodies.rend(); ++body) block(*body);
  }

  static std::optional<Layout> reshape_source(const Shape& to, const Shape& from,
                                              const Layout& result) {
    if (physical_shape(to) != to || physical_shape(from) != from) return std::nullopt;
    return layout::reshape(result, from);
  }

  const ir::Function& function_;
  const Target& target_;
  Uses uses_;
  bool in_fragments_;
  Assignment result_;
};

}  // namespace

Layout natural_layout(const Shape& shape, int element_bytes, int warps) {
  Shape physical = physical_shape(shape);
  std::int64_t each = std::max<std::int64_t>(1, element_count(physical) / (32 * warps));
  std::int64_t contiguous = std::min<std::int64_t>(each, std::max(1, 16 / element_bytes));
  return layout::blocked(physical, static_cast<int>(std::min(contiguous, physical.back())), warps);
}

// The format in which tensor cores multiply operands of a type.
static std::optional<emulator::Format> multiplied_format(DType operand, const Inst& dot) {
  using emulator::Format;
  switch (operand) {
    case DType::f16: return Format::f16;
    case DType::bf16: return Format::bf16;
    case DType::i8: return Format::s8;
    case DType::f8e4m3: return Format::e4m3;
    case DType::f8e5m2: return Format::e5m2;
    case DType::f32:
      if (dot.get<ir::Precision>().input == ir::InputPrecision::tf32) return Format::tf32;
      return std::nullopt;
    default: return std::nullopt;
  }
}

std::optional<TensorCoreDot> tensor_core_dot(const ir::Function& function, const Inst& dot,
                                             int warps, const Target& target) {
  const ir::Type &a = function.type(dot.operands[0]), &result = function.type(dot.results[0]);
  std::optional<emulator::Format> format = multiplied_format(a.dtype, dot);
  if (!format) return std::nullopt;
  int bits = 8 * emulator::bytes_of(*format), k = 256 / bits;
  Shape left = physical_shape(a.shape), both = physical_shape(result.shape);
  if (both[0] < 16 || both[1] < 8 || left[1] < k) return std::nullopt;
  // Each warp a part as square as can be: what it reads of the operands is least.
  // Warpgroups own rows only.
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

int choose_warps(const ir::Function& function, const Target& target) {
  std::int64_t most = 1, most_product = 0, rows = 0, loaded_bytes = 0;
  int products = 0, multiplied = 0;  // on tensor cores, and in all
  bool reduces = false;
  for (const ir::Type& type : function.types)
    if (!type.is_descriptor()) most = std::max(most, element_count(physical_shape(type.shape)));
  ir::for_each_inst(function.body, [&](const Inst& inst) {
    reduces |= ir::info(inst.op).op_class == ir::OpClass::reduction;
    multiplied += inst.op == Op::dot_ ? 1 : 0;
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

Assignment assign_layouts(const ir::Function& function, int warps, const Target& target,
                          bool in_fragments) {
  return Assigner(function, warps, target, in_fragments).run();
}

}  // namespace tilewright::dsl::gpu
