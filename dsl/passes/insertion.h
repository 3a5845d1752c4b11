// Appends instructions between those of a finished function: what passes use that add to a program.
// Apart from ir/builder.h, which builds a function from its beginning, block by block.
#pragma once

#include <utility>
#include <vector>

#include "dsl/ir/function.h"
#include "dsl/ir/type_rules.h"

namespace tilewright::dsl {

// Emitted instructions go to the end of `*out`, with the line `where`. Only operations with one
// result or none, and without bodies.
struct Insertion {
  ir::Function& function;
  std::vector<ir::Inst>* out = nullptr;
  std::source_location where = std::source_location::current();

  // The result; meaningless without one.
  ir::Value emit(ir::Op op, std::vector<ir::Value> operands, ir::Immediate immediate = {}) {
    std::vector<ir::Type> types;
    for (ir::Value operand : operands) types.push_back(function.type(operand));
    ir::Inst inst{op, std::move(operands), {}, std::move(immediate), {}, where};
    for (ir::Type& type : ir::result_types(op, types, inst.immediate, {}))
      inst.results.push_back(function.new_value(std::move(type)));
    const ir::Value result = inst.results.empty() ? ir::Value{0} : inst.results[0];
    out->push_back(std::move(inst));
    return result;
  }
  ir::Value number(std::int64_t value) {
    return emit(ir::Op::constant_, {}, ir::Scalar::of_integer(DType::i64, value));
  }
  // The scalar in each place of a tile.
  ir::Value spread(ir::Value scalar, const Shape& shape) {
    return shape.empty() ? scalar : emit(ir::Op::splat_, {scalar}, ir::Extent{shape});
  }
  // The program's place in the grid, along axis 0 first.
  ir::Value program_number() {
    ir::Value place = number(0);
    for (int axis = 3; axis-- > 0;) {
      const ir::Value count = emit(ir::Op::num_programs_, {}, ir::Axis{axis});
      place = emit(ir::Op::mul_, {place, count});
      place = emit(ir::Op::add_, {place, emit(ir::Op::program_id_, {}, ir::Axis{axis})});
    }
    return place;
  }
  ir::Value add_param(std::string name, ir::Type type) {
    const ir::Value value = function.new_value(std::move(type));
    function.params.push_back({std::move(name), value});
    return value;
  }
};

}  // namespace tilewright::dsl
