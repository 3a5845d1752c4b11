// Lowerings: the ways in which a region becomes tile programs, as rows of one table.
//
// A lowering knows a kind of region and nothing else does: which regions are its own, how they are
// cut into blocks, what tuning may vary of that, what ranks the variants, and how the programs are
// written. Code that plans, tunes or times regions asks the table (lowerings.def). The first row
// that matches a region lowers it. Questions that apply to all regions stand elsewhere: the memory
// that they use and the key by which equal ones are known (regions/region_key.h), and the bytes
// that they move (lower.h).
//
// Most regions are tables of rows (regions/region.h), which fusion makes of tasks whose kinds it
// understands. An op without rows, such as attention or a sort, becomes an opaque task: fusion
// leaves it alone, except for the tasks that join some of them (regions/opaque_region.h), and all
// facts about it are in its lowering. To add one, such as that of `cumulate`, which joins each
// element with those before it:
//
//   1. The op is a row of ir/ops.def, with its family in ops/ (graph/README.md says how). Its kind
//      is a new one in Kind (ir/op.h), unless all that the switches over kinds say of a present one
//      holds for it too; the compiler names the switches that want a case of it. The task maker
//      (regions/making/make_tasks.cpp) calls `opaque` for it: all operands in memory, and the op's
//      attributes in the task, where the identity of a region sees them. Of the tests,
//      tests/property/random_graph.cpp says how often its kind is drawn, graph_growth.cpp draws
//      operands for it, and error_bound.cpp bounds its error.
//   2. A row TILEWRIGHT_LOWERING(cumulation) in lowerings.def, before `rows`.
//   3. A file, cumulation/cumulation.cpp, with the programs in the kernel language (a new word of
//      which is an operation of dsl/README.md), and the record:
//
//        bool is_cumulation(const TaskList& list, const Region& region) {
//          return list.tasks[region.tasks[0]].op == Op::cumulate;
//        }
//        LoweredRegion lower_cumulation(const TaskList& list, const Region& region,
//                                       const dsl::Target& target, const BlockSizes& blocks);
//
//        constinit const Lowering lowerings::cumulation = {
//            .name = "cumulation", .matches = is_cumulation, .lower = lower_cumulation};
//
//      It then runs, in plans and at once, and is not tuned. To be tuned it says what may be
//      varied (`choice`) and what ranks the variants (`work`), and by which words its problems are
//      told apart by a person who reads the tuning database (`describe`). Where a number in memory
//      decides how much there is to do, `elements` says which, so that nothing is timed at a number
//      that happens to be there.
//
// A record without its row is never asked, and the linker says so where a row has no record. No
// list of lowerings is written anywhere else.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "autotune/database/row/record.h"
#include "dsl/ir/function.h"
#include "dsl/target/target.h"
#include "graph/lower/blocks/block_request.h"
#include "graph/lower/product_cost.h"
#include "graph/regions/fuse.h"
#include "runtime/artifact.h"
#include "runtime/base/hash.h"
#include "runtime/plan/executable.h"

namespace tilewright::graph {

// The tunable sizes of a region's blocks, and their limits (tune/region_space.h).
struct Scratch {
  DType dtype = DType::f32;
  std::int64_t elements = 0;
};

struct LoweredProgram {
  ir::Function function;
  Grid grid;
  // Which memory each parameter is: an index into the region's storages (storages_of), with its
  // scratch behind them.
  std::vector<std::uint32_t> memory;
  std::vector<std::int64_t> sizes = {};  // arguments behind these pointers
  // Set where the program is C++ and not `function`, which then says only what it is called and
  // takes.
  HostCall call = {};
};

struct LoweredRegion {
  std::vector<LoweredProgram> programs;  // in the order in which they run
  std::vector<Scratch> scratch;
  std::string kind;   // the lowering's name, or what it made more exactly: "stream-K product"
  BlockSizes blocks;  // that were used
  // Set by a lowering that launches programs again: the facts that decide which programs they are,
  // besides the form of the region.
  Hash decided;
};

// The launch of a program that serves regions of other sizes.
struct Relaunch {
  Grid grid;
  // Arguments behind the pointers that are no polynomials of the sizes: the rows of a program.
  std::vector<std::pair<std::size_t, std::int64_t>> sizes;
};

// What tuning may vary of a region's blocks, and up to where (tune/region_space.h).
struct BlockChoice {
  BlockSizes chosen;  // by the lowering itself: the value of each size, none left out
  // The most that makes sense of each size for the region; 0: nothing but the chosen one. Which
  // sizes tuning varies at all for a lowering and a device is in their table
  // (blocks/block_sizes.def).
  BlockSizes most = most_block_sizes();
  std::int64_t row_elements = 1;  // that a program has at once of a row, if that is not cut
  // The sizes used for a request, as `chosen`.
  std::function<BlockSizes(const BlockSizes&)> used;
};

// The amount of work, which ranks block sizes before anything is compiled (tune/region_estimate.h):
// a table of `outer` x `rows` x `width` results, each from `depth` products where there are such.
struct RegionWork {
  std::int64_t rows = 1, outer = 1;  // of the digit that is cut, and of all others
  std::int64_t width = 1, depth = 1;
  std::int64_t row_elements = 1;  // as BlockChoice
  std::int64_t element_bytes = 4, weight_bytes = 4;
  bool has_product = false;
  bool cuts_columns = false;  // into blocks of several programs
  int result_passes = 0;      // over the result of a product, before the next one
  // Set for a product on the host whose operands lie in memory: the cost of its blocks is known
  // better.
  std::optional<ProductExtent> host_product;
};

// An integer in memory that decides how much a region has to do, as the position in a cache decides
// how many keys an attention sees.
struct WorkElement {
  StorageId storage = 0;
  std::int64_t element = 0;  // from the storage's first one on
  // The values that it has in turn where the region is timed: a choice that is best for much may be
  // bad for little. The one with most work first.
  std::vector<std::int64_t> values;
};

// How often a program of any size runs for one region.
struct SizedLaunch {
  Grid grid;
  std::int64_t count = 0;  // the argument behind the pointers
};

// One row. The list and the region outlive the results; the target does not.
struct Lowering {
  std::string_view name;
  bool (*matches)(const TaskList& list, const Region& region);
  // With all sizes that are 0 as the lowering thinks best.
  LoweredRegion (*lower)(const TaskList& list, const Region& region, const dsl::Target& target,
                         const BlockSizes& blocks);
  // Null: there is nothing to choose.
  BlockChoice (*choice)(const TaskList& list, const Region& region,
                        const dsl::Target& target) = nullptr;
  // Null: nothing tells one choice from another.
  RegionWork (*work)(const TaskList& list, const Region& region,
                     const dsl::Target& target) = nullptr;
  // Adds to the description of the problem for people; null: types are all there is to say.
  void (*describe)(const TaskList& list, const Region& region, autotune::Record& problem) = nullptr;
  // Null: the amount of work is known from shapes.
  std::vector<WorkElement> (*elements)(const TaskList& list, const Region& region) = nullptr;
  // Has an opaque region on the host read packed copies of frozen inputs (packed_weights.h). Null:
  // it reads all where it lies.
  void (*use_packed)(TaskList& list, const Region& region, const dsl::Target& host) = nullptr;
  // Set where programs take sizes as arguments (flat.h): a key that is equal for regions that
  // become one program, and how that is launched for this one. Null: sizes are constants, and
  // regions of equal keys (regions/region_key.h) have equal programs.
  Hash (*key)(const TaskList& list, const Region& region, const dsl::Target& target) = nullptr;
  SizedLaunch (*launch)(const TaskList& list, const Region& region,
                        const dsl::Target& target) = nullptr;
  // Set where programs take sizes as arguments, and the launch of one for regions of the same form
  // does not follow from sizes by polynomials: that launch, given what was decided when the program
  // was made. Nothing where the region becomes other programs now. Null: it does follow.
  std::optional<Relaunch> (*relaunch)(const TaskList& list, const Region& region,
                                      const dsl::Target& target, const BlockSizes& blocks,
                                      const Hash& decided) = nullptr;
  bool may_batch = false;  // several launches of a program may be one (run/batches.h)
};

namespace lowerings {
#define TILEWRIGHT_LOWERING(name) extern const Lowering name;
#include "graph/lower/lowerings.def"
#undef TILEWRIGHT_LOWERING
}  // namespace lowerings

std::span<const Lowering* const> all_lowerings();  // in the order of the table
const Lowering& lowering_of(const TaskList& list, const Region& region);
// By the lowering's own key, or the region's.
Hash program_key(const TaskList& list, const Region& region, const dsl::Target& target);
std::vector<WorkElement> work_elements(const TaskList& list, const Region& region);

}  // namespace tilewright::graph
