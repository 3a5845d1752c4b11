// Turns one run of a kernel's C++ function into a Function of tile IR.
//
// The tracer owns the function under construction and the table of live variables. A variable that
// is assigned inside a loop becomes a carried value of the loop. Which ones those are is known only
// when the body has run, so on entry every live variable gets a block parameter; on leaving, the
// ones that still hold their parameter are untouched, and their parameter is replaced by the value
// that came in.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dsl/ir/builder.h"
#include "dsl/tile.h"

namespace tilewright::dsl {

class Tracer {
 public:
  explicit Tracer(std::string name);
  Tracer(const Tracer&) = delete;
  ~Tracer();
  // The innermost tracer of this thread; raises `Error` where there is none.
  static Tracer& current(const char* operation);

  Tile pointer_param(std::string name, DType dtype);
  Tile scalar_param(std::string name, DType dtype);
  // The finished function, verified. The tracer is empty afterwards.
  ir::Function finish();

  // Used by the functions of tile.h.
  Tile append(ir::Op op, const std::vector<Tile>& operands, ir::Immediate immediate,
              std::source_location where);
  ir::Builder& builder() { return builder_; }
  const ir::Function& function() const { return function_; }

  int new_variable(ir::Value value);
  void drop_variable(int slot);
  ir::Value variable(int slot) const;
  void assign(int slot, ir::Value value);

  Tile open_loop(const Tile& low);
  void close_loop(const Tile& low, const Tile& high, const Tile& step);
  void branch(const Tile& condition, const std::function<void()>& then,
              const std::function<void()>& otherwise);

 private:
  struct Scope {             // one open loop
    std::vector<int> slots;  // variables that were alive on entry
    std::vector<ir::Value> outer, params;
    ir::Value index;
  };
  ir::Function function_;
  ir::Builder builder_;
  std::vector<std::optional<ir::Value>> variables_;
  std::vector<Scope> scopes_;
  Tracer* enclosing_;
};

}  // namespace tilewright::dsl
