// Conversions within a warp (conversion.h): where the source of each element is, and the shuffles
// that bring it. They are apart since they are algebra over F2 and know nothing of memory.
#pragma once

#include <optional>
#include <vector>

#include "dsl/layout/layout.h"

namespace tilewright::dsl::layout {

// A function of a thread's number in its block (the bits of its lane, then of its warp) that is
// affine over F2: the constant XOR the terms of the bits that are set.
struct Affine {
  int constant = 0;
  std::vector<int> terms;
  int at(int thread) const;
  bool is_constant() const;
  bool operator==(const Affine&) const = default;
};

// One shuffle, in every warp: each thread gives its source register give(t); thread t takes the
// value of the lane source_lane(t) of its warp, and keeps it as target register keep(t) if skip(t)
// is 0.
struct Exchange {
  Affine give, source_lane, keep, skip;
  // False if every lane takes from itself: then it is but a selection among registers.
  bool moves_lanes = true;
};

// How one bit of a target's place moves its source: by registers, and by lanes within the warp.
struct Source {
  int registers = 0, lanes = 0;
};

// The source of each place: the XOR over the bits of its register, lane and warp, the lane beside
// what the thread's own lane is.
struct Sources {
  std::vector<Source> of_register, of_lane, of_warp;

  bool in_place() const;
};

// Nothing where a source lies in another warp.
std::optional<Sources> sources_in_warp(const Layout& from, const Layout& to);

std::vector<int> registers_of(const std::vector<Source>& sources);

// The XOR of the terms of the bits that are set in an index.
int sum_over(const std::vector<int>& terms, std::uint64_t index);

// The shuffles; nothing where one target register would take more than two.
std::optional<std::vector<Exchange>> plan_exchanges(const Layout& from, const Layout& to,
                                                    const Sources& sources);

}  // namespace tilewright::dsl::layout
