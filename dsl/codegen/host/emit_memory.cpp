// Memory: addresses of a vector of lanes, and the loads, stores and prefetches at them.
#include <bit>
#include <numeric>

#include "dsl/codegen/host/emitter.h"
#include "runtime/base/error.h"

namespace tilewright::dsl {

using ir::Inst;
using ir::Op;
using ir::Value;

namespace {
constexpr std::int64_t streamed_ahead = 4 << 10;  // bytes, of one stream
constexpr int least_lanes_apart = 8;              // of elements that are next but one
constexpr std::int64_t least_around_bytes = 16;   // of a store that goes past the caches
}  // namespace

// Indices are compared with the sizes as unsigned numbers. So a negative size, inside of which
// there is nothing, becomes 0.
void Emitter::make_array(const Inst& inst) {
  Array array{scalars_[inst.operands[0]], {}, {}, &inst};
  std::size_t rank = (inst.operands.size() - 1) / 2;
  for (std::size_t i = 0; i < rank; ++i) {
    llvm::Value* size = index_of(inst.operands[1 + i]);
    bool may_be_below = facts_[inst.operands[1 + i]].low < 0;
    array.sizes.push_back(may_be_below ? integer_op(Op::max_, DType::i64, {size, index(0)}) : size);
    Value stride = inst.operands[1 + rank + i];
    array.strides.emplace_back(index_of(stride), facts_[stride].constant());
  }
  arrays_.insert_or_assign(inst.results[0], std::move(array));
}

// `block` starts at the offsets that follow operand `first_offset`; `position` is within it.
Emitter::Address Emitter::desc_address(const Inst& inst, std::size_t first_offset,
                                       const Shape& block, const Position& position) {
  auto found = arrays_.find(inst.operands[0]);
  check(found != arrays_.end(), "a descriptor has no array");
  const Array& array = found->second;
  std::size_t rank = array.sizes.size();
  DType dtype = function_.type(inst.operands[0]).dtype;
  Address address;
  address.aligned = facts_[array.inst->operands[0]].divisor % lanes_ == 0;
  llvm::Value *offset = index(0), *inside = nullptr;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    Value start = inst.operands[first_offset + axis];
    const ScalarFacts &at = facts_[start], &size = facts_[array.inst->operands[1 + axis]],
                      &stride = facts_[array.inst->operands[1 + rank + axis]];
    llvm::Value* place = b_.CreateAdd(index_of(start), position.index[axis]);
    offset = b_.CreateAdd(offset, b_.CreateMul(place, array.strides[axis]));
    std::int64_t extent = block[static_cast<int>(axis)];
    bool is_lane = position.lane == static_cast<int>(axis);
    std::int64_t moves = std::gcd(at.divisor, is_lane ? lanes_ : extent == 1 ? 0 : 1);
    address.aligned &= moves * stride.divisor % lanes_ == 0;
    if (is_lane) address.lane_stride = array.strides[axis];
    bool fits =
        at.low >= 0 && at.high != INT64_MAX && size.low >= extent && at.high <= size.low - extent;
    const bool ends_here =
        axis == 0 && !is_lane && rows_ == array.inst->operands[1] && at.constant() == 0;
    if (fits || ends_here) continue;
    if (!is_lane) {
      auto* in = b_.CreateICmpULT(place, array.sizes[axis]);
      inside = inside == nullptr ? in : b_.CreateAnd(inside, in);
      continue;
    }
    // The first lane may be outside while later ones are inside: compare each.
    auto* each = b_.CreateAdd(spread({place, true}), iota(b_.getInt64Ty()));
    address.mask = b_.CreateICmpULT(each, spread({array.sizes[axis], true}));
  }
  if (inside != nullptr)
    address.mask =
        address.mask == nullptr ? inside : b_.CreateAnd(address.mask, spread({inside, true}));
  address.pointer = gep(array.base, dtype, offset);
  return address;
}

Emitter::Address Emitter::pointer_address(Value pointer, std::optional<Value> mask,
                                          const Position& position) {
  Address address;
  DType dtype = function_.type(pointer).dtype;
  auto stride = lane_stride(pointer, position.lane);
  auto resolve = [&](const Lanes& lanes) {
    if (!llvm::isa<llvm::ConstantPointerNull>(lanes.base))
      return gep(lanes.base, dtype, lanes.value);
    auto* bytes = b_.CreateMul(
        lanes.value, llvm::ConstantInt::get(lanes.value->getType(),
                                            static_cast<std::uint64_t>(size_bytes(dtype))));
    llvm::Type* type = b_.getPtrTy();
    if (!lanes.uniform) type = llvm::FixedVectorType::get(type, static_cast<unsigned>(lanes_));
    return b_.CreateIntToPtr(bytes, type);
  };
  if (stride) {
    Position first = position;
    first.lane = -1;
    address.pointer = resolve(evaluate(pointer, first));
    if (position.lane >= 0 && *stride != 0) address.lane_stride = index(*stride);
  } else {
    Lanes lanes = evaluate(pointer, position);
    if (lanes.uniform)
      address.pointer = resolve(lanes);
    else
      address.pointers = resolve(lanes);
  }
  if (mask) address.mask = evaluate(*mask, position).value;
  return address;
}

llvm::Value* Emitter::full_mask(const Address& address) {
  llvm::Value* mask = address.mask;
  if (mask != nullptr && !mask->getType()->isVectorTy()) mask = spread({mask, true});
  if (tail_ == nullptr) return mask;
  return mask == nullptr ? tail_ : b_.CreateAnd(mask, tail_);
}

llvm::Value* Emitter::lane_pointers(const Address& address, DType dtype) {
  if (address.pointers != nullptr) return address.pointers;
  llvm::Value* steps = llvm::Constant::getNullValue(lanes_type(b_.getInt64Ty()));
  if (address.lane_stride.value != nullptr)
    steps = b_.CreateMul(iota(b_.getInt64Ty()), spread({address.lane_stride, true}));
  return gep(address.pointer, dtype, steps);
}

// Elements 0, 2, 4, .. from the pointer on, by two loads of neighbours, which cost a fraction of a
// gather. Nothing is read between elements that are masked off, nor behind the last one.
llvm::Value* Emitter::load_every_other(llvm::Value* pointer, llvm::Type* type, llvm::Value* mask) {
  const int lanes = lanes_;
  auto* vector = llvm::FixedVectorType::get(type, static_cast<unsigned>(lanes));
  if (mask == nullptr)
    mask = llvm::ConstantVector::getSplat(
        llvm::ElementCount::getFixed(static_cast<unsigned>(lanes)), b_.getTrue());
  llvm::Value* halves[2];
  for (int half = 0; half < 2; ++half) {
    std::vector<int> from;
    for (int lane = 0; lane < lanes; ++lane)
      from.push_back(lane % 2 == 0 ? half * lanes / 2 + lane / 2 : lanes);
    auto* active =
        b_.CreateShuffleVector(mask, llvm::Constant::getNullValue(mask->getType()), from);
    auto* first = half == 0 ? pointer : b_.CreateConstGEP1_32(type, pointer, lanes);
    halves[half] = b_.CreateMaskedLoad(vector, first, llvm::Align(4), active,
                                       llvm::Constant::getNullValue(vector));
  }
  std::vector<int> even;
  for (int lane = 0; lane < lanes; ++lane) even.push_back(2 * lane);
  return b_.CreateShuffleVector(halves[0], halves[1], even);
}

// Neighbours of which the first lane is the last in memory: read as they lie, and turned round.
llvm::Value* Emitter::load_backwards(llvm::Value* pointer, llvm::FixedVectorType* vector,
                                     llvm::Align align, llvm::Value* mask, llvm::Value* rest) {
  auto* first = b_.CreateConstGEP1_64(vector->getElementType(), pointer,
                                      static_cast<std::uint64_t>(std::int64_t{1} - lanes_));
  llvm::Value* lanes = nullptr;
  if (mask == nullptr)
    lanes = b_.CreateAlignedLoad(vector, first, align);
  else
    lanes = b_.CreateMaskedLoad(vector, first, align, b_.CreateVectorReverse(mask),
                                b_.CreateVectorReverse(rest));
  return b_.CreateVectorReverse(lanes);
}

Lanes Emitter::load(const Address& address, DType dtype, int lane, llvm::Value* other) {
  llvm::Type* type = memory_type(dtype);
  llvm::Align align(static_cast<std::uint64_t>(size_bytes(dtype)));
  bool one = lane < 0 || lanes_ == 1 ||
             (address.lane_stride.value == nullptr && address.pointers == nullptr);
  if (one && (address.mask == nullptr || !address.mask->getType()->isVectorTy())) {
    if (address.mask == nullptr)
      return {from_memory(b_.CreateAlignedLoad(type, address.pointer, align), dtype), true};
    // If it is masked off, the address may be invalid.
    auto* vector = llvm::FixedVectorType::get(type, 1);
    auto* mask = b_.CreateInsertElement(
        llvm::PoisonValue::get(llvm::FixedVectorType::get(b_.getInt1Ty(), 1)), address.mask,
        std::uint64_t{0});
    llvm::Value* rest = llvm::Constant::getNullValue(vector);
    if (other != nullptr)
      rest = b_.CreateInsertElement(rest, to_memory(other, dtype), std::uint64_t{0});
    auto* loaded = b_.CreateMaskedLoad(vector, address.pointer, align, mask, rest);
    return {from_memory(b_.CreateExtractElement(loaded, std::uint64_t{0}), dtype), true};
  }
  auto* vector = llvm::FixedVectorType::get(type, static_cast<unsigned>(lanes_));
  llvm::Value* mask = full_mask(address);
  llvm::Value* rest = llvm::Constant::getNullValue(vector);
  if (other != nullptr) rest = to_memory(other, dtype);
  if (address.pointers == nullptr && lies_in_a_row(address)) {
    if (mask == nullptr)
      return {from_memory(b_.CreateAlignedLoad(vector, address.pointer, align), dtype), false};
    return {from_memory(b_.CreateMaskedLoad(vector, address.pointer, align, mask, rest), dtype),
            false};
  }
  if (address.pointers == nullptr && address.lane_stride.known == -1)
    return {from_memory(load_backwards(address.pointer, vector, align, mask, rest), dtype), false};
  if (address.pointers == nullptr && other == nullptr && size_bytes(dtype) == 4 &&
      address.lane_stride.known == 2 && lanes_ >= least_lanes_apart)
    return {from_memory(load_every_other(address.pointer, type, mask), dtype), false};
  if (mask == nullptr)
    mask = llvm::ConstantVector::getSplat(
        llvm::ElementCount::getFixed(static_cast<unsigned>(lanes_)), b_.getTrue());
  auto* gathered = b_.CreateMaskedGather(vector, lane_pointers(address, dtype), align, mask, rest);
  return {from_memory(gathered, dtype), false};
}

// Where the mask is known to have one lane, stores that element by itself: LLVM 22 stores as many
// bytes as the vector had before it was narrowed, over what follows in memory
// (llvm/llvm-project#179489).
void Emitter::store_lanes(llvm::Value* elements, llvm::Value* pointer, llvm::Align align,
                          llvm::Value* mask) {
  const auto* known = llvm::dyn_cast<llvm::Constant>(mask);
  std::optional<unsigned> only;
  const unsigned lanes = llvm::cast<llvm::FixedVectorType>(elements->getType())->getNumElements();
  for (unsigned lane = 0; known != nullptr && lane < lanes; ++lane) {
    if (known->getAggregateElement(lane)->isZeroValue()) continue;
    if (only) known = nullptr;
    only = lane;
  }
  if (known == nullptr || !only) {
    b_.CreateMaskedStore(elements, pointer, align, mask);
    return;
  }
  llvm::Value* element = b_.CreateExtractElement(elements, std::uint64_t{*only});
  b_.CreateAlignedStore(element, b_.CreateConstGEP1_32(element->getType(), pointer, *only), align);
}

void Emitter::store(const Address& address, DType dtype, int lane, Lanes value, bool streaming) {
  llvm::Align align(static_cast<std::uint64_t>(size_bytes(dtype)));
  if (lane < 0 || lanes_ == 1) {
    auto* element = to_memory(value.value, dtype);
    if (address.mask == nullptr) {
      b_.CreateAlignedStore(element, address.pointer, align);
      return;
    }
    auto* vector = llvm::FixedVectorType::get(element->getType(), 1);
    auto* mask = b_.CreateInsertElement(
        llvm::PoisonValue::get(llvm::FixedVectorType::get(b_.getInt1Ty(), 1)), address.mask,
        std::uint64_t{0});
    b_.CreateMaskedStore(
        b_.CreateInsertElement(llvm::PoisonValue::get(vector), element, std::uint64_t{0}),
        address.pointer, align, mask);
    return;
  }
  auto* elements = to_memory(spread(value), dtype);
  llvm::Value* mask = full_mask(address);
  if (address.pointers == nullptr && lies_in_a_row(address)) {
    if (mask != nullptr) return store_lanes(elements, address.pointer, align, mask);
    std::int64_t bytes = lanes_ * size_bytes(dtype);
    bool around = streaming && address.aligned && bytes >= least_around_bytes &&
                  std::has_single_bit(static_cast<std::uint64_t>(bytes));
    auto* store = b_.CreateAlignedStore(
        elements, address.pointer, around ? llvm::Align(static_cast<std::uint64_t>(bytes)) : align);
    if (around)
      store->setMetadata(
          llvm::LLVMContext::MD_nontemporal,
          llvm::MDNode::get(context_, llvm::ConstantAsMetadata::get(b_.getInt32(1))));
    return;
  }
  if (mask == nullptr)
    mask = llvm::ConstantVector::getSplat(
        llvm::ElementCount::getFixed(static_cast<unsigned>(lanes_)), b_.getTrue());
  b_.CreateMaskedScatter(elements, lane_pointers(address, dtype), align, mask);
}

void Emitter::prefetch(const Address& address, unsigned locality) {
  auto* fn =
      llvm::Intrinsic::getOrInsertDeclaration(&module_, llvm::Intrinsic::prefetch, {b_.getPtrTy()});
  b_.CreateCall(fn, {address.pointer, b_.getInt32(0), b_.getInt32(locality), b_.getInt32(1)});
}

// True if the lanes are neighbours in memory.
bool Emitter::lies_in_a_row(const Address& address) { return address.lane_stride.known == 1; }

// True if an earlier copy of the unrolled body accessed the same cache line, if lanes are
// contiguous.
bool Emitter::shares_line(DType dtype) const {
  return copy_ * lanes_ * size_bytes(dtype) % cache_line != 0;
}

// Prefetches what a loop nest reads once and sums up, a cache line at a time. Rows follow each
// other in memory, so at the end of one this fetches the beginning of the next.
void Emitter::fetch_ahead(const Inst& load, const Address& address) {
  const ir::Type& type = function_.type(load.results[0]);
  if (streamed_ == 0 || 4 * element_count(type.shape) < streamed_ || tail_ != nullptr ||
      !lies_in_a_row(address) || shares_line(type.dtype))
    return;
  prefetch({.pointer = gep(address.pointer, DType::u8, index(streamed_ahead))}, innermost_cache);
}

Lanes Emitter::load_value(const Inst& inst, const Position& position) {
  DType dtype = function_.type(inst.results[0]).dtype;
  if (inst.op == Op::load_desc_) {
    Address address = desc_address(inst, 1, inst.get<ir::BlockAccess>().shape, position);
    fetch_ahead(inst, address);
    return load(address, dtype, position.lane, nullptr);
  }
  std::optional<Value> mask;
  if (inst.operands.size() > 1) mask = inst.operands[1];
  llvm::Value* other = nullptr;
  Address address = pointer_address(inst.operands[0], mask, position);
  if (inst.operands.size() > 2) {
    Lanes lanes = evaluate(inst.operands[2], position);
    bool one = position.lane < 0 || lanes_ == 1 ||
               (address.lane_stride.value == nullptr && address.pointers == nullptr &&
                (address.mask == nullptr || !address.mask->getType()->isVectorTy()));
    if (one && !lanes.uniform) {  // one place in memory, but a replacement for each lane
      Lanes plain = load(address, dtype, -1, nullptr);
      if (address.mask == nullptr) return plain;
      return {b_.CreateSelect(spread({address.mask, true}), spread(plain), lanes.value), false};
    }
    other = one ? lanes.value : spread(lanes);
  }
  return load(address, dtype, position.lane, other);
}

// Lane after lane, since two lanes may address the same element. Lanes that are masked off act on a
// dummy element, since a branch around each would split the loop nest into basic blocks.
Lanes Emitter::atomic_value(const Inst& inst, const Position& position) {
  DType dtype = function_.type(inst.results[0]).dtype;
  const ir::AtomicKind kind = inst.get<ir::Atomic>().kind;
  const AtomicWay way{ordering_of(inst.get<ir::Atomic>().order)};
  const bool compares = kind == ir::AtomicKind::compare_exchange;
  Lanes value = evaluate(inst.operands[1], position);
  Lanes expected = compares ? evaluate(inst.operands[3], position) : value;
  std::optional<Value> mask;
  if (inst.operands.size() > 2) mask = inst.operands[2];
  Address address = pointer_address(inst.operands[0], mask, position);
  auto act = [&](llvm::Value* pointer, llvm::Value* element, llvm::Value* known) -> llvm::Value* {
    if (compares) return compare_exchange(dtype, pointer, known, element, way);
    if (bit_width(dtype) >= 32) return atomic(kind, dtype, pointer, element, way);
    return b_.CreateCall(function_by_exchange(kind, dtype, way), {pointer, element});
  };
  auto one = [&](llvm::Value* pointer, llvm::Value* element, llvm::Value* known, llvm::Value* on) {
    if (on == nullptr) return act(pointer, element, known);
    llvm::Value* old = act(b_.CreateSelect(on, pointer, masked_place()), element, known);
    return b_.CreateSelect(on, old, llvm::Constant::getNullValue(old->getType()));
  };
  if (position.lane < 0 || lanes_ == 1)
    return {one(address.pointer, value.value, expected.value, address.mask), true};
  llvm::Value *pointers = lane_pointers(address, dtype), *values = spread(value);
  llvm::Value* known = compares ? spread(expected) : values;
  if (!pointers->getType()->isVectorTy())
    pointers = b_.CreateVectorSplat(static_cast<unsigned>(lanes_), pointers);
  llvm::Value* on = full_mask(address);
  llvm::Value* old = llvm::PoisonValue::get(values->getType());
  for (std::uint64_t lane = 0; lane < static_cast<std::uint64_t>(lanes_); ++lane) {
    auto* was = one(b_.CreateExtractElement(pointers, lane), b_.CreateExtractElement(values, lane),
                    b_.CreateExtractElement(known, lane),
                    on == nullptr ? nullptr : b_.CreateExtractElement(on, lane));
    old = b_.CreateInsertElement(old, was, lane);
  }
  return {old, false};
}

llvm::Value* Emitter::masked_place() {
  if (masked_place_ == nullptr) {
    llvm::BasicBlock& entry = b_.GetInsertBlock()->getParent()->getEntryBlock();
    masked_place_ =
        llvm::IRBuilder<>(&entry, entry.getFirstInsertionPt()).CreateAlloca(b_.getInt64Ty());
  }
  return masked_place_;
}

bool Emitter::is_wanted_once(ir::CachePolicy policy) {
  return policy == ir::CachePolicy::evict_first || policy == ir::CachePolicy::no_allocate ||
         policy == ir::CachePolicy::cs;
}

// A store, an atomic or a prefetch at one position of its loop nest.
void Emitter::store_value(const Inst& inst, const Position& position) {
  if (inst.op == Op::prefetch_desc_) {
    Address address = desc_address(inst, 1, inst.get<ir::Extent>().shape, position);
    if (lies_in_a_row(address) && shares_line(function_.type(inst.operands[0]).dtype)) return;
    return prefetch(address, innermost_cache);
  }
  if (inst.op == Op::atomic_) {
    Lanes old = atomic_value(inst, position);
    Value result = inst.results[0];
    if (use_counts_[result] > 0) write_slot(slots_.at(result), position, old);
    return;
  }
  Value value = inst.operands[1];
  const ir::Type& type = function_.type(value);
  bool streaming = is_wanted_once(ir::cache_policy(inst));
  Lanes lanes = evaluate(value, position);
  if (inst.op == Op::store_desc_) {
    Address address = desc_address(inst, 2, type.shape, position);
    address.aligned |= tail_ == nullptr && aligned_stores_.contains(&inst);
    return store(address, type.dtype, position.lane, lanes, streaming);
  }
  std::optional<Value> mask;
  if (inst.operands.size() > 2) mask = inst.operands[2];
  if (type.is_scalar()) {
    lanes_ = 1;
    tail_ = nullptr;
  }
  Address address = pointer_address(inst.operands[0], mask, position);
  store(address, type.dtype, position.lane, lanes, streaming);
}

}  // namespace tilewright::dsl
