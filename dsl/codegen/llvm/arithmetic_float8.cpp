// Floats of 8 bits (runtime/base/float8.h) in LLVM IR, on single elements and on vectors alike.
#include <cmath>

#include "dsl/codegen/llvm/arithmetic.h"

namespace tilewright::dsl {
namespace {

constexpr std::uint32_t one_exponent = 1U << 23;  // of a float

int mantissa_bits(DType dtype) { return digits(dtype) - 1; }
std::uint32_t rebias(DType dtype) {
  return static_cast<std::uint32_t>(exponent_bias(DType::f32) - exponent_bias(dtype)) *
         one_exponent;
}

}  // namespace

llvm::Value* Arithmetic::widen_float8(llvm::Value* value, DType dtype) {
  llvm::Type *word = like(value, b_.getInt32Ty()), *single = like(value, b_.getFloatTy());
  auto number = [&](std::uint32_t x) { return llvm::ConstantInt::get(word, x); };
  if (dtype == DType::f8e5m2) {
    auto* half = b_.CreateShl(b_.CreateZExt(value, like(value, b_.getInt16Ty())), 8);
    return b_.CreateFPExt(b_.CreateBitCast(half, like(value, b_.getHalfTy())), single);
  }
  auto* bits = b_.CreateZExt(value, word);
  auto* magnitude = b_.CreateAnd(bits, number(0x7f));
  const int mantissa = mantissa_bits(dtype);
  auto* normal = b_.CreateAdd(b_.CreateShl(magnitude, static_cast<std::uint64_t>(23 - mantissa)),
                              number(rebias(dtype)));
  double step = std::ldexp(1.0, 1 - exponent_bias(dtype) - mantissa);  // below the normal numbers
  auto* least =
      b_.CreateFMul(b_.CreateUIToFP(magnitude, single), llvm::ConstantFP::get(single, step));
  auto* code = b_.CreateSelect(b_.CreateICmpULT(magnitude, number(1U << mantissa)),
                               b_.CreateBitCast(least, word), normal);
  auto* is_nan = is_fnuz(dtype) ? b_.CreateICmpEQ(bits, number(0x80))
                                : b_.CreateICmpEQ(magnitude, number(0x7f));
  code = b_.CreateSelect(is_nan, number(0x7fc00000), code);
  auto* sign = b_.CreateShl(b_.CreateAnd(bits, number(0x80)), 24);
  return b_.CreateBitCast(b_.CreateOr(code, sign), single);
}

llvm::Value* Arithmetic::rounded_to_float8(llvm::Value* magnitude, DType dtype) {
  llvm::Type *word = like(magnitude, b_.getInt32Ty()), *single = magnitude->getType();
  auto number = [&](std::uint32_t x) { return llvm::ConstantInt::get(word, x); };
  int dropped = 23 - mantissa_bits(dtype);
  auto* bits = b_.CreateBitCast(magnitude, word);
  // Below the normal numbers, whose steps are those of this number, the adder rounds.
  std::uint32_t step = rebias(dtype) + (static_cast<std::uint32_t>(dropped) + 1) * one_exponent;
  auto* sum = b_.CreateFAdd(magnitude, b_.CreateBitCast(number(step), single));
  auto* small = b_.CreateSub(b_.CreateBitCast(sum, word), number(step));
  auto* odd = b_.CreateAnd(b_.CreateLShr(bits, static_cast<std::uint64_t>(dropped)), number(1));
  std::uint32_t half = (1U << (dropped - 1)) - 1;
  auto* rounded = b_.CreateAdd(b_.CreateAdd(bits, odd), number(half - rebias(dtype)));
  auto* normal = b_.CreateLShr(rounded, static_cast<std::uint64_t>(dropped));
  return b_.CreateSelect(b_.CreateICmpULT(bits, number(rebias(dtype) + one_exponent)), small,
                         normal);
}

llvm::Value* Arithmetic::narrow_to_float8(llvm::Value* value, DType dtype) {
  llvm::Type *word = like(value, b_.getInt32Ty()), *single = value->getType();
  auto number = [&](std::uint32_t x) { return llvm::ConstantInt::get(word, x); };
  auto* bits = b_.CreateBitCast(value, word);
  auto* magnitude = b_.CreateAnd(bits, number(0x7fffffff));
  llvm::Value* code = rounded_to_float8(b_.CreateBitCast(magnitude, single), dtype);
  if (is_fnuz(dtype)) {
    auto* sign = b_.CreateAnd(b_.CreateLShr(bits, 24), number(0x80));
    // There is no -0, and what has more than 7 bits is too large or no number.
    auto* signed_code =
        b_.CreateSelect(b_.CreateICmpEQ(code, number(0)), number(0), b_.CreateOr(code, sign));
    code = b_.CreateSelect(b_.CreateICmpUGT(code, number(0x7f)), number(0x80), signed_code);
    return b_.CreateTrunc(code, like(value, b_.getInt8Ty()));
  }
  if (dtype == DType::f8e4m3) {
    // 464 still rounds to 448, and what is greater becomes that.
    code = b_.CreateSelect(b_.CreateICmpUGT(magnitude, number(0x43e80000)), number(0x7e), code);
  } else {
    // 61440 rounds to infinity.
    code = b_.CreateSelect(b_.CreateICmpUGE(magnitude, number(0x47700000)), number(0x7c), code);
  }
  code = b_.CreateSelect(b_.CreateICmpUGT(magnitude, number(0x7f800000)), number(0x7f), code);
  auto* sign = b_.CreateAnd(b_.CreateLShr(bits, 24), number(0x80));
  return b_.CreateTrunc(b_.CreateOr(code, sign), like(value, b_.getInt8Ty()));
}

}  // namespace tilewright::dsl
