// Accesses to global memory: which registers move together, where, and under which condition.
#include <algorithm>
#include <functional>
#include <numeric>

#include "dsl/codegen/gpu/device/device_ops.h"
#include "dsl/codegen/gpu/emit/emitter.h"
#include "runtime/base/error.h"

namespace tilewright::dsl::gpu {

using ir::Inst;
using ir::Op;
using ir::Value;
using layout::In;
using layout::Layout;

llvm::Value* Emitter::address(llvm::Value* base, DType dtype, llvm::Value* offset) {
  return b_.CreateGEP(memory_type(dtype), base, offset);
}

void Emitter::begin_access(const Inst& inst) {
  meet_before(inst, ir::Barrier::array);
  array_touch_ = metadata_of(context_, {.group = ++touch_groups_});
  array_cache_ = ir::cache_policy(inst);
}

// Registers in groups of at most `most` whose elements are neighbours along the last axis; each
// element that the thread holds in one group only.
std::vector<std::vector<int>> Emitter::neighbours(const Layout& layout, int most) {
  int width = 1;
  const auto& bases = layout.bases(In::register_);
  for (std::size_t bit = 0; bit < bases.size() && 2 * width <= most; ++bit, width *= 2) {
    Layout::Basis next(bases[bit].size(), 0);
    next.back() = width;
    if (bases[bit] != next) break;
  }
  std::vector<int> first = layout::first_duplicates(layout);
  std::vector<std::vector<int>> groups;
  for (int r = 0; r < layout.registers(); r += width) {
    if (first[static_cast<std::size_t>(r)] != r) continue;
    groups.emplace_back(static_cast<std::size_t>(width));
    std::iota(groups.back().begin(), groups.back().end(), r);
  }
  return groups;
}

namespace {

// The most elements of one access: 16 bytes.
int widest(DType dtype) { return static_cast<int>(16 / size_bytes(dtype)); }

int largest_power(std::int64_t divisor, int most) {
  if (divisor == 0) return most;
  return static_cast<int>(std::min<std::int64_t>(divisor & -divisor, most));
}

}  // namespace

std::vector<Emitter::Access> Emitter::pointer_accesses(const Registers& pointers, Value pointer,
                                                       std::optional<Value> mask,
                                                       const ir::Type& type, int most) {
  const AxisInfo& at = axis_info_[pointer];
  std::int64_t contiguous = at.contiguity.back();
  int width = contiguous % 2 == 0 || contiguous >= most ? largest_power(contiguous, most) : 1;
  width = std::min(width, largest_power(at.divisibility.back(), width));
  if (mask && is_tile(*mask))
    width = std::min(width, largest_power(axis_info_[*mask].constancy.back(), width));
  // A logical axis that is no multiple of the width ends within a group.
  if (type.shape.back() % width != 0) width = 1;
  std::optional<Registers> masks;
  if (mask && is_tile(*mask)) masks = get(*mask);
  std::vector<Access> accesses;
  for (auto& group : neighbours(pointers.layout, width)) {
    int r = group[0];
    auto i = static_cast<std::size_t>(r);
    llvm::Value* on = inside(pointers.layout, type.shape, r);
    if (masks) on = both(on, masks->values[i]);
    if (mask && !is_tile(*mask)) on = both(on, scalars_[*mask]);
    accesses.push_back({group, address(pointers.base, type.dtype, pointers.values[i]), on});
  }
  return accesses;
}

std::vector<Emitter::Access> Emitter::desc_accesses(const Inst& inst, std::size_t first_offset,
                                                    const ir::Type& type, const Layout& layout) {
  const Array& array = arrays_.at(inst.operands[0]);
  std::size_t rank = array.sizes.size();
  const Value* sizes = array.inst->operands.data() + 1;
  int width = access_width(facts_, inst, *array.inst, first_offset, type);

  llvm::Value* start = i64(0);
  for (std::size_t axis = 0; axis < rank; ++axis)
    start = b_.CreateAdd(
        start, b_.CreateMul(index_of(inst.operands[first_offset + axis]), array.strides[axis]));
  // Registers that stand apart from the thread are constants on top of what is common to them.
  llvm::Value* thread_offset = i64(0);
  for (int axis = 0; axis < static_cast<int>(rank); ++axis)
    if (llvm::Value* thread = coordinate(layout, axis, 0).thread)
      thread_offset =
          b_.CreateAdd(thread_offset, b_.CreateMul(b_.CreateZExt(thread, b_.getInt64Ty()),
                                                   array.strides[static_cast<std::size_t>(axis)]));
  llvm::Value* block = address(array.base, type.dtype, start);
  llvm::Value* first = address(block, type.dtype, thread_offset);
  std::vector<Access> accesses;
  for (auto& group : neighbours(layout, width)) {
    int r = group[0];
    llvm::Value *offset = i64(0), *on = nullptr;
    bool apart = true;
    for (int axis = 0; axis < static_cast<int>(rank); ++axis)
      apart = apart && coordinate(layout, axis, r).apart;
    for (int axis = 0; axis < static_cast<int>(rank); ++axis) {
      auto a = static_cast<std::size_t>(axis);
      llvm::Value* along = apart
                               ? i64(coordinate(layout, axis, r).constant)
                               : b_.CreateZExt(coordinate_value(layout, axis, r), b_.getInt64Ty());
      offset = b_.CreateAdd(offset, b_.CreateMul(along, array.strides[a]));
      on = both(on, inside(layout, type.shape, r, axis));
      const ScalarFacts &at = facts_[inst.operands[first_offset + a]], &size = facts_[sizes[a]];
      bool fits = at.low >= 0 && at.high != INT64_MAX && size.low >= type.shape[axis] &&
                  at.high <= size.low - type.shape[axis];
      if (fits) continue;
      auto* place = b_.CreateZExt(coordinate_value(layout, axis, r), b_.getInt64Ty());
      auto* index = b_.CreateAdd(index_of(inst.operands[first_offset + a]), place);
      on = both(on, b_.CreateICmpULT(index, array.sizes[a]));
    }
    accesses.push_back({group, address(apart ? first : block, type.dtype, offset), on});
  }
  return accesses;
}

llvm::Value* Emitter::load_one(llvm::Value* pointer, DType dtype, llvm::Value* mask,
                               llvm::Value* other) {
  llvm::Type* type = memory_type(dtype);
  llvm::Align align(static_cast<std::uint64_t>(size_bytes(dtype)));
  llvm::Value* rest = llvm::Constant::getNullValue(type);
  if (other != nullptr && mask != nullptr) rest = to_memory(other, dtype);
  auto* loaded =
      when(mask, rest, [&] { return noted(b_.CreateAlignedLoad(type, pointer, align)); });
  return from_memory(loaded, dtype);
}

void Emitter::store_one(llvm::Value* pointer, DType dtype, llvm::Value* value, llvm::Value* mask) {
  llvm::Align align(static_cast<std::uint64_t>(size_bytes(dtype)));
  llvm::Value* element = to_memory(value, dtype);
  when(mask, nullptr, [&] { return noted(b_.CreateAlignedStore(element, pointer, align)); });
}

void Emitter::load_group(const Access& access, DType dtype, const Registers* other, Registers& to) {
  auto width = static_cast<unsigned>(access.registers.size());
  auto at = [&](unsigned k) { return static_cast<std::size_t>(access.registers[k]); };
  if (width == 1) {
    to.values[at(0)] = load_one(access.pointer, dtype, access.mask,
                                other == nullptr ? nullptr : other->values[at(0)]);
    return;
  }
  auto* type = llvm::FixedVectorType::get(memory_type(dtype), width);
  llvm::Align align(static_cast<std::uint64_t>(width * size_bytes(dtype)));
  llvm::Value* rest = llvm::Constant::getNullValue(type);
  if (other != nullptr && access.mask != nullptr)
    for (unsigned k = 0; k < width; ++k)
      rest = b_.CreateInsertElement(rest, to_memory(other->values[at(k)], dtype), k);
  llvm::Value* loaded = when(
      access.mask, rest, [&] { return noted(b_.CreateAlignedLoad(type, access.pointer, align)); });
  for (unsigned k = 0; k < width; ++k)
    to.values[at(k)] = from_memory(b_.CreateExtractElement(loaded, k), dtype);
}

void Emitter::store_group(const Access& access, DType dtype, const Registers& from) {
  auto width = static_cast<unsigned>(access.registers.size());
  auto value = [&](unsigned k) {
    return from.values[static_cast<std::size_t>(access.registers[k])];
  };
  if (width == 1) return store_one(access.pointer, dtype, value(0), access.mask);
  std::vector<llvm::Value*> elements;
  for (unsigned k = 0; k < width; ++k) elements.push_back(to_memory(value(k), dtype));
  llvm::Value* vector = vector_of(elements);
  llvm::Align align(static_cast<std::uint64_t>(width * size_bytes(dtype)));
  when(access.mask, nullptr,
       [&] { return noted(b_.CreateAlignedStore(vector, access.pointer, align)); });
}

void Emitter::load(const Inst& inst) {
  Value result = inst.results[0];
  const ir::Type& type = function_.type(result);
  if (!is_tile(result) && inst.op == Op::load_) {
    begin_access(inst);
    llvm::Value* mask = inst.operands.size() > 1 ? scalars_[inst.operands[1]] : nullptr;
    llvm::Value* other = inst.operands.size() > 2 ? scalars_[inst.operands[2]] : nullptr;
    scalars_[result] = load_one(scalars_[inst.operands[0]], type.dtype, mask, other);
    return;
  }
  const Layout& layout = function_.layout(result);
  Registers to{layout, std::vector<llvm::Value*>(static_cast<std::size_t>(layout.registers())),
               nullptr};
  std::vector<Access> accesses;
  std::optional<Registers> other;
  if (inst.op == Op::load_desc_) {
    accesses = desc_accesses(inst, 1, type, layout);
  } else {
    std::optional<Value> mask;
    if (inst.operands.size() > 1) mask = inst.operands[1];
    if (inst.operands.size() > 2)
      other = is_tile(inst.operands[2]) ? get(inst.operands[2])
                                        : splat(scalars_[inst.operands[2]], false, layout);
    accesses =
        pointer_accesses(get(inst.operands[0]), inst.operands[0], mask, type, widest(type.dtype));
  }
  // Registers first: computing them may itself read memory or pass a barrier.
  begin_access(inst);
  for (const Access& access : accesses)
    load_group(access, type.dtype, other ? &*other : nullptr, to);
  std::vector<int> first = layout::first_duplicates(layout);
  for (std::size_t r = 0; r < first.size(); ++r)
    to.values[r] = to.values[static_cast<std::size_t>(first[r])];
  set(result, std::move(to));
}

void Emitter::store(const Inst& inst) {
  Value value = inst.operands[1];
  const ir::Type& type = function_.type(value);
  // Registers first: computing them may itself read memory or pass a barrier.
  std::optional<Registers> from;
  std::vector<Access> accesses;
  if (is_tile(value)) {
    if (const TensorStore* boxes = roles_ ? roles_->store_of(&inst) : nullptr)
      return store_boxes(inst, *boxes);
    const Layout& layout = function_.layout(value);
    from = get(value);
    std::optional<Value> mask;
    if (inst.op == Op::store_ && inst.operands.size() > 2) mask = inst.operands[2];
    accesses = inst.op == Op::store_desc_
                   ? desc_accesses(inst, 2, type, layout)
                   : pointer_accesses(get(inst.operands[0]), inst.operands[0], mask, type,
                                      widest(type.dtype));
  }
  begin_access(inst);
  if (!from) {  // a scalar: one thread writes it
    llvm::Value* mask = first_thread();
    if (inst.operands.size() > 2) mask = both(mask, scalars_[inst.operands[2]]);
    return store_one(scalars_[inst.operands[0]], type.dtype, scalars_[value], mask);
  }
  llvm::Value* own = owns(from->layout);
  for (Access& access : accesses) {
    access.mask = both(access.mask, own);
    store_group(access, type.dtype, *from);
  }
}

}  // namespace tilewright::dsl::gpu
