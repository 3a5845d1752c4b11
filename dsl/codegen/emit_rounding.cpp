// Rounding to bf16 and scaling by powers of two, which AVX-512 has instructions for.
#include <llvm/IR/IntrinsicsX86.h>

#include "dsl/codegen/emitter.h"

namespace tilewright::dsl {

namespace {

// Of a vector of f32; 0: of what is none.
unsigned f32_lanes(const llvm::Value* value) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return vector == nullptr || !vector->getElementType()->isFloatTy() ? 0 : vector->getNumElements();
}

}  // namespace

// A single number is the first lane of four.
llvm::Value* Emitter::scale(llvm::Value* x, llvm::Value* n) {
  if (!target_.has_avx512()) return Arithmetic::scale(x, n);
  if (x->getType()->isFloatTy()) {
    auto* none = llvm::PoisonValue::get(llvm::FixedVectorType::get(b_.getFloatTy(), 4));
    auto* scaled = scale(b_.CreateInsertElement(none, x, std::uint64_t{0}),
                         b_.CreateInsertElement(none, n, std::uint64_t{0}));
    return b_.CreateExtractElement(scaled, std::uint64_t{0});
  }
  auto* none = llvm::PoisonValue::get(x->getType());
  constexpr int rounding_of_the_mode = 4;
  switch (f32_lanes(x)) {
    case 16:
      return b_.CreateIntrinsic(
          llvm::Intrinsic::x86_avx512_mask_scalef_ps_512, {},
          {x, n, none, b_.getInt16(0xffff), b_.getInt32(rounding_of_the_mode)});
    case 8:
      return b_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_scalef_ps_256, {},
                                {x, n, none, b_.getInt8(0xff)});
    case 4:
      return b_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_scalef_ps_128, {},
                                {x, n, none, b_.getInt8(0xff)});
    default: return Arithmetic::scale(x, n);
  }
}

// The instruction takes subnormal numbers for zeros. With the exponent of 1 instead of their own
// their digits are rounded at the same place; the exponent is taken off the result, in which a
// carry has become the smallest normal number.
llvm::Value* Emitter::narrow_to_bf16(llvm::Value* value) {
  unsigned lanes = f32_lanes(value);
  if (!target_.has_bf16_dot || (lanes != 16 && lanes != 8))
    return Arithmetic::narrow_to_bf16(value);
  constexpr int subnormal = 0x20, exponent_of_one = 0x3f80;
  auto* wide = llvm::FixedVectorType::get(b_.getInt32Ty(), lanes);
  auto* narrow = llvm::FixedVectorType::get(b_.getInt16Ty(), lanes);
  auto* is_subnormal = b_.CreateIntrinsic(lanes == 16 ? llvm::Intrinsic::x86_avx512_fpclass_ps_512
                                                      : llvm::Intrinsic::x86_avx512_fpclass_ps_256,
                                          {}, {value, b_.getInt32(subnormal)});
  auto* bits = b_.CreateBitCast(value, wide);
  auto* lifted = b_.CreateOr(bits, llvm::ConstantInt::get(wide, exponent_of_one << 16));
  auto* normal = b_.CreateBitCast(b_.CreateSelect(is_subnormal, lifted, bits), value->getType());
  auto* rounded = b_.CreateBitCast(
      b_.CreateIntrinsic(lanes == 16 ? llvm::Intrinsic::x86_avx512bf16_cvtneps2bf16_512
                                     : llvm::Intrinsic::x86_avx512bf16_cvtneps2bf16_256,
                         {}, {normal}),
      narrow);
  auto* lowered = b_.CreateSub(rounded, llvm::ConstantInt::get(narrow, exponent_of_one));
  return b_.CreateSelect(is_subnormal, lowered, rounded);
}

}  // namespace tilewright::dsl
