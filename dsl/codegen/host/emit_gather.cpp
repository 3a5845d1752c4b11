// Elements of a tile at places that another one gives. Where these places are known to follow from
// the element's own, by a distance or by exchanged bits, a vector of them is read as it lies, or,
// of a tile that is one vector, shuffled in registers; and else one by one.
#include <algorithm>
#include <bit>
#include <utility>

#include "dsl/codegen/host/emitter.h"
#include "runtime/base/error.h"

namespace tilewright::dsl {

using ir::Inst;
using ir::Op;
using ir::Value;

// The source lies in memory as a whole, or is a vector in registers.
Lanes Emitter::gathered(const Inst& inst, const Position& position) {
  const int axis = inst.get<ir::Axis>().axis;
  if (!slots_.contains(inst.operands[0]))
    if (auto course = course_in_vector(defs_, inst)) return among_lanes(inst, *course, position);
  const Slot& source = kept_operand(inst);
  if (position.lane == axis && lanes_ > 1)
    if (auto course = course_of(defs_, inst.operands[1], axis); course && !course->fixed) {
      const std::int64_t places = function_.type(inst.operands[1]).shape[axis];
      const bool stays = course->bits >= 0 && course->bits < places && !leads_ &&
                         std::has_single_bit(static_cast<std::uint64_t>(places)) &&
                         places <= source.type.shape[axis];
      if (course->bits == 0) return at_distance(source, axis, course->distance, places, position);
      if (stays) return with_bits_exchanged(source, axis, course->bits, position);
    }
  return one_by_one(inst, source, axis, position);
}

// For a source that is computed here: the vectors that hold the looked-up elements, and their lanes
// in another order.
Lanes Emitter::among_lanes(const Inst& inst, const Course& course, const Position& position) {
  const Value source = inst.operands[0];
  const int axis = inst.get<ir::Axis>().axis;
  const std::int64_t size = function_.type(source).shape[axis];
  auto& own = position.index[static_cast<std::size_t>(axis)];
  if (position.lane != axis || lanes_ == 1) return at_place(source, axis, course, own, position);
  auto* begin = llvm::dyn_cast<llvm::ConstantInt>(own);
  const bool is_whole = size == lanes_ && !leads_;
  const std::int64_t start = is_whole || begin == nullptr ? 0 : begin->getSExtValue();
  std::vector<std::int64_t> vectors;
  std::vector<int> order;
  for (int lane = 0; lane < lanes_; ++lane) {
    const std::int64_t place = course.place(start + lane, size), vector = place / lanes_;
    auto known = std::ranges::find(vectors, vector);
    order.push_back(static_cast<int>((known - vectors.begin()) * lanes_ + place % lanes_));
    if (known == vectors.end()) vectors.push_back(vector);
  }
  const bool is_vector = !leads_ && size % lanes_ == 0 && (is_whole || begin != nullptr);
  if (!is_vector || vectors.size() > 2) return lane_by_lane(source, axis, course, position);
  std::vector<llvm::Value*> read;
  for (std::int64_t vector : vectors) {
    Position place = position;
    if (!is_whole) place.index[static_cast<std::size_t>(axis)] = index(vector * lanes_);
    Lanes lanes = evaluate(source, place);
    if (lanes.uniform && vectors.size() == 1) return lanes;
    read.push_back(spread(lanes));
  }
  if (course.fixed)
    return {b_.CreateExtractElement(read[0], static_cast<std::uint64_t>(order[0])), true};
  return {b_.CreateShuffleVector(read.front(), read.back(), order), false};
}

// The one element that belongs to the place `own`.
Lanes Emitter::at_place(Value source, int axis, const Course& course, llvm::Value* own,
                        const Position& position) {
  const std::int64_t size = function_.type(source).shape[axis];
  auto* place = course.fixed
                    ? index(*course.fixed)
                    : b_.CreateXor(b_.CreateAdd(own, index(course.distance)), index(course.bits));
  Position inner = position;
  auto& along = inner.index[static_cast<std::size_t>(axis)];
  along = clamped(place, DType::i64, size);
  if (!levels_.empty() && !llvm::isa<llvm::Constant>(along))
    level_of_index_.emplace(along, level_of(position));
  return evaluate(source, inner);
}

Lanes Emitter::lane_by_lane(Value source, int axis, const Course& course,
                            const Position& position) {
  llvm::Value *own = position.index[static_cast<std::size_t>(axis)], *all = nullptr,
              *tail = std::exchange(tail_, nullptr);
  Position inner = position;
  inner.lane = -1;
  for (int lane = 0; lane < lanes_; ++lane) {
    auto* place = b_.CreateAdd(own, index(lane));
    if (!llvm::isa<llvm::Constant>(place)) level_of_index_.emplace(place, levels_.size() - 1);
    inner.index[static_cast<std::size_t>(axis)] = place;
    llvm::Value* element = at_place(source, axis, course, place, inner).value;
    if (all == nullptr) all = llvm::PoisonValue::get(lanes_type(element->getType()));
    all = b_.CreateInsertElement(all, element, static_cast<std::uint64_t>(lane));
  }
  tail_ = tail;
  return {all, false};
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
