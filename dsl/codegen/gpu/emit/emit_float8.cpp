// Floats of 8 bits: conversions by instruction where there are some, and fragments of products as
// f16, which holds them exactly, where tensor cores do not take them as they are.
#include "dsl/codegen/gpu/emit/emitter.h"

namespace tilewright::dsl::gpu {

namespace {

std::string_view word_of(DType dtype) { return dtype == DType::f8e4m3 ? "e4m3" : "e5m2"; }

// Single elements of the two types that NVIDIA's GPUs know.
bool is_converted(const Target& target, llvm::Value* value, DType dtype) {
  return target.gpu().converts_float8 && !is_fnuz(dtype) && !value->getType()->isVectorTy();
}

}  // namespace

llvm::Value* Emitter::widen_float8(llvm::Value* value, DType dtype) {
  if (!is_converted(target_, value, dtype)) return Arithmetic::widen_float8(value, dtype);
  llvm::Value* pair =
      device(concat("from_", word_of(dtype), "x2"), {b_.CreateZExt(value, b_.getInt16Ty())});
  auto* halves = b_.CreateBitCast(pair, llvm::FixedVectorType::get(b_.getHalfTy(), 2));
  return b_.CreateFPExt(b_.CreateExtractElement(halves, std::uint64_t{0}), b_.getFloatTy());
}

llvm::Value* Emitter::rounded_to_float8(llvm::Value* magnitude, DType dtype) {
  if (!is_converted(target_, magnitude, dtype))
    return Arithmetic::rounded_to_float8(magnitude, dtype);
  auto* zero = llvm::ConstantFP::get(b_.getFloatTy(), 0);
  llvm::Value* pair = device(concat("to_", word_of(dtype), "x2"), {zero, magnitude});
  return b_.CreateAnd(b_.CreateZExt(pair, b_.getInt32Ty()), i32(0xFF));
}

bool Emitter::multiplies_float8() const { return target_.gpu().multiplies_float8; }

// The codes in a word as pairs of f16: the lower two, the upper two.
std::pair<llvm::Value*, llvm::Value*> Emitter::halves(llvm::Value* word, emulator::Format format) {
  if (target_.gpu().converts_float8) {
    auto pair = [&](llvm::Value* codes) {
      return device(format == emulator::Format::e4m3 ? "from_e4m3x2" : "from_e5m2x2",
                    {b_.CreateTrunc(codes, b_.getInt16Ty())});
    };
    return {pair(word), pair(b_.CreateLShr(word, 16))};
  }
  auto of = [&](llvm::Value* codes) -> llvm::Value* {  // at the top of each half
    if (format == emulator::Format::e5m2) return codes;
    auto* magnitude = b_.CreateAnd(codes, i32(0x7F007F00));
    auto* small = b_.CreateOr(b_.CreateLShr(magnitude, 1), b_.CreateAnd(codes, i32(0x80008000)));
    auto* pair = llvm::FixedVectorType::get(b_.getHalfTy(), 2);
    auto* value = b_.CreateFMul(b_.CreateBitCast(small, pair), llvm::ConstantFP::get(pair, 256));
    // All ones are no number.
    auto* top = b_.CreateAnd(b_.CreateAdd(magnitude, i32(0x01000100)), i32(0x80008000));
    auto* ones = b_.CreateSub(top, b_.CreateLShr(top, 15));
    return b_.CreateOr(b_.CreateBitCast(value, b_.getInt32Ty()), ones);
  };
  return {of(device("byte_perm", {word, i32(0), i32(0x1404)})),
          of(device("byte_perm", {word, i32(0), i32(0x3424)}))};
}

// A fragment for one instruction of k = 32 becomes two of k = 16. Where a word's four neighbours
// along k stand there does not matter, as long as it is the same place in both operands.
void Emitter::widen_fragments(Words& left, Words& right, emulator::Format format,
                              std::size_t steps) {
  Words wide;
  for (std::size_t first = 0; first < left.size(); first += 2) {
    auto [low, high] = halves(left[first], format);
    auto [low_below, high_below] = halves(left[first + 1], format);
    wide.insert(wide.end(), {low, low_below, high, high_below});
  }
  std::swap(left, wide);
  wide.assign(2 * right.size(), nullptr);
  std::size_t columns = right.size() / (2 * steps);
  for (std::size_t i = 0; i < right.size(); ++i) {
    std::size_t step = i / 2 / columns, column = i / 2 % columns;
    std::size_t at = 2 * ((2 * step + i % 2) * columns + column);
    std::tie(wide[at], wide[at + 1]) = halves(right[i], format);
  }
  std::swap(right, wide);
}

}  // namespace tilewright::dsl::gpu
