// Rounding to bf16 and scaling by powers of two, which AVX-512 has instructions for.
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsX86.h>

#include "dsl/codegen/host/emitter.h"

namespace tilewright::dsl {

namespace {

// The lanes of a vector of f32; 0 if the value is none.
unsigned f32_lanes(const llvm::Value* value) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return vector == nullptr || !vector->getElementType()->isFloatTy() ? 0 : vector->getNumElements();
}

constexpr std::uint64_t upper_half = 0xffff0000;

// Whether, if this value is a NaN, only bits are set that bf16 has too. That holds for results of
// arithmetic on values of bf16 and on numbers, since arithmetic propagates the NaN of an operand.
bool has_short_nans(const llvm::Value* value, int& steps_left) {
  if (const auto* constant = llvm::dyn_cast<llvm::Constant>(value)) {
    const auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(
        constant->getType()->isVectorTy() ? constant->getSplatValue() : constant);
    return number != nullptr && !number->isNaN();
  }
  const auto* inst = llvm::dyn_cast<llvm::Instruction>(value);
  if (inst == nullptr || --steps_left < 0) return false;
  auto all = [&](auto operands) {
    return llvm::all_of(operands, [&](const llvm::Value* operand) {
      return !operand->getType()->isFPOrFPVectorTy() || has_short_nans(operand, steps_left);
    });
  };
  if (const auto* cast = llvm::dyn_cast<llvm::BitCastInst>(inst)) {
    const auto* bits = llvm::dyn_cast<llvm::BinaryOperator>(cast->getOperand(0));
    const auto* by =
        bits == nullptr ? nullptr : llvm::dyn_cast<llvm::Constant>(bits->getOperand(1));
    const auto* number =
        by == nullptr ? nullptr : llvm::dyn_cast_or_null<llvm::ConstantInt>(by->getSplatValue());
    return number != nullptr &&
           ((bits->getOpcode() == llvm::Instruction::Shl && number->equalsInt(16)) ||
            (bits->getOpcode() == llvm::Instruction::And && number->equalsInt(upper_half)));
  }
  if (llvm::isa<llvm::SelectInst, llvm::UnaryOperator>(inst) ||
      (llvm::isa<llvm::BinaryOperator>(inst) && inst->getType()->isFPOrFPVectorTy()))
    return all(inst->operand_values());
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(inst);
  if (call == nullptr) return false;
  switch (call->getIntrinsicID()) {
    case llvm::Intrinsic::fma:
    case llvm::Intrinsic::fabs:
    case llvm::Intrinsic::maximum:
    case llvm::Intrinsic::minimum:
    case llvm::Intrinsic::sqrt: return all(call->args());
    default: return false;
  }
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

// A value that is rounded to bf16 and widened again is rounded in place, by five short operations.
// Narrowing and widening take six, most of them with a long latency, and everything after waits for
// them.
llvm::Value* Emitter::widen_upper_half(llvm::Value* value) {
  auto found = narrowed_.find(value);
  if (found == narrowed_.end()) return Arithmetic::widen_upper_half(value);
  llvm::Value* wide = found->second;
  int most_steps = 64;
  auto* rounded = round_to_upper_half(wide, !has_short_nans(wide, most_steps));
  auto* upper = b_.CreateAnd(rounded, llvm::ConstantInt::get(rounded->getType(), upper_half));
  return b_.CreateBitCast(upper, wide->getType());
}

llvm::Value* Emitter::narrow_to_upper_half(llvm::Value* value, DType to) {
  llvm::Value* narrow = narrowed_by_instruction(value);
  if (narrow == nullptr) narrow = Arithmetic::narrow_to_upper_half(value, to);
  if (f32_lanes(value) != 0 && !llvm::isa<llvm::Constant>(narrow)) narrowed_[narrow] = value;
  return narrow;
}

// The instruction treats subnormal numbers as zeros. So they are given the exponent of 1, with
// which their digits are rounded at the same position, and it is removed from the result; a carry
// then gives the smallest normal number. (What takes the result as zero then is spared that.) Null:
// the target has no such instruction.
llvm::Value* Emitter::narrowed_by_instruction(llvm::Value* value) {
  unsigned lanes = f32_lanes(value);
  if (!target_.has_dots || (lanes != 16 && lanes != 8)) return nullptr;
  constexpr int subnormal = 0x20, exponent_of_one = 0x3f80;
  auto* wide = llvm::FixedVectorType::get(b_.getInt32Ty(), lanes);
  auto* narrow = llvm::FixedVectorType::get(b_.getInt16Ty(), lanes);
  auto rounding = [&](llvm::Value* x) {
    return b_.CreateBitCast(
        b_.CreateIntrinsic(lanes == 16 ? llvm::Intrinsic::x86_avx512bf16_cvtneps2bf16_512
                                       : llvm::Intrinsic::x86_avx512bf16_cvtneps2bf16_256,
                           {}, {x}),
        narrow);
  };
  if (flushes_) return rounding(value);
  auto* is_subnormal = b_.CreateIntrinsic(lanes == 16 ? llvm::Intrinsic::x86_avx512_fpclass_ps_512
                                                      : llvm::Intrinsic::x86_avx512_fpclass_ps_256,
                                          {}, {value, b_.getInt32(subnormal)});
  auto* bits = b_.CreateBitCast(value, wide);
  auto* lifted = b_.CreateOr(bits, llvm::ConstantInt::get(wide, exponent_of_one << 16));
  auto* normal = b_.CreateBitCast(b_.CreateSelect(is_subnormal, lifted, bits), value->getType());
  auto* rounded = rounding(normal);
  auto* lowered = b_.CreateSub(rounded, llvm::ConstantInt::get(narrow, exponent_of_one));
  return b_.CreateSelect(is_subnormal, lowered, rounded);
}

}  // namespace tilewright::dsl
