// Loop nests: those of one domain.
#include <algorithm>
#include <bit>

#include "dsl/codegen/host/emitter.h"
#include "dsl/codegen/host/interleave.h"
#include "dsl/codegen/host/loop_nest.h"
#include "runtime/base/error.h"

namespace tilewright::dsl {

using ir::Inst;
using ir::Op;
using ir::ReduceKind;
using ir::Value;

namespace {

constexpr int most_copies = 8;                  // of a loop's body
constexpr std::int64_t short_row = 4;           // vectors, for which there is no loop
constexpr std::int64_t least_led_vectors = 64;  // of rows that begin with a part of a vector

int lane_axis(const Shape& domain) {
  for (int axis = domain.rank() - 1; axis >= 0; --axis)
    if (domain[axis] > 1) return axis;
  return domain.rank() - 1;
}

}  // namespace

void Emitter::emit_loop_nest(const Shape& domain, const std::vector<Root>& roots) {
  for (const Root& root : roots)
    if (root.inst != nullptr && root.inst->schedule.in_panels)
      return store_panels(*root.inst, roots.size() == 1);
  LoopNest s{.domain = domain, .roots = roots, .lane = lane_axis(domain)};
  std::int64_t width = domain[s.lane];
  lanes_ = static_cast<int>(std::min<std::int64_t>(
      target_.lanes, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(width)))));
  tail_ = nullptr;
  narrowed_.clear();
  s.position.index.assign(domain.size(), index(0));
  s.position.lane = lanes_ == 1 ? -1 : s.lane;
  for (const Root& root : roots)
    if (root.inst == nullptr && !slots_.contains(root.value))
      allocate(root.value);
    else if (root.inst != nullptr && root.inst->op == Op::atomic_ &&
             use_counts_[root.inst->results[0]] > 0)
      allocate(root.inst->results[0]);
  rows_.reset(), columns_.reset();
  if (!domain.empty() && domain[0] > 1 && s.lane != 0)
    rows_ = end_of_loop_nest(domain, roots, 0, live_rows_);
  if (!domain.empty() && s.position.lane == domain.rank() - 1 && width % lanes_ == 0)
    columns_ = end_of_loop_nest(domain, roots, s.position.lane, live_columns_);
  prepare_reductions(s);
  std::int64_t elements = element_count(domain);
  streamed_ = s.in_registers.empty() || elements < long_loop_nest ? 0 : elements;
  levels_.clear();
  level_of_index_.clear();
  levels_.push_back({});
  loop_over_axis(s, 0);
  levels_.clear();
  streamed_ = 0;
  rows_.reset(), columns_.reset();
}

// How far all roots go along an axis, the first or the last, if they agree: what is stored up to
// the end of an array, and what is kept or reduced of values of which no more is needed, as `live`
// says.
std::optional<Value> Emitter::end_of_loop_nest(
    const Shape& domain, const std::vector<Root>& roots, int axis,
    const std::vector<std::optional<Value>>& live) const {
  std::optional<Value> end;
  for (const Root& root : roots) {
    std::optional<Value> of_root;
    if (root.inst == nullptr)
      of_root = live[root.value];
    else if (root.inst->op == Op::store_desc_)
      of_root = end_along(static_cast<std::size_t>(axis), *root.inst,
                          *arrays_.at(root.inst->operands[0]).inst, 2, domain[axis], facts_);
    else if (root.inst->op == Op::reduce_ && root.inst->get<ir::Reduction>().axis != axis)
      of_root = live[root.inst->results[0]];
    else if (root.inst->op == Op::prefetch_desc_)
      continue;
    if (!of_root || (end && end != of_root)) return std::nullopt;
    end = of_root;
  }
  return end;
}

// Loops over the axes from the outside in; the lane axis is the innermost.
void Emitter::loop_over_axis(LoopNest& s, int axis) {
  if (axis == s.domain.rank()) return sweep_lanes(s);
  if (axis == s.lane || s.domain[axis] == 1) return loop_over_axis(s, axis + 1);
  levels_.back().block = b_.GetInsertBlock();
  levels_.push_back({});
  auto rows = [&](llvm::Value* first, int count) {
    s.row_axis = axis;
    s.rows = {first};
    for (int row = 1; row < count; ++row) s.rows.push_back(b_.CreateNUWAdd(first, index(row)));
    for (llvm::Value* row : s.rows) level_of_index_[row] = levels_.size() - 1;
    s.position.index[static_cast<std::size_t>(axis)] = first;
    loop_over_axis(s, axis + 1);
  };
  if (takes_two_rows(s, axis)) {
    std::vector<llvm::Value*> none;
    auto* count = axis == 0 && rows_ ? rounded_up(scalars_[*rows_], 2) : index(s.domain[axis]);
    emit_loop(count, 2, none, [&](llvm::Value* first) {
      Interleave interleave(b_.GetInsertBlock());
      for (int row = 0; row < 2; ++row) {
        interleave.begin_copy();
        rows(row == 0 ? first : b_.CreateNUWAdd(first, index(row)), 1);
      }
      interleave.mix(b_.GetInsertBlock(), 2);
    });
  } else {
    loop_over_rows(s, axis, rows);
  }
  s.position.index[static_cast<std::size_t>(axis)] = index(0);
  levels_.pop_back();
}

// True if two rows of this axis are computed side by side: rows of a few vectors that are summed
// up, or the like, since each is one long chain that ends in a single number.
bool Emitter::takes_two_rows(const LoopNest& s, int axis) const {
  const std::int64_t width = s.domain[s.lane];
  const bool is_short = width % lanes_ == 0 && width / lanes_ <= short_row;
  if (!target_.has_avx512() || s.in_registers.empty() || !s.in_scratch.empty() || !is_short ||
      s.domain[axis] % 2 != 0 || axis > s.lane)
    return false;
  for (int inner = axis + 1; inner < s.domain.rank(); ++inner)
    if (inner != s.lane && s.domain[inner] > 1) return false;
  return std::ranges::all_of(s.roots, [](const Root& root) {
    return root.inst == nullptr || root.inst->op == Op::reduce_;
  });
}

void Emitter::sweep_lanes(LoopNest& s) {
  std::int64_t width = s.domain[s.lane], full = width / lanes_, rest = width % lanes_;
  // Several copies of the body hide the latency of a reduction, or of a long chain of operations as
  // far as there are registers. Short rows need no loop at all. (A loop has at least one
  // iteration.)
  const int side_by_side = target_.has_avx512() ? most_copies : 2;
  int copies = full <= short_row         ? 1
               : !s.in_registers.empty() ? 4
               : full < most_copies      ? 2
                                         : side_by_side;
  std::vector<llvm::Value*> start;
  for (const auto& r : s.in_registers) {
    auto [kind, axis] = r.inst->get<ir::Reduction>();
    start.push_back(identities(kind, function_.type(r.inst->operands[0]).dtype, lanes_));
    if (is_arg(kind)) start.push_back(llvm::Constant::getNullValue(lanes_type(b_.getInt32Ty())));
  }
  std::vector<llvm::Value*> accumulators;
  for (int c = 0; c < copies; ++c)
    accumulators.insert(accumulators.end(), start.begin(), start.end());

  auto vectors = [&](llvm::Value* at, std::int64_t count) {
    Interleave interleave(b_.GetInsertBlock());
    for (std::int64_t c = 0; c < count; ++c) {
      interleave.begin_copy();
      sweep_vector(s, c == 0 ? at : b_.CreateNUWAdd(at, index(c * lanes_)), accumulators,
                   static_cast<int>(c % copies));
    }
    interleave.mix(b_.GetInsertBlock(), static_cast<std::size_t>(side_by_side));
  };
  levels_.back().block = b_.GetInsertBlock();
  levels_.push_back({});
  aligned_stores_.clear();
  if (columns_) {
    llvm::Value* all = scalars_[*columns_];
    auto* whole = b_.CreateAnd(all, index(-(copies * lanes_)));
    auto up_to = [&](llvm::Value* begin, llvm::Value* end, int count) {
      emit_if(b_.CreateICmpSLT(begin, end), [&] {
        emit_loop(b_.CreateSub(end, begin), count * lanes_, accumulators,
                  [&](llvm::Value* at) { vectors(b_.CreateAdd(begin, at), count); });
      });
      levels_.back().done.clear();
    };
    if (copies > 1) up_to(index(0), whole, copies);
    up_to(copies > 1 ? whole : index(0), all, 1);
  } else if (llvm::Value* lead = elements_before_aligned(s)) {
    leads_ = true;
    masked_vector(s, index(0), lead, accumulators);
    std::int64_t step = copies * lanes_;
    auto* whole = b_.CreateAnd(b_.CreateSub(index(width), lead), index(-step));
    loop_along_lanes(s, whole, step, full / copies, accumulators,
                     [&](llvm::Value* at) { vectors(b_.CreateAdd(lead, at), copies); });
    levels_.back().done.clear();
    auto* end = b_.CreateAdd(lead, whole);
    emit_loop(b_.CreateSub(index(width), end), lanes_, accumulators, [&](llvm::Value* at) {
      masked_vector(s, b_.CreateAdd(end, at), index(width), accumulators);
    });
    levels_.back().done.clear();
    leads_ = false;
  } else {
    std::int64_t done = 0;
    if (full > short_row) {
      std::int64_t iterations = full / copies;
      loop_along_lanes(s, index(iterations * copies * lanes_), copies * lanes_, iterations,
                       accumulators, [&](llvm::Value* at) { vectors(at, copies); });
      done = iterations * copies;
      levels_.back().done.clear();
    }
    if (done < full) vectors(index(done * lanes_), full - done);
    if (rest != 0) masked_vector(s, index(full * lanes_), index(width), accumulators);
    levels_.back().done.clear();
  }
  levels_.pop_back();
  combine_copies(s, accumulators);
  finish_reductions(s, accumulators);
}

// Those lanes that lie before `end`.
void Emitter::masked_vector(LoopNest& s, llvm::Value* at, llvm::Value* end,
                            std::vector<llvm::Value*>& accumulators) {
  auto* left = b_.CreateTrunc(b_.CreateSub(end, at), b_.getInt32Ty());
  tail_ = b_.CreateICmpSLT(iota(b_.getInt32Ty()), spread({left, true}));
  sweep_vector(s, at, accumulators, 0);
  tail_ = nullptr;
}

// Non-temporal stores must be aligned. So long rows that are stored in this way begin with a part
// of a vector. Returns how many elements come before the first aligned one; null: none, or there is
// no such store.
llvm::Value* Emitter::elements_before_aligned(const LoopNest& s) {
  if (lanes_ == 1 || s.domain[s.lane] < least_led_vectors * lanes_) return nullptr;
  llvm::Value* lead = nullptr;
  for (const Root& root : s.roots) {
    if (root.inst == nullptr || root.inst->op != Op::store_desc_) continue;
    const Inst& inst = *root.inst;
    const ir::Type& type = function_.type(inst.operands[1]);
    if (!is_wanted_once(ir::cache_policy(inst))) continue;
    if (lead != nullptr) {
      if (lie_alike(**aligned_stores_.begin(), inst)) aligned_stores_.insert(&inst);
      continue;
    }
    Address address = desc_address(inst, 2, type.shape, s.position);
    if (address.aligned || !lies_in_a_row(address)) continue;
    auto* element =
        b_.CreateLShr(b_.CreatePtrToInt(address.pointer, b_.getInt64Ty()),
                      std::countr_zero(static_cast<std::uint64_t>(size_bytes(type.dtype))));
    lead = b_.CreateAnd(b_.CreateNeg(element), index(lanes_ - 1));
    aligned_stores_.insert(&inst);
  }
  return lead;
}

// True if the targets of two stores are aligned at the same elements.
bool Emitter::lie_alike(const Inst& a, const Inst& b) const {
  const Array &x = arrays_.at(a.operands[0]), &y = arrays_.at(b.operands[0]);
  auto is_aligned = [&](const Array& array) {
    return facts_[array.inst->operands[0]].divisor % lanes_ == 0;
  };
  return function_.type(a.operands[1]) == function_.type(b.operands[1]) &&
         std::equal(a.operands.begin() + 2, a.operands.end(), b.operands.begin() + 2,
                    b.operands.end()) &&
         x.strides == y.strides && is_aligned(x) && is_aligned(y);
}

void Emitter::sweep_vector(LoopNest& s, llvm::Value* at, std::vector<llvm::Value*>& accumulators,
                           int copy) {
  levels_.back().done.clear();
  copy_ = copy;
  s.position.index[static_cast<std::size_t>(s.lane)] = at;
  if (!llvm::isa<llvm::Constant>(at)) level_of_index_[at] = levels_.size() - 1;
  std::size_t first = static_cast<std::size_t>(copy) * s.per_copy, next = 0;
  for (const Root& root : s.roots) {
    if (root.inst == nullptr) {
      filling_ = root.value;
      Lanes lanes = evaluate_here(root.value, s.position);
      write_slot(slots_.at(root.value), s.position, lanes);
      levels_.back().done[{root.value, s.position}] = lanes;
      continue;
    }
    if ((root.of_four >> copy % 4 & 1) == 0) continue;
    if (root.inst->op != Op::reduce_) {
      store_value(*root.inst, s.position);
      continue;
    }
    auto [kind, axis] = root.inst->get<ir::Reduction>();
    if (axis != s.lane) {
      reduce_across(s, root);
      continue;
    }
    DType dtype = function_.type(root.value).dtype;
    const auto& r = s.in_registers[next++];
    llvm::Value*& accumulator = accumulators[first + r.first];
    if (kind == ReduceKind::sum && adds_product(root.value)) {
      const Inst& product = *defs_.inst(root.value);
      llvm::Value* a = spread(evaluate(product.operands[0], s.position));
      llvm::Value* b = spread(evaluate(product.operands[1], s.position));
      accumulator = multiply_add(a, b, accumulator, 1);
      continue;
    }
    llvm::Value* x = spread(evaluate(root.value, s.position));
    if (tail_ != nullptr) x = b_.CreateSelect(tail_, x, identities(kind, dtype, lanes_));
    if (!is_arg(kind)) {
      // In this order a test for NaN is one of x, off the chain of accumulators.
      accumulator = combine(kind, dtype, x, accumulator);
      continue;
    }
    llvm::Value*& best_index = accumulators[first + r.first + 1];
    auto* start = b_.CreateTrunc(at, b_.getInt32Ty());
    llvm::Value* here = start;
    if (lanes_ > 1)
      here = b_.CreateAdd(b_.CreateVectorSplat(static_cast<unsigned>(lanes_), start),
                          iota(b_.getInt32Ty()));
    keep_better(kind, dtype, accumulator, best_index, x, here);
  }
}

}  // namespace tilewright::dsl
