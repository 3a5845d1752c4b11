// Values that can be one of sixteen only are looked up in a table.
//
// Weights of four bits become numbers by several operations each: a mask, a conversion, an offset,
// a scale. Where the result depends only on the four bits and on what is the same in all lanes, it
// is computed for the numbers 0 to 15 in one register, from which one instruction then takes the
// result of each lane. The index is the byte from memory, shifted, since the instruction uses only
// four bits of it. The powers of two that exp begins with (dsl/math) are looked up in the same way.
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsX86.h>

#include "dsl/codegen/host/emitter.h"

namespace tilewright::dsl {

using ir::Inst;
using ir::Op;
using ir::Value;

namespace {

constexpr int table_size = 16;  // lanes of a register of 512 bits
// How many dependent operations on the number a lookup may replace. A conversion alone is as fast
// as a lookup.
constexpr int least_steps = 2, most_steps = 8;

}  // namespace

// Whether this is x & 15, or x & a smaller mask.
bool Emitter::is_small_number(const Inst& inst) const {
  if (inst.op != Op::and_ || !is_integer(function_.type(inst.results[0]).dtype)) return false;
  const Inst* mask = defs_.inst(inst.operands[1]);
  while (mask != nullptr && (mask->op == Op::splat_ || mask->op == Op::broadcast_))
    mask = defs_.inst(mask->operands[0]);
  if (mask == nullptr || mask->op != Op::constant_) return false;
  double most = mask->get<ir::Scalar>().as_double();
  return most >= 0 && most < table_size;
}

// The small number that a result depends on by few operations, if there is exactly one.
Emitter::SmallNumber Emitter::small_number_of(const Inst& inst) {
  if (is_small_number(inst)) return {&inst, 0};
  SmallNumber result;
  for (Value operand : inst.operands) {
    SmallNumber of_operand = small_number_of(operand);
    if (of_operand.inst == nullptr) continue;
    if (result.inst != nullptr && result.inst != of_operand.inst) return {};
    result = {of_operand.inst, std::max(result.steps, of_operand.steps + 1)};
  }
  return result.steps <= most_steps ? result : SmallNumber();
}

Emitter::SmallNumber Emitter::small_number_of(Value value) {
  const Inst* inst = defs_.inst(value);
  if (inst == nullptr || slots_.contains(value) || function_.type(value).is_scalar() ||
      ir::info(inst->op).op_class != ir::OpClass::elementwise || inst->op == Op::offset_)
    return {};
  if (auto known = small_numbers_.find(value); known != small_numbers_.end()) return known->second;
  SmallNumber number = small_number_of(*inst);
  return small_numbers_[value] = number;
}

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
    auto* bits = llvm::dyn_cast<llvm::Constant>(mask);
    auto* same = bits == nullptr ? nullptr : bits->getSplatValue();
    bool is_whole =
        same != nullptr && llvm::cast<llvm::ConstantInt>(same)->getZExtValue() == table_size - 1;
    return is_whole ? number : b_.CreateAnd(number, mask);
  };
  if (!shifts) return masked(wide(value));
  llvm::Value* by = wide(shift->operands[1]);
  auto* most = llvm::ConstantInt::get(by->getType(), 31);
  by = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, by, most);
  return masked(b_.CreateLShr(as_it_is(wide(shift->operands[0])), by));
}

// Hides the value from LLVM behind an empty asm. Else LLVM would shift bytes, for which there is no
// instruction, before it widens them, and would widen them again for each shift.
llvm::Value* Emitter::as_it_is(llvm::Value* lanes) {
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
    for (std::uint64_t i = 0; i < table_size; ++i)
      numbers.push_back(llvm::ConstantInt::get(type, i));
    return llvm::ConstantVector::get(numbers);
  }
  if (small_number_of(value).inst != nullptr) return table_of(*inst, number, position);
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
  const ir::Type& type = function_.type(inst.results[0]);
  if (lanes_ != table_size || position.lane < 0 || type.is_pointer() || type.dtype != DType::f32)
    return std::nullopt;
  SmallNumber number = small_number_of(inst);
  if (number.steps < least_steps) return std::nullopt;
  llvm::Value* table = table_of(inst, *number.inst, position);
  if (table == nullptr) return std::nullopt;
  return Lanes{b_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_permvar_sf_512, {},
                                  {table, small_number(*number.inst, position)}),
               false};
}

}  // namespace tilewright::dsl
