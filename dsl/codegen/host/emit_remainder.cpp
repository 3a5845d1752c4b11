// The remainder of a division of floats, exactly, by vectors.
//
// Where the quotient has no more binary places than a float, cutting the rounded quotient to a
// whole number takes away the right multiple of the divisor or one too many, and a fused
// multiplication and subtraction rounds nothing: the difference lies between -y and y and is a
// multiple of the last place of both. Lanes whose quotient is larger are rare. For these a function
// takes away the rounded quotient's multiple, which shortens the quotient by as many places, until
// it is short enough.
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "dsl/codegen/host/emitter.h"

namespace tilewright::dsl {

namespace {

using Builder = llvm::IRBuilder<>;

bool is_f32(const llvm::Type* type) { return type->getScalarType()->isFloatTy(); }

llvm::Constant* number(const llvm::Value* like, double n) {
  return llvm::ConstantFP::get(like->getType(), n);
}

// From which quotient on a multiple of the divisor may not be the right one.
llvm::Constant* least_long_quotient(const llvm::Value* like) {
  return number(like, is_f32(like->getType()) ? 0x1p24 : 0x1p53);
}

llvm::Value* less_multiple(Builder& b, llvm::Value* dividend, llvm::Value* divisor,
                           llvm::Value* factor) {
  return b.CreateIntrinsic(llvm::Intrinsic::fma, {dividend->getType()},
                           {b.CreateFNeg(factor), divisor, dividend});
}
llvm::Value* whole_part(Builder& b, llvm::Value* quotient) {
  return b.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, quotient);
}

// The dividend less a multiple of the divisor, in f64. Where the quotient overflows, the dividend
// is large and the divisor small: closer to 1 both stay normal numbers.
llvm::Value* shortened(Builder& b, llvm::Value* dividend, llvm::Value* divisor,
                       llvm::Value* quotient, bool may_overflow) {
  if (!may_overflow) return less_multiple(b, dividend, divisor, quotient);
  auto* infinity = llvm::ConstantFP::getInfinity(dividend->getType());
  auto* overflows =
      b.CreateFCmpOEQ(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, quotient), infinity);
  auto* lower =
      b.CreateSelect(overflows, b.CreateFMul(dividend, number(dividend, 0x1p-60)), dividend);
  auto* higher =
      b.CreateSelect(overflows, b.CreateFMul(divisor, number(divisor, 0x1p1022)), divisor);
  auto* part = less_multiple(b, lower, higher, b.CreateFDiv(lower, higher));
  return b.CreateSelect(overflows, b.CreateFMul(part, number(part, 0x1p60)), part);
}

// The function of |x| and |y|: |x| less a multiple of |y|, above -|y| and below |y|. For f32 it
// works in f64, where a step takes away twice as many places and no quotient overflows.
void write_long_division(llvm::Function& function) {
  llvm::LLVMContext& context = function.getContext();
  Builder b(context);
  llvm::Value *x = function.getArg(0), *y = function.getArg(1);
  auto block = [&](const char* name) { return llvm::BasicBlock::Create(context, name, &function); };
  llvm::BasicBlock *entry = block("entry"), *loop = block("loop"), *exit = block("exit");
  b.SetInsertPoint(entry);
  const bool is_narrow = is_f32(x->getType());
  if (is_narrow) {
    auto* wide = llvm::VectorType::get(
        b.getDoubleTy(), llvm::cast<llvm::VectorType>(x->getType())->getElementCount());
    x = b.CreateFPExt(x, wide);
    y = b.CreateFPExt(y, wide);
  }
  auto* none = llvm::Constant::getNullValue(x->getType());
  auto* infinity = llvm::ConstantFP::getInfinity(x->getType());
  auto* has_remainder = b.CreateAnd(b.CreateFCmpOLT(x, infinity), b.CreateFCmpOGT(y, none));
  b.CreateBr(loop);

  b.SetInsertPoint(loop);
  auto* left = b.CreatePHI(x->getType(), 2);
  left->addIncoming(x, entry);
  llvm::Value* quotient = b.CreateFDiv(left, y);
  auto* size = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, quotient);
  auto* is_long = b.CreateAnd(has_remainder, b.CreateFCmpOGE(size, least_long_quotient(size)));
  auto* part = shortened(b, left, y, quotient, /*may_overflow=*/!is_narrow);
  left->addIncoming(b.CreateSelect(is_long, part, left), loop);
  b.CreateCondBr(b.CreateOrReduce(is_long), loop, exit);

  b.SetInsertPoint(exit);
  auto* rest = less_multiple(b, left, y, whole_part(b, quotient));
  b.CreateRet(is_narrow ? b.CreateFPTrunc(rest, function.getReturnType()) : rest);
}

}  // namespace

llvm::Value* Emitter::remainder(llvm::Value* x, llvm::Value* y) {
  llvm::Type* type = x->getType();
  if (!type->isVectorTy() || !target_.has_fma) return Arithmetic::remainder(x, y);
  auto* a = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  auto* b = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, y);
  auto* quotient = b_.CreateFDiv(a, b);
  auto* rest = less_multiple(b_, a, b, whole_part(b_, quotient));
  auto* is_long = b_.CreateFCmpOGE(quotient, least_long_quotient(quotient));
  rest = b_.CreateCall(long_division(type), {a, b, rest, is_long});
  auto* below = b_.CreateFCmpOLT(rest, llvm::Constant::getNullValue(type));
  rest = b_.CreateSelect(below, b_.CreateFAdd(rest, b), rest);
  rest = b_.CreateSelect(b_.CreateFCmpOLT(a, b), a, rest);  // of an infinite divisor, too
  return b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, rest, x);
}

// Its calls are guarded in the end, since a branch would end the block that copies of a loop's body
// are mixed in.
llvm::Function* Emitter::long_division(llvm::Type* type) {
  auto* vector = llvm::cast<llvm::FixedVectorType>(type);
  const std::string name = std::string("long_division_") +
                           std::to_string(vector->getNumElements()) +
                           (vector->getElementType()->isFloatTy() ? "xf32" : "xf64");
  if (llvm::Function* function = module_.getFunction(name)) return function;
  auto* mask = llvm::FixedVectorType::get(b_.getInt1Ty(), vector->getNumElements());
  auto* function =
      llvm::Function::Create(llvm::FunctionType::get(type, {type, type, type, mask}, false),
                             llvm::Function::InternalLinkage, name, module_);
  function->addFnAttr(llvm::Attribute::NoInline);
  function->addFnAttr(llvm::Attribute::Cold);
  function->addFnAttr(llvm::Attribute::WillReturn);
  function->setMemoryEffects(llvm::MemoryEffects::none());
  write_long_division(*function);
  long_divisions_.push_back(function);
  return function;
}

// Only where a quotient is long is the function called; else the rest that it is given stays.
void Emitter::guard_long_divisions() {
  auto* rarely = llvm::MDBuilder(context_).createBranchWeights(1, 1 << 10);
  for (llvm::Function* function : long_divisions_)
    for (llvm::User* user : function->users()) {
      auto* call = llvm::cast<llvm::CallInst>(user);
      llvm::Value* rest = call->getArgOperand(2);
      llvm::BasicBlock* before = call->getParent();
      auto* is_any_long = Builder(call).CreateOrReduce(call->getArgOperand(3));
      auto* end = llvm::SplitBlockAndInsertIfThen(is_any_long, call->getNextNode()->getIterator(),
                                                  /*Unreachable=*/false, rarely);
      call->moveBefore(end->getIterator());
      for (unsigned i : {2, 3})
        call->setArgOperand(i, llvm::PoisonValue::get(call->getArgOperand(i)->getType()));
      llvm::BasicBlock* after = end->getSuccessor(0);
      auto* either = Builder(after, after->begin()).CreatePHI(call->getType(), 2);
      call->replaceAllUsesWith(either);
      either->addIncoming(rest, before);
      either->addIncoming(call, end->getParent());
    }
}

}  // namespace tilewright::dsl
