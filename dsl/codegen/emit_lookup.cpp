// What can be one of sixteen values only is looked up.
//
// Weights of four bits become numbers by several operations each: a mask, a conversion, an offset,
// a scale. Where these depend on the four bits and on what is the same in all lanes, they are done
// for the numbers 0 to 15, in one register, from which one instruction then takes each lane's
// result. Its index is the byte as it comes from memory, shifted: the instruction itself looks at
// four bits.
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsX86.h>

#include "dsl/codegen/emitter.h"

namespace tilewright::dsl {

using ir::Inst;
using ir::Op;
using ir::Value;

namespace {

constexpr int table_size = 16;    // lanes of a register of 512 bits
constexpr int longest_chain = 8;  // of operations on the number

}  // namespace

// x & 15, or less of x.
bool Emitter::is_small_number(const Inst& inst) const {
  if (inst.op != Op::and_ || !is_integer(function_.type(inst.results[0]).dtype)) return false;
  const Inst* mask = defs_.inst(inst.operands[1]);
  while (mask != nullptr && (mask->op == Op::splat_ || mask->op == Op::broadcast_))
    mask = defs_.inst(mask->operands[0]);
  if (mask == nullptr || mask->op != Op::constant_) return false;
  double most = mask->get<ir::Scalar>().as_double();
  return most >= 0 && most < table_size;
}

bool Emitter::depends_on_small_number(Value value, int depth) const {
  const Inst* inst = defs_.inst(value);
  if (inst == nullptr || slots_.contains(value) || depth == 0 ||
      function_.type(value).is_scalar() ||
      ir::info(inst->op).op_class != ir::OpClass::elementwise || inst->op == Op::offset_)
    return false;
  return is_small_number(*inst) || std::ranges::any_of(inst->operands, [&](Value operand) {
           return depends_on_small_number(operand, depth - 1);
         });
}

// In 32 bits, of which the low four count.
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

// The same bits, of which LLVM knows nothing: it would shift bytes, for which there is no
// instruction, before it widens them, and widen them once for each shift.
llvm::Value* Emitter::as_it_is(llvm::Value* lanes) {
  auto* type = llvm::FunctionType::get(lanes->getType(), {lanes->getType()}, false);
  auto* call = b_.CreateCall(type, llvm::InlineAsm::get(type, "", "=v,0", false), {lanes});
  call->setDoesNotAccessMemory();
  call->setDoesNotThrow();
  return call;
}

std::optional<Lanes> Emitter::looked_up(const Inst& inst, const Position& position) {
  if (lanes_ != table_size || position.lane < 0 ||
      function_.type(inst.results[0]).dtype != DType::f32 || is_small_number(inst))
    return std::nullopt;
  // From the outermost operation to the number; nothing but one operand of each may depend on it.
  std::vector<std::pair<const Inst*, std::size_t>> chain;
  const Inst* at = &inst;
  while (!is_small_number(*at)) {
    if (chain.size() == longest_chain) return std::nullopt;
    std::size_t found = at->operands.size();
    for (std::size_t i = 0; i < at->operands.size(); ++i) {
      if (!depends_on_small_number(at->operands[i], longest_chain)) continue;
      if (found != at->operands.size()) return std::nullopt;
      found = i;
    }
    if (found == at->operands.size()) return std::nullopt;
    chain.emplace_back(at, found);
    at = defs_.inst(at->operands[found]);
  }
  if (chain.size() < 2) return std::nullopt;  // a conversion alone is as quick
  for (auto [step, number] : chain)
    for (std::size_t i = 0; i < step->operands.size(); ++i)
      if (i != number && !evaluate(step->operands[i], position).uniform) return std::nullopt;

  DType dtype = function_.type(at->results[0]).dtype;
  std::vector<llvm::Constant*> numbers;
  for (int i = 0; i < table_size; ++i)
    numbers.push_back(llvm::ConstantInt::get(element_type(dtype), static_cast<std::uint64_t>(i)));
  llvm::Value* table = llvm::ConstantVector::get(numbers);
  for (auto step = chain.rbegin(); step != chain.rend(); ++step) {
    std::vector<llvm::Value*> operands;
    for (std::size_t i = 0; i < step->first->operands.size(); ++i)
      operands.push_back(i == step->second ? table
                                           : spread(evaluate(step->first->operands[i], position)));
    table = element(*step->first, operands);
  }
  return Lanes{b_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_permvar_sf_512, {},
                                  {table, small_number(*at, position)}),
               false};
}

}  // namespace tilewright::dsl
