// The facts of `simplify` about the values before an instruction, and its rules in families.
//
// A rule looks at one instruction and returns a value that equals its result, which may be an older
// value or one that it emitted. Rules hold exactly: bit for bit, but for the payload of NaN. They
// see definitions through Folder, so that they need no function and no walk of their own.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "dsl/ir/function.h"

namespace tilewright::dsl {

class Folder {
 public:
  struct Definition {
    ir::Op op;
    std::vector<ir::Value> operands;
    ir::Immediate immediate;
  };

  explicit Folder(ir::Function& function) : function_(function) {}

  const ir::Type& type(ir::Value value) const { return function_.type(value); }
  // The instruction that made a value, if it was a plain one.
  const Definition* definition(ir::Value value) const;
  // The definition if it is of that op.
  const Definition* definition(ir::Value value, ir::Op op) const;
  // The number that all elements are.
  std::optional<ir::Scalar> uniform(ir::Value value) const;
  // The scalar value that all elements are.
  std::optional<ir::Value> spread(ir::Value value) const;

  // Appends an instruction, or returns an equal value that is simpler.
  ir::Value emit(ir::Op op, std::vector<ir::Value> operands, ir::Immediate immediate = {});
  ir::Value emit_constant(ir::Scalar scalar, Shape shape);
  // Appends an instruction as it is and remembers its results.
  void append(ir::Inst inst);
  // By the rules of all families.
  std::optional<ir::Value> fold(const ir::Inst& inst);

  // Where `append` goes, and the source line of the emitted instructions.
  std::vector<ir::Inst>* code = nullptr;
  std::source_location where;

 private:
  ir::Function& function_;
  std::unordered_map<ir::Value, Definition> definitions_;
};

std::optional<ir::Value> fold_elementwise(Folder& folder, const ir::Inst& inst);
std::optional<ir::Value> fold_shape(Folder& folder, const ir::Inst& inst);
std::optional<ir::Value> fold_load(Folder& folder, const ir::Inst& inst);

}  // namespace tilewright::dsl
