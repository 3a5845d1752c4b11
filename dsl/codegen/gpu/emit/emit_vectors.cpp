// Vectors of elements in registers: several elements as one vector, and two of 16 bits as one word.
#include <algorithm>

#include "dsl/codegen/gpu/device/device_ops.h"
#include "dsl/codegen/gpu/emit/emitter.h"

namespace tilewright::dsl::gpu {

namespace {

// The operation that rounds two numbers as this call does one; empty if it does not, or there is
// none.
std::string rounding_of_two(const llvm::Value* value) {
  auto* call = llvm::dyn_cast<llvm::CallInst>(value);
  if (call == nullptr || !call->getCalledFunction()->getName().starts_with("td.to_")) return "";
  std::string name = call->getCalledFunction()->getName().drop_front(3).str() + "x2";
  return find_device_op(name) ? name : "";
}

// The vector that all of these are the elements of, in order, or null.
llvm::Value* taken_apart(const std::vector<llvm::Value*>& elements) {
  llvm::Value* vector = nullptr;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    auto* extract = llvm::dyn_cast<llvm::ExtractElementInst>(elements[i]);
    auto* index = extract ? llvm::dyn_cast<llvm::ConstantInt>(extract->getIndexOperand()) : nullptr;
    if (index == nullptr || index->getZExtValue() != i) return nullptr;
    if (i > 0 && vector != extract->getVectorOperand()) return nullptr;
    vector = extract->getVectorOperand();
  }
  auto* type = llvm::cast<llvm::FixedVectorType>(vector->getType());
  return type->getNumElements() == elements.size() ? vector : nullptr;
}

bool is_half_word(const llvm::Type* type) { return type->getPrimitiveSizeInBits() == 16; }

}  // namespace

// Elements one after the other. Two that are rounded on the way are by one instruction, where there
// is one.
llvm::Value* Emitter::vector_of(const std::vector<llvm::Value*>& elements) {
  if (llvm::Value* whole = taken_apart(elements)) return whole;
  llvm::Value* vector = nullptr;
  auto insert = [&](llvm::Value* element, std::size_t at, std::size_t size) {
    if (at == 0)
      vector = llvm::PoisonValue::get(
          llvm::FixedVectorType::get(element->getType(), static_cast<unsigned>(size)));
    vector = b_.CreateInsertElement(vector, element, at);
  };
  std::size_t size = elements.size();
  const std::string rounding = rounding_of_two(elements[0]);
  bool rounded = !rounding.empty() && std::ranges::all_of(elements, [&](llvm::Value* element) {
    return rounding_of_two(element) == rounding;
  });
  if (!rounded || size % 2 != 0) {
    for (std::size_t i = 0; i < size; ++i) insert(elements[i], i, size);
    return vector;
  }
  auto exact = [&](std::size_t i) {
    return llvm::cast<llvm::CallInst>(elements[i])->getArgOperand(0);
  };
  for (std::size_t i = 0; i < size; i += 2)
    insert(device(rounding, {exact(i + 1), exact(i)}), i / 2, size / 2);
  return b_.CreateBitCast(
      vector, llvm::FixedVectorType::get(elements[0]->getType(), static_cast<unsigned>(size)));
}

llvm::Value* Emitter::narrow_to_upper_half(llvm::Value* value, DType to) {
  return device(concat("to_", name_of(to)), {value});
}

// For two that were loaded in one word, either is an instruction away.
llvm::Value* Emitter::widen_upper_half(llvm::Value* value) {
  auto* extract = llvm::dyn_cast<llvm::ExtractElementInst>(value);
  if (extract == nullptr) return Arithmetic::widen_upper_half(value);
  auto* vector = llvm::cast<llvm::FixedVectorType>(extract->getVectorOperand()->getType());
  unsigned size = vector->getNumElements();
  auto* index = llvm::dyn_cast<llvm::ConstantInt>(extract->getIndexOperand());
  if (index == nullptr || size % 2 != 0) return Arithmetic::widen_upper_half(value);
  llvm::Value* words = b_.CreateBitCast(extract->getVectorOperand(),
                                        llvm::FixedVectorType::get(b_.getInt32Ty(), size / 2));
  llvm::Value* word = b_.CreateExtractElement(words, index->getZExtValue() / 2);
  word = index->getZExtValue() % 2 == 0 ? b_.CreateShl(word, 16) : b_.CreateAnd(word, 0xFFFF0000U);
  return b_.CreateBitCast(word, b_.getFloatTy());
}

// Registers have 32 bits: two values of 16 are one, and half as much to compile.
std::vector<llvm::Value*> Emitter::in_words(const std::vector<llvm::Value*>& values) {
  if (values.size() % 2 != 0 || !is_half_word(values[0]->getType())) return values;
  std::vector<llvm::Value*> words;
  for (std::size_t i = 0; i < values.size(); i += 2)
    words.push_back(b_.CreateBitCast(vector_of({values[i], values[i + 1]}), b_.getInt32Ty()));
  return words;
}

std::vector<llvm::Value*> Emitter::out_of_word(llvm::Value* word, llvm::Type* type) {
  if (word->getType() == type) return {word};
  llvm::Value* pair = b_.CreateBitCast(word, llvm::FixedVectorType::get(type, 2));
  return {b_.CreateExtractElement(pair, std::uint64_t{0}),
          b_.CreateExtractElement(pair, std::uint64_t{1})};
}

}  // namespace tilewright::dsl::gpu
