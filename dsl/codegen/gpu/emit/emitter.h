// Writes a tile program down as the LLVM IR of one GPU thread, following its layouts.
//
// A block of threads runs one program. Scalars are the same in all threads. A tile is spread over
// the threads' registers as its layout says (dsl/layout/layout.h): here it is a list of LLVM
// values, one for each register, and which element each one is follows from the thread's number.
// Operations of the hardware beyond arithmetic and memory accesses are called by name,
// `@td.barrier` and the like (device_ops.h), so that one and the same module becomes PTX and runs
// in the emulator.
//
// Values are emitted in the order of the program, whose passes (gpu/passes) have decided where each
// one is, brought operands there, given them places in shared memory, and said before which
// instructions all threads meet.
//
// Elements outside the logical shape exist in registers and mean nothing: loads do not fetch them,
// stores do not write them, reductions and products replace them. An element that several threads
// hold is written by the first.
//
// The class is one; its methods stand by family in emit_*.cpp.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "dsl/analysis/axis_info.h"
#include "dsl/codegen/gpu/device/shared_access.h"
#include "dsl/codegen/gpu/emit/line_table.h"
#include "dsl/codegen/gpu/emulate/emulate.h"
#include "dsl/codegen/gpu/plan/block_layouts.h"
#include "dsl/codegen/gpu/plan/cache_policy.h"
#include "dsl/codegen/gpu/plan/pipeline.h"
#include "dsl/codegen/gpu/plan/scratch.h"
#include "dsl/codegen/gpu/plan/warp_specialisation.h"
#include "dsl/codegen/llvm/arithmetic.h"
#include "dsl/codegen/llvm/scalar_facts.h"
#include "dsl/layout/conversion.h"
#include "dsl/target/target.h"
#include "runtime/launch_table.h"

namespace tilewright::dsl::gpu {

// A tile in the registers of a thread. For pointers, `values` are offsets in elements (i64) from
// `base`. Registers that hold the same element hold the same LLVM value.
struct Registers {
  layout::Layout layout;
  std::vector<llvm::Value*> values;
  llvm::Value* base = nullptr;
};

class Emitter : Arithmetic {
 public:
  // The function is as the last of the GPU's passes leaves it. With roles, if it has some, of which
  // these are the facts; the kernel then has further parameters after the program's:
  // a pointer to each tensor map, and the sizes of the grid (i32). With a table of launches, which
  // is then the kernel's one parameter.
  Emitter(llvm::Module& module, const ir::Function& function, const Target& target,
          const Uses& uses, const std::vector<ScalarFacts>& facts,
          const std::optional<WarpSpecialisation>& roles,
          const std::optional<LaunchTable>& table = {});
  void run(const std::string& entry);
  KernelShape shape() const {
    return {roles_ ? roles_->threads() : 32 * function_.warps, function_.shared.bytes,
            roles_                ? roles_->cluster
            : exchange_bytes_ > 0 ? function_.cluster
                                  : 1};
  }
  // True if a product of warpgroups may be under way when a loop goes on to its next iteration.
  bool has_products_over_turns() const { return has_products_over_turns_; }

 private:
  // The coordinates of an element: the thread's part (i32, null for 0) and the register's, which
  // are XORed. Where they have no bit in common they may be added just as well, and then the
  // register's part is a constant in the access.
  struct Coordinate {
    llvm::Value* thread;
    std::int32_t constant;
    bool apart;
  };
  struct Array {  // as make_desc gives it
    llvm::Value* base;
    std::vector<llvm::Value*> sizes, strides;
    const ir::Inst* inst;
  };
  // A group of registers that one access moves.
  struct Access {
    std::vector<int> registers;
    llvm::Value* pointer;
    llvm::Value* mask;  // i1 for the whole group; null: always
  };
  using Words = std::vector<llvm::Value*>;  // of 32 bits

  // emitter.cpp: the frame, control flow, scalars
  llvm::Function* declare(const std::string& entry);
  void let_next_grid_begin();
  // emit_table.cpp: arguments and place of one of several launches
  void declare_table(llvm::Function* fn);
  void find_launch();
  void block(const ir::Block& block);
  void instruction(const ir::Inst& inst);
  void scalar(const ir::Inst& inst);
  void inline_asm(const ir::Inst& inst);  // emit_inline_asm.cpp
  void print(const ir::Inst& inst);
  llvm::Value* element(const ir::Inst& inst, const std::vector<llvm::Value*>& operands);
  void loop(const ir::Inst& inst);
  // How values of one type are carried, and back.
  std::vector<llvm::Value*> in_words(const std::vector<llvm::Value*>& values);
  std::vector<llvm::Value*> out_of_word(llvm::Value* word, llvm::Type* type);
  // body(i) for i from `low` on in steps while goes_on(i), with values that the body replaces; they
  // are those of the last turn afterwards.
  void emit_loop(llvm::Value* low, llvm::Value* step,
                 const std::function<llvm::Value*(llvm::Value*)>& goes_on,
                 std::vector<llvm::Value*>& carried, const std::function<void(llvm::Value*)>& body);
  void branch(const ir::Inst& inst);
  void make_array(const ir::Inst& inst);
  llvm::Value* narrow_to_upper_half(llvm::Value* value, DType to) override;
  llvm::Value* widen_upper_half(llvm::Value* value) override;
  llvm::Value* widen_float8(llvm::Value* value, DType dtype) override;
  llvm::Value* rounded_to_float8(llvm::Value* magnitude, DType dtype) override;
  llvm::Value* remainder(llvm::Value* x, llvm::Value* y) override;  // emit_remainder.cpp
  llvm::Value* device(std::string_view op, const std::vector<llvm::Value*>& operands = {});
  llvm::Value* index_of(ir::Value value);  // a scalar as i64
  llvm::Value* i64(std::int64_t value) { return b_.getInt64(static_cast<std::uint64_t>(value)); }
  llvm::Value* i32(std::int64_t value) { return b_.getInt32(static_cast<std::uint32_t>(value)); }
  bool is_tile(ir::Value value) const;

  // emit_tile.cpp: values in registers
  const Registers& get(ir::Value value);
  void set(ir::Value value, Registers registers);
  // That a value lies as an instruction of the hardware has it, which a text may say otherwise.
  void require_place(const ir::Inst& inst, ir::Value value, const layout::Layout& layout) const;
  void creation(const ir::Inst& inst);
  void elementwise_tile(const ir::Inst& inst);
  void shape_op(const ir::Inst& inst);
  std::vector<int> first_of_equals(ir::Value value, const layout::Layout& layout) const;
  Registers splat(llvm::Value* value, bool pointer, const layout::Layout& layout);
  Registers arange(const ir::Inst& inst, const layout::Layout& layout);
  Coordinate coordinate(const layout::Layout& layout, int axis, int reg);
  llvm::Value* linear_in_thread(const std::vector<std::int64_t>& lane_terms,
                                const std::vector<std::int64_t>& warp_terms);
  llvm::Value* made_linear_in_thread(const std::vector<std::int64_t>& lane_terms,
                                     const std::vector<std::int64_t>& warp_terms);
  static std::int64_t bits_of(const std::vector<std::int64_t>& lane_terms,
                              const std::vector<std::int64_t>& warp_terms);
  llvm::Value* coordinate_value(const layout::Layout& layout, int axis, int reg);  // i32
  // A condition that a register's element is inside the logical shape; null: always.
  llvm::Value* inside(const layout::Layout& layout, const Shape& logical, int reg);
  llvm::Value* inside(const layout::Layout& layout, const Shape& logical, int reg, int axis);
  // A condition that this thread is the first that holds its elements; null: always.
  llvm::Value* owns(const layout::Layout& layout);
  llvm::Value* first_thread();  // whether this one is
  // A condition that certain bits of lane and warp are 0, one a kernel: LLVM compares each that it
  // meets with every branch on the same bits, which takes time by the square of the branches.
  llvm::Value* once(std::pair<std::uint32_t, std::uint32_t> zero_bits,
                    const std::function<llvm::Value*()>& make);
  llvm::Value* both(llvm::Value* a, llvm::Value* b);  // of conditions that may be null

  // emit_memory.cpp
  void load(const ir::Inst& inst);
  void store(const ir::Inst& inst);
  std::vector<Access> pointer_accesses(const Registers& pointers, ir::Value pointer,
                                       std::optional<ir::Value> mask, const ir::Type& type,
                                       int most);
  std::vector<Access> desc_accesses(const ir::Inst& inst, std::size_t first_offset,
                                    const ir::Type& type, const layout::Layout& layout);
  std::vector<std::vector<int>> neighbours(const layout::Layout& layout, int most);
  llvm::Value* address(llvm::Value* base, DType dtype, llvm::Value* offset);
  void load_group(const Access& access, DType dtype, const Registers* other, Registers& to);
  void store_group(const Access& access, DType dtype, const Registers& from);
  llvm::Value* vector_of(const std::vector<llvm::Value*>& elements);
  llvm::Value* when(llvm::Value* condition, llvm::Value* rest,
                    const std::function<llvm::Value*()>& make);
  llvm::Value* load_one(llvm::Value* pointer, DType dtype, llvm::Value* mask, llvm::Value* other);
  void store_one(llvm::Value* pointer, DType dtype, llvm::Value* value, llvm::Value* mask);
  void begin_access(const ir::Inst& inst);  // to its array

  // emit_atomic.cpp
  void atomic_update(const ir::Inst& inst);
  llvm::Value* atomic_element(const ir::Atomic& atomic, DType dtype, llvm::Value* pointer,
                              llvm::Value* value);
  llvm::Value* atomic_bound(const ir::Atomic& atomic, DType dtype, llvm::Value* pointer,
                            llvm::Value* value);
  void atomic_update_one(const ir::Inst& inst);
  bool adds_by(std::string_view op) const;
  int most_added_at_once(DType dtype) const;
  llvm::Value* add_group(const Access& access, DType dtype, const Registers& from);

  // emit_exchange.cpp: between threads
  Registers convert_layout(const ir::Inst& inst, const Registers& from, const ir::Type& type,
                           const layout::Layout& to);
  // Through shared memory, where a tile lies row-major: `place_of` gives which element of it a
  // register of the result, whose layout is `to`, takes.
  Registers through_shared(const ir::Inst& inst, const Registers& from, const ir::Type& type,
                           const layout::Layout& to,
                           const std::function<llvm::Value*(int)>& place_of);
  llvm::Value* place_in(const layout::Layout& layout, const Shape& shape, int reg);
  void gather(const ir::Inst& inst);
  Registers permuted(const Registers& from, const layout::Conversion& plan,
                     const layout::Layout& to);
  Registers shuffled(const Registers& from, const layout::Conversion& plan,
                     const layout::Layout& to);
  void write_shared(const Registers& from, DType dtype, const layout::Conversion& plan,
                    std::int64_t at);
  Registers read_shared(const layout::Layout& to, DType dtype, const layout::Conversion& plan,
                        std::int64_t at);
  // Where the element of a register lies, in bytes (i32).
  llvm::Value* shared_offset(const layout::Layout& layout, const layout::SharedLayout& shared,
                             int reg, std::int64_t at);
  llvm::Value* affine(const layout::Affine& map);
  llvm::Value* as_word(llvm::Value* value, bool high);  // the bits of an element as i32
  llvm::Value* from_words(llvm::Value* low, llvm::Value* high, llvm::Type* type);
  llvm::Value* shuffle(std::string_view op, llvm::Value* value, llvm::Value* by);
  llvm::Value* shuffle_xor(llvm::Value* value, int lane_mask);
  // The scratch of an instruction, which needs so much: the next results of `shared` and `touching`
  // are in it.
  void begin_scratch(const ir::Inst& inst, std::int64_t bytes);
  llvm::Value* shared(std::int64_t offset, DType dtype, llvm::Value* index);
  void barrier();
  void meet_before(const ir::Inst& inst, ir::Barrier what);
  // States the memory that the accesses to shared memory emitted next touch, up to the next call:
  // bytes of scratch, or of each stage of a ring.
  void touching(std::int64_t begin, std::int64_t bytes);
  void touching(const StagedLoad& staged, bool whole_stage = false);
  void touching(SharedAccess touch);
  llvm::Value* noted(llvm::Value* access);

  // emit_reduce.cpp
  struct Partial;
  void reduce(const ir::Inst& inst);
  // `is_later`: elements from there stand after those in `to`, on the axis.
  void combine_into(ir::ReduceKind kind, DType dtype, Partial& to, const Partial& from,
                    bool is_later = false);
  void combine_lanes(ir::ReduceKind kind, DType dtype, Partial& partial, int lane_mask);
  std::vector<std::size_t> reduce_registers(const ir::Inst& inst, const Registers& from,
                                            std::vector<Partial>& partials);
  void reduce_lanes(const ir::Inst& inst, const layout::Layout& layout,
                    std::vector<Partial>& partials);
  void reduce_warps(const ir::Inst& inst, const layout::Layout& layout,
                    std::vector<Partial>& partials);

  // emit_cluster.cpp: between the blocks of a cluster
  void cluster_barrier();
  void open_exchange();
  void cluster_reduce(const ir::Inst& inst);
  std::vector<llvm::Value*> over_cluster(const ir::Inst& inst,
                                         const std::vector<llvm::Value*>& mine,
                                         const std::vector<llvm::Value*>& places, llvm::Value* own);

  // emit_pipeline.cpp
  struct OpenPipeline {  // of a loop whose body is being emitted
    const LoopPipeline* plan;
    llvm::Value* stage;  // of this turn: its offset in shared memory, i32
  };
  std::int64_t open_ring(const ir::Inst& loop, const LoopPipeline& plan);
  void begin_turn(const ir::Inst& loop, const LoopPipeline& plan, std::int64_t ring,
                  llvm::Value* index, llvm::Value* slot);
  void close_ring(const ir::Inst& loop, const LoopPipeline& plan);
  void fill_stage(const ir::Inst& loop, const LoopPipeline& plan, llvm::Value* index,
                  llvm::Value* stage);
  void copy_block(const StagedLoad& staged, llvm::Value* stage);
  // The load behind a value that is in a ring, and the offset of its stage.
  std::optional<std::pair<const StagedLoad*, llvm::Value*>> staged_load(ir::Value operand) const;
  Words staged_words(const StagedLoad& staged, llvm::Value* stage, const TensorCoreDot& how,
                     int operand);
  Words single_words(const StagedLoad& staged, llvm::Value* stage, const layout::Layout& fragments);
  Words matrix_words(const StagedLoad& staged, llvm::Value* stage, const TensorCoreDot& how,
                     int operand, bool exchanged);

  // emit_roles.cpp: which warps copy and which multiply (warp_specialisation.h)
  struct Turns {  // where a role is in a ring
    llvm::Value *slot, *parity;
  };
  void run_roles();
  void open_roles();
  llvm::Value* variable(llvm::Value* initial);  // that LLVM turns into values
  void for_each_program(const std::function<void()>& body);
  void produce(const ir::Block& block);
  void produce_load(const ir::Inst& inst);
  void produce_loop(const ir::Inst& inst);
  void produce_branch(const ir::Inst& inst);
  bool is_produced(const ir::Inst& inst) const;
  void fill(const Fetch& fetch);
  void start_turns(llvm::Value* parity);
  llvm::Value* take_turn(std::size_t ring, bool empty);  // waits for the next slot and gives it
  void await_barrier(llvm::Value* barrier, llvm::Value* parity);
  llvm::Value* shared_pointer(llvm::Value* offset);
  llvm::Value* stage_of(const Ring& ring, llvm::Value* slot);  // its offset in shared memory
  // Marks the stage in a slot as free again; a slot below 0 is ignored.
  void release(const Ring& ring, llvm::Value* slot, bool may_be_none = false);
  void close_deferred(const ir::Inst& loop);
  void open_invariant_operand(const Fetch& fetch);
  void close_invariant_operands(const ir::Block& block);
  // Waits for a product at the first use of its result; for all, where control flow goes on.
  void finish_product(ir::Value result);
  void finish_products();
  llvm::Value* coordinate_of(ir::Value scalar);  // as i32
  llvm::Value* map_param(int map);
  bool is_in_ring(ir::Value value) const;

  // emit_warpgroups.cpp: what consumers do beside multiplying
  void store_boxes(const ir::Inst& inst, const TensorStore& how);
  void fill_box(const Registers& from, DType dtype, int begin, llvm::Value* start);
  void warpgroup_barrier();
  void open_alternation();
  void enter_alternation(const ir::Inst& dot);
  void leave_alternation();
  void close_alternation();
  llvm::Value* alternation_barrier(bool mine);

  // emit_dot.cpp
  void dot(const ir::Inst& inst);
  Registers dot_multiply_add(const ir::Inst& inst);
  Registers dot_tensor_core(const ir::Inst& inst, const TensorCoreDot& how);
  std::pair<Words, Words> operand_words(const ir::Inst& inst, const TensorCoreDot& how);
  // By wgmma, if the right operand lies in a ring as it reads it, and the left one does too or is
  // in registers.
  std::optional<Registers> dot_warpgroups(const ir::Inst& inst, const TensorCoreDot& how);
  Registers dot_roles(const ir::Inst& inst, const TensorCoreDot& how, const Fetch& fetch);
  using Staged = std::pair<const StagedLoad*, llvm::Value*>;  // and the offset of its stage
  Registers issue_products(const ir::Inst& inst, const TensorCoreDot& how,
                           const std::optional<Staged>& a, const Staged& b);
  Words packed_words(Registers fragments, const ir::Type& type, const TensorCoreDot& how,
                     int k_axis);
  void round_words(Words& words);  // to tf32
  // emit_float8.cpp
  bool multiplies_float8() const;  // by instructions of a warp
  void widen_fragments(Words& left, Words& right, emulator::Format format, std::size_t steps);
  std::pair<llvm::Value*, llvm::Value*> halves(llvm::Value* word, emulator::Format format);
  // Accumulators once all but `unfinished` groups of products are finished.
  Registers finished(Registers accumulators, int unfinished);
  llvm::Value* descriptor(const StagedLoad& staged, llvm::Value* start, int operand);
  // Elements outside along the axis made zero, for a product that goes over all of it.
  void zero_outside(Registers& registers, const ir::Type& type, int axis);
  llvm::Value* packed(const Registers& from, std::size_t first, int count);  // as one i32
  void part_to_shared(const Registers& from, const ir::Type& type, int axis, std::int64_t begin,
                      std::int64_t count, std::int64_t offset, std::int64_t stride);
  // Neighbours along an axis of a result that a thread has: which part of the coordinate is the
  // register's, how many there are, and where the first one lies.
  struct Run {
    std::int32_t part, width;
    llvm::Value* first;
  };
  std::vector<Run> runs_of(const layout::Layout& layout, const Shape& shape, int axis, DType dtype);
  // The elements at this distance behind the pointer to each run, by the register's part.
  using Line = std::map<std::int32_t, llvm::Value*>;
  Line read_line(const std::vector<Run>& runs, std::span<llvm::Value* const> pointers,
                 std::int64_t behind, DType from, DType to);
  void counted_loop(std::int64_t count, std::vector<llvm::Value*>& carried,
                    const std::function<void()>& body);

  const ir::Function& function_;
  const Target& target_;
  const Uses& uses_;
  const std::vector<ScalarFacts>& facts_;
  const std::optional<WarpSpecialisation>& roles_;
  const std::optional<LaunchTable> table_;
  LoopPipelines pipelines_;
  std::vector<AxisInfo> axis_info_;

  std::vector<llvm::Value*> scalars_;
  std::unordered_map<ir::Value, Registers> tiles_;
  std::unordered_map<ir::Value, Array> arrays_;
  std::map<std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>, llvm::Value*> linear_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, llvm::Value*> conditions_;
  llvm::Value *lane_ = nullptr, *warp_ = nullptr, *shared_base_ = nullptr;
  std::int64_t scratch_ = 0;              // where that of the instruction begins
  std::int64_t exchange_bytes_ = 0;       // that a block gives to each of its cluster; 0: nothing
  llvm::Value* exchange_turn_ = nullptr;  // which of two places the next exchange uses
  std::vector<OpenPipeline> open_pipelines_;
  std::vector<std::pair<const LoopPipeline*, std::int64_t>> rings_;  // and where they begin
  llvm::MDNode *touch_ = nullptr, *array_touch_ = nullptr;           // of the next emitted accesses
  int touch_groups_ = 0;
  ir::CachePolicy array_cache_ = ir::CachePolicy::normal;  // of the next emitted accesses
  unsigned access_kind_;

  llvm::Function* kernel_ = nullptr;
  std::optional<LineTable> lines_;

  // Where blocks are not programs.
  std::array<llvm::Value*, 3> program_ids_{};  // i64; null: the block's
  std::array<llvm::Value*, 3> grid_sizes_{};   // i64; null: the launch's
  // For a kernel with roles.
  llvm::Value* program_exists_ = nullptr;  // or was gone through before; null: always
  llvm::Value* cluster_rank_ = nullptr;    // of the block in its cluster; null: alone
  std::vector<Turns> turns_;               // by ring
  std::vector<llvm::Value*> deferred_;     // by fetch: the slot that a deferred product reads
  bool has_products_over_turns_ = false;
  struct Unfinished {  // a product that was not waited for yet
    ir::Value result;
    const Fetch* fetch;
    llvm::Value* slot;
    bool complete;  // a later one was waited for
  };
  std::vector<Unfinished> unfinished_;  // in the order of issue
  struct InvariantOperand {
    const Fetch* fetch;
    llvm::Value* slot;
  };
  std::vector<InvariantOperand> invariant_operands_;
  bool in_alternation_ = false;
  llvm::Value* leads_ = nullptr;  // whether this thread speaks for its warpgroup
};

}  // namespace tilewright::dsl::gpu
