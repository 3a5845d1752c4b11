// Matrix products.
//
// On tensor cores each warp holds its parts of the operands as the fragments of an instruction and
// adds up its part of the result. Operands that are not fragments yet, which is how memory gives
// them, become so through shared memory, both behind one barrier.
//
// Without a tensor-core instruction both operands go to shared memory and each thread goes along K,
// multiplying and adding what its elements of the result need.
#include <algorithm>
#include <map>

#include "dsl/codegen/gpu/emit/emitter.h"
#include "runtime/base/error.h"

namespace tilewright::dsl::gpu {

using ir::Inst;
using ir::Op;
using ir::Value;
using layout::Layout;

void Emitter::dot(const Inst& inst) {
  auto tensor_core = tensor_core_dot(function_, inst, function_.warps, target_);
  if (tensor_core) require_place(inst, inst.results[0], tensor_core->result);
  set(inst.results[0], tensor_core ? dot_tensor_core(inst, *tensor_core) : dot_multiply_add(inst));
}

std::pair<Emitter::Words, Emitter::Words> Emitter::operand_words(const Inst& inst,
                                                                 const TensorCoreDot& how) {
  const ir::Type* types[2] = {&function_.type(inst.operands[0]), &function_.type(inst.operands[1])};
  DType dtype = types[0]->dtype;
  int bytes = static_cast<int>(size_bytes(dtype));
  Words words[2];
  std::optional<Registers> made[2];
  const Layout* wanted[2] = {&how.a, &how.b};
  std::optional<layout::Conversion> plans[2];
  std::int64_t offsets[2] = {0, 0}, total = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    if (auto staged = staged_load(inst.operands[i])) {
      words[i] = staged_words(*staged->first, staged->second, how, static_cast<int>(i));
      continue;
    }
    const Registers& from = get(inst.operands[i]);
    auto plan = layout::plan_conversion(from.layout, *wanted[i], bytes);
    if (plan.kind != layout::Conversion::Kind::shared) {
      made[i] = get(inst.operands[i]);
      continue;
    }
    offsets[i] = total;
    total += (plan.shared->size_bytes() + 127) / 128 * 128;
    plans[i] = std::move(plan);
  }
  if (total > 0) {
    begin_scratch(inst, total);
    for (std::size_t i = 0; i < 2; ++i)
      if (plans[i]) write_shared(get(inst.operands[i]), dtype, *plans[i], offsets[i]);
    barrier();
    for (std::size_t i = 0; i < 2; ++i)
      if (plans[i]) made[i] = read_shared(*wanted[i], dtype, *plans[i], offsets[i]);
  }
  for (std::size_t i = 0; i < 2; ++i)
    if (made[i]) words[i] = packed_words(std::move(*made[i]), *types[i], how, i == 0 ? 1 : 0);
  return {std::move(words[0]), std::move(words[1])};
}

// Fragments as words, with zeros outside the operand along k.
Emitter::Words Emitter::packed_words(Registers fragments, const ir::Type& type,
                                     const TensorCoreDot& how, int k_axis) {
  zero_outside(fragments, type, k_axis);
  int each = 4 / emulator::bytes_of(how.format);
  Words words;
  for (std::size_t r = 0; r < fragments.values.size(); r += static_cast<std::size_t>(each))
    words.push_back(packed(fragments, r, each));
  if (how.format == emulator::Format::tf32) round_words(words);
  return words;
}

// Tensor cores would cut off what a tf32 does not hold.
void Emitter::round_words(Words& words) {
  for (llvm::Value*& word : words)
    word = device("to_tf32", {b_.CreateBitCast(word, b_.getFloatTy())});
}

void Emitter::zero_outside(Registers& registers, const ir::Type& type, int axis) {
  const Layout& layout = registers.layout;
  if (layout.shape()[axis] == type.shape[axis]) return;
  llvm::Value* zero = llvm::Constant::getNullValue(registers.values[0]->getType());
  for (int r = 0; r < layout.registers(); ++r) {
    llvm::Value*& value = registers.values[static_cast<std::size_t>(r)];
    value = b_.CreateSelect(inside(layout, type.shape, r, axis), value, zero);
  }
}

llvm::Value* Emitter::packed(const Registers& from, std::size_t first, int count) {
  auto begin = from.values.begin() + static_cast<std::ptrdiff_t>(first);
  return b_.CreateBitCast(vector_of({begin, begin + count}), b_.getInt32Ty());
}

Registers Emitter::dot_tensor_core(const Inst& inst, const TensorCoreDot& how) {
  if (auto result = dot_warpgroups(inst, how)) return std::move(*result);
  auto [left, right] = operand_words(inst, how);
  Registers result = get(inst.operands[2]);
  std::string op = concat("mma_m16n8k", how.k, "_", emulator::name_of(how.format));
  // Instructions along the last axis of each tile first, as the families number registers.
  auto steps = static_cast<std::size_t>(how.a.shape()[1] / how.k);
  if (is_float8(function_.type(inst.operands[0]).dtype) && !multiplies_float8()) {
    widen_fragments(left, right, how.format, steps);
    op = "mma_m16n8k16_f16";
    steps *= 2;
  }
  std::size_t rows = left.size() / (4 * steps), columns = right.size() / (2 * steps);
  for (std::size_t k = 0; k < steps; ++k)
    for (std::size_t m = 0; m < rows; ++m)
      for (std::size_t n = 0; n < columns; ++n) {
        std::vector<llvm::Value*> operands;
        for (std::size_t i = 0; i < 4; ++i) operands.push_back(left[4 * (m * steps + k) + i]);
        for (std::size_t i = 0; i < 2; ++i) operands.push_back(right[2 * (k * columns + n) + i]);
        std::size_t at = 4 * (m * columns + n);
        for (std::size_t i = 0; i < 4; ++i) operands.push_back(result.values[at + i]);
        llvm::Value* sums = device(op, operands);
        for (unsigned i = 0; i < 4; ++i) result.values[at + i] = b_.CreateExtractValue(sums, i);
      }
  return result;
}

// Elements of a matrix whose index along `axis` is in [begin, begin + count) go to shared memory, a
// line of `stride` elements for each.
void Emitter::part_to_shared(const Registers& from, const ir::Type& type, int axis,
                             std::int64_t begin, std::int64_t count, std::int64_t offset,
                             std::int64_t stride) {
  llvm::Value* own = owns(from.layout);
  std::vector<int> first = layout::first_duplicates(from.layout);
  bool whole = begin == 0 && count == type.shape[axis];
  touching(offset, count * stride * size_bytes(type.dtype));
  for (int r = 0; r < from.layout.registers(); ++r) {
    if (first[static_cast<std::size_t>(r)] != r) continue;
    llvm::Value* place[2];
    for (int a = 0; a < 2; ++a) place[a] = coordinate_value(from.layout, a, r);
    llvm::Value* on = both(own, inside(from.layout, type.shape, r));
    if (!whole) {
      place[axis] = b_.CreateSub(place[axis], i32(begin));
      on = both(on, b_.CreateICmpULT(place[axis], i32(count)));
    }
    auto* index = b_.CreateAdd(b_.CreateMul(place[axis], i32(stride)), place[1 - axis]);
    store_one(shared(offset, type.dtype, index), type.dtype,
              from.values[static_cast<std::size_t>(r)], on);
  }
}

// Rows and columns that lie outside are computed from others, and nobody looks at the result.
std::vector<Emitter::Run> Emitter::runs_of(const Layout& layout, const Shape& shape, int axis,
                                           DType dtype) {
  std::map<std::int32_t, int> registers;  // the first, by its part of the coordinate
  for (int r = 0; r < layout.registers(); ++r)
    registers.try_emplace(layout.at(r, 0, 0)[static_cast<std::size_t>(axis)], r);
  // As many neighbours as 16 bytes hold, where each thread has all or none of them.
  auto width = static_cast<std::int32_t>(std::min<std::int64_t>(4, 16 / size_bytes(dtype)));
  bool has_runs = shape[axis] % width == 0;
  for (layout::In in : {layout::In::lane, layout::In::warp})
    for (const Layout::Basis& basis : layout.bases(in))
      has_runs = has_runs && basis[static_cast<std::size_t>(axis)] % width == 0;
  for (const auto& [part, reg] : registers)
    has_runs = has_runs && registers.contains(part / width * width + (part + 1) % width);
  if (!has_runs) width = 1;
  std::vector<Run> runs;
  for (const auto& [part, reg] : registers) {
    if (part % width != 0) continue;
    llvm::Value* place = coordinate_value(layout, axis, reg);
    if (llvm::Value* in = inside(layout, shape, reg, axis))
      place = b_.CreateSelect(in, place, i32(0));
    runs.push_back({part, width, place});
  }
  return runs;
}

Emitter::Line Emitter::read_line(const std::vector<Run>& runs,
                                 std::span<llvm::Value* const> pointers, std::int64_t behind,
                                 DType from, DType to) {
  Line elements;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Run& run = runs[i];
    llvm::Value* pointer =
        b_.CreateConstGEP1_64(memory_type(from), pointers[i], static_cast<std::uint64_t>(behind));
    if (run.width == 1) {
      elements[run.part] = convert(load_one(pointer, from, nullptr, nullptr), from, to);
      continue;
    }
    auto width = static_cast<unsigned>(run.width);
    auto* type = llvm::FixedVectorType::get(memory_type(from), width);
    llvm::Value* all =
        noted(b_.CreateAlignedLoad(type, pointer, llvm::Align(width * size_bytes(from))));
    for (std::int32_t k = 0; k < run.width; ++k) {
      auto* one = b_.CreateExtractElement(all, static_cast<std::uint64_t>(k));
      elements[run.part + k] = convert(from_memory(one, from), from, to);
    }
  }
  return elements;
}

Registers Emitter::dot_multiply_add(const Inst& inst) {
  const ir::Type &a_type = function_.type(inst.operands[0]),
                 &b_type = function_.type(inst.operands[1]),
                 &type = function_.type(inst.results[0]);
  const Registers a = get(inst.operands[0]), b = get(inst.operands[1]);
  Registers result = get(inst.operands[2]);
  const Layout& layout = result.layout;
  const std::int64_t k = a_type.shape[1];
  const SharedProduct parts = shared_product(function_, inst);
  std::vector<int> first = layout::first_duplicates(layout);
  const std::vector<Run> rows = runs_of(layout, type.shape, 0, a_type.dtype),
                         columns = runs_of(layout, type.shape, 1, a_type.dtype);
  begin_scratch(inst, parts.bytes(parts.chunk));
  for (std::int64_t begin = 0; begin < k; begin += parts.chunk) {
    std::int64_t count = std::min(parts.chunk, k - begin);
    std::int64_t b_offset = parts.right_offset(count), bytes = parts.bytes(count);
    if (begin > 0) barrier();  // the part before has been read
    part_to_shared(a, a_type, 1, begin, count, 0, parts.left_stride());
    part_to_shared(b, b_type, 0, begin, count, b_offset, parts.right_stride());
    barrier();
    touching(0, bytes);
    // Pointers to where the lines are read are carried from turn to turn as the sums are.
    std::vector<llvm::Value*> carried = result.values;
    const std::size_t sums = carried.size(), lines = rows.size();
    for (const Run& run : rows) carried.push_back(shared(0, a_type.dtype, run.first));
    for (const Run& run : columns) carried.push_back(shared(b_offset, a_type.dtype, run.first));
    auto add_products = [&](std::int64_t at) {
      const std::span<llvm::Value* const> pointers = std::span(carried).subspan(sums);
      const Line left = read_line(rows, pointers.first(lines), at * parts.left_stride(),
                                  a_type.dtype, type.dtype),
                 right = read_line(columns, pointers.subspan(lines), at * parts.right_stride(),
                                   a_type.dtype, type.dtype);
      for (int r = 0; r < layout.registers(); ++r) {
        auto i = static_cast<std::size_t>(r);
        if (first[i] != r) {
          carried[i] = carried[static_cast<std::size_t>(first[i])];
          continue;
        }
        Layout::Basis place = layout.at(r, 0, 0);
        llvm::Value *x = left.at(place[0]), *y = right.at(place[1]);
        carried[i] = is_floating(type.dtype)
                         ? floating_op(Op::fma_, {x, y, carried[i]})
                         : integer_op(Op::add_, type.dtype,
                                      {integer_op(Op::mul_, type.dtype, {x, y}), carried[i]});
      }
    };
    // Two a turn, so that what the second needs is read while the first is multiplied; of four at
    // once no two blocks of a multiprocessor have the registers.
    const std::int64_t each = count % 2 == 0 ? 2 : 1;
    counted_loop(count / each, carried, [&] {
      for (std::int64_t i = 0; i < each; ++i) add_products(i);
      for (std::size_t i = sums; i < carried.size(); ++i) {
        const std::int64_t stride = i < sums + lines ? parts.left_stride() : parts.right_stride();
        carried[i] = b_.CreateConstGEP1_64(memory_type(a_type.dtype), carried[i],
                                           static_cast<std::uint64_t>(each * stride));
      }
    });
    carried.resize(sums);
    result.values = carried;
  }
  return result;
}

// body() so many times, with values that it replaces.
void Emitter::counted_loop(std::int64_t count, std::vector<llvm::Value*>& carried,
                           const std::function<void()>& body) {
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
  body();
  auto* next = b_.CreateAdd(i, i32(1));
  auto* latch = b_.GetInsertBlock();
  i->addIncoming(next, latch);
  for (std::size_t k = 0; k < phis.size(); ++k) phis[k]->addIncoming(carried[k], latch);
  b_.CreateCondBr(b_.CreateICmpULT(next, i32(count)), block, exit);
  b_.SetInsertPoint(exit);
}

}  // namespace tilewright::dsl::gpu
