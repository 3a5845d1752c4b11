// Elements on their way between threads: by shuffles within a warp, through shared memory else.
#include <algorithm>

#include "dsl/codegen/gpu/emitter.h"
#include "runtime/base/error.h"

namespace tilewright::dsl::gpu {

using layout::Layout;

void Emitter::barrier() {
  device("barrier");
  pending_.read.assign(pending_.read.size(), false);
  pending_.written.assign(pending_.written.size(), false);
  pending_.shared = false;
}

// Before scratch is written: until all threads have read what was there.
void Emitter::begin_shared(std::int64_t bytes) {
  if (pending_.shared) barrier();
  shared_peak_ = std::max(shared_peak_, bytes);
  pending_.shared = true;
}

llvm::Value* Emitter::shared(std::int64_t offset, DType dtype, llvm::Value* index) {
  auto* start =
      b_.CreateConstGEP1_64(b_.getInt8Ty(), shared_base_, static_cast<std::uint64_t>(offset));
  return b_.CreateGEP(memory_type(dtype), start, index);
}

llvm::Value* Emitter::shuffle_xor(llvm::Value* value, int lane_mask) {
  llvm::Type* type = value->getType();
  unsigned bits = type->getPrimitiveSizeInBits().getFixedValue();
  auto exchange = [&](llvm::Value* word) { return device("shuffle_xor", {word, i32(lane_mask)}); };
  auto* whole = b_.getIntNTy(bits);
  llvm::Value* raw = b_.CreateBitCast(value, whole);
  if (bits <= 32) {
    auto* moved = exchange(b_.CreateZExt(raw, b_.getInt32Ty()));
    return b_.CreateBitCast(b_.CreateTrunc(moved, whole), type);
  }
  auto* low = exchange(b_.CreateTrunc(raw, b_.getInt32Ty()));
  auto* high = exchange(b_.CreateTrunc(b_.CreateLShr(raw, 32), b_.getInt32Ty()));
  auto* joined =
      b_.CreateOr(b_.CreateZExt(low, whole), b_.CreateShl(b_.CreateZExt(high, whole), 32));
  return b_.CreateBitCast(joined, type);
}

Registers Emitter::convert_layout(const Registers& from, const ir::Type& type, const Layout& to) {
  if (from.layout == to) return from;
  // One element that all threads hold, or registers that are equal in both.
  if (element_count(from.layout.shape()) == 1)
    return {to, std::vector<llvm::Value*>(static_cast<std::size_t>(to.registers()), from.values[0]),
            from.base};
  DType dtype = type.is_pointer() ? DType::i64 : type.dtype;
  Registers result = through_shared(from, dtype, type.shape, to, type.shape);
  result.base = from.base;
  return result;
}

Registers Emitter::through_shared(const Registers& from, DType dtype, const Shape& written,
                                  const Layout& to, const Shape& read) {
  begin_shared(element_count(written) * size_bytes(dtype));
  auto place = [&](const Layout& layout, const Shape& shape, int reg) {
    Strides strides = row_major_strides(shape);
    llvm::Value* index = i32(0);
    for (int axis = 0; axis < shape.rank(); ++axis)
      index = b_.CreateAdd(index,
                           b_.CreateMul(coordinate_value(layout, axis, reg), i32(strides[axis])));
    return index;
  };
  llvm::Value* own = owns(from.layout);
  std::vector<int> first = layout::first_duplicates(from.layout);
  for (int r = 0; r < from.layout.registers(); ++r) {
    if (first[static_cast<std::size_t>(r)] != r) continue;
    llvm::Value* on = both(own, inside(from.layout, written, r));
    store_one(shared(0, dtype, place(from.layout, written, r)), dtype,
              from.values[static_cast<std::size_t>(r)], on);
  }
  barrier();
  pending_.shared = true;
  Registers result{to, {}, nullptr};
  first = layout::first_duplicates(to);
  for (int r = 0; r < to.registers(); ++r) {
    auto same = static_cast<std::size_t>(first[static_cast<std::size_t>(r)]);
    if (same < static_cast<std::size_t>(r)) {
      result.values.push_back(result.values[same]);
      continue;
    }
    llvm::Value* index = place(to, read, r);
    if (llvm::Value* in = inside(to, read, r)) index = b_.CreateSelect(in, index, i32(0));
    result.values.push_back(load_one(shared(0, dtype, index), dtype, nullptr, nullptr));
  }
  return result;
}

}  // namespace tilewright::dsl::gpu
