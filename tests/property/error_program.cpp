#include "tests/property/error_program.h"

#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>

#include "dsl/ir/builder.h"
#include "runtime/base/error.h"
#include "tests/property/op_families.h"

namespace tilewright {
namespace {

using ir::Op;
using ir::Value;

// Arithmetic of bounds, in f64 on tiles of one shape.
class Bounds {
 public:
  explicit Bounds(ir::Builder& b) : b_(b) {}
  Value add(Value x, Value y) { return b_.append(Op::add_, {x, y}); }
  Value sub(Value x, Value y) { return b_.append(Op::sub_, {x, y}); }
  Value mul(Value x, Value y) { return b_.append(Op::mul_, {x, y}); }
  Value div(Value x, Value y) { return b_.append(Op::div_, {x, y}); }
  Value max(Value x, Value y) { return b_.append(Op::max_, {x, y}); }
  Value abs(Value x) { return b_.append(Op::abs_, {x}); }
  Value number(Value like, double value) {
    Value scalar = b_.constant(ir::Scalar::of(DType::f64, value));
    Shape shape = b_.function().type(like).shape;
    return shape.empty() ? scalar : b_.append(Op::splat_, {scalar}, ir::Extent{shape});
  }
  Value times(Value x, double factor) { return mul(x, number(x, factor)); }
  Value wide(Value x) { return b_.append(Op::cast_, {x}, DType::f64); }
  Value magnitude(Value x) { return abs(wide(x)); }
  Value reduce(Value x, ir::ReduceKind kind, int axis) {
    return b_.append(Op::reduce_, {x}, ir::Reduction{kind, axis});
  }
  // p and the rounding of a result y to its dtype, `count` times half an ulp.
  Value rounded(Value p, Value y, double count) {
    DType dtype = b_.function().type(y).dtype;
    Value size = add(magnitude(y), p);
    return add(add(p, times(size, count * roundoff(dtype))), number(p, count * least(dtype)));
  }
  static double roundoff(DType dtype) {
    return dtype == DType::f8e4m3   ? 0x1p-4
           : dtype == DType::f8e5m2 ? 0x1p-3
           : dtype == DType::f16    ? 0x1p-11
           : dtype == DType::bf16   ? 0x1p-8
           : dtype == DType::f32    ? 0x1p-24
                                    : 0x1p-53;
  }
  static double accumulator_roundoff(DType dtype) {
    return 1.01 * (dtype == DType::f64 ? 0x1p-53 : 0x1p-24);
  }
  static double least(DType dtype) {
    if (is_float8(dtype)) return dtype == DType::f8e4m3 ? 0x1p-10 : 0x1p-17;
    return dtype == DType::f16 ? 0x1p-25 : dtype == DType::f64 ? 0x1p-1074 : 0x1p-133;
  }

 private:
  ir::Builder& b_;
};

class Transformation {
 public:
  Transformation(const ir::Function& from, const std::vector<bool>& written)
      : from_(from), builder_(program_.function), bounds_(builder_) {
    program_.function.name = from.name + ".errors";
    for (const ir::Param& param : from.params)
      made_[param.value] = builder_.param(param.name, from.type(param.value));
    for (std::size_t i = 0; i < from.params.size(); ++i) {
      program_.companions.push_back(-1);
      const ir::Type& type = from.type(from.params[i].value);
      if (!written[i] || !is_floating(type.dtype)) continue;
      program_.companions.back() = static_cast<int>(program_.function.params.size());
      companions_[from.params[i].value] =
          builder_.param(from.params[i].name + ".error", ir::Type::pointer(DType::f64));
    }
  }

  ErrorProgram run() {
    insts(from_.body);
    return std::move(program_);
  }

 private:
  Value made(Value old) const { return made_.at(old); }
  std::optional<Value> companion(Value old) const {
    auto found = companions_.find(old);
    return found == companions_.end() ? std::nullopt : std::optional(found->second);
  }
  Value error(Value old) {
    auto found = companion(old);
    return found ? *found : bounds_.number(made(old), 0);
  }
  bool any_companion(const ir::Inst& inst) const {
    for (Value operand : inst.operands)
      if (companion(operand)) return true;
    return false;
  }
  std::vector<Value> all_made(const ir::Inst& inst) const {
    std::vector<Value> values;
    for (Value operand : inst.operands) values.push_back(made(operand));
    return values;
  }

  void insts(const ir::Block& block) {
    for (const ir::Inst& inst : block.insts) {
      builder_.set_location(inst.where);
      if (inst.op == Op::loop_)
        loop(inst);
      else if (inst.op == Op::if_)
        branch(inst);
      else if (inst.op != Op::yield_)
        plain(inst);
    }
  }

  void plain(const ir::Inst& inst) {
    Value y = builder_.append(inst.op, all_made(inst), inst.immediate);
    if (ir::info(inst.op).effect == ir::Effect::writes) return store(inst);
    if (inst.results.empty()) return;
    made_[inst.results[0]] = y;
    if (auto bound = error_of(inst, y)) companions_[inst.results[0]] = *bound;
  }

  void store(const ir::Inst& inst) {
    auto pointer = companion(inst.operands[0]);
    if (!pointer) return;
    std::vector<Value> operands = all_made(inst);
    operands[0] = *pointer;
    operands[1] = error(inst.operands[1]);
    builder_.append(inst.op, operands, inst.immediate);
  }

  std::optional<Value> error_of(const ir::Inst& inst, Value y) {
    const ir::Type& type = from_.type(inst.results[0]);
    if (!type.is_value()) {  // companions of pointers and descriptors move as they do
      if (!companion(inst.operands[0])) return std::nullopt;
      std::vector<Value> operands = all_made(inst);
      operands[0] = *companion(inst.operands[0]);
      return builder_.append(inst.op, operands, inst.immediate);
    }
    if (!is_floating(type.dtype)) return std::nullopt;
    switch (ir::info(inst.op).op_class) {
      case ir::OpClass::elementwise: return elementwise(inst, y);
      case ir::OpClass::creation:
      case ir::OpClass::shape:
        if (!any_companion(inst)) return std::nullopt;
        return builder_.append(inst.op, {error(inst.operands[0])}, inst.immediate);
      case ir::OpClass::selection:
        if (!companion(inst.operands[0])) return std::nullopt;
        return builder_.append(inst.op, {error(inst.operands[0]), made(inst.operands[1])},
                               inst.immediate);
      case ir::OpClass::memory:
        if (inst.op != Op::load_ || inst.operands.size() < 3 || !companion(inst.operands[2]))
          return std::nullopt;
        return builder_.append(
            Op::select_, {made(inst.operands[1]), bounds_.number(y, 0), error(inst.operands[2])});
      case ir::OpClass::reduction: return reduction(inst, y);
      case ir::OpClass::contraction: return contraction(inst, y);
      case ir::OpClass::exchange:
      case ir::OpClass::control:
      case ir::OpClass::hint: return std::nullopt;
    }
    return std::nullopt;
  }

  std::optional<Value> elementwise(const ir::Inst& inst, Value y) {
    bool inexact = is_transcendental(inst.op);
    if (!inexact && !any_companion(inst)) return std::nullopt;
    Bounds& e = bounds_;
    auto is_op = [&](Op op) { return inst.op == op; };
    Value first = inst.operands[0], last = inst.operands.back();
    if (is_op(Op::select_))
      return builder_.append(Op::select_, {made(first), error(inst.operands[1]), error(last)});
    Value ea = error(first);
    if (is_op(Op::neg_) || is_op(Op::abs_)) return ea;
    if (is_op(Op::cast_)) return e.rounded(ea, y, 2);
    if (is_op(Op::floor_) || is_op(Op::ceil_) || is_op(Op::round_))
      return e.add(ea, e.number(ea, 1));
    if (inst.operands.size() == 1) return function(inst, y, inexact ? 5 : 2);
    Value second = inst.operands[1], eb = error(second);
    if (is_op(Op::min_) || is_op(Op::max_)) return e.max(ea, eb);
    if (is_op(Op::add_) || is_op(Op::sub_)) return e.rounded(e.add(ea, eb), y, 2);
    if (is_op(Op::ldexp_))  // by a number that is exact
      return e.rounded(builder_.append(Op::ldexp_, {ea, e.wide(made(second))}), y, 2);
    Value a = e.magnitude(made(first)), b = e.magnitude(made(second));
    if (is_op(Op::rem_)) return e.times(e.add(b, eb), 2);
    if (is_op(Op::div_)) {
      Value room = e.sub(b, eb);  // not positive: no bound
      Value p = e.div(e.add(ea, e.mul(e.magnitude(y), eb)), e.max(room, e.number(room, 0)));
      return e.rounded(p, y, 2);
    }
    Value p = e.add(e.add(e.mul(a, eb), e.mul(b, ea)), e.mul(ea, eb));
    if (is_op(Op::fma_)) p = e.add(p, error(last));
    return e.rounded(p, y, 2);
  }

  // At both ends of what the operand may be; sine and cosine change no faster than their operand.
  std::optional<Value> function(const ir::Inst& inst, Value y, double count) {
    Bounds& e = bounds_;
    Value operand = inst.operands[0], p = error(operand);
    if (companion(operand) && inst.op != Op::sin_ && inst.op != Op::cos_) {
      Value x = e.wide(made(operand));
      auto at = [&](Value where) { return builder_.append(inst.op, {where}, inst.immediate); };
      Value middle = at(x), up = at(e.add(x, p)), down = at(e.sub(x, p));
      p = e.max(e.abs(e.sub(up, middle)), e.abs(e.sub(down, middle)));
    }
    return e.rounded(p, y, count);
  }

  std::optional<Value> reduction(const ir::Inst& inst, Value y) {
    Bounds& e = bounds_;
    auto [kind, axis] = inst.get<ir::Reduction>();
    Value x = inst.operands[0], ex = error(x);
    if (kind == ir::ReduceKind::max || kind == ir::ReduceKind::min)
      return companion(x) ? std::optional(e.reduce(ex, ir::ReduceKind::max, axis)) : std::nullopt;
    DType dtype = from_.type(x).dtype;
    double chain =
        static_cast<double>(from_.type(x).shape[axis]) * Bounds::accumulator_roundoff(dtype);
    Value size = e.magnitude(made(x)), reach = e.add(size, ex);
    Value p = e.times(e.reduce(reach, kind, axis), 2 * chain);
    Value moved = kind == ir::ReduceKind::sum
                      ? e.reduce(ex, kind, axis)
                      : e.sub(e.reduce(reach, kind, axis), e.reduce(size, kind, axis));
    return e.rounded(e.add(moved, p), y, 2);
  }

  std::optional<Value> contraction(const ir::Inst& inst, Value y) {
    Bounds& e = bounds_;
    Value a = e.magnitude(made(inst.operands[0])), b = e.magnitude(made(inst.operands[1]));
    Value ea = error(inst.operands[0]), eb = error(inst.operands[1]);
    Value ec = error(inst.operands[2]), size = e.magnitude(made(inst.operands[2]));
    const ir::Type& type = from_.type(inst.operands[0]);
    Value reach_a = e.add(a, ea), reach_b = e.add(b, eb), zero = e.number(y, 0);
    auto dot = [&](Value left, Value right, Value acc) {
      return builder_.append(Op::dot_, {left, right, acc}, ir::Precision{});
    };
    // Each operand rounded to 10 bits of mantissa, or not, and on ties either way; as tf32x3, a
    // rest of 2^-10 likewise, and the product of two rests left out.
    const ir::InputPrecision input = inst.get<ir::Precision>().input;
    if (input != ir::InputPrecision::ieee) {
      const double lost = input == ir::InputPrecision::tf32 ? 0x1p-10 : 0x1p-19;
      ea = e.add(ea, e.times(reach_a, lost));
      eb = e.add(eb, e.times(reach_b, lost));
    }
    Value moved = dot(a, eb, dot(ea, reach_b, ec));
    double chain =
        static_cast<double>(type.shape[1] + 2) * Bounds::accumulator_roundoff(type.dtype);
    Value p = e.add(moved, e.times(dot(reach_a, reach_b, e.add(size, zero)), chain));
    return e.rounded(p, y, 2);
  }

  // Every carried floating value carries a bound; one that stays exact in fact carries zero.
  static bool carries(const ir::Type& type) { return type.is_value() && is_floating(type.dtype); }

  void loop(const ir::Inst& inst) {
    std::vector<ir::Type> types{from_.type(inst.operands[0])};
    std::vector<Value> inits;
    const ir::Block& body = inst.bodies[0];
    for (std::size_t i = 3; i < inst.operands.size(); ++i) {
      types.push_back(from_.type(inst.operands[i]));
      inits.push_back(made(inst.operands[i]));
    }
    for (std::size_t i = 3; i < inst.operands.size(); ++i) {
      const ir::Type& type = from_.type(inst.operands[i]);
      check(type.is_value() || !companion(inst.operands[i]), "an output pointer is carried");
      if (!carries(type)) continue;
      inits.push_back(error(inst.operands[i]));
      types.push_back(type.with_dtype(DType::f64));
    }
    Value low = made(inst.operands[0]), high = made(inst.operands[1]),
          step = made(inst.operands[2]);
    std::vector<Value> params = builder_.open_block(types).params;
    std::size_t next = body.params.size();
    for (std::size_t i = 0; i < body.params.size(); ++i) {
      made_[body.params[i]] = params[i];
      if (i > 0 && carries(from_.type(body.params[i])))
        companions_[body.params[i]] = params[next++];
    }
    insts(body);
    auto results =
        builder_.close_loop(low, high, step, inits, yields(body), inst.get<ir::LoopEnd>());
    define(inst, results);
  }

  void branch(const ir::Inst& inst) {
    Value condition = made(inst.operands[0]);
    for (const ir::Block& body : inst.bodies) {
      builder_.open_block({});
      insts(body);
      builder_.close_block(yields(body));
    }
    define(inst, builder_.close_if(condition));
  }

  std::vector<Value> yields(const ir::Block& body) {
    const ir::Inst& yield = body.insts.back();
    std::vector<Value> values = all_made(yield);
    for (Value operand : yield.operands)
      if (carries(from_.type(operand))) values.push_back(error(operand));
    return values;
  }

  void define(const ir::Inst& inst, const std::vector<Value>& results) {
    std::size_t next = inst.results.size();
    for (std::size_t i = 0; i < inst.results.size(); ++i) {
      made_[inst.results[i]] = results[i];
      if (carries(from_.type(inst.results[i]))) companions_[inst.results[i]] = results[next++];
    }
  }

  const ir::Function& from_;
  ErrorProgram program_;
  ir::Builder builder_;
  Bounds bounds_;
  std::unordered_map<Value, Value> made_, companions_;
};

}  // namespace

ErrorProgram error_program(const ir::Function& function, const std::vector<bool>& written) {
  return Transformation(function, written).run();
}

}  // namespace tilewright
