// PTX that the author of a kernel wrote: which elements of a tile go into which registers.
#include "dsl/codegen/gpu/device/inline_asm.h"
#include "dsl/codegen/gpu/emit/emitter.h"

namespace tilewright::dsl::gpu {

using ir::Inst;
using ir::Value;

namespace {

using Values = std::vector<llvm::Value*>;

llvm::Value* bits_of_element(llvm::IRBuilder<>& b, llvm::Value* element, DType dtype) {
  auto* type = b.getIntNTy(static_cast<unsigned>(ir::element_bits(dtype)));
  return is_boolean(dtype) ? b.CreateZExt(element, type) : b.CreateBitCast(element, type);
}

llvm::Value* element_of_bits(llvm::IRBuilder<>& b, llvm::Value* bits, llvm::Type* type) {
  if (type->isIntegerTy(1)) return b.CreateICmpNE(bits, llvm::ConstantInt::get(bits->getType(), 0));
  return b.CreateBitCast(bits, type);
}

// Elements of one tile in registers, the first in the lowest bits; above them are zeros.
Values in_registers(llvm::IRBuilder<>& b, const Values& elements, DType dtype,
                    std::string_view letters) {
  const auto each = elements.size() / letters.size();
  const auto bits = static_cast<unsigned>(ir::element_bits(dtype));
  auto* several = llvm::FixedVectorType::get(b.getIntNTy(bits), static_cast<unsigned>(each));
  Values registers;
  for (std::size_t r = 0; r < letters.size(); ++r) {
    llvm::Value* vector = llvm::PoisonValue::get(several);
    for (std::size_t i = 0; i < each; ++i)
      vector = b.CreateInsertElement(vector, bits_of_element(b, elements[r * each + i], dtype), i);
    auto* word = b.CreateBitCast(vector, b.getIntNTy(bits * static_cast<unsigned>(each)));
    llvm::Type* type = register_type(b.getContext(), letters[r]);
    registers.push_back(type->isFloatingPointTy() ? b.CreateBitCast(word, type)
                                                  : b.CreateZExt(word, type));
  }
  return registers;
}

Values out_of_registers(llvm::IRBuilder<>& b, const Values& registers, DType dtype,
                        std::size_t each, llvm::Type* element) {
  const auto bits = static_cast<unsigned>(ir::element_bits(dtype));
  const auto all = bits * static_cast<unsigned>(each);
  auto* several = llvm::FixedVectorType::get(b.getIntNTy(bits), static_cast<unsigned>(each));
  Values elements;
  for (llvm::Value* word : registers) {
    if (word->getType()->isFloatingPointTy()) word = b.CreateBitCast(word, b.getIntNTy(all));
    llvm::Value* vector = b.CreateBitCast(b.CreateTrunc(word, b.getIntNTy(all)), several);
    for (std::size_t i = 0; i < each; ++i)
      elements.push_back(element_of_bits(b, b.CreateExtractElement(vector, i), element));
  }
  return elements;
}

}  // namespace

// The elements that a thread holds, once each, in groups of `pack`; the last group is filled by its
// last element.
void Emitter::inline_asm(const Inst& inst) {
  const ir::Assembly assembly = ir::assembly_of(inst.get<ir::Text>().text);
  const ir::RegisterLetters letters = ir::letters_of(assembly);
  const Value result = inst.results[0];
  const DType dtype = function_.type(result).dtype;
  const auto pack = static_cast<std::size_t>(assembly.pack);
  const auto each = static_cast<std::size_t>(ir::elements_in_register(dtype, assembly.pack));
  const std::string given =
      letters.results.substr(static_cast<std::size_t>(assembly.from), pack / each);
  llvm::FunctionCallee ptx = inline_asm_op(module_, assembly, given, letters.operands,
                                           ir::source_place(inst), function_.name);

  std::vector<Values> operands;
  for (Value operand : inst.operands)
    operands.push_back(is_tile(operand) ? get(operand).values : Values{scalars_[operand]});
  std::vector<int> first{0};
  if (is_tile(result)) first = layout::first_duplicates(function_.layout(result));
  std::vector<std::size_t> held;
  for (std::size_t r = 0; r < first.size(); ++r)
    if (first[r] == static_cast<int>(r)) held.push_back(r);

  Values out(first.size());
  for (std::size_t begin = 0; begin < held.size(); begin += pack) {
    Values registers;
    std::size_t at = 0;  // of the operands' letters
    for (std::size_t i = 0; i < operands.size(); ++i) {
      Values group;
      for (std::size_t e = begin; e < begin + pack; ++e)
        group.push_back(operands[i][held[std::min(e, held.size() - 1)]]);
      const DType type = function_.type(inst.operands[i]).dtype;
      const auto count = static_cast<std::size_t>(ir::registers_of(type, assembly.pack));
      Values words =
          in_registers(b_, group, type, i == 0 ? given : letters.operands.substr(at, count));
      registers.insert(registers.end(), words.begin(), words.end());
      at += i == 0 ? 0 : count;
    }
    llvm::Value* call = b_.CreateCall(ptx, registers);
    Values words;
    for (unsigned i = 0; i < given.size(); ++i)
      words.push_back(given.size() == 1 ? call : b_.CreateExtractValue(call, i));
    Values elements = out_of_registers(b_, words, dtype, each, element_type(dtype));
    for (std::size_t e = begin; e < std::min(begin + pack, held.size()); ++e)
      out[held[e]] = elements[e - begin];
  }
  for (std::size_t r = 0; r < first.size(); ++r) out[r] = out[static_cast<std::size_t>(first[r])];
  if (is_tile(result))
    set(result, {function_.layout(result), std::move(out), nullptr});
  else
    scalars_[result] = out[0];
}

}  // namespace tilewright::dsl::gpu
