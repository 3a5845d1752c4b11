// Appends instructions to a function at a point that moves as blocks open and close.
//
// The builder infers result types by the op's rule and stamps the source location; it has no
// opinions beyond that. The embedded language (dsl/language/tile.h) is the comfortable face over
// it.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>

#include "dsl/ir/function.h"

namespace tilewright::ir {

class Builder {
 public:
  explicit Builder(Function& function) : function_(function) { blocks_.push_back(&function.body); }

  Function& function() { return function_; }
  Block& block() { return *blocks_.back(); }  // where `append` appends
  void set_location(std::source_location where) { where_ = where; }

  Value param(std::string name, Type type, int align_bytes = Param{}.align_bytes);
  // Appends an instruction with at most one result; the result is meaningless without one.
  Value append(Op op, std::vector<Value> operands, Immediate immediate = {});
  Value constant(Scalar scalar) { return append(Op::constant_, {}, scalar); }
  Value index(std::int64_t value) { return constant(Scalar::of_integer(DType::i64, value)); }

  // Loops and ifs are built by opening a block, appending, and closing it. `close_*` append the
  // finished instruction to the enclosing block and return its results.
  Block& open_block(std::vector<Type> param_types);
  std::vector<Value> close_loop(Value low, Value high, Value step, std::vector<Value> inits,
                                std::vector<Value> yields, LoopEnd end = {});
  void close_block(std::vector<Value> yields);  // a body of an if: two, then close_if
  std::vector<Value> close_if(Value condition);
  int depth() const { return static_cast<int>(blocks_.size()) - 1; }

 private:
  Block pop(std::vector<Value> yields);
  std::vector<Value> append_structured(Inst inst);

  Function& function_;
  std::vector<Block*> blocks_;
  std::vector<std::unique_ptr<Block>> open_;  // the blocks being built, innermost last
  std::vector<Block> closed_;                 // bodies of an if, waiting for it
  std::source_location where_ = std::source_location::current();
};

}  // namespace tilewright::ir
