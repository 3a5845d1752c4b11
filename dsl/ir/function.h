// A tile IR function: the program of one block of the grid.
//
// Values are dense 32-bit ids; `types[id]` is a value's type. Code is a tree: a Block is a list of
// instructions, an instruction may own Blocks (loop, if). There are no phis, no branches and no
// use-lists: control flow is structured, values that change in a loop are the loop's carried
// values. Everything is a regular value: a Function copies, compares by text, and has no hidden
// owner.
//
// A back end writes its decisions into the program, stage by stage: which thread holds which
// element of a tile, which loads are fetched ahead, and by which warps. None of that changes what
// the program computes: the interpreter, which defines that, looks at none of it.
//
// Ids only grow. A pass edits instructions in place or builds new ones and leaves dead ids behind;
// `compact` (rewrite.h) renumbers.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <variant>
#include <vector>

#include "dsl/ir/immediates.h"
#include "dsl/layout/layout.h"
#include "runtime/base/hash.h"

namespace tilewright::ir {

// Where all threads of a block meet before an instruction goes on: before it touches its array, or
// before it writes its scratch, so that no thread still has to do with what is there.
enum class Barrier : std::uint8_t { none, array, scratch };

// Which loops a host multiplies matrices by (codegen/host/emit_dot.cpp and its neighbours):
//   along_n      vectors of neighbouring columns of the right operand, which any product can take
//   along_k      vectors along the inner axis of both, whose lanes are added up at the end
//   interleaved  of words that two (bf16) or four rows (i8) of the right operand make when loaded
//   packed       of operands that are packed in the order in which they are multiplied
//   tiled        likewise, by registers of rows (AMX)
enum class Product : std::uint8_t { along_n, along_k, interleaved, packed, tiled };

// How a back end goes about an instruction. Which of these an operation may have says verify.h.
struct Schedule {
  // For a loop: staged loads in it run ahead of it, in a ring of this many stages; 0: none.
  std::uint8_t stages = 0;
  // For a load_desc: its block comes to shared memory on its own, and products read it there.
  bool staged = false;
  // For a dot: it may be unfinished for one iteration of its loop, until the next one is issued.
  bool deferred = false;
  // For a loop: two groups of warps take turns at the tensor cores.
  bool alternating = false;
  // For a store_desc: boxes of the block are moved by TMA.
  bool boxed = false;
  Barrier barrier = Barrier::none;
  // From Stage::allocated on: the bytes of shared memory that threads exchange values through, or
  // of a loop those of its ring, and where they begin; 0: none.
  std::int32_t shared_bytes = 0, shared_offset = 0;

  // On a host, from Stage::scheduled on. For a value that would otherwise be computed wherever it
  // is needed, a vector at a time: it is computed here, as a whole, and kept in memory.
  bool kept = false;
  // For an instruction that goes through the elements of a tile: it joins the loop nest of the
  // previous such instruction.
  bool joined = false;
  // For a prefetch_desc: which of every four vectors it fetches, a bit each.
  std::uint8_t quarters = 0b1111;
  // For an elementwise instruction: it is looked up in a table of 16, made of operands that are the
  // same in all lanes.
  bool tabulated = false;
  // For a dot: how, whether the right operand lies in panels and is multiplied there, and whether
  // the left one is packed before the loop around, for all of its iterations. For a store_desc:
  // whether it packs its block as panels, two rows at a time.
  Product product = Product::along_n;
  bool in_panels = false, hoisted = false;
  bool operator==(const Schedule&) const = default;
};

struct Block;

struct Inst {
  Op op;
  std::vector<Value> operands;
  std::vector<Value> results;
  Immediate immediate;
  std::vector<Block> bodies;
  std::source_location where;  // the user's line that made it
  Schedule schedule = {};
  int text_line = 0;  // of a program that was read as text: its line there; else 0

  template <typename T>
  const T& get() const {
    return std::get<T>(immediate);
  }
};

struct Block {
  std::vector<Value> params;
  std::vector<Inst> insts;
};

// One parameter of the kernel: a pointer or a scalar.
struct Param {
  std::string name;
  Value value;
  int align_bytes = 64;  // a pointer's value is a multiple of this
};

// Stages of one function's life; each adds facts, and rules that verify() holds it to.
enum class Stage : std::uint8_t {
  traced,       // the computation
  scheduled,    // on a host: and which loops go through its tiles, in which order
  laid_out,     // and which threads of a block hold which elements of its tiles
  converted,    // and each instruction finds its operands where it works on them
  allocated,    // and its place in shared memory
  synchronised  // and the threads meet where one may touch data of another
};

// Warps have roles (dsl/codegen/gpu/plan/warp_specialisation.h): besides those that hold tiles
// there are some that fetch staged loads.
struct Roles {
  int stages = 2;  // of each ring that products take turn by turn
  std::optional<int> cluster_axis =
      {};  // programs that are neighbours along it fetch for each other
  bool operator==(const Roles&) const = default;
};

// Bytes of shared memory of a block: all, and those at the start that no instruction has for
// itself, which are for blocks that roles fetch and store, or for values that programs of a cluster
// exchange.
struct SharedMemory {
  std::int64_t bytes = 0, reserved = 0;
  bool operator==(const SharedMemory&) const = default;
};

struct Function {
  std::string name;
  std::vector<Param> params;
  // So many programs (1, 2, 4 or 8) whose places differ along axis 0 only form a cluster: those of
  // equal place / cluster. They run together, and cluster_reduce goes over them; the grid is then a
  // multiple of it. A program without that op computes the same whatever this is; then it is a wish
  // that machines may follow which can fetch for several programs at once, along any axis.
  int cluster = 1;
  // Limits that a GPU's code keeps to: the number of stages of a loop's loads that are in shared
  // memory at a time (1: it loads what it computes with next), and the registers of a thread. 0: as
  // the compiler likes
  int most_stages = 0, most_registers = 0;
  // On hosts a product of up to 16 rows (dsl/target/step_rows.h) sums each as it sums one row
  // alone.
  bool row_invariant = false;
  std::vector<Type> types;  // indexed by Value
  std::vector<std::string>
      hints;  // names of values where the user gave one, indexed likewise or empty
  Block body;

  Stage stage = Stage::traced;
  int warps = 0;  // of 32 threads, which hold the tiles; 0: not decided yet
  std::optional<Roles> roles;
  SharedMemory shared;  // from Stage::allocated on
  // From Stage::laid_out on: the layouts in use, each once, and which of them a value has.
  std::vector<dsl::layout::Layout> layouts;
  std::vector<std::int32_t> layout_of;  // indexed by Value, may be shorter; -1: none

  bool has_layout(Value value) const { return value < layout_of.size() && layout_of[value] >= 0; }
  const dsl::layout::Layout& layout(Value value) const {
    return layouts[static_cast<std::size_t>(layout_of[value])];
  }
  void set_layout(Value value, const dsl::layout::Layout& layout);

  const Type& type(Value value) const { return types[value]; }
  Value new_value(Type type) {
    types.push_back(std::move(type));
    return static_cast<Value>(types.size() - 1);
  }
};

// "kernel.cpp:12", or "line 7" of a program that was read as text.
std::string source_place(const Inst& inst);
// The name that the user gave the value, or "".
std::string_view name_of(const Function& function, Value value);
void give_name(Function& function, Value value, std::string name);

// Calls `visit(const Inst&)` on every instruction, outer before inner, in order.
template <typename Visit>
void for_each_inst(const Block& block, Visit&& visit) {
  for (const Inst& inst : block.insts) {
    visit(inst);
    for (const Block& body : inst.bodies) for_each_inst(body, visit);
  }
}

// Identity of a function's meaning: equal text but for names and source lines gives equal hashes.
Hash content_hash(const Function& function);

std::string_view name_of(Stage stage);
std::optional<Stage> parse_stage(std::string_view name);
std::string_view name_of(Barrier barrier);
std::string_view name_of(Product product);
std::optional<Product> parse_product(std::string_view name);
bool fits_loads(CachePolicy policy);
bool fits_stores(CachePolicy policy);
bool acquires(MemoryOrder order);
bool releases(MemoryOrder order);
// True if it is a loop that ends by a condition.
bool ends_by_condition(const Inst& inst);
// The policy of a load or store; normal for any other instruction.
CachePolicy cache_policy(const Inst& inst);

}  // namespace tilewright::ir
