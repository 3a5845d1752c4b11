// On GPUs a product of f32 operands as tf32x3 becomes three of tf32: each operand is the sum of its
// upper 10 bits of mantissa and a rest, of which tf32 keeps as many again; the product of the two
// rests is left out. Operands are cut, not rounded, so that none becomes infinite. The sum of the
// lesser products is NaN where an operand is infinite, and then counts for nothing: the product of
// the greater parts is what it should be, and NaN where an operand is.
//
// Needs nothing before it; afterwards no product is tf32x3, which is for code generators as ieee.
// Hosts multiply f32 by itself: nothing changes there.
#include <limits>

#include "dsl/math/expression.h"
#include "dsl/passes/passes.h"

namespace tilewright::dsl {
namespace {

using ir::Inst;
using ir::Op;
using ir::Value;
using math::Expression;

bool is_threefold(const Inst& inst) {
  return inst.op == Op::dot_ && inst.get<ir::Precision>().input == ir::InputPrecision::tf32x3;
}

struct Parts {
  Value upper, rest;
};

class ProductSplitter {
 public:
  explicit ProductSplitter(ir::Function& function) : function_(function) {}

  bool block(ir::Block& block) {
    bool changed = false;
    std::vector<Inst> code;
    for (Inst& inst : block.insts) {
      for (ir::Block& body : inst.bodies) changed |= this->block(body);
      if (is_threefold(inst)) {
        split(inst, code);
        changed = true;
      } else {
        code.push_back(std::move(inst));
      }
    }
    block.insts = std::move(code);
    return changed;
  }

 private:
  math::InsertionPoint site(Value value, const Inst& inst, std::vector<Inst>& code) {
    return {function_, code, function_.type(value).shape, inst.where};
  }

  Parts parts(Value value, const Inst& inst, std::vector<Inst>& code) {
    math::InsertionPoint at = site(value, inst, code);
    Expression x{at, value};
    Expression cut = bitcast(bitcast(x, DType::i32) & ~std::int64_t{0x1fff}, DType::f32);
    Expression is_number = math::apply(Op::eq_, x, x);  // a NaN may have none but lower bits
    Expression upper = choose(is_number, cut, std::numeric_limits<double>::quiet_NaN());
    return {upper.value(), (x - upper).value()};
  }

  void split(const Inst& inst, std::vector<Inst>& code) {
    Parts a = parts(inst.operands[0], inst, code), b = parts(inst.operands[1], inst, code);
    const Value acc = inst.operands[2];
    math::InsertionPoint at = site(acc, inst, code);
    auto dot = [&](Value left, Value right, Value begun) {
      return at.append(Op::dot_, {left, right, begun}, ir::Precision{ir::InputPrecision::tf32});
    };
    Value none = math::number(at, DType::f32, 0).value();
    Expression lesser{at, dot(a.upper, b.rest, dot(a.rest, b.upper, none))};
    Expression kept = choose(math::apply(Op::eq_, lesser, lesser), lesser, 0.0);
    dot(a.upper, b.upper, (Expression{at, acc} + kept).value());
    code.back().results = inst.results;
  }

  ir::Function& function_;
};

}  // namespace

bool split_products(ir::Function& function, const Target& target) {
  return target.is_gpu() && ProductSplitter(function).block(function.body);
}

}  // namespace tilewright::dsl
