#include "dsl/layout/banks.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "dsl/layout/swizzle_search.h"
#include "runtime/base/error.h"

namespace tilewright::dsl::layout {
namespace {

constexpr int widest_bytes = 16;

// The bits that lanes or warps add to an element's number in memory.
std::uint64_t bits_moved(const Layout& layout, const SharedLayout& shared, In in) {
  BitMatrix moved = compose(shared.element_order(), layout.matrix(in));
  std::uint64_t bits = 0;
  for (int c = 0; c < moved.columns(); ++c) bits |= moved.column(c);
  return bits;
}

// The registers, as sets of bits of their numbers, that are 1, 2, 4, ... elements away in memory.
// Ends where there is none or where threads would not be aligned.
std::vector<int> neighbours(const Layout& layout, const SharedLayout& shared) {
  BitMatrix order = compose(shared.element_order(), layout.matrix(In::register_));
  std::uint64_t by_threads =
      bits_moved(layout, shared, In::lane) | bits_moved(layout, shared, In::warp);
  std::vector<int> found;
  for (int bit = 0; shared.element_bytes() << bit < widest_bytes; ++bit) {
    if (bit >= order.rows() || (by_threads >> bit & 1)) break;
    auto registers = order.solve(std::uint64_t{1} << bit);
    if (!registers) break;
    found.push_back(static_cast<int>(*registers));
  }
  return found;
}

}  // namespace

int widest_access(const Layout& layout, const SharedLayout& shared) {
  check(layout.shape() == shared.shape(), "a tile and its shared memory differ in shape");
  return 1 << neighbours(layout, shared).size();
}

std::vector<std::vector<int>> accesses(const Layout& layout, const SharedLayout& shared,
                                       int elements) {
  check(elements >= 1 && elements <= widest_access(layout, shared), "an access is too wide");
  std::vector<int> away = neighbours(layout, shared);
  BitMatrix order = compose(shared.element_order(), layout.matrix(In::register_));
  std::vector<std::vector<int>> found;
  for (int first : distinct_registers(layout)) {
    if (order.apply(static_cast<std::uint64_t>(first)) % static_cast<unsigned>(elements)) continue;
    std::vector<int> access;
    for (int i = 0; i < elements; ++i) {
      int reg = first;
      for (int bit = 0; bit < log_of(elements); ++bit)
        if (i >> bit & 1) reg ^= away[static_cast<std::size_t>(bit)];
      access.push_back(reg);
    }
    found.push_back(std::move(access));
  }
  return found;
}

int bank_conflicts(const Layout& layout, const SharedLayout& shared, int element_bytes,
                   int vector_elements) {
  check(element_bytes == shared.element_bytes(), "elements of another size lie in shared memory");
  int bytes = element_bytes * vector_elements;
  check(bytes <= widest_bytes && std::has_single_bit(static_cast<unsigned>(bytes)),
        "an access is at most 16 bytes");
  check(bits_moved(layout, shared, In::lane) % static_cast<unsigned>(vector_elements) == 0,
        "an access is not aligned");
  int turn = std::min(layout.lanes(), bytes <= 4 ? 32 : 128 / bytes);
  BitMatrix lanes = compose(shared.offset_matrix(), layout.matrix(In::lane));
  std::vector<std::uint64_t> words, banks;
  for (int bit = 0; bit < log_of(turn); ++bit) words.push_back(lanes.column(bit) >> 2);
  for (int word = 1; word * 4 < bytes; word *= 2) words.push_back(static_cast<unsigned>(word));
  for (std::uint64_t word : words) banks.push_back(word & 31);
  int words_in_a_bank = 1 << (BitMatrix(64, words).rank() - BitMatrix(5, banks).rank());
  return layout.lanes() / turn * (words_in_a_bank - 1);
}

int total_bank_conflicts(const Layout& layout, const SharedLayout& shared) {
  int width = widest_access(layout, shared);
  int count = drop_duplicate_registers(layout).registers() / width;
  return count * bank_conflicts(layout, shared, shared.element_bytes(), width);
}

namespace {

// The cost of a layout of shared memory; smaller is better.
struct Cost {
  int conflicts, accesses;
  auto operator<=>(const Cost&) const = default;
};

Cost cost_of(const Layout& writer, const Layout& reader, const SharedLayout& shared) {
  Cost cost{0, 0};
  for (const Layout* side : {&writer, &reader}) {
    cost.conflicts += total_bank_conflicts(*side, shared);
    cost.accesses += side->registers() / widest_access(*side, shared);
  }
  return cost;
}

// The swizzles of a row whose chunks are accesses of 4 to 16 bytes.
std::vector<SharedLayout> xor_swizzles(const Shape& physical, int element_bytes) {
  std::vector<SharedLayout> found{SharedLayout::row_major(physical, element_bytes)};
  if (physical.empty()) return found;
  std::int64_t columns = physical[physical.rank() - 1];
  std::int64_t rows = element_count(physical) / columns;
  for (int bytes = widest_bytes; bytes >= std::max(4, element_bytes); bytes /= 2) {
    int vec = bytes / element_bytes;
    for (int per_phase = 1; per_phase <= 8 && per_phase < rows; per_phase *= 2)
      for (int phases = 2; phases <= 128 / bytes && phases * vec <= columns; phases *= 2)
        if (phases * per_phase <= rows)
          found.push_back(
              SharedLayout::xor_swizzled(physical, element_bytes, vec, per_phase, phases));
  }
  return found;
}

}  // namespace

SharedLayout choose_swizzle(const Layout& writer, const Layout& reader, int element_bytes) {
  check(writer.shape() == reader.shape(), "writer and reader are of different tiles");
  Layout from = drop_duplicate_registers(writer), to = drop_duplicate_registers(reader);
  const Shape& physical = writer.shape();
  auto widest = [&](const Layout& side) {
    return std::min(side.registers(), std::max(1, widest_bytes / element_bytes));
  };
  Cost least{0, from.registers() / widest(from) + to.registers() / widest(to)};
  std::optional<SharedLayout> best;
  std::optional<Cost> best_cost;
  auto consider = [&](const SharedLayout& shared) {
    Cost cost = cost_of(from, to, shared);
    if (best_cost && *best_cost <= cost) return;
    best = shared;
    best_cost = cost;
  };
  for (const SharedLayout& shared : xor_swizzles(physical, element_bytes)) {
    consider(shared);
    if (best_cost == least) return *best;
  }
  for (BitMatrix& order : conflict_free_orders(from, to, element_bytes)) {
    consider(SharedLayout::linear(physical, element_bytes, std::move(order)));
    if (best_cost == least) return *best;
  }
  return *best;
}

}  // namespace tilewright::dsl::layout
