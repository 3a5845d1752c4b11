// Sums that are exact to a few units in their last place, however many numbers they have.
//
// Added one after the other, n numbers err by up to n/2 such units: 3000 times 1e6 gave 999958.9 as
// their mean. So `iterations_of_a_sum` of them are added up apart, then as many of these sums, and
// so on: the depth of a sum, which bounds its error, grows like the logarithm of n. (A cascade;
// Higham, "The accuracy of floating point summation", 1993. PyTorch does the same.) Other
// reductions do not depend on their order, or are integers, and are left as they are.
#include "dsl/codegen/host/loop_nest.h"

namespace tilewright::dsl {

using ir::Inst;
using ir::ReduceKind;

namespace {

constexpr std::int64_t iterations_of_a_sum = 128;
constexpr int rows_of_a_turn = 4;

// How often sums are added up apart before they are the whole one.
int levels_of(std::int64_t iterations) {
  int levels = 0;
  for (; iterations > iterations_of_a_sum;
       iterations = (iterations + iterations_of_a_sum - 1) / iterations_of_a_sum)
    ++levels;
  return levels;
}

std::int64_t turns_below(int level) {
  std::int64_t iterations = 1;
  for (; level > 0; --level) iterations *= iterations_of_a_sum;
  return iterations;
}

}  // namespace

bool Emitter::is_rounded_sum(const Inst& inst) const {
  DType dtype = function_.type(inst.operands[0]).dtype;
  return inst.get<ir::Reduction>().kind == ReduceKind::sum &&
         (dtype == DType::f32 || dtype == DType::f64);
}

// The loop of emit_loop() from `first` on (null: from 0), whose iterations are grouped into blocks,
// and these into larger blocks. If the count is a constant, whole blocks have constant counts too,
// and the remainder follows them.
void Emitter::cascade(const Cascade& c, int level, llvm::Value* first, llvm::Value* count,
                      std::vector<llvm::Value*>& carried) {
  const std::int64_t step = c.step * turns_below(level);
  auto from = [&](llvm::Value* i) { return first == nullptr ? i : b_.CreateNUWAdd(first, i); };
  auto block = [&](llvm::Value* at, llvm::Value* size) {
    c.block(level - 1, [&] { cascade(c, level - 1, at, size, carried); });
    levels_.back().done.clear();
  };
  if (level == 0) return emit_loop(count, step, carried, [&](llvm::Value* i) { c.body(from(i)); });
  const auto* known = llvm::dyn_cast<llvm::ConstantInt>(count);
  if (known == nullptr)
    return emit_loop(count, step, carried, [&](llvm::Value* i) {
      auto* rest = b_.CreateSub(count, i);
      block(from(i), b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, rest, index(step)));
    });
  const std::int64_t all = known->getSExtValue(), whole = all / step * step;
  if (whole != 0)
    emit_loop(index(whole), step, carried, [&](llvm::Value* i) { block(from(i), index(step)); });
  if (whole != all) block(from(index(whole)), index(all - whole));
}

// A loop of at most `most` iterations of a loop nest along its lanes, whose accumulators are in
// registers.
void Emitter::loop_along_lanes(LoopNest& s, llvm::Value* count, std::int64_t step,
                               std::int64_t most, std::vector<llvm::Value*>& accumulators,
                               const std::function<void(llvm::Value*)>& body) {
  auto each_sum = [&](const auto& change) {
    for (std::size_t copy = 0; copy < accumulators.size(); copy += s.per_copy)
      for (const auto& r : s.in_registers)
        if (is_rounded_sum(*r.inst))
          change(function_.type(r.inst->operands[0]).dtype, copy + r.first);
  };
  if (s.in_registers.empty()) return emit_loop(count, step, accumulators, body);
  bool any = false;
  each_sum([&](DType, std::size_t) { any = true; });
  auto block = [&](int, const std::function<void()>& iterations) {
    const std::vector<llvm::Value*> before = accumulators;
    each_sum([&](DType dtype, std::size_t i) {
      accumulators[i] = identities(ReduceKind::sum, dtype, lanes_);
    });
    iterations();
    each_sum([&](DType dtype, std::size_t i) {
      accumulators[i] = combine(ReduceKind::sum, dtype, before[i], accumulators[i]);
    });
  };
  cascade({step, body, block}, any ? levels_of(most) : 0, nullptr, count, accumulators);
}

void Emitter::loop_of_sums(std::int64_t size, std::int64_t step, std::vector<llvm::Value*>& sums,
                           const std::function<void(llvm::Value*)>& body) {
  auto block = [&](int, const std::function<void()>& iterations) {
    const std::vector<llvm::Value*> before = sums;
    for (llvm::Value*& sum : sums) sum = llvm::Constant::getNullValue(sum->getType());
    iterations();
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = plus(before[i], sums[i]);
  };
  levels_.push_back({});
  cascade({step, body, block}, levels_of(size / step), nullptr, index(size), sums);
  levels_.pop_back();
}

// How many rows an iteration adds up before it adds to the accumulators. Only rows of one vector
// are grouped, since each would wait for the previous addition. In longer rows each vector has a
// chain of its own, and memory is best read in order.
int Emitter::rows_at_once(const LoopNest& s, int axis) const {
  if (s.domain[axis] < 2 * rows_of_a_turn || s.domain[s.lane] > lanes_) return 1;
  for (int inner = axis + 1; inner < s.domain.rank(); ++inner)
    if (inner != s.lane && s.domain[inner] > 1) return 1;
  for (const Root& root : s.roots) {
    if (root.inst == nullptr || root.inst->op != ir::Op::reduce_) return 1;
    auto [kind, reduced] = root.inst->get<ir::Reduction>();
    if (reduced != axis || is_arg(kind)) return 1;
  }
  return rows_of_a_turn;
}

// The loop over an axis other than that of the lanes; `body(first, rows)` emits what is inside.
void Emitter::loop_over_rows(LoopNest& s, int axis,
                             const std::function<void(llvm::Value*, int)>& body) {
  if (axis == 0 && rows_) {
    std::vector<llvm::Value*> none;
    return emit_loop(scalars_[*rows_], 1, none, [&](llvm::Value* at) { body(at, 1); });
  }
  const int at_once = rows_at_once(s, axis);
  const std::int64_t iterations = s.domain[axis] / at_once, rest = s.domain[axis] % at_once;
  int levels = 0;
  for (const Root* root : s.in_scratch) {
    if (root->inst->get<ir::Reduction>().axis != axis || !is_rounded_sum(*root->inst)) continue;
    levels = levels_of(iterations);
    for (int level = 0; level < levels; ++level)
      s.parts[root->inst].push_back(zeros_like(slots_.at(root->inst->results[0]), axis));
  }
  auto iteration = [&](llvm::Value* at) {
    body(at_once == 1 ? at : b_.CreateNUWMul(at, index(at_once)), at_once);
  };
  auto block = [&](int level, const std::function<void()>& inner) {
    inner();
    add_parts(s, axis, level);
  };
  std::vector<llvm::Value*> none;
  cascade({1, iteration, block}, levels, nullptr, index(iterations), none);
  for (const Root* root : s.in_scratch)
    if (root->inst->get<ir::Reduction>().axis == axis) s.parts.erase(root->inst);
  if (rest == 0) return;
  levels_.back().done.clear();
  emit_loop(index(rest), 1, none,
            [&](llvm::Value* i) { body(b_.CreateNUWAdd(index(iterations * at_once), i), 1); });
}

// Scratch memory, set to zero, for partial sums along `axis`.
Emitter::Slot Emitter::zeros_like(const Slot& result, int axis) {
  Shape shape;
  for (int i = axis; i < result.type.shape.rank(); ++i) shape.push_back(result.type.shape[i]);
  Slot slot = allocate(result.type.with_shape(shape));
  slot.strides = result.strides;
  for (int i = 0; i < axis; ++i) slot.strides[i] = 0;
  auto* zero = to_memory(identity(ReduceKind::sum, slot.type.dtype), slot.type.dtype);
  std::vector<llvm::Value*> none;
  emit_loop(index(element_count(shape)), 1, none,
            [&](llvm::Value* i) { b_.CreateStore(zero, gep(slot.data, slot.type.dtype, i)); });
  return slot;
}

// Adds the partial sums of a level to those of the next one, and resets them.
void Emitter::add_parts(const LoopNest& s, int axis, int level) {
  for (const Root* root : s.in_scratch) {
    const Inst& inst = *root->inst;
    auto found = s.parts.find(&inst);
    if (found == s.parts.end() || inst.get<ir::Reduction>().axis != axis) continue;
    const std::vector<Slot>& parts = found->second;
    const auto next = static_cast<std::size_t>(level) + 1;
    const Slot& from = parts[next - 1];
    const Slot& to = next < parts.size() ? parts[next] : slots_.at(inst.results[0]);
    const DType dtype = from.type.dtype;
    Position place;
    for (int i = 0; i < to.strides.rank(); ++i)
      place.index.push_back(i < axis ? s.position.index[static_cast<std::size_t>(i)] : index(0));
    llvm::Value* sums = slot_address(to, dtype, place).pointer;
    auto add = [&](llvm::Value* i, int lanes) {
      auto* type = lanes_type(memory_type(dtype), lanes);
      auto *at = gep(sums, dtype, i), *part = gep(from.data, dtype, i);
      const llvm::Align align(static_cast<std::uint64_t>(size_bytes(dtype)));
      auto* sum = combine(ReduceKind::sum, dtype, b_.CreateAlignedLoad(type, at, align),
                          b_.CreateAlignedLoad(type, part, align));
      b_.CreateAlignedStore(sum, at, align);
      b_.CreateAlignedStore(identities(ReduceKind::sum, dtype, lanes), part, align);
    };
    const std::int64_t count = element_count(from.type.shape), whole = count / lanes_ * lanes_;
    std::vector<llvm::Value*> none;
    if (whole != 0) emit_loop(index(whole), lanes_, none, [&](llvm::Value* i) { add(i, lanes_); });
    if (whole != count)
      emit_loop(index(count - whole), 1, none,
                [&](llvm::Value* i) { add(b_.CreateNUWAdd(index(whole), i), 1); });
  }
}

}  // namespace tilewright::dsl
