#include "dsl/layout/swizzle_search.h"

#include <algorithm>
#include <bit>

namespace tilewright::dsl::layout {
namespace {

// Vectors of element numbers, or a basis of the space that they span.
using Vectors = std::vector<std::uint64_t>;

Vectors joined(Vectors a, const Vectors& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// The vectors of `more`, in order, that are linearly independent of `given` and of each other.
Vectors independent_of(const Vectors& given, const Vectors& more) {
  Vectors found;
  for (std::uint64_t vector : more)
    if (!BitMatrix(64, joined(given, found)).solve(vector)) found.push_back(vector);
  return found;
}

Vectors basis_of(const Vectors& vectors) { return independent_of({}, vectors); }

// The intersection of two spaces, each given by a basis.
Vectors intersection(const Vectors& a, const Vectors& b) {
  BitMatrix left(64, a);
  Vectors found;
  for (std::uint64_t combination : BitMatrix(64, joined(a, b)).kernel())
    found.push_back(left.apply(combination & ((std::uint64_t{1} << a.size()) - 1)));
  return found;
}

Vectors columns_of(const Layout& layout, In in) {
  BitMatrix matrix = layout.matrix(in);
  Vectors columns;
  for (int c = 0; c < matrix.columns(); ++c) columns.push_back(matrix.column(c));
  return columns;
}

// One side of the search: what its threads do in element numbers.
struct Side {
  Vectors registers, lanes, threads;  // threads: a basis of what lanes and warps reach

  explicit Side(const Layout& layout)
      : registers(columns_of(layout, In::register_)),
        lanes(columns_of(layout, In::lane)),
        threads(basis_of(joined(lanes, columns_of(layout, In::warp)))) {}

  // The element numbers that one wavefront of accesses of these elements spans, beside the lowest
  // bits of a word.
  Vectors turn(const Vectors& access, int element_bytes) const {
    int bytes = element_bytes << access.size();
    int bits = std::min<int>(static_cast<int>(lanes.size()), bytes <= 4 ? 5 : 7 - log_of(bytes));
    return joined(access, {lanes.begin(), lanes.begin() + bits});
  }
};

// Directions within `space` that leave both a and b (subspaces of it) at once: sums of one vector
// that only a has and one that only b has, and what neither has.
Vectors outside_of_both(const Vectors& space, const Vectors& a, const Vectors& b) {
  Vectors common = intersection(a, b);
  Vectors of_a = independent_of(common, a), of_b = independent_of(common, b);
  Vectors neither = independent_of(joined(joined(common, of_a), of_b), space);
  Vectors found;
  std::size_t pairs = std::min(of_a.size(), of_b.size());
  for (std::size_t i = 0; i < pairs; ++i) found.push_back(of_a[i] ^ of_b[i]);
  return joined(neither, found);
}

// The order of elements for accesses of `lead` to the elements `access`, of which `other` takes the
// first `common` together.
BitMatrix order_for(int bits, const Side& lead, const Side& other, const Vectors& access,
                    std::size_t common, int element_bytes) {
  Vectors units;
  for (int bit = 0; bit < bits; ++bit) units.push_back(std::uint64_t{1} << bit);
  // The vectors that are not decided within an access, beginning with the threads of both sides.
  Vectors rest = independent_of(access, lead.threads);
  rest = joined(rest, independent_of(joined(access, rest), other.threads));
  rest = joined(rest, independent_of(joined(access, rest), units));

  // The bits within a word: lowest in an access, or lowest of the rest where accesses are narrower.
  std::size_t word_bits =
      element_bytes >= 4 ? 0 : 2 - static_cast<std::size_t>(log_of(element_bytes));
  Vectors word = joined(access, rest);
  word.resize(std::min(word.size(), word_bits));
  auto turn_of = [&](const Side& side, const Vectors& taken) {
    return intersection(basis_of(joined(word, side.turn(taken, element_bytes))), rest);
  };
  Vectors shared(access.begin(), access.begin() + static_cast<std::ptrdiff_t>(common));
  Vectors high = outside_of_both(rest, turn_of(lead, access), turn_of(other, shared));
  std::size_t low_bits = 7 - static_cast<std::size_t>(log_of(element_bytes));  // of all banks
  std::size_t all_bits = static_cast<std::size_t>(bits);
  high.resize(std::min(high.size(), all_bits > low_bits ? all_bits - low_bits : 0));
  Vectors banks = independent_of(joined(access, high), rest);
  BitMatrix places(bits, joined(joined(access, banks), high));
  return *places.right_inverse();
}

}  // namespace

std::vector<BitMatrix> conflict_free_orders(const Layout& writer, const Layout& reader,
                                            int element_bytes) {
  Side sides[2] = {Side(writer), Side(reader)};
  int bits = element_bits(writer.shape());
  std::size_t most = element_bytes >= 16 ? 0 : static_cast<std::size_t>(4 - log_of(element_bytes));
  Vectors threads = joined(sides[0].threads, independent_of(sides[0].threads, sides[1].threads));
  Vectors both = independent_of(threads, intersection(sides[0].registers, sides[1].registers));
  std::vector<BitMatrix> orders;
  for (std::size_t common = std::min(most, both.size()) + 1; common-- > 0;)
    for (int lead : {0, 1}) {
      Vectors shared(both.begin(), both.begin() + static_cast<std::ptrdiff_t>(common));
      const Side& side = sides[lead];
      Vectors own = independent_of(joined(side.threads, shared), side.registers);
      for (std::size_t more = std::min(most - common, own.size()) + 1; more-- > 0;) {
        Vectors access =
            joined(shared, {own.begin(), own.begin() + static_cast<std::ptrdiff_t>(more)});
        orders.push_back(order_for(bits, side, sides[1 - lead], access, common, element_bytes));
      }
    }
  return orders;
}

}  // namespace tilewright::dsl::layout
