// How a tile gets from one layout into another of the same physical shape and the same threads.
//
// The source of register r of thread t is a solution of from(source) = to(r, t). Solving it bit by
// bit, with as little movement as possible, makes the source linear in r and t; the bits that it
// depends on determine the steps:
//
//     none        every register is where it is wanted
//     registers   on r alone: a thread finds all it wants in registers of its own, the same for all
//     shuffle     on r and the thread, but the source is in the same warp, and few of a thread's
//                 registers come into question
//     shared      else: through shared memory
//
// For example, 4 elements in 4 lanes: from lane l holding element l to lane l holding element
// l ^ (l >> 1), the source lane is l ^ (l >> 1), linear in the bits of l; one shuffle does it.
#pragma once

#include <optional>
#include <vector>

#include "dsl/layout/layout.h"
#include "dsl/layout/shared.h"
#include "dsl/layout/warp_exchanges.h"

namespace tilewright::dsl::layout {

struct Conversion {
  enum class Kind { none, registers, shuffle, shared } kind = Kind::none;

  // registers: for each target register the source register.
  std::vector<int> source_register;

  // shuffle: at most twice as many as target registers. In each thread they fill each register that
  // `duplicate_of` names once.
  std::vector<Exchange> exchanges;

  // shared: every thread writes source registers, all threads of the block wait for each other,
  // then every thread reads target registers. The registers of an access are neighbours in memory,
  // the offset of the first is the address. Threads that hold replicas write the same bytes.
  std::optional<SharedLayout> shared;
  std::vector<std::vector<int>> writes, reads;
  int write_vector = 1, read_vector = 1;  // elements an access

  // shuffle, shared: for each target register the one with the same element that is filled; itself
  // but for replicas.
  std::vector<int> duplicate_of;
};

// For layouts of equal shapes and threads. For any thread, which keeps its latest plans.
Conversion plan_conversion(const Layout& from, const Layout& to, int element_bytes);

}  // namespace tilewright::dsl::layout
