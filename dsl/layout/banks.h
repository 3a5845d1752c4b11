// Accesses of shared memory by the places of a layout: how wide they can be, how often threads wait
// for each other's banks, and which layout of shared memory suits a writer and a reader.
//
// The 32 lanes of a warp are served together where each asks for up to 4 bytes, in two halves where
// for 8, in quarters where for 16: at most 128 bytes a wavefront. A wavefront takes one 4-byte word
// from each of 32 banks; where lanes ask a bank for several words, more wavefronts follow. The
// words of one turn are an affine space over F2, hence so are those in each bank, and all banks
// that are asked at all are asked for equally many: the count is 2 to the difference of two ranks.
#pragma once

#include <vector>

#include "dsl/layout/layout.h"
#include "dsl/layout/shared.h"

namespace tilewright::dsl::layout {

// How many elements, at most 16 bytes, each access of a thread can take at once.
int widest_access(const Layout& layout, const SharedLayout& shared);
// The registers of each access of a thread, in the order of memory; all accesses together meet each
// distinct register once. The first register's offset is the address, aligned to the access.
// `elements` is at most the widest.
std::vector<std::vector<int>> accesses(const Layout& layout, const SharedLayout& shared,
                                       int elements);

// Wavefronts that one access of a warp takes beyond those that its bytes ask for, for vectors of
// this many elements: 0 is best. The same for every access and every warp of the layout.
int bank_conflicts(const Layout& layout, const SharedLayout& shared, int element_bytes,
                   int vector_elements);
// That of all accesses of a warp, as wide as they can be.
int total_bank_conflicts(const Layout& layout, const SharedLayout& shared);

// The layout of shared memory with the fewest conflicts of both accesses together, none where there
// is one without; among equals the one with the fewest accesses, and the plainest.
//
// Row-major and XOR swizzles are tried first; if they fall short, one is made (Zhou et al., "Linear
// Layouts", 2025, section 5): the lowest bits of the offset are given to registers that both sides
// can take at once, and the bits above the banks' to directions in which neither side's lanes go
// during one turn.
SharedLayout choose_swizzle(const Layout& writer, const Layout& reader, int element_bytes);

}  // namespace tilewright::dsl::layout
