// The remainder of a division of floats, exactly. LLVM makes a quotient, a product and a difference
// of it for NVIDIA's GPUs, of which the first is rounded: 1 % 0.1F were -1.5e-8.
//
// |x| = a 2^p and |y| = b 2^q with whole numbers a, b < 2^digits, and p >= q where |x| >= |y|. The
// remainder is (a 2^(p-q) mod b) 2^q: division by division of words of 64 bits, each of which takes
// as many binary places as fit beside what is left.
#include "dsl/codegen/gpu/emit/emitter.h"

namespace tilewright::dsl::gpu {

namespace {

// Builds the function of two floats of one type.
class RemainderWriter {
 public:
  RemainderWriter(llvm::Function& function, llvm::IRBuilder<>& b)
      : function_(function),
        b_(b),
        type_(function.getReturnType()),
        bits_(b.getIntNTy(type_->getScalarSizeInBits())),
        digits_(type_->isFloatTy() ? 24 : 53),
        bias_(type_->isFloatTy() ? 127 : 1023) {}

  void run() {
    b_.SetInsertPoint(block("entry"));
    llvm::Value *x = function_.getArg(0), *y = function_.getArg(1);
    llvm::Value *a = magnitude(x), *b = magnitude(y), *infinity = bits_of_infinity();
    llvm::BasicBlock *in_range = block("in_range"), *divide = block("divide"),
                     *none = block("none"), *small = block("small");
    auto* outside = b_.CreateOr(
        b_.CreateICmpUGE(a, infinity),
        b_.CreateOr(b_.CreateICmpEQ(b, number(bits_, 0)), b_.CreateICmpUGT(b, infinity)));
    b_.CreateCondBr(outside, none, in_range);
    b_.SetInsertPoint(none);
    b_.CreateRet(llvm::ConstantFP::getNaN(type_));
    b_.SetInsertPoint(in_range);
    b_.CreateCondBr(b_.CreateICmpULT(a, b), small, divide);
    b_.SetInsertPoint(small);
    b_.CreateRet(x);
    b_.SetInsertPoint(divide);
    llvm::Value* remainder = places_divided(a, b);
    llvm::Value* product = b_.CreateFMul(b_.CreateUIToFP(remainder, type_), unit(exponent(b)));
    b_.CreateRet(b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, product, x));
  }

 private:
  llvm::BasicBlock* block(const char* name) {
    return llvm::BasicBlock::Create(b_.getContext(), name, &function_);
  }
  static llvm::Constant* number(llvm::Type* type, std::uint64_t n) {
    return llvm::ConstantInt::get(type, n);
  }
  llvm::Value* bits_of_infinity() {
    return number(bits_, (std::uint64_t{2} * bias_ + 1) << (digits_ - 1));
  }
  llvm::Value* magnitude(llvm::Value* value) {
    return b_.CreateBitCast(b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value), bits_);
  }
  // That of the smallest normal number is 1, and of all below too.
  llvm::Value* exponent(llvm::Value* magnitude) {
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, b_.CreateLShr(magnitude, digits_ - 1),
                                    number(bits_, 1));
  }
  llvm::Value* whole(llvm::Value* magnitude) {
    std::uint64_t first = std::uint64_t{1} << (digits_ - 1);
    auto* rest = b_.CreateAnd(magnitude, number(bits_, first - 1));
    auto* is_normal = b_.CreateICmpUGE(magnitude, number(bits_, first));
    return b_.CreateZExt(
        b_.CreateOr(rest, b_.CreateSelect(is_normal, number(bits_, first), number(bits_, 0))),
        b_.getInt64Ty());
  }

  // a 2^(p-q) mod b.
  llvm::Value* places_divided(llvm::Value* x, llvm::Value* y) {
    llvm::Value* by = whole(y);
    llvm::Value* first = b_.CreateURem(whole(x), by);
    llvm::Value* all =
        b_.CreateZExtOrTrunc(b_.CreateSub(exponent(x), exponent(y)), b_.getInt64Ty());
    llvm::BasicBlock *before = b_.GetInsertBlock(), *loop = block("loop"), *turn = block("turn"),
                     *done = block("done");
    b_.CreateBr(loop);
    b_.SetInsertPoint(loop);
    auto *rest = b_.CreatePHI(b_.getInt64Ty(), 2), *places = b_.CreatePHI(b_.getInt64Ty(), 2);
    rest->addIncoming(first, before);
    places->addIncoming(all, before);
    b_.CreateCondBr(b_.CreateICmpEQ(places, b_.getInt64(0)), done, turn);
    b_.SetInsertPoint(turn);
    auto* taken =
        b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, places, b_.getInt64(64 - digits_));
    rest->addIncoming(b_.CreateURem(b_.CreateShl(rest, taken), by), turn);
    places->addIncoming(b_.CreateSub(places, taken), turn);
    b_.CreateBr(loop);
    b_.SetInsertPoint(done);
    return rest;
  }

  // The value of the last binary place of a number of this exponent.
  llvm::Value* unit(llvm::Value* exponent) {
    auto* places = number(bits_, digits_ - 1);
    auto* normal = b_.CreateShl(b_.CreateSub(exponent, places), places);
    auto* below = b_.CreateShl(number(bits_, 1), b_.CreateSub(exponent, number(bits_, 1)));
    return b_.CreateBitCast(b_.CreateSelect(b_.CreateICmpUGT(exponent, places), normal, below),
                            type_);
  }

  llvm::Function& function_;
  llvm::IRBuilder<>& b_;
  llvm::Type *type_, *bits_;
  unsigned digits_, bias_;
};

}  // namespace

llvm::Value* Emitter::remainder(llvm::Value* x, llvm::Value* y) {
  llvm::Type* type = x->getType();
  check(!type->isVectorTy(), "a GPU's threads have single elements");
  std::string name = type->isFloatTy() ? "remainder_f32" : "remainder_f64";
  llvm::Function* function = module_.getFunction(name);
  if (function == nullptr) {
    function = llvm::Function::Create(llvm::FunctionType::get(type, {type, type}, false),
                                      llvm::Function::InternalLinkage, name, module_);
    function->addFnAttr(llvm::Attribute::NoUnwind);
    function->setMemoryEffects(llvm::MemoryEffects::none());
    llvm::IRBuilderBase::InsertPointGuard guard(b_);
    b_.SetCurrentDebugLocation({});
    RemainderWriter(*function, b_).run();
  }
  return b_.CreateCall(function, {x, y});
}

}  // namespace tilewright::dsl::gpu
