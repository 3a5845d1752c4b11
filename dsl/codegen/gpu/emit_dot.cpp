// Matrix products.
//
// Without a tensor-core instruction both operands go to shared memory and each thread goes along K,
// multiplying and adding what its elements of the result need.
#include <algorithm>
#include <map>

#include "dsl/codegen/gpu/emitter.h"
#include "runtime/base/error.h"

namespace tilewright::dsl::gpu {

using ir::Inst;
using ir::Op;
using ir::Value;
using layout::Layout;

namespace {

constexpr std::int64_t operand_bytes = 48 * 1024;  // of both operands in shared memory at a time

}  // namespace

void Emitter::dot(const Inst& inst) { set(inst.results[0], dot_multiply_add(inst)); }

// Elements of a matrix whose index along `axis` is in [begin, begin + count) go to shared memory,
// row-major.
void Emitter::part_to_shared(const Registers& from, const ir::Type& type, int axis,
                             std::int64_t begin, std::int64_t count, std::int64_t offset) {
  llvm::Value* own = owns(from.layout);
  std::vector<int> first = layout::first_duplicates(from.layout);
  bool whole = begin == 0 && count == type.shape[axis];
  std::int64_t columns = axis == 1 ? count : type.shape[1];
  for (int r = 0; r < from.layout.registers(); ++r) {
    if (first[static_cast<std::size_t>(r)] != r) continue;
    llvm::Value* place[2];
    for (int a = 0; a < 2; ++a) place[a] = coordinate_value(from.layout, a, r);
    llvm::Value* on = both(own, inside(from.layout, type.shape, r));
    if (!whole) {
      place[axis] = b_.CreateSub(place[axis], i32(begin));
      on = both(on, b_.CreateICmpULT(place[axis], i32(count)));
    }
    auto* index = b_.CreateAdd(b_.CreateMul(place[0], i32(columns)), place[1]);
    store_one(shared(offset, type.dtype, index), type.dtype,
              from.values[static_cast<std::size_t>(r)], on);
  }
}

Registers Emitter::dot_multiply_add(const Inst& inst) {
  const ir::Type &a_type = function_.type(inst.operands[0]),
                 &b_type = function_.type(inst.operands[1]),
                 &type = function_.type(inst.results[0]);
  const Registers a = get(inst.operands[0]), b = get(inst.operands[1]);
  Registers result = get(inst.operands[2], assignment_[inst.results[0]]);
  const Layout& layout = result.layout;
  std::int64_t m = type.shape[0], n = type.shape[1], k = a_type.shape[1];
  std::int64_t each = (m + n) * size_bytes(a_type.dtype);
  std::int64_t chunk = std::clamp<std::int64_t>(operand_bytes / each, 1, k);
  std::vector<int> first = layout::first_duplicates(layout);
  // Rows and columns that lie outside are computed from others, and nobody looks at the result.
  auto bounded = [&](int axis, int reg) -> llvm::Value* {
    llvm::Value* place = coordinate_value(layout, axis, reg);
    if (llvm::Value* in = inside(layout, type.shape, reg, axis))
      place = b_.CreateSelect(in, place, i32(0));
    return place;
  };
  for (std::int64_t begin = 0; begin < k; begin += chunk) {
    std::int64_t count = std::min(chunk, k - begin);
    std::int64_t b_offset = (m * count * size_bytes(a_type.dtype) + 15) / 16 * 16;
    begin_shared(b_offset + count * n * size_bytes(a_type.dtype));
    part_to_shared(a, a_type, 1, begin, count, 0);
    part_to_shared(b, b_type, 0, begin, count, b_offset);
    barrier();
    pending_.shared = true;
    std::vector<llvm::Value*> rows, columns;
    for (int r = 0; r < layout.registers(); ++r) {
      rows.push_back(b_.CreateMul(bounded(0, r), i32(count)));
      columns.push_back(bounded(1, r));
    }
    std::vector<llvm::Value*> sums = result.values;
    counted_loop(count, sums, [&](llvm::Value* at) {
      std::map<std::int32_t, llvm::Value*> left, right;  // by the register's part of the coordinate
      for (int r = 0; r < layout.registers(); ++r) {
        auto i = static_cast<std::size_t>(r);
        if (first[i] != r) {
          sums[i] = sums[static_cast<std::size_t>(first[i])];
          continue;
        }
        Layout::Basis place = layout.at(r, 0, 0);
        auto element = [&](std::map<std::int32_t, llvm::Value*>& known, std::int32_t key,
                           std::int64_t offset, llvm::Value* index) {
          llvm::Value*& value = known[key];
          if (value == nullptr)
            value = convert(
                load_one(shared(offset, a_type.dtype, index), a_type.dtype, nullptr, nullptr),
                a_type.dtype, type.dtype);
          return value;
        };
        llvm::Value* x = element(left, place[0], 0, b_.CreateAdd(rows[i], at));
        llvm::Value* y =
            element(right, place[1], b_offset, b_.CreateAdd(b_.CreateMul(at, i32(n)), columns[i]));
        sums[i] = is_floating(type.dtype)
                      ? floating_op(Op::fma_, {x, y, sums[i]})
                      : integer_op(Op::add_, type.dtype,
                                   {integer_op(Op::mul_, type.dtype, {x, y}), sums[i]});
      }
    });
    result.values = sums;
  }
  return result;
}

// for (i = 0; i < count; ++i) body(i), with values that the body replaces.
void Emitter::counted_loop(std::int64_t count, std::vector<llvm::Value*>& carried,
                           const std::function<void(llvm::Value*)>& body) {
  auto* before = b_.GetInsertBlock();
  llvm::Function* fn = before->getParent();
  auto* block = llvm::BasicBlock::Create(context_, "turn", fn);
  auto* exit = llvm::BasicBlock::Create(context_, "after", fn);
  b_.CreateBr(block);
  b_.SetInsertPoint(block);
  auto* i = b_.CreatePHI(b_.getInt32Ty(), 2);
  i->addIncoming(i32(0), before);
  std::vector<llvm::PHINode*> phis;
  for (auto*& value : carried) {
    phis.push_back(b_.CreatePHI(value->getType(), 2));
    phis.back()->addIncoming(value, before);
    value = phis.back();
  }
  body(i);
  auto* next = b_.CreateAdd(i, i32(1));
  auto* latch = b_.GetInsertBlock();
  i->addIncoming(next, latch);
  for (std::size_t k = 0; k < phis.size(); ++k) phis[k]->addIncoming(carried[k], latch);
  b_.CreateCondBr(b_.CreateICmpULT(next, i32(count)), block, exit);
  b_.SetInsertPoint(exit);
}

}  // namespace tilewright::dsl::gpu
