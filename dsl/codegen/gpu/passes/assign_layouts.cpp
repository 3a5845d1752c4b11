// Gives every tile of a traced program a layout on the warps of a block.
//
// Where data moves to and from memory the layout is the one that memory likes (neighbouring threads
// at neighbouring elements, 16 bytes each); all other values take the layout that their first
// consumer wants, so that most operands are already where they are needed. Where they are not,
// insert_conversions brings them.
//
// The rules, from the last instruction to the first:
//   a store, a reduction's operand    blocked: coalesced along the last axis, a reduction's operand
//                                     for the narrowest load that it is made from; what is unpacked
//                                     in registers stays with the thread that loaded it
//   a load                            blocked, but a tile of one axis, of few elements, or a short
//                                     line of which each thread wants 16 bytes, as wanted
//   a matrix product                  the accumulator of its tensor-core instruction; what is
//                                     computed from it element by element stays there
//   elementwise                       operands as the result
//   gather                            the index as the result; the source goes through memory
//   expand_dims, broadcast, permute   operand such that nothing moves
//   a reduction's result              its operand's layout without the axis
//   what a loop carries               one layout for its start, its turns and its result
//
// With roles, what is computed with a product's result is loaded as its accumulator has it, and
// left operands are wanted as fragments: there is little shared memory to move them through.
#include "dsl/codegen/gpu/passes/gpu_passes.h"
#include "dsl/codegen/gpu/plan/block_layouts.h"
#include "dsl/codegen/gpu/plan/uses.h"

namespace tilewright::dsl::gpu {
namespace {

using ir::Inst;
using ir::Op;
using ir::Value;

class Assigner {
 public:
  Assigner(const ir::Function& function, const Target& target)
      : function_(function), target_(target), uses_(function), of_(function.types.size()) {}

  std::vector<std::optional<Layout>> run() {
    // First, since what follows a product asks where its result is.
    follow_products(function_.body);
    block(function_.body);
    return std::move(of_);
  }

 private:
  bool is_tile(Value value) const {
    const ir::Type& type = function_.type(value);
    return !type.is_scalar() && !type.is_descriptor();
  }
  Layout natural(Value value) const {
    const ir::Type& type = function_.type(value);
    int bytes = type.is_pointer() ? 8 : size_bytes(type.dtype);
    return natural_layout(type.shape, bytes, function_.warps);
  }
  // For a value computed element by element from loads: the least bytes of an element of these
  // loads, or `most`; in the natural layout of that load it is where it is wanted.
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
    if (is_tile(value) && !of_[value]) of_[value] = layout;
  }
  const Layout& settled(Value value) {
    if (!of_[value]) of_[value] = natural(value);
    return *of_[value];
  }
  void set(Value value, Layout layout) {
    if (is_tile(value)) of_[value] = std::move(layout);
  }

  void block(const ir::Block& block) {
    for (auto inst = block.insts.rbegin(); inst != block.insts.rend(); ++inst) visit(*inst);
  }

  void visit(const Inst& inst) {
    switch (ir::info(inst.op).op_class) {
      case ir::OpClass::control: return control(inst);
      case ir::OpClass::memory: return memory(inst);
      case ir::OpClass::shape: return shape(inst);
      case ir::OpClass::selection: return want(inst.operands[1], settled(inst.results[0]));
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
        if (auto how = tensor_core_dot(function_, inst, function_.warps, target_))
          set(inst.results[0], how->result);
        else if (auto layout =
                     multiply_add_layout(function_.type(inst.results[0]).shape, function_.warps))
          set(inst.results[0], *layout);
      } else if (inst.op == Op::loop_ || inst.op == Op::if_) {
        for (const ir::Block& body : inst.bodies)
          for (std::size_t k = 0; k < inst.results.size(); ++k)
            if (const auto& layout = of_[body.insts.back().operands[k]])
              set(inst.results[k], *layout);
      } else if (inst.op == Op::reduce_ && is_tile(inst.results[0]) && of_[inst.operands[0]]) {
        set(inst.results[0], layout::slice(*of_[inst.operands[0]], inst.get<ir::Reduction>().axis));
      } else if (inst.op == Op::expand_dims_ && of_[inst.operands[0]]) {
        set(inst.results[0],
            layout::expand_dims(*of_[inst.operands[0]], inst.get<ir::Axis>().axis));
      } else if (ir::info(inst.op).op_class == ir::OpClass::elementwise &&
                 is_tile(inst.results[0])) {
        for (Value operand : inst.operands)
          if (of_[operand]) set(inst.results[0], *of_[operand]);
      }
    }
  }

  // A short line that is wanted 16 bytes a thread: those that want the same find it in the cache.
  bool is_read_along(Value value) const {
    constexpr std::int64_t short_bytes = 4 << 10;
    const ir::Type& type = function_.type(value);
    if (type.is_pointer() || !of_[value]) return false;
    std::int64_t bytes = size_bytes(type.dtype), contiguous = 1;
    for (const Layout::Basis& basis : of_[value]->bases(layout::In::register_)) {
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
    bool small = function_.roles || shape.rank() <= 1 ||
                 element_count(shape) <= 32 * function_.warps || is_read_along(value);
    if (stores) {
      want(value, own);
    } else if (!small || !of_[value]) {
      set(value, own);
    } else {
      own = *of_[value];
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
    if (!of_[operand]) {
      std::vector<bool> seen(function_.types.size(), false);
      const ir::Type& type = function_.type(operand);
      if (auto from = origin(operand, seen); from && from->unpacked) {
        want(operand, from->layout);
      } else {
        seen.assign(seen.size(), false);
        int bytes = loaded_bytes(operand, static_cast<int>(size_bytes(type.dtype)), seen);
        want(operand, natural_layout(type.shape, bytes, function_.warps));
      }
    }
    if (is_tile(inst.results[0]))
      set(inst.results[0], layout::slice(settled(operand), inst.get<ir::Reduction>().axis));
  }

  void product(const Inst& inst) {
    Value result = inst.results[0];
    want(inst.operands[2], settled(result));
    auto how = tensor_core_dot(function_, inst, function_.warps, target_);
    if (function_.roles && how) want(inst.operands[0], how->a);
    for (std::size_t i : {std::size_t{0}, std::size_t{1}})
      want(inst.operands[i], how ? natural(inst.operands[i]) : as_loaded(inst.operands[i]));
  }

  // Without tensor cores an operand goes to shared memory from any layout, so that one whose axes
  // are exchanged stays where its load has it.
  Layout as_loaded(Value value) const {
    const Inst* inst = uses_.definition(value);
    if (inst == nullptr || inst->op != Op::permute_) return natural(value);
    return layout::permute(natural(inst->operands[0]), inst->get<ir::Permutation>().dims);
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
  std::vector<std::optional<Layout>> of_;  // by value; nothing for scalars and descriptors
};

}  // namespace

bool assign_layouts(ir::Function& function, const Target& target) {
  if (function.warps == 0) function.warps = choose_warps(function, target);
  auto layouts = Assigner(function, target).run();
  for (Value value = 0; value < layouts.size(); ++value)
    if (layouts[value]) function.set_layout(value, *layouts[value]);
  function.stage = ir::Stage::laid_out;
  return !function.layouts.empty();
}

}  // namespace tilewright::dsl::gpu
