// Reductions: within the registers of a thread, then between the lanes of a warp, then between
// warps.
#include <map>

#include "dsl/codegen/gpu/emit/emitter.h"
#include "runtime/base/error.h"

namespace tilewright::dsl::gpu {

using ir::Inst;
using ir::ReduceKind;
using ir::Value;
using layout::In;
using layout::Layout;

// The result so far at one place of the result; of argmax and argmin with its index (i32).
struct Emitter::Partial {
  llvm::Value* value;
  llvm::Value* index = nullptr;
  int reg = 0;  // of the operand, at this place of the result
};

void Emitter::combine_into(ReduceKind kind, DType dtype, Partial& to, const Partial& from,
                           bool is_later) {
  if (is_arg(kind))
    keep_better(kind, dtype, to.value, to.index, from.value, from.index, is_later);
  else
    to.value = combine(kind, dtype, to.value, from.value);
}

// With that of the lane whose number differs so.
void Emitter::combine_lanes(ReduceKind kind, DType dtype, Partial& partial, int lane_mask) {
  Partial other = partial;
  other.value = shuffle_xor(partial.value, lane_mask);
  if (is_arg(kind)) other.index = shuffle_xor(partial.index, lane_mask);
  combine_into(kind, dtype, partial, other);
}

void Emitter::reduce(const Inst& inst) {
  auto [kind, axis] = inst.get<ir::Reduction>();
  Value result = inst.results[0];
  const Registers from = get(inst.operands[0]);
  std::vector<Partial> partials;  // one for each place of the result that the thread holds
  std::vector<std::size_t> partial_of = reduce_registers(inst, from, partials);
  reduce_lanes(inst, from.layout, partials);
  reduce_warps(inst, from.layout, partials);

  Registers to{layout::slice(from.layout, axis), {}, nullptr};
  for (std::size_t partial : partial_of)
    to.values.push_back(is_arg(kind) ? partials[partial].index : partials[partial].value);
  if (!is_tile(result)) {
    scalars_[result] = to.values[0];
    return;
  }
  set(result, std::move(to));
}

// Gives for each register its place in `partials`.
std::vector<std::size_t> Emitter::reduce_registers(const Inst& inst, const Registers& from,
                                                   std::vector<Partial>& partials) {
  auto [kind, axis] = inst.get<ir::Reduction>();
  const ir::Type& type = function_.type(inst.operands[0]);
  std::vector<int> first = layout::first_duplicates(from.layout);
  std::map<Layout::Basis, std::vector<Partial>> groups;
  std::vector<Layout::Basis> keys;
  for (int r = 0; r < from.layout.registers(); ++r) {
    auto i = static_cast<std::size_t>(r);
    Layout::Basis key = from.layout.at(r, 0, 0);
    key.erase(key.begin() + axis);
    keys.push_back(key);
    if (first[i] != r) continue;
    Partial partial{from.values[i], nullptr, r};
    if (is_arg(kind)) partial.index = coordinate_value(from.layout, axis, r);
    if (llvm::Value* in = inside(from.layout, type.shape, r, axis))
      partial.value = b_.CreateSelect(in, partial.value, identity(kind, type.dtype));
    groups[key].push_back(partial);
  }
  std::map<Layout::Basis, std::size_t> place;
  for (auto& [key, group] : groups) {
    // True if registers hold elements in their order.
    std::vector<std::int32_t> along;
    bool in_order = is_arg(kind);
    for (const Partial& partial : group) {
      Coordinate at = coordinate(from.layout, axis, partial.reg);
      in_order = in_order && at.apart && (along.empty() || along.back() < at.constant);
      along.push_back(at.constant);
    }
    // As a tree: short chains, and sums that round less.
    for (std::size_t step = 1; step < group.size(); step *= 2)
      for (std::size_t i = 0; i + step < group.size(); i += 2 * step)
        combine_into(kind, type.dtype, group[i], group[i + step], in_order);
    place[key] = partials.size();
    partials.push_back(group[0]);
  }
  std::vector<std::size_t> result;
  for (const auto& key : keys) result.push_back(place[key]);
  return result;
}

void Emitter::reduce_lanes(const Inst& inst, const Layout& layout, std::vector<Partial>& partials) {
  auto [kind, axis] = inst.get<ir::Reduction>();
  DType dtype = function_.type(inst.operands[0]).dtype;
  const auto& bases = layout.bases(In::lane);
  std::uint32_t redundant = layout.redundant_bits(In::lane);
  for (std::size_t bit = 0; bit < bases.size(); ++bit) {
    if (bases[bit][static_cast<std::size_t>(axis)] == 0 || (redundant >> bit & 1)) continue;
    for (Partial& partial : partials) combine_lanes(kind, dtype, partial, 1 << bit);
  }
}

// Through shared memory: one slot for each part of the axis and each place of the result.
void Emitter::reduce_warps(const Inst& inst, const Layout& layout, std::vector<Partial>& partials) {
  auto [kind, axis] = inst.get<ir::Reduction>();
  const ir::Type& type = function_.type(inst.operands[0]);
  const auto& bases = layout.bases(In::warp);
  std::uint32_t redundant = layout.redundant_bits(In::warp);
  llvm::Value* part = i32(0);  // which part of the axis this warp has reduced
  std::int64_t parts = 1;
  for (std::size_t bit = 0; bit < bases.size(); ++bit) {
    if (bases[bit][static_cast<std::size_t>(axis)] == 0 || (redundant >> bit & 1)) continue;
    auto* set = b_.CreateAnd(b_.CreateLShr(warp_, i32(static_cast<std::int64_t>(bit))), i32(1));
    part = b_.CreateAdd(part, b_.CreateMul(set, i32(parts)));
    parts *= 2;
  }
  if (parts == 1) return;
  Layout result = layout::slice(layout, axis);
  Shape shape = result.shape();
  const WarpReduction over = warp_reduction(function_, inst);
  std::int64_t places = over.places, indices = over.index_offset, total = over.bytes;
  begin_scratch(inst, total);
  touching(0, total);
  Strides strides = row_major_strides(shape);
  auto place = [&](int reg) {
    llvm::Value* index = i32(0);
    for (int a = 0; a < shape.rank(); ++a)
      index = b_.CreateAdd(index, b_.CreateMul(coordinate_value(result, a, reg), i32(strides[a])));
    return index;
  };
  // The first lane of those that hold a place writes it; so does the first of the warps that have
  // reduced the same part.
  llvm::Value* own = nullptr;
  std::uint32_t lanes = result.redundant_bits(In::lane);
  if (lanes != 0) own = b_.CreateICmpEQ(b_.CreateAnd(lane_, i32(lanes)), i32(0));
  if (redundant != 0) own = both(own, b_.CreateICmpEQ(b_.CreateAnd(warp_, i32(redundant)), i32(0)));
  for (const Partial& partial : partials) {
    auto* slot = b_.CreateAdd(b_.CreateMul(part, i32(places)), place(partial.reg));
    store_one(shared(0, type.dtype, slot), type.dtype, partial.value, own);
    if (is_arg(kind)) store_one(shared(indices, DType::i32, slot), DType::i32, partial.index, own);
  }
  barrier();
  touching(0, total);
  // Lanes that hold the same places read a part each and exchange them, as long as both last.
  std::vector<int> reading;
  for (int bit = 0; bit < 5 && std::int64_t{1} << reading.size() < parts; ++bit)
    if (lanes >> bit & 1) reading.push_back(bit);
  std::int64_t readers = std::int64_t{1} << reading.size();
  std::vector<std::int64_t> lane_slots(5, 0);
  for (std::size_t i = 0; i < reading.size(); ++i)
    lane_slots[static_cast<std::size_t>(reading[i])] = places << i;
  llvm::Value* lane_slot = linear_in_thread(lane_slots, {});
  for (Partial& partial : partials) {
    llvm::Value* at = place(partial.reg);
    if (lane_slot != nullptr) at = b_.CreateAdd(at, lane_slot);
    Partial sum;
    for (std::int64_t k = 0; k < parts; k += readers) {
      auto* slot = b_.CreateAdd(at, i32(k * places));
      Partial other{load_one(shared(0, type.dtype, slot), type.dtype, nullptr, nullptr), nullptr,
                    partial.reg};
      if (is_arg(kind))
        other.index = load_one(shared(indices, DType::i32, slot), DType::i32, nullptr, nullptr);
      if (k == 0)
        sum = other;
      else
        combine_into(kind, type.dtype, sum, other);
    }
    for (int bit : reading) combine_lanes(kind, type.dtype, sum, 1 << bit);
    partial = sum;
  }
}

}  // namespace tilewright::dsl::gpu
