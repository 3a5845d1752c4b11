// Evaluation of a value at a position.
#include "dsl/codegen/host/emitter.h"
#include "runtime/base/error.h"

namespace tilewright::dsl {

using ir::Inst;
using ir::Op;
using ir::Value;

// The innermost loop whose index the position depends on: where it can be evaluated.
std::size_t Emitter::level_of(const Position& position) const {
  std::size_t level = 0;
  for (llvm::Value* index : position.index)
    if (auto it = level_of_index_.find(index); it != level_of_index_.end())
      level = std::max(level, it->second);
  if (position.lane >= 0) level = levels_.size() - 1;
  return level;
}

Lanes Emitter::evaluate(Value value, const Position& position) {
  const ir::Type& type = function_.type(value);
  if (type.is_scalar()) {
    if (type.is_pointer()) return {b_.getInt64(0), true, scalars_[value]};
    return {scalars_[value], true};
  }
  if (levels_.empty()) return evaluate_here(value, position);
  std::size_t level = level_of(position);
  auto& done = levels_[level].done;
  if (auto it = done.find({value, position}); it != done.end()) return it->second;
  Lanes lanes;
  if (level + 1 < levels_.size() && levels_[level].block != nullptr) {
    // Outside the inner loops, at the end of the block that enters them.
    llvm::IRBuilderBase::InsertPointGuard guard(b_);
    llvm::Value* tail = std::exchange(tail_, nullptr);
    if (auto* end = levels_[level].block->getTerminator())
      b_.SetInsertPoint(end);
    else
      b_.SetInsertPoint(levels_[level].block);
    lanes = evaluate_here(value, position);
    tail_ = tail;
  } else {
    lanes = evaluate_here(value, position);
  }
  levels_[level].done[{value, position}] = lanes;
  return lanes;
}

// Does not look whether the value was evaluated before. A materialised value whose slot is being
// filled now is computed, not read.
Lanes Emitter::evaluate_here(Value value, const Position& position) {
  const ir::Type& type = function_.type(value);
  auto slot = slots_.find(value);
  const Inst* inst = defs_.inst(value);
  bool filling = filling_ == value;
  if (slot != slots_.end() && !filling) return read_slot(slot->second, position);
  filling_.reset();
  check(inst != nullptr, "a tile value has neither definition nor memory");
  switch (info(inst->op).op_class) {
    case ir::OpClass::memory: return load_value(*inst, position);
    case ir::OpClass::shape: return evaluate_shape(*inst, position);
    case ir::OpClass::selection: return gathered(*inst, position);
    case ir::OpClass::creation: {
      if (inst->op == Op::splat_) return evaluate(inst->operands[0], {});
      check(inst->op == Op::arange_, "not a creation of tiles");
      auto* start = b_.CreateAdd(b_.CreateTrunc(position.index[0], b_.getInt32Ty()),
                                 b_.getInt32(static_cast<unsigned>(inst->get<ir::Bounds>().start)));
      if (position.lane < 0) return {start, true};
      auto* splat = b_.CreateVectorSplat(static_cast<unsigned>(lanes_), start);
      return {b_.CreateAdd(splat, iota(b_.getInt32Ty())), false};
    }
    case ir::OpClass::elementwise: break;
    case ir::OpClass::reduction:
    case ir::OpClass::contraction:
    case ir::OpClass::exchange:
    case ir::OpClass::control:
    case ir::OpClass::hint: check(false, "a value that must be kept is not");
  }
  if (auto lanes = looked_up(*inst, position)) return *lanes;
  std::vector<Lanes> operands;
  bool uniform = true;
  for (Value operand : inst->operands) {
    operands.push_back(evaluate(operand, position));
    uniform &= operands.back().uniform;
  }
  if (inst->op == Op::offset_) {
    DType by = function_.type(inst->operands[1]).dtype;
    auto* moved = convert(operands[1].value, by, DType::i64);
    if (operands[0].uniform == operands[1].uniform)
      return {b_.CreateAdd(operands[0].value, moved), uniform, operands[0].base};
    auto* from = operands[0].uniform ? spread(operands[0]) : operands[0].value;
    auto* step = operands[1].uniform ? spread({moved, true}) : moved;
    return {b_.CreateAdd(from, step), false, operands[0].base};
  }
  if (inst->op == Op::bitcast_ && operands[0].base != nullptr)
    return address_of(function_.type(inst->operands[0]).dtype, operands[0]);
  if (type.is_pointer())
    raise_error(concat("[", info(inst->op).name, "] ", describe(inst->where),
                       ": tiles of pointers only move by offsets"));
  std::vector<llvm::Value*> values;
  for (const Lanes& operand : operands) values.push_back(uniform ? operand.value : spread(operand));
  return {element(*inst, values), uniform};
}

Lanes Emitter::evaluate_shape(const Inst& inst, const Position& position) {
  Value operand = inst.operands[0];
  const Shape& from = function_.type(operand).shape;
  const Shape& to = function_.type(inst.results[0]).shape;
  Position inner;
  if (from.empty()) return evaluate(operand, inner);
  if (inst.op == Op::expand_dims_) {
    int axis = inst.get<ir::Axis>().axis;
    inner = position;
    inner.index.erase(inner.index.begin() + axis);
    if (position.lane == axis) inner.lane = -1;
    if (position.lane > axis) --inner.lane;
  } else if (inst.op == Op::broadcast_) {
    inner = position;
    for (int axis = 0; axis < from.rank(); ++axis)
      if (from[axis] == 1 && to[axis] != 1) {
        inner.index[static_cast<std::size_t>(axis)] = index(0);
        if (position.lane == axis) inner.lane = -1;
      }
  } else if (inst.op == Op::permute_) {
    const auto& dims = inst.get<ir::Permutation>().dims;
    inner.index.resize(dims.size());
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
      inner.index[static_cast<std::size_t>(dims[axis])] = position.index[axis];
      if (position.lane == static_cast<int>(axis)) inner.lane = dims[axis];
    }
  } else if (auto joined = joined_axes(from, to)) {
    inner.index.assign(from.size(), index(0));
    for (std::size_t axis = 0; axis < joined->size(); ++axis) {
      std::vector<int>& parts = (*joined)[axis];
      if (parts.empty()) continue;
      if (position.lane == static_cast<int>(axis)) inner.lane = parts.back();
      llvm::Value* rest = position.index[axis];
      for (; parts.size() > 1; parts.pop_back()) {
        auto* size = index(from[parts.back()]);
        llvm::Value* at = b_.CreateURem(rest, size);
        rest = b_.CreateUDiv(rest, size);
        inner.index[static_cast<std::size_t>(parts.back())] = at;
        for (llvm::Value* made : {at, rest})
          if (!levels_.empty() && !llvm::isa<llvm::Constant>(made))
            level_of_index_.emplace(made, level_of(position));
      }
      inner.index[static_cast<std::size_t>(parts[0])] = rest;
    }
  } else {
    // The operand is materialised, row-major: read it as if it had this shape.
    Slot slot = kept_operand(inst);
    slot.type = slot.type.with_shape(to);
    slot.strides = row_major_strides(to);
    return read_slot(slot, position);
  }
  return evaluate(operand, inner);
}

// The memory of what the instruction reads as an array. A program that form_loop_nests has made
// keeps it; one that was written by hand need not.
const Emitter::Slot& Emitter::kept_operand(const Inst& inst) const {
  auto slot = slots_.find(inst.operands[0]);
  require(slot != slots_.end(), "[", info(inst.op).name, "] reads elements of %", inst.operands[0],
          " at other places than its own; a scheduled program must keep it: `schedule (kept)`");
  return slot->second;
}

Emitter::Address Emitter::slot_address(const Slot& slot, DType dtype, const Position& position) {
  llvm::Value* offset = index(0);
  for (std::size_t axis = 0; axis < position.index.size(); ++axis)
    offset = b_.CreateAdd(
        offset, b_.CreateMul(position.index[axis], index(slot.strides[static_cast<int>(axis)])));
  Address address;
  address.pointer = gep(slot.data, dtype, offset);
  if (position.lane >= 0) address.lane_stride = index(slot.strides[position.lane]);
  return address;
}

Lanes Emitter::read_slot(const Slot& slot, const Position& position) {
  DType dtype = slot.type.is_pointer() ? DType::i64 : slot.type.dtype;
  Lanes lanes = load(slot_address(slot, dtype, position), dtype, position.lane, nullptr);
  // An address: element offset from the null pointer.
  if (slot.type.is_pointer()) {
    lanes.base = llvm::ConstantPointerNull::get(b_.getPtrTy());
    lanes.value = b_.CreateExactSDiv(
        lanes.value,
        llvm::ConstantInt::get(lanes.value->getType(),
                               static_cast<std::uint64_t>(size_bytes(slot.type.dtype))));
  }
  return lanes;
}

// Pointers to elements of `dtype` as integers.
Lanes Emitter::address_of(DType dtype, const Lanes& pointers) {
  auto* bytes = b_.CreateMul(pointers.value,
                             llvm::ConstantInt::get(pointers.value->getType(),
                                                    static_cast<std::uint64_t>(size_bytes(dtype))));
  auto* base = b_.CreatePtrToInt(pointers.base, b_.getInt64Ty());
  return {b_.CreateAdd(bytes, pointers.uniform ? base : spread({base, true})), pointers.uniform};
}

void Emitter::write_slot(const Slot& slot, const Position& position, Lanes lanes) {
  DType dtype = slot.type.dtype;
  if (slot.type.is_pointer()) {
    lanes = address_of(dtype, lanes);
    dtype = DType::i64;
  }
  store(slot_address(slot, dtype, position), dtype, position.lane, lanes, false);
}

// By how much a tile changes from lane to lane, if that is a constant: then the lanes of a load
// through it are contiguous, or all the same. For floats, which are rounded, the only known stride
// is 0.
std::optional<std::int64_t> Emitter::lane_stride(Value value, int lane) const {
  const ir::Type& type = function_.type(value);
  if (lane < 0 || type.is_scalar()) return 0;
  if (slots_.contains(value)) return std::nullopt;
  const Inst* inst = defs_.inst(value);
  if (inst == nullptr) return std::nullopt;
  auto operand = [&](std::size_t i) { return lane_stride(inst->operands[i], lane); };
  auto of_equal_lanes = [&]() -> std::optional<std::int64_t> {
    for (std::size_t i = 0; i < inst->operands.size(); ++i)
      if (operand(i) != 0) return std::nullopt;
    return 0;
  };
  const bool is_elementwise = info(inst->op).op_class == ir::OpClass::elementwise;
  if (is_elementwise && type.is_value() && is_floating(type.dtype)) return of_equal_lanes();
  const Op op = inst->op;
  if (op == Op::arange_) return 1;
  if (op == Op::splat_) return 0;
  if (op == Op::expand_dims_) {
    int axis = inst->get<ir::Axis>().axis;
    if (lane == axis) return 0;
    return lane_stride(inst->operands[0], lane > axis ? lane - 1 : lane);
  }
  if (op == Op::broadcast_)
    return function_.type(inst->operands[0]).shape[lane] == 1 ? 0 : operand(0);
  if (op == Op::permute_)
    return lane_stride(inst->operands[0],
                       inst->get<ir::Permutation>().dims[static_cast<std::size_t>(lane)]);
  if (op == Op::offset_ || op == Op::add_ || op == Op::sub_) {
    auto a = operand(0), b = operand(1);
    if (!a || !b) return std::nullopt;
    return op == Op::sub_ ? *a - *b : *a + *b;
  }
  if (op == Op::mul_) return lane_stride_of_product(*inst, lane);
  if (op == Op::cast_) {
    // Widening keeps steps; a narrower type may wrap, and floats are rounded.
    DType from = function_.type(inst->operands[0]).dtype;
    if (bit_width(type.dtype) >= bit_width(from) && !is_floating(from)) return operand(0);
  }
  return is_elementwise ? of_equal_lanes() : std::nullopt;
}

std::optional<std::int64_t> Emitter::lane_stride_of_product(const Inst& inst, int lane) const {
  auto a = lane_stride(inst.operands[0], lane), b = lane_stride(inst.operands[1], lane);
  if (a && b && *a == 0 && *b == 0) return 0;
  auto factor = [&](std::size_t i) -> std::optional<std::int64_t> {
    const Inst* f = defs_.inst(inst.operands[i]);
    while (f != nullptr &&
           (f->op == Op::splat_ || f->op == Op::broadcast_ || f->op == Op::expand_dims_))
      f = defs_.inst(f->operands[0]);
    if (f == nullptr || f->op != Op::constant_) return std::nullopt;
    return f->get<ir::Scalar>().integer;
  };
  if (auto k = factor(1); k && a) return *a * *k;
  if (auto k = factor(0); k && b) return *b * *k;
  return std::nullopt;
}

llvm::Value* Emitter::spread(const Lanes& lanes) {
  if (!lanes.uniform || lanes_ == 1) return lanes.value;
  return b_.CreateVectorSplat(static_cast<unsigned>(lanes_), lanes.value);
}

llvm::Value* Emitter::iota(llvm::Type* element) {
  std::vector<llvm::Constant*> lanes;
  for (int i = 0; i < lanes_; ++i)
    lanes.push_back(llvm::ConstantInt::get(element, static_cast<std::uint64_t>(i)));
  return llvm::ConstantVector::get(lanes);
}

}  // namespace tilewright::dsl
