#include "dsl/layout/warp_exchanges.h"

#include <algorithm>
#include <bit>

namespace tilewright::dsl::layout {
int Affine::at(int thread) const {
  return constant ^ sum_over(terms, static_cast<std::uint64_t>(thread));
}

bool Affine::is_constant() const {
  return std::all_of(terms.begin(), terms.end(), [](int term) { return term == 0; });
}

bool Sources::in_place() const {
  auto stays = [](const Source& source) { return source.registers == 0 && source.lanes == 0; };
  return std::all_of(of_lane.begin(), of_lane.end(), stays) &&
         std::all_of(of_warp.begin(), of_warp.end(), stays) &&
         std::all_of(of_register.begin(), of_register.end(),
                     [](const Source& source) { return source.lanes == 0; });
}

namespace {

std::uint64_t column_of(const Layout& layout, In in, int bit) {
  return flat_index(layout.shape(), layout.bases(in)[static_cast<std::size_t>(bit)]);
}

}  // namespace

std::optional<Sources> sources_in_warp(const Layout& from, const Layout& to) {
  BitMatrix warp = join_columns(from.matrix(In::register_), from.matrix(In::lane));
  int first_lane = from.bits(In::register_);
  // Registers come before lanes: a lane is left only if no register of its own has the element.
  auto source_of = [&](std::uint64_t difference) -> std::optional<Source> {
    auto found = warp.solve(difference);
    if (!found) return std::nullopt;
    return Source{static_cast<int>(*found) & (from.registers() - 1),
                  static_cast<int>(*found >> first_lane)};
  };
  Sources sources;
  for (In in : {In::register_, In::lane, In::warp}) {
    auto& list = in == In::register_ ? sources.of_register
                 : in == In::lane    ? sources.of_lane
                                     : sources.of_warp;
    for (int bit = 0; bit < to.bits(in); ++bit) {
      std::uint64_t difference = column_of(to, in, bit);
      if (in != In::register_) difference ^= column_of(from, in, bit);
      auto source = source_of(difference);
      if (!source) return std::nullopt;
      list.push_back(*source);
    }
  }
  return sources;
}

std::vector<int> registers_of(const std::vector<Source>& sources) {
  std::vector<int> terms;
  for (const Source& source : sources) terms.push_back(source.registers);
  return terms;
}

int sum_over(const std::vector<int>& terms, std::uint64_t index) {
  int sum = 0;
  for (; index != 0; index &= index - 1)
    sum ^= terms[static_cast<std::size_t>(std::countr_zero(index))];
  return sum;
}

namespace {

std::vector<int> lanes_of(const std::vector<Source>& sources) {
  std::vector<int> terms;
  for (const Source& source : sources) terms.push_back(source.lanes);
  return terms;
}

BitMatrix matrix_of(int rows, const std::vector<int>& terms) {
  return {rows, std::vector<std::uint64_t>(terms.begin(), terms.end())};
}

// The plan of exchanges. In a round every thread fills one target register; round m fills register
// m ^ K(lane), so that all rounds fill all. K is there because a lane gives one register a round:
// the lanes that take from one lane must want the same register of it. Lanes that collide and want
// different ones are led apart by filling different registers in the same round. Where no register
// leads them apart, each round has two parts.
class Rounds {
 public:
  Rounds(const Layout& from, const Layout& to, const Sources& sources)
      : lane_bits_(from.bits(In::lane)),
        register_bits_(from.bits(In::register_)),
        register_from_(registers_of(sources.of_register)),
        lane_from_(lanes_of(sources.of_register)),
        give_by_warp_(registers_of(sources.of_warp)),
        lane_by_warp_(lanes_of(sources.of_warp)),
        wanted_(registers_of(sources.of_lane)),
        taken_from_(lanes_of(sources.of_lane)),
        filled_(distinct_registers(to)),
        fill_(static_cast<std::size_t>(lane_bits_), 0),
        part_(static_cast<std::size_t>(lane_bits_), 0) {
    // Only distinct target registers are filled.
    for (int bit = 0; bit < to.bits(In::register_); ++bit)
      if (std::find(filled_.begin(), filled_.end(), 1 << bit) != filled_.end())
        filled_bits_.push_back(bit);
    for (int bit = 0; bit < lane_bits_; ++bit)
      taken_from_[static_cast<std::size_t>(bit)] ^= 1 << bit;
  }

  // Nothing where a round would have more than two parts.
  std::optional<std::vector<Exchange>> plan() {
    if (!lead_apart()) return std::nullopt;
    find_gifts();
    std::vector<Exchange> exchanges;
    for (int target : filled_)
      for (int part = 0; part < parts_; ++part) exchanges.push_back(exchange(target, part));
    return exchanges;
  }

 private:
  // Lanes, as sets of bits, that take from one lane: those for which it need not matter first, then
  // those that want different registers of it. Completed to a basis of all lanes.
  struct Collisions {
    std::vector<std::uint64_t> harmless, harmful, others;
  };
  Collisions collisions() const {
    Collisions found;
    BitMatrix taken = matrix_of(lane_bits_, taken_from_),
              wanted = matrix_of(register_bits_, wanted_);
    std::vector<std::uint64_t> colliding = taken.kernel(), wants;
    for (std::uint64_t lanes : colliding) wants.push_back(wanted.apply(lanes));
    BitMatrix wants_of(register_bits_, wants), lanes_of_combination(lane_bits_, colliding);
    for (std::uint64_t combination : wants_of.kernel())
      found.harmless.push_back(lanes_of_combination.apply(combination));
    std::uint64_t different = wants_of.independent_columns();
    for (std::size_t i = 0; i < colliding.size(); ++i)
      if (different >> i & 1) found.harmful.push_back(colliding[i]);
    std::vector<std::uint64_t> all = found.harmless;
    all.insert(all.end(), found.harmful.begin(), found.harmful.end());
    BitMatrix completed = join_columns(BitMatrix(lane_bits_, all), BitMatrix::identity(lane_bits_));
    std::uint64_t kept = completed.independent_columns();
    for (int c = static_cast<int>(all.size()); c < completed.columns(); ++c)
      if (kept >> c & 1) found.others.push_back(completed.column(c));
    return found;
  }

  // Finds K (fill_), and where it falls short which lanes belong to the second part (part_).
  bool lead_apart() {
    Collisions found = collisions();
    // Columns: where lanes take from, then what filling another register changes about it.
    std::vector<std::uint64_t> reached(taken_from_.begin(), taken_from_.end());
    for (int bit : filled_bits_)
      reached.push_back(static_cast<std::uint64_t>(lane_from_[static_cast<std::size_t>(bit)]));
    std::uint64_t leads = BitMatrix(lane_bits_, reached).independent_columns() >> lane_bits_;
    std::vector<int> fill_of_basis;
    std::size_t left = 0;
    for (std::size_t i = 0; i < found.harmful.size(); ++i) {
      if (leads == 0) {
        fill_of_basis.push_back(0);
        ++left;
        continue;
      }
      fill_of_basis.push_back(1 << filled_bits_[static_cast<std::size_t>(std::countr_zero(leads))]);
      leads &= leads - 1;
    }
    if (left > 1) return false;
    parts_ = left == 0 ? 1 : 2;
    // From the basis of collisions to single lanes.
    std::vector<std::uint64_t> basis = found.harmful;
    basis.insert(basis.end(), found.harmless.begin(), found.harmless.end());
    basis.insert(basis.end(), found.others.begin(), found.others.end());
    fill_of_basis.resize(basis.size(), 0);
    BitMatrix to_basis = *BitMatrix(lane_bits_, basis).right_inverse();
    for (int bit = 0; bit < lane_bits_; ++bit) {
      auto at = static_cast<std::size_t>(bit);
      fill_[at] = sum_over(fill_of_basis, to_basis.column(bit));
      if (left)
        part_[at] = static_cast<int>(to_basis.column(bit) >> (found.harmful.size() - 1) & 1);
    }
    if (left)
      second_gift_ =
          static_cast<int>(matrix_of(register_bits_, wanted_).apply(found.harmful.back()));
    return true;
  }

  // With K: where each lane takes from, what it wants there, and from both what each lane gives.
  void find_gifts() {
    std::vector<std::uint64_t> wants;
    for (int bit = 0; bit < lane_bits_; ++bit) {
      auto at = static_cast<std::size_t>(bit);
      auto fill = static_cast<std::uint64_t>(fill_[at]);
      taken_from_[at] ^= sum_over(lane_from_, fill);
      wants.push_back(static_cast<std::uint64_t>(wanted_[at] ^ sum_over(register_from_, fill)));
    }
    // solve() uses independent columns alone, which makes the gift linear. Lanes that nobody takes
    // from give anything; the columns of the identity are there for them, and stand for nothing.
    BitMatrix reached =
        join_columns(matrix_of(lane_bits_, taken_from_), BitMatrix::identity(lane_bits_));
    for (int bit = 0; bit < lane_bits_; ++bit) {
      std::uint64_t takers = *reached.solve(std::uint64_t{1} << bit);
      takers &= (std::uint64_t{1} << lane_bits_) - 1;
      gift_.push_back(static_cast<int>(BitMatrix(register_bits_, wants).apply(takers)));
    }
  }

  Exchange exchange(int target, int part) const {
    auto index = static_cast<std::uint64_t>(target);
    int lane = sum_over(lane_from_, index);
    auto gift = [&](int lanes) { return sum_over(gift_, static_cast<std::uint64_t>(lanes)); };
    Exchange made;
    made.give = {sum_over(register_from_, index) ^ gift(lane) ^ (part ? second_gift_ : 0), gift_};
    made.source_lane = {lane, taken_from_};
    made.keep = {target, fill_};
    made.skip = {part, part_};
    for (std::size_t bit = 0; bit < give_by_warp_.size(); ++bit) {
      made.give.terms.push_back(give_by_warp_[bit] ^ gift(lane_by_warp_[bit]));
      made.source_lane.terms.push_back(lane_by_warp_[bit]);
      made.keep.terms.push_back(0);
      made.skip.terms.push_back(0);
    }
    made.moves_lanes = lane != 0;
    for (std::size_t bit = 0; bit < made.source_lane.terms.size(); ++bit) {
      int own = bit < static_cast<std::size_t>(lane_bits_) ? 1 << bit : 0;
      if (made.source_lane.terms[bit] != own) made.moves_lanes = true;
    }
    return made;
  }

  int lane_bits_, register_bits_;
  // By bit of the target's register, of the warp, of the lane: the source's register and lane.
  std::vector<int> register_from_, lane_from_, give_by_warp_, lane_by_warp_, wanted_, taken_from_;
  std::vector<int> filled_, filled_bits_;
  std::vector<int> fill_, part_, gift_;  // by bit of the lane
  int parts_ = 1, second_gift_ = 0;
};

}  // namespace

std::optional<std::vector<Exchange>> plan_exchanges(const Layout& from, const Layout& to,
                                                    const Sources& sources) {
  return Rounds(from, to, sources).plan();
}

}  // namespace tilewright::dsl::layout
