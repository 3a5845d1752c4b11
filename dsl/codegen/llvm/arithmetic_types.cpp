// Types of elements in LLVM IR, in registers, in memory and as constants, and conversions between
// them.
#include "dsl/codegen/llvm/arithmetic.h"

#include <cmath>

namespace tilewright::dsl {

llvm::Type* Arithmetic::element_type(DType dtype) const {
  if (is_boolean(dtype)) return llvm::Type::getInt1Ty(context_);
  return memory_type(dtype);
}

llvm::Type* Arithmetic::memory_type(DType dtype) const {
  switch (dtype) {
    case DType::f16: return llvm::Type::getHalfTy(context_);
    case DType::f32: return llvm::Type::getFloatTy(context_);
    case DType::f64: return llvm::Type::getDoubleTy(context_);
    default: return llvm::Type::getIntNTy(context_, static_cast<unsigned>(bit_width(dtype)));
  }
}

llvm::Value* Arithmetic::from_memory(llvm::Value* value, DType dtype) {
  if (!is_boolean(dtype)) return value;
  return b_.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
}

llvm::Value* Arithmetic::to_memory(llvm::Value* value, DType dtype) {
  if (!is_boolean(dtype)) return value;
  llvm::Type* byte = b_.getInt8Ty();
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType()))
    byte = llvm::FixedVectorType::get(byte, vector->getNumElements());
  return b_.CreateZExt(value, byte);
}

llvm::Constant* Arithmetic::constant(const ir::Scalar& scalar) {
  llvm::Type* type = element_type(scalar.dtype);
  if (type->isFloatingPointTy()) return llvm::ConstantFP::get(type, scalar.floating);
  if (is_floating(scalar.dtype))  // one that LLVM does not see
    return llvm::ConstantInt::get(type, bits_of(scalar.dtype, scalar.floating));
  return llvm::ConstantInt::get(type, static_cast<std::uint64_t>(scalar.integer), true);
}

llvm::Value* Arithmetic::widen_upper_half(llvm::Value* value) {
  auto* wide = b_.CreateZExt(value, like(value, b_.getInt32Ty()));
  return b_.CreateBitCast(b_.CreateShl(wide, 16), like(value, b_.getFloatTy()));
}

llvm::Value* Arithmetic::round_to_upper_half(llvm::Value* value, bool has_long_nans) {
  auto* type = like(value, b_.getInt32Ty());
  auto* bits = b_.CreateBitCast(value, type);
  auto* odd = b_.CreateAnd(b_.CreateLShr(bits, 16), llvm::ConstantInt::get(type, 1));
  auto* rounded = b_.CreateAdd(b_.CreateAdd(bits, llvm::ConstantInt::get(type, 0x7fff)), odd);
  if (!has_long_nans) return rounded;
  auto* quiet = b_.CreateOr(bits, llvm::ConstantInt::get(type, 0x400000));
  return b_.CreateSelect(b_.CreateFCmpUNO(value, value), quiet, rounded);
}

llvm::Value* Arithmetic::narrow_to_upper_half(llvm::Value* value, DType) {
  auto* rounded = round_to_upper_half(value, /*has_long_nans=*/true);
  return b_.CreateTrunc(b_.CreateLShr(rounded, 16), like(value, b_.getInt16Ty()));
}

llvm::Value* Arithmetic::narrow_integers(llvm::Value* value, DType to) {
  llvm::Type *type = value->getType(), *wide = like(value, b_.getInt32Ty());
  const int above = 1 << (bit_width(to) - (is_signed(to) ? 1 : 0));
  auto* low = llvm::ConstantFP::get(type, is_signed(to) ? -above : 0);
  auto* high = llvm::ConstantFP::get(type, above - 1);
  auto* some = b_.CreateSelect(b_.CreateFCmpOGT(value, low), value, low);
  auto* bounded = b_.CreateSelect(b_.CreateFCmpOLT(some, high), some, high);
  llvm::Value* number = b_.CreateFPToSI(bounded, wide);
  if (is_signed(to)) {
    auto* is_number = b_.CreateFCmpORD(value, llvm::Constant::getNullValue(type));
    number = b_.CreateSelect(is_number, number, llvm::Constant::getNullValue(wide));
  }
  return b_.CreateTrunc(number, like(value, element_type(to)));
}

llvm::Value* Arithmetic::signed_integers(llvm::Value* value, llvm::Type* type) {
  if (!type->isVectorTy())
    return b_.CreateIntrinsic(llvm::Intrinsic::fptosi_sat, {type, value->getType()}, {value});
  llvm::Type* floats = value->getType();
  const unsigned bits = type->getScalarSizeInBits();
  const double above = std::ldexp(1.0, static_cast<int>(bits) - 1);
  auto *low = llvm::ConstantFP::get(floats, -above), *high = llvm::ConstantFP::get(floats, above);
  auto* zero = llvm::Constant::getNullValue(floats);
  auto* is_high = b_.CreateFCmpOGE(value, high);
  // Elements that no integer stands for are taken out first: their conversion is not defined.
  auto* some = b_.CreateSelect(b_.CreateFCmpOGE(value, low), value, low);
  auto* number = b_.CreateFPToSI(b_.CreateSelect(is_high, zero, some), type);
  auto* greatest = llvm::ConstantInt::get(type, llvm::APInt::getSignedMaxValue(bits));
  auto* saturated = b_.CreateSelect(is_high, greatest, number);
  auto* is_number = b_.CreateFCmpORD(value, zero);
  return b_.CreateSelect(is_number, saturated, llvm::Constant::getNullValue(type));
}

llvm::Value* Arithmetic::convert(llvm::Value* value, DType from, DType to) {
  if (from == to) return value;
  llvm::Type* type = element_type(to);
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType()))
    type = llvm::FixedVectorType::get(type, vector->getNumElements());
  auto* zero = llvm::Constant::getNullValue(value->getType());
  if (is_boolean(to))
    return is_floating(from) && bit_width(from) < 32
               ? convert(convert(value, from, DType::f32), DType::f32, to)
           : is_floating(from) ? b_.CreateFCmpUNE(value, zero)
                               : b_.CreateICmpNE(value, zero);
  if (is_floating(from) && is_floating(to)) {
    // Between narrow types f32 is a step on the way, and from f64 to them.
    bool through = bit_width(from) == bit_width(to) ||
                   (from == DType::f64 && bit_width(to) <= 16) ||
                   (is_upper_half(from) && to != DType::f32) ||
                   (is_float8(from) && to != DType::f32) || (is_float8(to) && from != DType::f32);
    if (through) return convert(convert(value, from, DType::f32), DType::f32, to);
    if (is_float8(from)) return widen_float8(value, from);
    if (is_float8(to)) return narrow_to_float8(value, to);
    if (is_upper_half(from)) return widen_upper_half(value);
    if (is_upper_half(to)) return narrow_to_upper_half(value, to);
    return b_.CreateFPCast(value, type);
  }
  if (is_floating(from) && bit_width(from) < 32)
    return convert(convert(value, from, DType::f32), DType::f32, to);
  if (is_floating(from)) {
    if (type->isVectorTy() && bit_width(to) < 32) return narrow_integers(value, to);
    if (is_signed(to)) return signed_integers(value, type);
    return b_.CreateIntrinsic(llvm::Intrinsic::fptoui_sat, {type, value->getType()}, {value});
  }
  bool sign = is_signed(from);
  if (is_floating(to)) {
    if (bit_width(to) < 32) return convert(convert(value, from, DType::f32), DType::f32, to);
    return sign ? b_.CreateSIToFP(value, type) : b_.CreateUIToFP(value, type);
  }
  return b_.CreateIntCast(value, type, sign);
}

}  // namespace tilewright::dsl
