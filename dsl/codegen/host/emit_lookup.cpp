// Values that can be one of sixteen only are looked up in a table.
//
// Weights of four bits become numbers by several operations each: a mask, a conversion, an offset,
// a scale. Where the result depends only on the four bits and on what is the same in all lanes, it
// is computed for the numbers 0 to 15 in one register, from which one instruction then takes the
// result of each lane. The index is the byte from memory, shifted, since the instruction uses only
// four bits of it. The powers of two that exp begins with (dsl/math) are looked up in the same way.
// The looked-up value stands in the program (passes/tabulate.cpp).
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsX86.h>

#include "dsl/codegen/host/emitter.h"
#include "runtime/base/error.h"

namespace tilewright::dsl {

using ir::Inst;
using ir::Op;
using ir::Value;

// The index in lanes of 32 bits, of which the lookup uses the low four.
llvm::Value* Emitter::small_number(const Inst& inst, const Position& position) {
  auto wide = [&](Value value) {
    Lanes lanes = evaluate(value, position);
    return b_.CreateZExtOrTrunc(spread(lanes), lanes_type(b_.getInt32Ty()));
  };
  Value value = inst.operands[0];
  const Inst* shift = defs_.inst(value);
  bool shifts = shift != nullptr && shift->op == Op::shr_ && !slots_.contains(value) &&
                function_.type(value).dtype == DType::u8;
  auto* mask = wide(inst.operands[1]);
  auto masked = [&](llvm::Value* number) {
    return small_numbers_.mask(inst) == table_size - 1 ? number : b_.CreateAnd(number, mask);
  };
  if (!shifts) return masked(wide(value));
  llvm::Value* by = wide(shift->operands[1]);
  auto* most = llvm::ConstantInt::get(by->getType(), 31);
  by = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, by, most);
  return masked(b_.CreateLShr(as_it_is(wide(shift->operands[0])), by));
}

// Hides the value from LLVM behind an empty asm. Else LLVM would shift bytes, for which there is no
// instruction, before it widens them, and would widen them again for each shift. Without
// optimisation it does neither.
llvm::Value* Emitter::as_it_is(llvm::Value* lanes) {
  if (tier_ == CodeTier::quick) return lanes;
  auto* type = llvm::FunctionType::get(lanes->getType(), {lanes->getType()}, false);
  auto* call = b_.CreateCall(type, llvm::InlineAsm::get(type, "", "=v,0", false), {lanes});
  call->setDoesNotAccessMemory();
  call->setDoesNotThrow();
  return call;
}

// The value for the numbers 0 to 15; null if it also depends on anything else that differs between
// lanes.
llvm::Value* Emitter::table_of(Value value, const Inst& number, const Position& position) {
  const Inst* inst = defs_.inst(value);
  if (inst == &number) {
    std::vector<llvm::Constant*> numbers;
    auto* type = element_type(function_.type(value).dtype);
    for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(table_size); ++i)
      numbers.push_back(llvm::ConstantInt::get(type, i));
    return llvm::ConstantVector::get(numbers);
  }
  if (small_numbers_.of(value).inst != nullptr) return table_of(*inst, number, position);
  Lanes lanes = evaluate(value, position);
  return lanes.uniform ? spread(lanes) : nullptr;
}

llvm::Value* Emitter::table_of(const Inst& inst, const Inst& number, const Position& position) {
  std::vector<llvm::Value*> operands;
  for (Value operand : inst.operands) {
    operands.push_back(table_of(operand, number, position));
    if (operands.back() == nullptr) return nullptr;
  }
  return element(inst, operands);
}

std::optional<Lanes> Emitter::looked_up(const Inst& inst, const Position& position) {
  if (!inst.schedule.tabulated) return std::nullopt;
  SmallNumber number = small_numbers_.of(inst);
  require(target_.has_avx512() && number.steps > 0, "[", info(inst.op).name, "] ",
          describe(inst.where),
          ": is tabulated; that takes a host with AVX-512, and a value that "
          "depends on one number below ",
          table_size, " by few operations");
  if (lanes_ != table_size || position.lane < 0) return std::nullopt;
  llvm::Value* table = table_of(inst, *number.inst, position);
  if (table == nullptr) return std::nullopt;
  return Lanes{b_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_permvar_sf_512, {},
                                  {table, small_number(*number.inst, position)}),
               false};
}

}  // namespace tilewright::dsl
