// Writes a tile program that is scheduled (schedule.h) down as LLVM IR for a host core.
//
// The layout of a host core: the *lanes* of a vector register lie along one axis of the tile, the
// last with more than one element, and a loop goes over the vectors of that axis and over the other
// axes. An IR value at one place of the loop nest is a vector of elements (`Lanes`), or one element
// where it is the same in all lanes (*uniform*). A value is evaluated at a `Position`: an index for
// each axis, and which axis the lanes run along. Shape operations only change positions. Values
// that do not depend on an inner loop are evaluated outside it; nothing is evaluated twice at one
// position.
//
// The generated module has two functions: the program for one block of the grid, whose pointer
// parameters are `noalias` (different parameters never overlap: the contract of the language), and
// the HostFunction (runtime/artifact.h) that calls it for a range of programs.
//
// All of this is one class, whose methods are grouped by family in emit_*.cpp.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "dsl/codegen/host/code_tier.h"
#include "dsl/codegen/host/plan/gather_course.h"
#include "dsl/codegen/host/plan/product_plan.h"
#include "dsl/codegen/host/plan/schedule.h"
#include "dsl/codegen/host/plan/small_numbers.h"
#include "dsl/codegen/llvm/arithmetic.h"
#include "dsl/codegen/llvm/live_rows.h"
#include "dsl/codegen/llvm/scalar_facts.h"
#include "dsl/target/target.h"

namespace tilewright::dsl {

// One element, or one a lane. For a pointer, `value` is the offset from `base` in elements.
struct Lanes {
  llvm::Value* value = nullptr;
  bool uniform = true;
  llvm::Value* base = nullptr;
};

// How far neighbours along an axis lie apart in memory, in elements. Choices between kinds of code
// depend on the number, which is known from the program (scalar_facts.h) or was chosen here, and
// not on LLVM's view of the value.
struct Stride {
  llvm::Value* value = nullptr;
  std::optional<std::int64_t> known;

  Stride() = default;
  Stride(llvm::Value* value, std::optional<std::int64_t> known) : value(value), known(known) {}
  Stride(llvm::ConstantInt* number) : Stride(number, number->getSExtValue()) {}
  operator llvm::Value*() const { return value; }
  bool operator==(const Stride&) const = default;
};

// Where in a tile: an i64 index for each axis; lanes along `lane` (-1: one element).
struct Position {
  std::vector<llvm::Value*> index;
  int lane = -1;
  bool operator<(const Position& o) const {
    return std::tie(lane, index) < std::tie(o.lane, o.index);
  }
};

class Emitter : Arithmetic {
 public:
  Emitter(llvm::Module& module, const ir::Function& function, const Target& target, CodeTier tier);
  void run(const std::string& entry_name);
  std::int64_t scratch_bytes() const { return scratch_peak_; }

 private:
  // A tile in scratch memory, row-major without gaps. Pointers are stored as addresses.
  struct Slot {
    llvm::Value* data;
    ir::Type type;
    Strides strides;
  };
  // An array in memory, as make_desc gives it.
  struct Array {
    llvm::Value* base;
    std::vector<llvm::Value*> sizes;
    std::vector<Stride> strides;
    const ir::Inst* inst;
  };
  // Where the lanes of a memory access lie, and which of them are inside.
  struct Address {
    llvm::Value* pointer = nullptr;   // of the first lane
    Stride lane_stride = {};          // null: all lanes at `pointer`
    llvm::Value* mask = nullptr;      // i1 (uniform) or a vector; null: all inside
    llvm::Value* pointers = nullptr;  // vector of pointers, instead of the first two
    bool aligned = false;             // first lane at a multiple of a vector's bytes
  };
  struct Level {  // a loop of the nest being emitted, and the values evaluated in its body
    llvm::BasicBlock* block;
    std::map<std::pair<ir::Value, Position>, Lanes> done;
  };

  // emitter.cpp: the frame, steps, scalars, control flow, scratch memory
  void program(llvm::Function* program);
  void host_function(const std::string& name, llvm::Function* program);
  void steps(const std::vector<Step>& list);
  void step(const Step& step);
  void scalar(const ir::Inst& inst);
  void print(const ir::Inst& inst);
  llvm::Value* element(const ir::Inst& inst, const std::vector<llvm::Value*>& operands);
  void loop(const Step& step);
  void branch(const Step& step);
  Slot& allocate(ir::Value value);
  Slot allocate(const ir::Type& type);
  void materialise_into(ir::Value value, Slot slot);  // materialises `value` in a slot
  // for (i = 0; i < count; i += step) body(i); carried values may be updated by the body.
  void emit_loop(llvm::Value* count, std::int64_t step, std::vector<llvm::Value*>& carried,
                 const std::function<void(llvm::Value*)>& body);
  llvm::Value* scalar_of(ir::Value value) const { return scalars_[value]; }
  llvm::Value* index_of(ir::Value value);  // as i64

  // emit_loop_nest.cpp
  void emit_loop_nest(const Shape& domain, const std::vector<Root>& roots);
  struct LoopNest;  // loop_nest.h
  std::optional<ir::Value> end_of_loop_nest(
      const Shape& domain, const std::vector<Root>& roots, int axis,
      const std::vector<std::optional<ir::Value>>& live) const;
  void loop_over_axis(LoopNest& s, int axis);
  bool takes_two_rows(const LoopNest& s, int axis) const;
  void sweep_lanes(LoopNest& s);
  llvm::Value* elements_before_aligned(const LoopNest& s);
  bool lie_alike(const ir::Inst& a, const ir::Inst& b) const;
  void masked_vector(LoopNest& s, llvm::Value* at, llvm::Value* end,
                     std::vector<llvm::Value*>& accumulators);
  void sweep_vector(LoopNest& s, llvm::Value* at, std::vector<llvm::Value*>& accumulators,
                    int copy);

  // emit_reductions.cpp
  void prepare_reductions(LoopNest& s);
  bool adds_product(ir::Value value) const;
  void reduce_across(LoopNest& s, const Root& root);
  llvm::Value* reduced_rows(const LoopNest& s, const Root& root, std::size_t first,
                            std::size_t count);
  void combine_copies(const LoopNest& s, std::vector<llvm::Value*>& accumulators);
  void finish_reductions(LoopNest& s, std::vector<llvm::Value*>& accumulators);
  std::pair<llvm::Value*, llvm::Value*> halves(llvm::Value* vector);  // lower, upper
  llvm::Value* horizontal(const ir::Inst& inst, llvm::Value* vector);
  std::pair<llvm::Value*, llvm::Value*> horizontal_arg(const ir::Inst& inst, llvm::Value* vector,
                                                       llvm::Value* indices);
  llvm::Value* identities(ir::ReduceKind kind, DType dtype, int lanes);  // a vector

  // emit_cascade.cpp
  struct Cascade;  // loop_nest.h
  bool is_rounded_sum(const ir::Inst& inst) const;
  void cascade(const Cascade& c, int level, llvm::Value* first, llvm::Value* count,
               std::vector<llvm::Value*>& carried);
  void loop_along_lanes(LoopNest& s, llvm::Value* count, std::int64_t step, std::int64_t most,
                        std::vector<llvm::Value*>& accumulators,
                        const std::function<void(llvm::Value*)>& body);
  // A loop along k of a product, which adds to each of `sums`: in the order in which a reduction
  // along lanes adds.
  void loop_of_sums(std::int64_t size, std::int64_t step, std::vector<llvm::Value*>& sums,
                    const std::function<void(llvm::Value*)>& body);
  int rows_at_once(const LoopNest& s, int axis) const;
  void loop_over_rows(LoopNest& s, int axis, const std::function<void(llvm::Value*, int)>& body);
  Slot zeros_like(const Slot& result, int axis);
  void add_parts(const LoopNest& s, int axis, int level);

  // emit_value.cpp: evaluation at a position
  Lanes evaluate(ir::Value value, const Position& position);
  Lanes evaluate_here(ir::Value value, const Position& position);
  Lanes evaluate_shape(const ir::Inst& inst, const Position& position);
  const Slot& kept_operand(const ir::Inst& inst) const;
  Lanes read_slot(const Slot& slot, const Position& position);
  Lanes address_of(DType dtype, const Lanes& pointers);
  void write_slot(const Slot& slot, const Position& position, Lanes lanes);
  Address slot_address(const Slot& slot, DType dtype, const Position& position);
  std::optional<std::int64_t> lane_stride(ir::Value value, int lane) const;
  std::optional<std::int64_t> lane_stride_of_product(const ir::Inst& inst, int lane) const;
  std::size_t level_of(const Position& position) const;
  llvm::Value* spread(const Lanes& lanes);  // as a vector of lanes_ (or the element if 1)
  llvm::Value* iota(llvm::Type* element);

  // emit_gather.cpp
  Lanes gathered(const ir::Inst& inst, const Position& position);
  Lanes among_lanes(const ir::Inst& inst, const Course& course, const Position& position);
  Lanes at_place(ir::Value source, int axis, const Course& course, llvm::Value* own,
                 const Position& position);
  Lanes lane_by_lane(ir::Value source, int axis, const Course& course, const Position& position);
  Lanes one_by_one(const ir::Inst& inst, const Slot& source, int axis, const Position& position);
  llvm::Value* clamped(llvm::Value* place, DType dtype, std::int64_t size);
  Lanes at_distance(const Slot& source, int axis, std::int64_t distance, std::int64_t places,
                    const Position& position);
  Lanes with_bits_exchanged(const Slot& source, int axis, std::int64_t bits,
                            const Position& position);

  // emit_remainder.cpp
  llvm::Value* remainder(llvm::Value* x, llvm::Value* y) override;
  llvm::Function* long_division(llvm::Type* type);
  void guard_long_divisions();

  // emit_lookup.cpp
  llvm::Value* scale(llvm::Value* x, llvm::Value* n) override;
  llvm::Value* widen_upper_half(llvm::Value* value) override;
  llvm::Value* narrow_to_upper_half(llvm::Value* value, DType to) override;
  llvm::Value* narrowed_by_instruction(llvm::Value* value);
  std::optional<Lanes> looked_up(const ir::Inst& inst, const Position& position);
  llvm::Value* table_of(const ir::Inst& inst, const ir::Inst& number, const Position& position);
  llvm::Value* table_of(ir::Value value, const ir::Inst& number, const Position& position);
  llvm::Value* small_number(const ir::Inst& inst, const Position& position);
  llvm::Value* as_it_is(llvm::Value* lanes);

  // emit_memory.cpp
  Address desc_address(const ir::Inst& inst, std::size_t first_offset, const Shape& block,
                       const Position& position);
  Address pointer_address(ir::Value pointer, std::optional<ir::Value> mask,
                          const Position& position);
  llvm::Value* load_backwards(llvm::Value* pointer, llvm::FixedVectorType* vector,
                              llvm::Align align, llvm::Value* mask, llvm::Value* rest);
  llvm::Value* load_every_other(llvm::Value* pointer, llvm::Type* type, llvm::Value* mask);
  Lanes load(const Address& address, DType dtype, int lane, llvm::Value* other);
  void store(const Address& address, DType dtype, int lane, Lanes value, bool streaming);
  void store_lanes(llvm::Value* elements, llvm::Value* pointer, llvm::Align align,
                   llvm::Value* mask);
  static bool is_wanted_once(ir::CachePolicy policy);
  // `locality` says where the line is fetched to. 2 is the second-level cache, the default because
  // the first level holds the data in use; 3 (innermost_cache) is the first level.
  static constexpr unsigned innermost_cache = 3;
  static constexpr std::int64_t cache_line = 64;
  void prefetch(const Address& address, unsigned locality = 2);
  static bool lies_in_a_row(const Address& address);
  bool shares_line(DType dtype) const;
  void fetch_ahead(const ir::Inst& load, const Address& address);
  llvm::Value* full_mask(const Address& address);  // with the tail; null: all lanes
  llvm::Value* lane_pointers(const Address& address, DType dtype);  // a vector, one each lane
  Lanes load_value(const ir::Inst& inst, const Position& position);
  Lanes atomic_value(const ir::Inst& inst, const Position& position);
  llvm::Value* masked_place();
  void store_value(const ir::Inst& inst, const Position& position);
  void make_array(const ir::Inst& inst);

  // emit_dot.cpp
  struct Matrix;  // matrix.h
  void dot(const ir::Inst& inst);
  std::optional<ir::Value> replaced_by(ir::Value start, ir::Value result) const;
  Matrix matrix_operand(ir::Value value);
  Matrix left_operand(const ir::Inst& dot);  // with the rows that are needed
  Matrix right_operand(const ir::Inst& dot);
  void require_possible(const ir::Inst& dot) const;  // its marks
  Matrix scratch_copy(ir::Value value);
  std::optional<Matrix> matrix_in_memory(ir::Value value);
  Matrix matrix_at(const MatrixPlace& place);
  llvm::Value* next_block(const ir::Inst& load);
  llvm::Value* step_of(ir::Value index);
  void fetch_next_block(const Matrix& b, llvm::Value* i, llvm::Value* j);
  Matrix in_words(const Matrix& x, int in_word);
  void dot_along_n(const Matrix& a, const Matrix& b, const Matrix& c, bool accumulate);
  // `fetches_next`: prefetches the columns of b that are multiplied next.
  void dot_block_n(const Matrix& a, const Matrix& b, const Matrix& c, bool accumulate,
                   bool fetches_next, std::int64_t parts);
  std::int64_t parts_of_sums(const Matrix& a, std::int64_t height, std::int64_t columns) const;
  std::int64_t even_rows(const Matrix& a, std::int64_t height) const;
  bool sums_rows_alike(const Matrix& a) const;
  struct DividedSums {
    std::int64_t rows, parts;
  };
  DividedSums divided_sums(const Matrix& a, const Matrix& b) const;
  llvm::Value* plus(llvm::Value* x, llvm::Value* y);
  llvm::Value* part_of_lanes(llvm::Value* vector, int first, int count);
  llvm::Value* place_of(const Matrix& x, llvm::Value* i, llvm::Value* j);
  llvm::Value* load_row(const Matrix& x, llvm::Value* i, llvm::Value* j, int lanes,
                        std::int64_t active, DType wanted);
  void store_row(const Matrix& x, llvm::Value* i, llvm::Value* j, llvm::Value* vector,
                 std::int64_t active);
  llvm::Value* multiply_add(llvm::Value* a, llvm::Value* b, llvm::Value* c, int in_word);
  llvm::Constant* active_mask(int lanes, std::int64_t active);
  // Calls body(first, count) for blocks of `step` and for the remainder, cut into powers of two if
  // `split`.
  void for_blocks(std::int64_t size, std::int64_t step, bool split,
                  const std::function<void(llvm::Value*, std::int64_t)>& body);
  // The same for the rows of a matrix that are needed, where the remainder is split.
  void for_rows(const Matrix& x, std::int64_t step, bool split,
                const std::function<void(llvm::Value*, std::int64_t)>& body);
  void emit_if(llvm::Value* condition, const std::function<void()>& body);

  // emit_dot_along_k.cpp
  void dot_along_k(const Matrix& a, const Matrix& b, const Matrix& c, bool accumulate);
  void dot_block_k(const Matrix& a, const Matrix& b, const Matrix& c, bool accumulate,
                   llvm::Value* m, int rows, llvm::Value* n, int columns, std::int64_t parts);
  // True if this is a product of one row whose columns are so long that the hardware prefetcher
  // follows them.
  bool is_read_ahead(const Matrix& a, const Matrix& b) const;
  llvm::Value* sum_each(std::vector<llvm::Value*> vectors);

  // emit_interleaved_dot.cpp
  void dot_interleaved(const Matrix& a, const Matrix& b, const Matrix& c, int in_word,
                       bool accumulate);
  void dot_interleaved_block(const Matrix& a, const Matrix& b, const Matrix& c, bool accumulate);

  // emit_packed_dot.cpp
  Matrix panels_in_memory(const PanelPlace& place);
  int packed_word(const Matrix& a, const Matrix& b, DType sum) const;
  void packed_dot(const Matrix& a, const Matrix& b, const Matrix& c, bool accumulate);
  Matrix panel_of(const Matrix& b, llvm::Value* k, llvm::Value* n, std::int64_t rows,
                  std::int64_t columns);
  llvm::Value* next_chunk(const Matrix& b, llvm::Value* k, std::int64_t depth);
  void prefetch_share(const Matrix& b, llvm::Value* first, std::int64_t columns, std::int64_t depth,
                      llvm::Value* left_panel, llvm::Value* left_panels);
  void store_panels(const ir::Inst& store, bool is_alone);
  void pack_panel(const Matrix& b, const Matrix& panel);
  void pack_pairs(const Matrix& b, const Matrix& panel, llvm::Value* k, std::int64_t n);
  void add_start(const Matrix& panel);
  void flip_signs(const Matrix& left_panel);
  void pack_rows(const Matrix& a, const Matrix& packed, std::int64_t height);
  void clear(const Matrix& sums, llvm::Value* rows);
  llvm::Value* rounded_up(llvm::Value* x, std::int64_t quantum);
  Matrix part_of(const Matrix& x, llvm::Value* row, llvm::Value* column, std::int64_t rows,
                 std::int64_t columns);
  Matrix scratch_matrix(DType dtype, std::int64_t rows, std::int64_t columns);
  Matrix transposed_copy(const Matrix& b, DType wanted);
  void transpose_into(const Matrix& b, const Matrix& to);
  void transpose_lanes(std::vector<llvm::Value*>& rows);  // as many as each has lanes
  void transpose_block(const Matrix& b, const Matrix& to, llvm::Value* n, llvm::Value* k,
                       std::int64_t columns, std::int64_t rows);

  // amx/emit_amx_dot.cpp. A tile here is a register of AMX.
  struct TileFetch;
  struct TileBlock;
  // A left operand as tiles: packed, each tile a kilobyte without gaps, or rows as they are.
  struct TiledLeft {
    llvm::Value* tiles;
    std::int64_t rows, depth;  // in elements
    int in_word;
    llvm::Value* live_rows = nullptr;                   // that are needed; null: all
    std::int64_t row_bytes = 64, tile_bytes = 1 << 10;  // to the next row, and 16 rows
    std::int64_t step_bytes = 2 << 10;                  // to the next tile along the depth
  };
  void tile_op(llvm::Intrinsic::ID id, std::initializer_list<int> tiles,
               std::initializer_list<llvm::Value*> others);
  void begin_tiles();
  void end_tiles();
  static std::int64_t steps_of(const TiledLeft& left);
  std::optional<TiledLeft> tiles_in_place(const Matrix& a, int in_word) const;
  TiledLeft allocate_left(std::int64_t rows, std::int64_t depth, int in_word);
  void pack_tiles(const Matrix& a, const TiledLeft& left);
  void pack_tiles_of_rows(const Matrix& a, llvm::Value* first, const TiledLeft& left);
  std::vector<ir::Value> pack_shared_lefts(const Step& loop);
  void fill_up(const Matrix& panel);
  void copy_tail(const Matrix& panel, const Matrix& tail);
  void tiled_dot(const Matrix& a, const Matrix& b, const Matrix& c, bool accumulate);
  void dot_panels(const TiledLeft& left, const Matrix& b, llvm::Value* k, const Matrix& c,
                  bool accumulate);
  TileFetch next_panel(const Matrix& b, llvm::Value* k, llvm::Value* n, std::int64_t width,
                       int in_word);
  void dot_panel(const TiledLeft& left, const TileBlock& all, const TileFetch& fetch);
  void fetch_lines(const TileFetch& fetch, llvm::Value* step);
  void dot_tile_block(const TileBlock& block, const TileFetch& fetch);
  void store_part_of_tile(const TileBlock& block, int i, int j, int tile);

  // amx/emit_turned_dot.cpp
  bool is_turned(const Matrix& a, const Matrix& b, int in_word) const;
  void turned_dot(const Matrix& a, const Matrix& b, const Matrix& c, bool accumulate, int in_word);
  void turned_tiles(const Matrix& a, const Matrix& b, const Matrix& c, bool accumulate,
                    int in_word);
  void store_turned(const Matrix& sums, const Matrix& c, bool accumulate);
  void pack_turned(const Matrix& a, const Matrix& panel);

  // emitter.cpp
  llvm::Type* lanes_type(llvm::Type* element) const;
  llvm::Type* lanes_type(llvm::Type* element, int lanes) const;
  llvm::ConstantInt* index(std::int64_t value);
  llvm::Value* gep(llvm::Value* base, DType dtype, llvm::Value* offset);

  const ir::Function& function_;
  const Target& target_;
  Definitions defs_;
  SmallNumbers small_numbers_;
  std::vector<ScalarFacts> facts_;
  std::vector<std::optional<ir::Value>> live_rows_, live_columns_;
  ProductPlans products_;

  CodeTier tier_;
  std::vector<llvm::Value*> scalars_;  // of values without axes; pointers as llvm pointers
  std::unordered_map<ir::Value, Slot> slots_;
  std::unordered_map<ir::Value, Array> arrays_;
  std::unordered_map<ir::Value, llvm::Value*> step_of_;   // of the index of an open loop
  std::unordered_map<ir::Value, TiledLeft> tiled_lefts_;  // of open loops, that are packed already
  std::unordered_map<ir::Value, ir::Value> yielded_for_;  // carried tile of an open loop: its next
  std::vector<int> use_counts_;
  std::set<ir::Value> only_multiplied_;  // of bf16, by instructions that take subnormals as zeros
  llvm::Value* scratch_ = nullptr;
  llvm::Value* masked_place_ = nullptr;          // where atomics act that are masked off
  std::vector<llvm::Function*> long_divisions_;  // of remainders, one for each type
  llvm::Value* program_id_[3] = {};
  llvm::Value* grid_[3] = {};
  std::unordered_map<const ir::Inst*, llvm::Value*> scratch_best_;  // of argmax across rows
  std::int64_t scratch_used_ = 0, scratch_peak_ = 0;

  // State of the loop nest that is being emitted.
  int lanes_ = 1;
  std::optional<ir::Value> filling_;       // the materialised value computed at this position
  std::int64_t streamed_ = 0;              // elements that it sums up, if it waits for memory
  int copy_ = 0;                           // of its body that is being emitted
  bool flushes_ = false;                   // subnormals, where they are rounded to bf16
  llvm::Value* tail_ = nullptr;            // mask of the active lanes; null: all
  bool leads_ = false;                     // vectors begin at other places than multiples of lanes
  std::optional<ir::Value> rows_ = {};     // that it goes through along the first axis; none: all
  std::optional<ir::Value> columns_ = {};  // and along the last, that of the lanes
  std::set<const ir::Inst*> aligned_stores_;  // where no lane is masked off
  // values rounded to bf16, and their sources
  std::unordered_map<llvm::Value*, llvm::Value*> narrowed_;
  std::vector<Level> levels_;  // outermost first; the last has no block yet
  std::unordered_map<llvm::Value*, std::size_t> level_of_index_;
};

}  // namespace tilewright::dsl
