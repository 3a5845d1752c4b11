// Warp specialisation on Hopper: which warps copy, which multiply, and what they hand to each
// other.
//
// A warpgroup that multiplies has the tensor cores work for it while it waits; it must not wait for
// memory. So one thread of a warpgroup of its own, the producer, does nothing but ask TMA for the
// next blocks, as far ahead as shared memory reaches, and the other warpgroups, the consumers, do
// everything else: 64 rows of each tile are one consumer's.
//
// The blocks that one product takes go through a ring of stages. Each stage has two barriers in
// shared memory:
//
//   full    the bytes of the stage have come        producer expects them, consumers wait
//   empty   all consumers are done with the stage   consumers arrive, the producer waits
//
//   producer:  wait empty[s]; expect bytes on full[s]; copy a, b into stage s; next s
//   consumer:  wait full[s]; multiply stage s; once that is finished arrive at empty[s]; next s
//
// Both go through the same program: the producer through what decides which blocks are loaded
// (bounds of loops, conditions, offsets), the consumers through all but the loads. Programs are
// persistent: a block of threads takes one program of the grid after the other, and since rings go
// on from program to program the producer fetches for the next one while the consumers store this
// one. Registers move with the work: the producer gives most of its own away (setmaxnreg).
//
// Clusters. Two programs that are neighbours along an axis of the grid on which an operand does not
// depend take the same blocks of it. Where the function asks for clusters (ir::Function::cluster),
// the blocks of threads that run such programs form one: each fetches its part of a shared block
// into the shared memory of all of them (multicast), so that the L2 cache gives it once. A stage is
// then free when the consumers of all blocks of the cluster are done with it, and they arrive at
// all producers' barriers. All blocks of a cluster run as many programs: at the edge of a grid that
// the cluster does not divide, a block goes through the last program again and stores nothing. The
// axis is the one along which the most bytes are shared; it is asked for, and not done everywhere,
// since a block then waits for the slowest of its cluster. The saving, for blocks of 128x256x64 in
// 16 bits: of 48 KB a stage and block, along rows the 32 KB of the right operand come once for two,
// so that 32 KB a block are left, 131 FLOP a byte from L2 and not 87.
//
// Where roles are not possible (another type, operands that TMA cannot fetch, scalars of the
// producer that depend on tiles, more registers than there are), pipeline.h describes the
// alternative.
#pragma once

#include <optional>
#include <vector>

#include "dsl/codegen/gpu/plan/block_layouts.h"
#include "dsl/codegen/gpu/plan/pipeline.h"
#include "dsl/codegen/gpu/plan/tensor_copy.h"
#include "dsl/target/target.h"

namespace tilewright::dsl::gpu {

// Stages that all products share whose blocks are equally large: the producer fills them in the
// order in which the program comes to its products.
struct Ring {
  std::int64_t stage_bytes;
  int stages = 0;
  std::int64_t start = 0;     // of stage 0 in shared memory
  std::int64_t barriers = 0;  // there too: full of each stage, then empty of each stage
  bool is_shared = false;     // other blocks of the cluster fetch some of its operands too
};

// How boxes of an array are moved.
struct BoxCopy {
  int map;                       // an index of WarpSpecialisation::maps
  std::vector<ir::Value> outer;  // coordinates beyond row and column
  // The same in all programs of a cluster: the map's box is the part of one block, a number of
  // rows.
  bool is_shared = false;
};

// The operands that are fetched together. For one product: its right operand, and perhaps its left
// one, where the product stands. Or a left operand that several turns or products take, where it is
// loaded: it stays until the block of code that it stands in is over.
struct Fetch {
  const ir::Inst* at;  // the product, or the load
  std::size_t ring = 0;
  std::int64_t stage_bytes = 0;   // of its place in the ring, where each load begins at a multiple
  std::int64_t copied_bytes = 0;  // that TMA will report
  std::vector<StagedLoad> loads;
  std::vector<BoxCopy> copies;  // of each load
  // The product only adds to a carried value of its loop: it may be unfinished for one iteration,
  // until the next one is issued.
  bool deferred = false;
};

// A block that is stored by TMA, in boxes of 64 rows and at most 128 bytes.
struct TensorStore {
  const ir::Inst* store;
  BoxCopy copy;
};

// All that code needs to know. Most of it follows from the program; decisions stand in the function
// (ir::Roles, ir::Schedule): how many stages, and which instructions are staged, deferred, boxed or
// alternating.
struct WarpSpecialisation {
  int consumer_warps = 8;  // a multiple of 4; the producer's warpgroup comes after them
  int cluster = 1;         // blocks that share their fetches
  int cluster_axis = 0;    // their programs are neighbours along this axis of the grid
  int stages = 0;          // of each ring but those of operands that stay
  std::vector<Ring> rings;
  std::vector<Fetch> fetches;
  std::vector<TensorStore> stores;
  std::vector<TensorMapSpec> maps;
  std::int64_t staging = 0;       // where boxes wait to be stored, two for each consumer warpgroup
  std::int64_t shared_bytes = 0;  // rings, barriers and staging
  std::vector<bool> produced;     // by value: scalars that the producer computes
  // Loops of several products in which two consumers take turns at the tensor cores: one issues its
  // products while the other computes.
  std::vector<const ir::Inst*> alternating;

  int threads() const { return 32 * (consumer_warps + 4); }
  int warpgroups() const { return consumer_warps / 4; }
  // Registers of a thread: at entry, as all have; then as the producer and the consumers have.
  int entry_registers() const { return consumer_warps == 4 ? 128 : 168; }
  int producer_registers() const { return 40; }
  int consumer_registers() const { return consumer_warps == 4 ? 216 : 232; }
  const Fetch* fetch_at(const ir::Inst* inst) const;
  const TensorStore* store_of(const ir::Inst* store) const;
};

// Good roles for a function without decisions; nothing where roles are not possible.
std::optional<WarpSpecialisation> plan_warp_specialisation(const ir::Function& function,
                                                           const Uses& uses,
                                                           const std::vector<ScalarFacts>& facts,
                                                           const Target& target);
// The roles that a function says its warps have, if any. Raises `Error` where they are not
// possible.
std::optional<WarpSpecialisation> warp_roles_of(const ir::Function& function, const Uses& uses,
                                                const std::vector<ScalarFacts>& facts,
                                                const Target& target);

// The size of a box that waits to be stored: 64 rows of 128 bytes.
constexpr std::int64_t staged_box_bytes = 64 * 128;

}  // namespace tilewright::dsl::gpu
