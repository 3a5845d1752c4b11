// Elements on their way between threads: by shuffles within a warp, through shared memory else.
#include "dsl/codegen/gpu/emit/emitter.h"
#include "runtime/base/error.h"

namespace tilewright::dsl::gpu {

using layout::Conversion;
using layout::In;
using layout::Layout;

namespace {

constexpr std::int64_t consumer_barrier = 1;  // of all consumers, without the producer

}  // namespace

void Emitter::barrier() {
  if (roles_)
    device("named_barrier_sync", {i32(consumer_barrier), i32(32 * roles_->consumer_warps)});
  else
    device("barrier");
}

void Emitter::meet_before(const ir::Inst& inst, ir::Barrier what) {
  if (inst.schedule.barrier == what) barrier();
}

void Emitter::begin_scratch(const ir::Inst& inst, std::int64_t bytes) {
  require(inst.schedule.shared_bytes >= bytes, "[", ir::info(inst.op).name, "] ",
          describe(inst.where), ": has ", inst.schedule.shared_bytes,
          " bytes of shared memory and exchanges values through ", bytes,
          "; allocate_shared gives each instruction the bytes that it needs");
  scratch_ = inst.schedule.shared_offset;
  meet_before(inst, ir::Barrier::scratch);
}

void Emitter::touching(SharedAccess touch) {
  touch.group = ++touch_groups_;
  touch_ = metadata_of(context_, touch);
}

void Emitter::touching(std::int64_t begin, std::int64_t bytes) {
  touching({.begin = scratch_ + begin, .end = scratch_ + begin + bytes});
}

llvm::Value* Emitter::noted(llvm::Value* access) {
  auto* instruction = llvm::cast<llvm::Instruction>(access);
  const llvm::Value* pointer = llvm::getLoadStorePointerOperand(instruction);
  bool is_shared = pointer == nullptr || pointer->getType()->getPointerAddressSpace() != 1;
  instruction->setMetadata(access_kind_, is_shared ? touch_ : array_touch_);
  if (!is_shared) note_policy(instruction, array_cache_);
  return access;
}

llvm::Value* Emitter::shared(std::int64_t offset, DType dtype, llvm::Value* index) {
  auto* start = b_.CreateConstGEP1_64(b_.getInt8Ty(), shared_base_,
                                      static_cast<std::uint64_t>(scratch_ + offset));
  return b_.CreateGEP(memory_type(dtype), start, index);
}

llvm::Value* Emitter::as_word(llvm::Value* value, bool high) {
  unsigned bits = value->getType()->getPrimitiveSizeInBits().getFixedValue();
  llvm::Value* raw = b_.CreateBitCast(value, b_.getIntNTy(bits));
  if (bits <= 32) return b_.CreateZExt(raw, b_.getInt32Ty());
  return b_.CreateTrunc(high ? b_.CreateLShr(raw, 32) : raw, b_.getInt32Ty());
}

llvm::Value* Emitter::from_words(llvm::Value* low, llvm::Value* high, llvm::Type* type) {
  auto* whole = b_.getIntNTy(type->getPrimitiveSizeInBits().getFixedValue());
  if (high == nullptr) return b_.CreateBitCast(b_.CreateTrunc(low, whole), type);
  auto* joined =
      b_.CreateOr(b_.CreateZExt(low, whole), b_.CreateShl(b_.CreateZExt(high, whole), 32));
  return b_.CreateBitCast(joined, type);
}

llvm::Value* Emitter::shuffle(std::string_view op, llvm::Value* value, llvm::Value* by) {
  bool two = value->getType()->getPrimitiveSizeInBits().getFixedValue() > 32;
  llvm::Value* low = device(op, {as_word(value, false), by});
  llvm::Value* high = two ? device(op, {as_word(value, true), by}) : nullptr;
  return from_words(low, high, value->getType());
}

llvm::Value* Emitter::shuffle_xor(llvm::Value* value, int lane_mask) {
  return shuffle("shuffle_xor", value, i32(lane_mask));
}

Registers Emitter::convert_layout(const ir::Inst& inst, const Registers& from, const ir::Type& type,
                                  const Layout& to) {
  if (from.layout == to) return from;
  DType dtype = type.is_pointer() ? DType::i64 : type.dtype;
  Conversion plan = layout::plan_conversion(from.layout, to, static_cast<int>(size_bytes(dtype)));
  Registers result{to, {}, nullptr};
  switch (plan.kind) {
    case Conversion::Kind::none:
    case Conversion::Kind::registers: result = permuted(from, plan, to); break;
    case Conversion::Kind::shuffle: result = shuffled(from, plan, to); break;
    case Conversion::Kind::shared:
      begin_scratch(inst, plan.shared->size_bytes());
      write_shared(from, dtype, plan, 0);
      barrier();
      result = read_shared(to, dtype, plan, 0);
      break;
  }
  result.base = from.base;
  return result;
}

Registers Emitter::permuted(const Registers& from, const Conversion& plan, const Layout& to) {
  Registers result{to, {}, from.base};
  for (int r = 0; r < to.registers(); ++r) {
    auto i = static_cast<std::size_t>(r);
    int source = plan.kind == Conversion::Kind::none ? r : plan.source_register[i];
    result.values.push_back(from.values[static_cast<std::size_t>(source)]);
  }
  return result;
}

llvm::Value* Emitter::affine(const layout::Affine& map) {
  std::vector<std::int64_t> lane(5, 0), warp;
  for (std::size_t bit = 0; bit < map.terms.size(); ++bit)
    if (bit < 5)
      lane[bit] = map.terms[bit];
    else
      warp.push_back(map.terms[bit]);
  llvm::Value* thread = linear_in_thread(lane, warp);
  return thread == nullptr ? i32(map.constant) : b_.CreateXor(thread, i32(map.constant));
}

// In every exchange a thread gives one register and keeps what it gets as another; which ones may
// depend on the thread.
Registers Emitter::shuffled(const Registers& from, const Conversion& plan, const Layout& to) {
  auto count = static_cast<std::size_t>(to.registers());
  Registers result{to, std::vector<llvm::Value*>(count, nullptr), from.base};
  for (const layout::Exchange& exchange : plan.exchanges) {
    // The values that `give` takes, and the one of this thread.
    llvm::Value* given = nullptr;
    llvm::Value* which = exchange.give.is_constant() ? nullptr : affine(exchange.give);
    std::vector<bool> taken(from.values.size(), false);
    for (int thread = 0; thread < 32 * function_.warps; ++thread) {
      auto r = static_cast<std::size_t>(exchange.give.at(thread));
      if (taken[r]) continue;
      taken[r] = true;
      given = given == nullptr
                  ? from.values[r]
                  : b_.CreateSelect(b_.CreateICmpEQ(which, i32(static_cast<std::int64_t>(r))),
                                    from.values[r], given);
    }
    llvm::Value* got = given;
    if (exchange.moves_lanes) got = shuffle("shuffle_idx", given, affine(exchange.source_lane));
    llvm::Value* keep = exchange.keep.is_constant() ? nullptr : affine(exchange.keep);
    llvm::Value* skip = affine(exchange.skip);
    bool never_skips = exchange.skip.is_constant() && exchange.skip.constant == 0;
    std::vector<bool> kept(count, false);
    for (int thread = 0; thread < 32 * function_.warps; ++thread) {
      if (exchange.skip.at(thread) != 0) continue;
      auto r = static_cast<std::size_t>(exchange.keep.at(thread));
      if (kept[r]) continue;
      kept[r] = true;
      llvm::Value* mine =
          keep == nullptr ? nullptr : b_.CreateICmpEQ(keep, i32(static_cast<std::int64_t>(r)));
      if (!never_skips) mine = both(mine, b_.CreateICmpEQ(skip, i32(0)));
      llvm::Value*& value = result.values[r];
      if (value == nullptr) value = llvm::UndefValue::get(got->getType());
      value = mine == nullptr ? got : b_.CreateSelect(mine, got, value);
    }
  }
  for (std::size_t r = 0; r < count; ++r)
    result.values[r] = result.values[static_cast<std::size_t>(plan.duplicate_of[r])];
  return result;
}

llvm::Value* Emitter::shared_offset(const Layout& layout, const layout::SharedLayout& shared,
                                    int reg, std::int64_t at) {
  std::vector<std::int64_t> lane, warp;
  for (int bit = 0; bit < layout.bits(In::lane); ++bit)
    lane.push_back(shared.offset(layout.at(0, 1 << bit, 0)));
  for (int bit = 0; bit < layout.bits(In::warp); ++bit)
    warp.push_back(shared.offset(layout.at(0, 0, 1 << bit)));
  std::int64_t constant = shared.offset(layout.at(reg, 0, 0));
  llvm::Value* offset = linear_in_thread(lane, warp);
  offset = offset == nullptr ? i32(constant) : b_.CreateXor(offset, i32(constant));
  return at == 0 ? offset : b_.CreateAdd(offset, i32(at));
}

void Emitter::write_shared(const Registers& from, DType dtype, const Conversion& plan,
                           std::int64_t at) {
  llvm::Value* own = owns(from.layout);
  touching(at, plan.shared->size_bytes());
  when(own, nullptr, [&]() -> llvm::Value* {
    for (const std::vector<int>& group : plan.writes) {
      auto* offset = shared_offset(from.layout, *plan.shared, group[0], scratch_ + at);
      store_group({group, b_.CreateGEP(b_.getInt8Ty(), shared_base_, offset), nullptr}, dtype,
                  from);
    }
    return nullptr;
  });
}

Registers Emitter::read_shared(const Layout& to, DType dtype, const Conversion& plan,
                               std::int64_t at) {
  Registers result{to, std::vector<llvm::Value*>(static_cast<std::size_t>(to.registers())),
                   nullptr};
  touching(at, plan.shared->size_bytes());
  for (const std::vector<int>& group : plan.reads) {
    auto* offset = shared_offset(to, *plan.shared, group[0], scratch_ + at);
    load_group({group, b_.CreateGEP(b_.getInt8Ty(), shared_base_, offset), nullptr}, dtype, nullptr,
               result);
  }
  for (std::size_t r = 0; r < result.values.size(); ++r)
    result.values[r] = result.values[static_cast<std::size_t>(plan.duplicate_of[r])];
  return result;
}

// The number of an element in row-major order.
llvm::Value* Emitter::place_in(const Layout& layout, const Shape& shape, int reg) {
  Strides strides = row_major_strides(shape);
  llvm::Value* index = i32(0);
  for (int axis = 0; axis < shape.rank(); ++axis)
    index =
        b_.CreateAdd(index, b_.CreateMul(coordinate_value(layout, axis, reg), i32(strides[axis])));
  return index;
}

Registers Emitter::through_shared(const ir::Inst& inst, const Registers& from, const ir::Type& type,
                                  const Layout& to,
                                  const std::function<llvm::Value*(int)>& place_of) {
  const DType dtype = type.dtype;
  std::int64_t bytes = element_count(type.shape) * size_bytes(dtype);
  begin_scratch(inst, bytes);
  touching(0, bytes);
  llvm::Value* own = owns(from.layout);
  std::vector<int> first = layout::first_duplicates(from.layout);
  for (int r = 0; r < from.layout.registers(); ++r) {
    if (first[static_cast<std::size_t>(r)] != r) continue;
    llvm::Value* on = both(own, inside(from.layout, type.shape, r));
    store_one(shared(0, dtype, place_in(from.layout, type.shape, r)), dtype,
              from.values[static_cast<std::size_t>(r)], on);
  }
  barrier();
  touching(0, bytes);
  Registers result{to, {}, nullptr};
  first = layout::first_duplicates(to);
  const Shape& read = function_.type(inst.results[0]).shape;
  for (int r = 0; r < to.registers(); ++r) {
    auto same = static_cast<std::size_t>(first[static_cast<std::size_t>(r)]);
    if (same < static_cast<std::size_t>(r)) {
      result.values.push_back(result.values[same]);
      continue;
    }
    llvm::Value* index = place_of(r);
    if (llvm::Value* in = inside(to, read, r)) index = b_.CreateSelect(in, index, i32(0));
    result.values.push_back(load_one(shared(0, dtype, index), dtype, nullptr, nullptr));
  }
  return result;
}

void Emitter::gather(const ir::Inst& inst) {
  const ir::Type &source = function_.type(inst.operands[0]),
                 &result = function_.type(inst.results[0]);
  const DType by = function_.type(inst.operands[1]).dtype;
  const auto axis = inst.get<ir::Axis>().axis;
  const std::int64_t stride = row_major_strides(source.shape)[axis];
  const Registers chosen = get(inst.operands[1]);
  auto number = [&](std::int64_t value) {
    return llvm::ConstantInt::get(chosen.values[0]->getType(), static_cast<std::uint64_t>(value));
  };
  set(inst.results[0],
      through_shared(
          inst, get(inst.operands[0]), source, function_.layout(inst.results[0]), [&](int r) {
            llvm::Value* at = chosen.values[static_cast<std::size_t>(r)];
            at = integer_op(ir::Op::max_, by, {at, number(0)});
            at = integer_op(ir::Op::min_, by, {at, number(source.shape[axis] - 1)});
            at = b_.CreateMul(convert(at, by, DType::i32), i32(stride));
            Strides others = row_major_strides(source.shape);
            for (int other = 0; other < result.shape.rank(); ++other)
              if (other != axis)
                at = b_.CreateAdd(at, b_.CreateMul(coordinate_value(chosen.layout, other, r),
                                                   i32(others[other])));
            return at;
          }));
}

}  // namespace tilewright::dsl::gpu
