// Turns one run of a kernel's C++ function into a Function of tile IR.
//
// The tracer owns the function under construction and the table of live variables. A variable that
// is assigned inside a loop becomes a carried value of the loop. Which ones those are is known only
// when the body has run, so on entry every live variable gets a block parameter; on leaving, the
// ones that still hold their parameter are untouched, and their parameter is replaced by the value
// that came in. An `if` likewise yields every live variable and keeps those that a body assigned.
//
// A value belongs to the block it was made in and may be used there and in the blocks within; the
// tracer says so at the line of the use, not only when the whole program is verified.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "dsl/ir/builder.h"
#include "dsl/language/tile.h"

namespace tilewright::dsl {

class Tracer {
 public:
  explicit Tracer(std::string name);
  Tracer(const Tracer&) = delete;
  ~Tracer();
  // The innermost tracer of this thread; raises `Error` without one.
  static Tracer& current(std::string_view operation, std::source_location where);
  // True if the trace of that serial number is running on this thread.
  static bool is_live(const Tracer* tracer, std::uint64_t serial);

  // `align_bytes`: a known divisor of the pointer.
  Tile pointer_param(std::string name, DType dtype, int align_bytes = ir::Param{}.align_bytes);
  // `multiple_of`: a power of two, less than a pointer's default alignment, that an integer is
  // known to be a multiple of. It takes the place of the alignment in the parameter.
  Tile scalar_param(std::string name, DType dtype, int multiple_of = 1);
  // The finished function, verified. Tiles and variables of the trace are void afterwards.
  ir::Function finish();

  // Used by the functions of tile.h. The result is undefined for an op that gives none.
  Tile append(ir::Op op, const std::vector<Tile>& operands, ir::Immediate immediate,
              std::source_location where);
  // Raises `Error` unless the tile may be used at this point of the program.
  void require_usable(const Tile& tile, std::string_view operation,
                      std::source_location where) const;
  const ir::Function& function() const { return function_; }
  // The number, if this integer scalar is a constant of the program.
  std::optional<std::int64_t> known_integer(ir::Value value) const;
  // True if an integer scalar is computed from positive numbers and sizes of the grid alone.
  bool is_known_positive(ir::Value value) const { return positive_.contains(value); }
  // The name of a value in dumps, traces and errors of a debugger.
  void name_value(ir::Value value, std::string name);
  void set_cluster(int programs) { function_.cluster = programs; }
  std::uint64_t serial() const { return serial_; }

  int new_variable(ir::Value value);
  void drop_variable(int slot);
  // Nothing where the variable was declared inside a loop or if that has ended.
  std::optional<ir::Value> variable(int slot) const;
  void assign(int slot, ir::Value value);

  // Between the two, everything appended is the loop's body. Returns the index.
  // A loop that ends by a condition has it in the variable of slot `going`.
  Tile open_loop(const Tile& low, std::source_location where, std::optional<int> going = {});
  void close_loop(const Tile& index, const Tile& low, const Tile& high, const Tile& step);
  // The rest of the kernel runs only if the condition, a bool scalar, is false.
  void return_if(const Tile& condition, std::source_location where);
  void branch(const Tile& condition, const std::function<void()>& then,
              const std::function<void()>& otherwise, std::source_location where);

 private:
  using Variables = std::vector<std::optional<ir::Value>>;  // by slot; empty: not alive
  struct Loop {                                             // one that is open
    std::vector<int> slots;                                 // variables that were alive on entry
    std::vector<ir::Value> outer, params;
    ir::Value index;
    std::source_location where;
    ir::LoopEnd end;
  };
  struct Return {  // the rest of the program is in a body of an if
    ir::Value condition;
    std::source_location where;
  };
  ir::Block& open_block(std::vector<ir::Type> param_types);
  void leave_block();   // after the builder closed it
  void claim_values();  // gives new values to the innermost block
  std::vector<int> live_slots() const;
  Variables run_body(const std::function<void()>& body, const std::vector<int>& slots,
                     std::source_location where);

  std::uint64_t serial_;
  ir::Function function_;
  ir::Builder builder_;
  Variables variables_;
  std::vector<Loop> loops_;
  std::vector<Return> returns_;
  std::vector<int> open_blocks_ = {0};  // serial numbers of blocks, innermost last
  int blocks_opened_ = 0;
  void note_integer(const ir::Inst& inst);

  std::unordered_map<ir::Value, std::int64_t> integers_;
  std::unordered_set<ir::Value> positive_;
  std::vector<int> homes_;  // by value: the block it was made in
  Tracer* enclosing_;
};

}  // namespace tilewright::dsl
