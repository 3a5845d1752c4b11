// Elements of a tile at places that another one gives. Where these places are known to follow from
// the element's own, by a distance or by exchanged bits, a vector of them is read as it lies, and
// else one by one.
#include <bit>

#include "dsl/codegen/host/emitter.h"
#include "runtime/base/error.h"

namespace tilewright::dsl {

using ir::Inst;
using ir::Op;
using ir::Value;

// The places that an index gives are (place along the axis + distance) ^ bits.
struct Emitter::Course {
  std::int64_t distance = 0, bits = 0;
};

namespace {

std::optional<std::int64_t> constant_in(const Definitions& defs, Value value) {
  const Inst* inst = defs.inst(value);
  while (inst != nullptr && (inst->op == Op::splat_ || inst->op == Op::broadcast_))
    inst = defs.inst(inst->operands[0]);
  if (inst == nullptr || inst->op != Op::constant_) return std::nullopt;
  return inst->get<ir::Scalar>().integer;
}

}  // namespace

std::optional<Emitter::Course> Emitter::course_of(Value index, int axis) const {
  constexpr std::int64_t far = std::int64_t{1} << 30;  // beyond it, sums might wrap
  const Inst* inst = defs_.inst(index);
  if (inst == nullptr) return std::nullopt;
  auto known = [&](std::size_t i) { return constant_in(defs_, inst->operands[i]); };
  auto inner = [&](std::size_t i, int along) { return course_of(inst->operands[i], along); };
  auto moved = [&](std::optional<Course> course, std::optional<std::int64_t> by,
                   int sign) -> std::optional<Course> {
    if (!course || !by || course->bits != 0 || std::abs(*by) > far) return std::nullopt;
    course->distance += sign * *by;
    return std::abs(course->distance) > far ? std::nullopt : course;
  };
  switch (inst->op) {
    case Op::arange_: return Course{inst->get<ir::Bounds>().start, 0};
    case Op::expand_dims_: {
      const int added = inst->get<ir::Axis>().axis;
      return added == axis ? std::nullopt : inner(0, axis > added ? axis - 1 : axis);
    }
    case Op::broadcast_:
      if (function_.type(inst->operands[0]).shape[axis] != function_.type(index).shape[axis])
        return std::nullopt;
      return inner(0, axis);
    case Op::cast_:
      return function_.type(index).dtype == DType::i64 ? inner(0, axis) : std::nullopt;
    case Op::add_:
      return known(1) ? moved(inner(0, axis), known(1), 1) : moved(inner(1, axis), known(0), 1);
    case Op::sub_: return moved(inner(0, axis), known(1), -1);
    case Op::xor_: {
      auto course = inner(0, axis);
      if (!course || !known(1) || course->distance != 0 || course->bits != 0) return std::nullopt;
      return Course{0, *known(1)};
    }
    default: return std::nullopt;
  }
}

// The source lies in memory as a whole.
Lanes Emitter::gathered(const Inst& inst, const Position& position) {
  const Slot& source = kept_operand(inst);
  const int axis = inst.get<ir::Axis>().axis;
  if (position.lane == axis && lanes_ > 1)
    if (auto course = course_of(inst.operands[1], axis)) {
      const std::int64_t places = function_.type(inst.operands[1]).shape[axis];
      const bool stays = course->bits >= 0 && course->bits < places && !leads_ &&
                         std::has_single_bit(static_cast<std::uint64_t>(places)) &&
                         places <= source.type.shape[axis];
      if (course->bits == 0) return at_distance(source, axis, course->distance, places, position);
      if (stays) return with_bits_exchanged(source, axis, course->bits, position);
    }
  return one_by_one(inst, source, axis, position);
}

Lanes Emitter::one_by_one(const Inst& inst, const Slot& source, int axis,
                          const Position& position) {
  const DType by = function_.type(inst.operands[1]).dtype, dtype = source.type.dtype;
  Lanes chosen = evaluate(inst.operands[1], position);
  chosen.value = clamped(chosen.value, by, source.type.shape[axis]);
  Position place = position;
  auto& along = place.index[static_cast<std::size_t>(axis)];
  if (chosen.uniform) {
    along = convert(chosen.value, by, DType::i64);
    if (place.lane == axis) place.lane = -1;
    return load(slot_address(source, dtype, place), dtype, place.lane, nullptr);
  }
  // Offsets of 32 bits reach every element of a tile, and gathers take twice as many of these.
  along = index(0);
  auto* steps = b_.CreateTrunc(chosen.value, lanes_type(b_.getInt32Ty()));
  auto stride = [&](int of) {
    auto step = static_cast<unsigned>(source.strides[of]);
    return b_.CreateVectorSplat(static_cast<unsigned>(lanes_), b_.getInt32(step));
  };
  steps = b_.CreateMul(steps, stride(axis));
  if (place.lane != axis)
    steps = b_.CreateAdd(steps, b_.CreateMul(iota(b_.getInt32Ty()), stride(place.lane)));
  Address address;
  place.lane = -1;
  auto* first = slot_address(source, dtype, place).pointer;
  address.pointers = b_.CreateGEP(memory_type(dtype), first, steps);
  return load(address, dtype, position.lane, nullptr);
}

llvm::Value* Emitter::clamped(llvm::Value* place, DType dtype, std::int64_t size) {
  auto number = [&](std::int64_t value) {
    return llvm::ConstantInt::get(place->getType(), static_cast<std::uint64_t>(value));
  };
  auto* above = integer_op(Op::max_, dtype, {place, number(0)});
  return integer_op(Op::min_, dtype, {above, number(size - 1)});
}

// Lanes beyond an end read the element there.
Lanes Emitter::at_distance(const Slot& source, int axis, std::int64_t distance, std::int64_t places,
                           const Position& position) {
  const std::int64_t size = source.type.shape[axis];
  const DType dtype = source.type.dtype;
  Position place = position;
  auto& along = place.index[static_cast<std::size_t>(axis)];
  auto* own = along;
  along = b_.CreateAdd(own, index(distance));
  Address address = slot_address(source, dtype, place);
  if (distance >= 0 && places + distance <= size) return load(address, dtype, axis, nullptr);
  auto* lane =
      b_.CreateAdd(spread({b_.CreateTrunc(along, b_.getInt32Ty()), true}), iota(b_.getInt32Ty()));
  auto number = [&](std::int64_t value) {
    return spread({b_.getInt32(static_cast<unsigned>(value)), true});
  };
  address.mask = b_.CreateICmpULT(lane, number(size));
  auto end = [&](std::int64_t at) {
    Position only = position;
    only.index[static_cast<std::size_t>(axis)] = index(at);
    only.lane = -1;
    return spread(load(slot_address(source, dtype, only), dtype, -1, nullptr));
  };
  llvm::Value* rest = distance < 0 ? end(0) : end(size - 1);
  if (distance < 0 && places + distance > size)
    rest = b_.CreateSelect(b_.CreateICmpSLT(lane, number(0)), rest, end(size - 1));
  return load(address, dtype, axis, rest);
}

// Vectors begin at multiples of their lanes: the upper bits choose a vector, the others its lanes.
Lanes Emitter::with_bits_exchanged(const Slot& source, int axis, std::int64_t bits,
                                   const Position& position) {
  const DType dtype = source.type.dtype;
  const std::int64_t within = bits & (lanes_ - 1);
  Position place = position;
  auto& along = place.index[static_cast<std::size_t>(axis)];
  if (bits != within) along = b_.CreateXor(along, index(bits - within));
  Lanes lanes = load(slot_address(source, dtype, place), dtype, axis, nullptr);
  if (within == 0) return lanes;
  std::vector<int> order;
  for (int lane = 0; lane < lanes_; ++lane) order.push_back(lane ^ static_cast<int>(within));
  lanes.value = b_.CreateShuffleVector(lanes.value, order);
  return lanes;
}

}  // namespace tilewright::dsl
