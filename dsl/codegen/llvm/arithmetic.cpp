// Elementwise operations on vectors or single elements; their meaning is ir/scalar.h's.
#include "dsl/codegen/llvm/arithmetic.h"

#include <algorithm>

#include "dsl/assembly/assembly.h"
#include "dsl/ir/immediates.h"
#include "dsl/ir/message.h"
#include "runtime/base/error.h"
#include "runtime/base/random/philox.h"

namespace tilewright::dsl {

using ir::Inst;
using ir::Op;

llvm::Value* Arithmetic::elementwise(const ir::Function& function, const Inst& inst,
                                     const std::vector<llvm::Value*>& operands) {
  const ir::Type& type = function.type(inst.results[0]);
  if (inst.op == Op::constant_) return constant(inst.get<ir::Scalar>());
  const DType dtype = function.type(inst.operands[0]).dtype;
  if (inst.op == Op::inline_asm_) {
    require_meaning(ir::assembly_of(inst.get<ir::Text>().text), ir::source_place(inst),
                    function.name);
    return operands[0];
  }
  if (inst.op == Op::select_) return b_.CreateSelect(operands[0], operands[1], operands[2]);
  if (inst.op == Op::cast_) return convert(operands[0], dtype, type.dtype);
  if (inst.op == Op::bitcast_) {
    llvm::Type* to = element_type(type.dtype);
    if (operands[0]->getType()->isPointerTy()) return b_.CreatePtrToInt(operands[0], to);
    if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(operands[0]->getType()))
      to = llvm::FixedVectorType::get(to, vector->getNumElements());
    return b_.CreateBitCast(operands[0], to);
  }
  check(!ir::info(inst.op).has(is_floating(dtype) ? ir::integer_only : ir::float_only),
        "an operation on numbers of another kind");
  if (!is_float16(dtype)) return number_op(inst.op, dtype, operands);
  std::vector<llvm::Value*> wide = operands;
  for (auto*& operand : wide) operand = convert(operand, dtype, DType::f32);
  llvm::Value* result = number_op(inst.op, DType::f32, wide);
  return type.dtype == dtype ? convert(result, DType::f32, dtype) : result;
}

llvm::Value* Arithmetic::call_libm(const char* name, llvm::Value* x) {
  auto* element = x->getType()->getScalarType();
  std::string symbol = std::string(name) + (element->isFloatTy() ? "f" : "");
  auto callee = module_.getOrInsertFunction(symbol, element, element);
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  if (vector == nullptr) return b_.CreateCall(callee, {x});
  llvm::Value* result = llvm::PoisonValue::get(vector);
  for (unsigned lane = 0; lane < vector->getNumElements(); ++lane)
    result = b_.CreateInsertElement(
        result, b_.CreateCall(callee, {b_.CreateExtractElement(x, lane)}), lane);
  return result;
}

// Functions that expand_math expands arrive here only in f64, or where it was skipped.
llvm::Value* Arithmetic::number_op(Op op, DType dtype, const std::vector<llvm::Value*>& v) {
  const bool floats = is_floating(dtype);
  if (is_boolean(dtype))
    if (auto* result = boolean_op(op, v)) return result;
  auto unary = [&](llvm::Intrinsic::ID id) { return b_.CreateUnaryIntrinsic(id, v[0]); };
  auto one = [&] { return llvm::ConstantFP::get(v[0]->getType(), 1.0); };
  switch (op) {
    case Op::neg_: return floats ? b_.CreateFNeg(v[0]) : b_.CreateNeg(v[0]);
    case Op::abs_: return floats ? unary(llvm::Intrinsic::fabs) : magnitude(dtype, v[0]);
    case Op::exp_: return call_libm("exp", v[0]);
    case Op::exp2_: return call_libm("exp2", v[0]);
    case Op::log_: return call_libm("log", v[0]);
    case Op::log2_: return call_libm("log2", v[0]);
    case Op::sin_: return call_libm("sin", v[0]);
    case Op::cos_: return call_libm("cos", v[0]);
    case Op::tanh_: return call_libm("tanh", v[0]);
    case Op::erf_: return call_libm("erf", v[0]);
    case Op::sigmoid_:
      return b_.CreateFDiv(one(), b_.CreateFAdd(one(), call_libm("exp", b_.CreateFNeg(v[0]))));
    case Op::sqrt_: return unary(llvm::Intrinsic::sqrt);
    case Op::rsqrt_: return b_.CreateFDiv(one(), unary(llvm::Intrinsic::sqrt));
    case Op::floor_: return unary(llvm::Intrinsic::floor);
    case Op::ceil_: return unary(llvm::Intrinsic::ceil);
    case Op::round_: return unary(llvm::Intrinsic::roundeven);
    case Op::not_: return b_.CreateNot(v[0]);
    case Op::add_: return floats ? b_.CreateFAdd(v[0], v[1]) : b_.CreateAdd(v[0], v[1]);
    case Op::sub_: return floats ? b_.CreateFSub(v[0], v[1]) : b_.CreateSub(v[0], v[1]);
    case Op::mul_: return floats ? b_.CreateFMul(v[0], v[1]) : b_.CreateMul(v[0], v[1]);
    case Op::umulhi_: return upper_product(v[0], v[1]);
    case Op::random_bits_: return random_bits(v[0], v[1]);
    case Op::div_: return floats ? b_.CreateFDiv(v[0], v[1]) : division(op, dtype, v[0], v[1]);
    case Op::rem_: return floats ? remainder(v[0], v[1]) : division(op, dtype, v[0], v[1]);
    case Op::min_:
    case Op::max_: return extremum(op, dtype, v[0], v[1]);
    case Op::ldexp_: return scale(v[0], v[1]);
    case Op::and_: return b_.CreateAnd(v[0], v[1]);
    case Op::or_: return b_.CreateOr(v[0], v[1]);
    case Op::xor_: return b_.CreateXor(v[0], v[1]);
    case Op::shl_:
    case Op::shr_: return shift(op, dtype, v[0], v[1]);
    case Op::eq_:
    case Op::ne_:
    case Op::lt_:
    case Op::le_:
    case Op::gt_:
    case Op::ge_: return compare(op, dtype, v[0], v[1]);
    case Op::fma_:
      return b_.CreateIntrinsic(llvm::Intrinsic::fma, {v[0]->getType()}, {v[0], v[1], v[2]});
    case Op::cast_:
    case Op::bitcast_:
    case Op::select_:
    case Op::offset_:
    case Op::inline_asm_:
#define TILEWRIGHT_CASES_BESIDE_ELEMENTWISE
#include "dsl/ir/ops.def"
      break;
  }
  check(false, "not an operation on numbers");
  return nullptr;
}

// What is another operation on truth values; null: what is the same as on integers of one bit.
llvm::Value* Arithmetic::boolean_op(Op op, const std::vector<llvm::Value*>& v) {
  if (op == Op::add_ || op == Op::max_) return b_.CreateOr(v[0], v[1]);
  if (op == Op::mul_ || op == Op::min_) return b_.CreateAnd(v[0], v[1]);
  return op == Op::sub_ ? b_.CreateXor(v[0], v[1]) : nullptr;
}

llvm::Value* Arithmetic::floating_op(Op op, const std::vector<llvm::Value*>& v) {
  return number_op(op, v[0]->getType()->getScalarType()->isDoubleTy() ? DType::f64 : DType::f32, v);
}

llvm::Value* Arithmetic::integer_op(Op op, DType dtype, const std::vector<llvm::Value*>& v) {
  return number_op(op, dtype, v);
}

llvm::Value* Arithmetic::magnitude(DType dtype, llvm::Value* x) {
  if (!is_signed(dtype)) return x;
  auto* zero = llvm::ConstantInt::get(x->getType(), 0, true);
  return b_.CreateSelect(b_.CreateICmpSLT(x, zero), b_.CreateNeg(x), x);
}

llvm::Value* Arithmetic::upper_product(llvm::Value* x, llvm::Value* y) {
  unsigned width = x->getType()->getScalarSizeInBits();
  llvm::Type* wide = x->getType()->getExtendedType();
  auto* product = b_.CreateMul(b_.CreateZExt(x, wide), b_.CreateZExt(y, wide));
  return b_.CreateTrunc(b_.CreateLShr(product, width), x->getType());
}

// By zero it is 0; the one signed division that overflows wraps.
llvm::Value* Arithmetic::division(Op op, DType dtype, llvm::Value* x, llvm::Value* y) {
  const bool sign = is_signed(dtype), division = op == Op::div_;
  auto number = [&](std::int64_t n) {
    return llvm::ConstantInt::get(x->getType(), static_cast<std::uint64_t>(n), true);
  };
  auto* zero = b_.CreateICmpEQ(y, number(0));
  llvm::Value* unsafe = zero;
  if (sign) unsafe = b_.CreateOr(zero, b_.CreateICmpEQ(y, number(-1)));
  auto* by = b_.CreateSelect(unsafe, number(1), y);
  llvm::Value* result = division ? (sign ? b_.CreateSDiv(x, by) : b_.CreateUDiv(x, by))
                                 : (sign ? b_.CreateSRem(x, by) : b_.CreateURem(x, by));
  if (sign && division)
    result = b_.CreateSelect(b_.CreateICmpEQ(y, number(-1)), b_.CreateNeg(x), result);
  return b_.CreateSelect(zero, number(0), result);
}

llvm::Value* Arithmetic::shift(Op op, DType dtype, llvm::Value* x, llvm::Value* y) {
  std::int64_t width = x->getType()->getScalarSizeInBits();
  auto number = [&](std::int64_t n) {
    return llvm::ConstantInt::get(x->getType(), static_cast<std::uint64_t>(n), true);
  };
  auto* in = b_.CreateICmpULT(y, number(width));
  if (op == Op::shr_ && is_signed(dtype))
    return b_.CreateAShr(x, b_.CreateSelect(in, y, number(width - 1)));
  auto* by = b_.CreateSelect(in, y, number(0));
  auto* shifted = op == Op::shl_ ? b_.CreateShl(x, by) : b_.CreateLShr(x, by);
  return b_.CreateSelect(in, shifted, number(0));
}

// A word is the lower half of an element of 64 bits, whose upper half may hold anything: so a
// product is one instruction and no vector is taken apart.
llvm::Value* Arithmetic::random_bits(llvm::Value* seed, llvm::Value* place) {
  llvm::Type* type = place->getType();
  auto number = [&](std::uint64_t n) { return llvm::ConstantInt::get(type, n); };
  auto low = [&](llvm::Value* x) { return b_.CreateAnd(x, number(UINT32_MAX)); };
  auto high = [&](llvm::Value* x) { return b_.CreateLShr(x, number(32)); };
  llvm::Value *counter[4] = {place, high(place), number(0), number(0)},
              *key[2] = {seed, high(seed)};
  for (int round = 0; round < PhiloxConstants::rounds; ++round) {
    auto* first = b_.CreateMul(low(counter[0]), number(PhiloxConstants::factors[0]));
    auto* second = b_.CreateMul(low(counter[2]), number(PhiloxConstants::factors[1]));
    counter[0] = b_.CreateXor(b_.CreateXor(high(second), counter[1]), key[0]);
    counter[1] = second;
    counter[2] = b_.CreateXor(b_.CreateXor(high(first), counter[3]), key[1]);
    counter[3] = first;
    for (std::size_t i = 0; i < 2; ++i)
      key[i] = b_.CreateAdd(key[i], number(PhiloxConstants::key_steps[i]));
  }
  return b_.CreateOr(low(counter[0]), b_.CreateShl(counter[1], number(32)));
}

// By three powers that are normal numbers, the largest last: where a result is subnormal, only the
// last product rounds.
llvm::Value* Arithmetic::scale(llvm::Value* x, llvm::Value* n) {
  bool wide = x->getType()->getScalarType()->isDoubleTy();
  const std::int64_t bias = wide ? 1023 : 127;
  auto* type = like(x, wide ? b_.getInt64Ty() : b_.getInt32Ty());
  auto number = [&](std::int64_t value) { return llvm::ConstantInt::getSigned(type, value); };
  llvm::Value* left = signed_integers(b_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, n), type);
  std::vector<llvm::Value*> powers;
  for (int i = 0; i < 3; ++i) {
    auto* part = b_.CreateBinaryIntrinsic(
        llvm::Intrinsic::smax, number(1 - bias),
        b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, number(bias)));
    left = b_.CreateSub(left, part);
    auto* bits = b_.CreateShl(b_.CreateAdd(part, number(bias)), number(wide ? 52 : 23));
    powers.push_back(b_.CreateBitCast(bits, x->getType()));
  }
  auto* scaled = x;
  for (int i = 2; i >= 0; --i) scaled = b_.CreateFMul(scaled, powers[static_cast<std::size_t>(i)]);
  return b_.CreateSelect(b_.CreateFCmpUNO(n, n), n, scaled);
}

std::pair<llvm::Value*, llvm::Value*> Arithmetic::message(
    const ir::Function& function, const ir::Inst& inst, const std::vector<llvm::Value*>& scalars) {
  llvm::BasicBlock& entry = b_.GetInsertBlock()->getParent()->getEntryBlock();
  auto* type = llvm::ArrayType::get(b_.getInt64Ty(), std::max<std::size_t>(1, scalars.size()));
  auto* words = llvm::IRBuilder<>(&entry, entry.getFirstInsertionPt()).CreateAlloca(type);
  std::vector<DType> dtypes;
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    DType dtype = function.type(inst.operands[i]).dtype;
    dtypes.push_back(dtype);
    llvm::Value* word = convert(scalars[i], dtype, is_floating(dtype) ? DType::f64 : DType::i64);
    b_.CreateStore(word, b_.CreateConstGEP1_64(b_.getInt64Ty(), words, i));
  }
  // Constants lie in global memory on a GPU; the host has but one.
  auto* format = b_.CreateGlobalString(ir::message_format(inst.get<ir::Text>().text, dtypes),
                                       "message", 1, &module_);
  return {b_.CreateAddrSpaceCast(format, b_.getPtrTy()), words};
}

}  // namespace tilewright::dsl
