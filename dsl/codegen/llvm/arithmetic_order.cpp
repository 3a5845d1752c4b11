// The order of numbers in LLVM IR: comparisons, minima and maxima, and the reductions that keep the
// better of two.
#include <algorithm>

#include "dsl/codegen/llvm/arithmetic.h"
#include "dsl/ir/immediates.h"
#include "runtime/base/error.h"

namespace tilewright::dsl {

using ir::Op;
using ir::ReduceKind;

namespace {

// NaN if an operand is NaN; which of two zeros is given is left open.
template <typename Builder>
llvm::Value* extremum_of_any_zero(Builder& b, Op op, llvm::Value* x, llvm::Value* y) {
  auto* call = b.CreateBinaryIntrinsic(
      op == Op::min_ ? llvm::Intrinsic::minimum : llvm::Intrinsic::maximum, x, y);
  llvm::cast<llvm::Instruction>(call)->setHasNoSignedZeros(true);
  return call;
}

bool is_number_but_zero(const llvm::Value* value) {
  const auto* constant = llvm::dyn_cast<llvm::Constant>(value);
  if (constant != nullptr && constant->getType()->isVectorTy())
    constant = constant->getSplatValue();
  const auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(constant);
  return number != nullptr && !number->isNaN() && !number->isZero();
}

}  // namespace

llvm::Value* Arithmetic::extremum(Op op, DType dtype, llvm::Value* x, llvm::Value* y) {
  const bool sign = is_signed(dtype);
  if (!is_floating(dtype)) {
    auto id = op == Op::min_ ? (sign ? llvm::Intrinsic::smin : llvm::Intrinsic::umin)
                             : (sign ? llvm::Intrinsic::smax : llvm::Intrinsic::umax);
    return b_.CreateBinaryIntrinsic(id, x, y);
  }
  if (is_number_but_zero(y)) return extremum_of_any_zero(b_, op, x, y);
  // The comparison and the first choice are one instruction of x86.
  auto* takes_second = op == Op::max_ ? b_.CreateFCmpOLT(x, y) : b_.CreateFCmpOGT(x, y);
  auto* better = b_.CreateSelect(takes_second, y, x);
  return b_.CreateSelect(b_.CreateFCmpUNO(y, y), y, better);
}

namespace {

struct Comparison {
  Op op;
  llvm::CmpInst::Predicate floating, of_signed, of_unsigned;
};
constexpr Comparison comparisons[] = {
    {Op::eq_, llvm::CmpInst::FCMP_OEQ, llvm::CmpInst::ICMP_EQ, llvm::CmpInst::ICMP_EQ},
    {Op::ne_, llvm::CmpInst::FCMP_UNE, llvm::CmpInst::ICMP_NE, llvm::CmpInst::ICMP_NE},
    {Op::lt_, llvm::CmpInst::FCMP_OLT, llvm::CmpInst::ICMP_SLT, llvm::CmpInst::ICMP_ULT},
    {Op::le_, llvm::CmpInst::FCMP_OLE, llvm::CmpInst::ICMP_SLE, llvm::CmpInst::ICMP_ULE},
    {Op::gt_, llvm::CmpInst::FCMP_OGT, llvm::CmpInst::ICMP_SGT, llvm::CmpInst::ICMP_UGT},
    {Op::ge_, llvm::CmpInst::FCMP_OGE, llvm::CmpInst::ICMP_SGE, llvm::CmpInst::ICMP_UGE}};

}  // namespace

llvm::Value* Arithmetic::compare(Op op, DType dtype, llvm::Value* a, llvm::Value* b) {
  const bool floating = is_floating(dtype);
  const auto* row = std::ranges::find(comparisons, op, &Comparison::op);
  check(row != std::ranges::end(comparisons), "not a comparison");
  const auto predicate = floating           ? row->floating
                         : is_signed(dtype) ? row->of_signed
                                            : row->of_unsigned;
  if (floating && bit_width(dtype) == 16) {
    a = convert(a, dtype, DType::f32);
    b = convert(b, dtype, DType::f32);
  }
  return b_.CreateCmp(predicate, a, b);
}

void Arithmetic::keep_better(ReduceKind kind, DType dtype, llvm::Value*& best,
                             llvm::Value*& best_index, llvm::Value* other, llvm::Value* other_index,
                             bool other_is_later) {
  // A NaN is not above a number, and does not let it be: against a number it is better.
  Op no_better = kind == ReduceKind::argmax ? Op::le_ : Op::ge_;
  llvm::Value* take = b_.CreateNot(compare(no_better, dtype, other, best));
  if (is_floating(dtype)) take = b_.CreateAnd(take, compare(Op::eq_, dtype, best, best));
  if (!other_is_later) {
    llvm::Value* equal = compare(Op::eq_, dtype, other, best);
    if (is_floating(dtype))
      equal = b_.CreateOr(equal, b_.CreateAnd(compare(Op::ne_, dtype, other, other),
                                              compare(Op::ne_, dtype, best, best)));
    auto* earlier = b_.CreateICmpSLT(other_index, best_index);
    take = b_.CreateOr(take, b_.CreateAnd(equal, earlier));
  }
  best = b_.CreateSelect(take, other, best);
  best_index = b_.CreateSelect(take, other_index, best_index);
}

llvm::Value* Arithmetic::combine(ReduceKind kind, DType dtype, llvm::Value* a, llvm::Value* b) {
  auto apply = [&](Op op) {
    bool is_or = op == Op::max_ || op == Op::or_;
    if (is_boolean(dtype)) return is_or ? b_.CreateOr(a, b) : b_.CreateAnd(a, b);
    if (!is_floating(dtype)) return integer_op(op, dtype, {a, b});
    bool narrow = bit_width(dtype) == 16;
    std::vector<llvm::Value*> operands = {a, b};
    if (narrow)
      for (auto*& operand : operands) operand = convert(operand, dtype, DType::f32);
    // A reduction has no order in which one of two zeros would be the first.
    bool orders = op == Op::max_ || op == Op::min_;
    llvm::Value* result =
        orders ? extremum_of_any_zero(b_, op, operands[0], operands[1]) : floating_op(op, operands);
    return narrow ? convert(result, DType::f32, dtype) : result;
  };
  check(!is_arg(kind), "argmax and argmin combine pairs");
  return apply(ir::info(kind).combining_op);
}

llvm::Constant* Arithmetic::identity(ReduceKind kind, DType dtype) {
  return constant(ir::identity(kind, dtype));
}

}  // namespace tilewright::dsl
