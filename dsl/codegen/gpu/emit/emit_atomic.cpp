// Atomic operations on global memory.
#include "dsl/codegen/gpu/device/device_ops.h"
#include "dsl/codegen/gpu/emit/emitter.h"

namespace tilewright::dsl::gpu {

using ir::AtomicKind;
using ir::Inst;
using ir::Value;
using layout::Layout;

namespace {

// LLVM's instructions for PTX know no order, and no wider scope than the GPU, but for that which
// compares. Fences (device_ops.def) keep the order, before and after.
AtomicWay way_of(const ir::Atomic& atomic) {
  return {llvm::AtomicOrdering::Monotonic, atomic.scope == ir::MemoryScope::sys ? "" : "device"};
}

std::string fence_of(const ir::Atomic& atomic) { return concat("fence_", name_of(atomic.scope)); }

}  // namespace

// The greatest (least) of floats by an instruction for integers: among numbers without a sign the
// integers order as they do, among those with one the other way round, and any without is above any
// with one. A NaN takes the sign with which it is beyond all numbers.
llvm::Value* Emitter::atomic_bound(const ir::Atomic& atomic, DType dtype, llvm::Value* pointer,
                                   llvm::Value* value) {
  bool wide = bit_width(dtype) == 64, greatest = atomic.kind == AtomicKind::max;
  auto* bits = b_.getIntNTy(wide ? 64 : 32);
  auto* nan = llvm::ConstantFP::getNaN(value->getType(), !greatest);
  value = b_.CreateSelect(b_.CreateFCmpUNO(value, value), nan, value);
  auto* raw = b_.CreateBitCast(value, bits);
  auto by = [&](DType integers, AtomicKind how) {
    return Arithmetic::atomic(how, integers, pointer, raw, way_of(atomic));
  };
  auto other = greatest ? AtomicKind::min : AtomicKind::max;
  auto* has_sign = b_.CreateICmpSLT(raw, llvm::ConstantInt::get(bits, 0));
  auto* zero = llvm::Constant::getNullValue(bits);
  llvm::Value* without = when(b_.CreateNot(has_sign), zero,
                              [&] { return by(wide ? DType::i64 : DType::i32, atomic.kind); });
  llvm::Value* old =
      when(has_sign, without, [&] { return by(wide ? DType::u64 : DType::u32, other); });
  return b_.CreateBitCast(old, value->getType());
}

// An operation that adds to memory on one GPU does so on all newer ones.
bool Emitter::adds_by(std::string_view op) const {
  std::optional<DeviceOp> row = find_device_op(op);
  return row && row->minimum_arch <= target_.gpu().capability;
}

// Gives what was there before.
llvm::Value* Emitter::atomic_element(const ir::Atomic& atomic, DType dtype, llvm::Value* pointer,
                                     llvm::Value* value) {
  const AtomicKind kind = atomic.kind;
  if (atomic.scope == ir::MemoryScope::sys)
    return atomic_by_exchange(kind, dtype, pointer, value, way_of(atomic));
  bool is_bound = kind == AtomicKind::max || kind == AtomicKind::min;
  if (is_float16(dtype)) {
    const std::string addition = concat("atomic_add_", name_of(dtype));
    if (is_bound || !adds_by(addition))
      return atomic_by_exchange(kind, dtype, pointer, value, way_of(atomic));
    llvm::Value* old = device(addition, {pointer, b_.CreateBitCast(value, b_.getInt16Ty())});
    return b_.CreateBitCast(old, value->getType());
  }
  if (is_floating(dtype) && is_bound) return atomic_bound(atomic, dtype, pointer, value);
  return Arithmetic::atomic(kind, dtype, pointer, value, way_of(atomic));
}

// The operation that adds to so many neighbours at once, which fill words.
static std::string addition_to(DType dtype, std::int64_t neighbours) {
  const std::int64_t in_word = std::max<std::int64_t>(1, 4 / size_bytes(dtype));
  const std::int64_t words = neighbours / in_word;
  return concat("reduce_add_", name_of(dtype), in_word > 1 ? concat("x", in_word) : "",
                words > 1 ? concat("_v", words) : "");
}

// How many neighbours one instruction adds to, where nobody asks what was there.
int Emitter::most_added_at_once(DType dtype) const {
  for (std::int64_t most = 16 / size_bytes(dtype); most * size_bytes(dtype) >= 4; most /= 2)
    if (adds_by(addition_to(dtype, most))) return static_cast<int>(most);
  return 1;
}

llvm::Value* Emitter::add_group(const Access& access, DType dtype, const Registers& from) {
  std::vector<llvm::Value*> operands;
  for (int r : access.registers) operands.push_back(from.values[static_cast<std::size_t>(r)]);
  const std::string op = addition_to(dtype, std::ssize(operands));
  if (size_bytes(dtype) < 4) {
    const std::size_t count = operands.size() / 2;
    auto* words =
        b_.CreateBitCast(vector_of(operands),
                         llvm::FixedVectorType::get(b_.getInt32Ty(), static_cast<unsigned>(count)));
    operands.clear();
    for (std::size_t i = 0; i < count; ++i) operands.push_back(b_.CreateExtractElement(words, i));
  }
  operands.insert(operands.begin(), access.pointer);
  return device(op, operands);
}

// One thread acts for all. Those before it and after it meet as the order asks.
void Emitter::atomic_update_one(const Inst& inst) {
  const auto& atomic = inst.get<ir::Atomic>();
  Value pointer = inst.operands[0], result = inst.results[0];
  const DType dtype = function_.type(result).dtype;
  bool used = !uses_.users(result).empty();
  begin_access(inst);
  if (ir::releases(atomic.order)) barrier();
  llvm::Value *first = first_thread(), *value = scalars_[inst.operands[1]];
  llvm::Value* on = inst.operands.size() > 2 ? both(first, scalars_[inst.operands[2]]) : first;
  llvm::Value* rest = used ? llvm::Constant::getNullValue(value->getType()) : nullptr;
  llvm::Value* old = when(on, rest, [&] {
    if (ir::releases(atomic.order)) device(fence_of(atomic), {});
    llvm::Value* was = inst.operands.size() > 3
                           ? compare_exchange(dtype, scalars_[pointer], scalars_[inst.operands[3]],
                                              value, way_of(atomic))
                           : atomic_element(atomic, dtype, scalars_[pointer], value);
    if (ir::acquires(atomic.order)) device(fence_of(atomic), {});
    return was;
  });
  if (!used) {
    if (ir::acquires(atomic.order)) barrier();
    return;
  }
  begin_scratch(inst, size_bytes(dtype));
  touching(0, size_bytes(dtype));
  llvm::Value* place = shared(0, dtype, i32(0));
  store_one(place, dtype, old, first);
  barrier();
  touching(0, size_bytes(dtype));
  scalars_[result] = load_one(place, dtype, nullptr, nullptr);
}

// Every element once, by the thread that owns it; other threads that hold it get the old value.
void Emitter::atomic_update(const Inst& inst) {
  Value pointer = inst.operands[0], value = inst.operands[1], result = inst.results[0];
  if (!is_tile(result)) return atomic_update_one(inst);
  const auto& atomic = inst.get<ir::Atomic>();
  std::optional<Value> mask;
  if (inst.operands.size() > 2) mask = inst.operands[2];
  std::optional<Registers> expected;
  if (inst.operands.size() > 3) expected = get(inst.operands[3]);
  const ir::Type& type = function_.type(result);
  bool used = !uses_.users(result).empty();
  const Layout& layout = function_.layout(result);
  Registers from = get(value);
  auto one = [&](llvm::Value* at, std::size_t r, llvm::Value* on) {
    llvm::Value* element = from.values[r];
    llvm::Value* rest = used ? llvm::Constant::getNullValue(element->getType()) : nullptr;
    return when(on, rest, [&] {
      return expected
                 ? compare_exchange(type.dtype, at, expected->values[r], element, way_of(atomic))
                 : atomic_element(atomic, type.dtype, at, element);
    });
  };
  bool adds = atomic.kind == AtomicKind::add && atomic.scope != ir::MemoryScope::sys && !used;
  int most = adds ? most_added_at_once(type.dtype) : 1;
  auto accesses = pointer_accesses(get(pointer), pointer, mask, type, most);
  begin_access(inst);
  if (ir::releases(atomic.order)) {
    barrier();
    device(fence_of(atomic), {});
  }
  Registers old{layout, std::vector<llvm::Value*>(from.values.size()), nullptr};
  llvm::Value* own = owns(layout);
  for (const Access& access : accesses) {
    if (access.registers.size() > 1) {
      when(both(access.mask, own), nullptr, [&] { return add_group(access, type.dtype, from); });
      continue;
    }
    auto r = static_cast<std::size_t>(access.registers[0]);
    old.values[r] = one(access.pointer, r, both(access.mask, own));
  }
  if (ir::acquires(atomic.order)) {
    device(fence_of(atomic), {});
    barrier();
  }
  if (!used) return;
  std::vector<int> first = layout::first_duplicates(layout);
  for (std::size_t r = 0; r < first.size(); ++r)
    old.values[r] = old.values[static_cast<std::size_t>(first[r])];
  if (own != nullptr)
    old = through_shared(inst, old, type, layout,
                         [&](int r) { return place_in(layout, type.shape, r); });
  set(result, std::move(old));
}

}  // namespace tilewright::dsl::gpu
