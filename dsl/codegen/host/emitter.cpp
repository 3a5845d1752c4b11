#include "dsl/codegen/host/emitter.h"

#include <algorithm>

#include "runtime/base/error.h"

namespace tilewright::dsl {

using ir::Inst;
using ir::Op;
using ir::Value;

Emitter::Emitter(llvm::Module& module, const ir::Function& function, const Target& target,
                 CodeTier tier)
    : Arithmetic(module),
      function_(function),
      target_(target),
      defs_(function),
      small_numbers_(defs_),
      facts_(scalar_facts(function)),
      live_rows_(live_rows(function, facts_)),
      live_columns_(live_columns(function, facts_)),
      products_(defs_, facts_, live_rows_, target_),
      tier_(tier),
      scalars_(function.types.size(), nullptr),
      use_counts_(function.types.size(), 0) {
  ir::for_each_inst(function.body, [&](const Inst& inst) {
    for (Value operand : inst.operands) ++use_counts_[operand];
  });
  ir::for_each_inst(function.body, [&](const Inst& inst) {
    if (inst.op != Op::dot_) return;
    if (use_counts_[inst.operands[0]] == 1 && products_.is_tiled(inst))
      only_multiplied_.insert(inst.operands[0]);
    if (!products_.multiplies_words_along_k(inst)) return;
    Value right = inst.operands[1];
    while (use_counts_[right] == 1) {
      only_multiplied_.insert(right);
      const Inst* made = defs_.inst(right);
      if (made == nullptr || (made->op != Op::permute_ && made->op != Op::reshape_)) break;
      right = made->operands[0];
    }
  });
}

void Emitter::run(const std::string& entry_name) {
  std::vector<llvm::Type*> types;
  for (const ir::Param& param : function_.params) {
    const ir::Type& type = function_.type(param.value);
    types.push_back(type.is_pointer() ? b_.getPtrTy() : memory_type(type.dtype));
  }
  for (int i = 0; i < 6; ++i) types.push_back(b_.getInt64Ty());
  types.push_back(b_.getPtrTy());
  auto* program_fn =
      llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), types, false),
                             llvm::Function::InternalLinkage, entry_name + ".program", module_);
  for (auto& argument : program_fn->args())
    if (argument.getType()->isPointerTy()) argument.addAttr(llvm::Attribute::NoAlias);
  program(program_fn);
  host_function(entry_name, program_fn);
  guard_long_divisions();
  for (llvm::Function& f : module_) {
    if (f.isDeclaration()) continue;
    f.addFnAttr("target-cpu", target_.cpu);
    f.addFnAttr("target-features", target_.features);
    f.addFnAttr("prefer-vector-width", std::to_string(target_.lanes * 32));
    f.addFnAttr("min-legal-vector-width", std::to_string(target_.lanes * 32));
    f.addFnAttr(llvm::Attribute::NoUnwind);
  }
}

void Emitter::program(llvm::Function* fn) {
  b_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", fn));
  unsigned next = 0;
  for (const ir::Param& param : function_.params) {
    llvm::Value* argument = fn->getArg(next++);
    const ir::Type& type = function_.type(param.value);
    scalars_[param.value] = type.is_pointer() ? argument : from_memory(argument, type.dtype);
  }
  for (int axis = 0; axis < 3; ++axis) program_id_[axis] = fn->getArg(next++);
  for (int axis = 0; axis < 3; ++axis) grid_[axis] = fn->getArg(next++);
  scratch_ = fn->getArg(next);
  steps(scheduled_steps(defs_));
  b_.CreateRetVoid();
}

// for (p = begin; p < end; ++p) program(arguments..., p's place in the grid, grid, scratch)
void Emitter::host_function(const std::string& name, llvm::Function* program) {
  llvm::Type *ptr = b_.getPtrTy(), *i64 = b_.getInt64Ty();
  auto* type = llvm::FunctionType::get(b_.getVoidTy(), {ptr, ptr, i64, i64, ptr}, false);
  auto* fn = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module_);
  auto* entry = llvm::BasicBlock::Create(context_, "entry", fn);
  auto* body = llvm::BasicBlock::Create(context_, "program", fn);
  auto* exit = llvm::BasicBlock::Create(context_, "exit", fn);
  b_.SetInsertPoint(entry);
  std::vector<llvm::Value*> arguments;
  for (std::size_t i = 0; i < function_.params.size(); ++i) {
    const ir::Type& t = function_.type(function_.params[i].value);
    auto* at = b_.CreateConstGEP1_64(i64, fn->getArg(0), i);
    arguments.push_back(b_.CreateLoad(t.is_pointer() ? ptr : memory_type(t.dtype), at));
  }
  llvm::Value* grid[3];
  for (unsigned axis = 0; axis < 3; ++axis)
    grid[axis] = b_.CreateLoad(i64, b_.CreateConstGEP1_64(i64, fn->getArg(1), axis));
  llvm::Value *begin = fn->getArg(2), *end = fn->getArg(3);
  b_.CreateCondBr(b_.CreateICmpSLT(begin, end), body, exit);

  b_.SetInsertPoint(body);
  auto* p = b_.CreatePHI(i64, 2);
  p->addIncoming(begin, entry);
  bool uses[3] = {};
  ir::for_each_inst(function_.body, [&](const Inst& inst) {
    if (inst.op == Op::program_id_) uses[inst.get<ir::Axis>().axis] = true;
  });
  bool flat = !uses[1] && !uses[2];
  llvm::Value* rest = flat ? b_.getInt64(0) : b_.CreateUDiv(p, grid[0]);
  llvm::Value* id[3] = {flat ? b_.CreateURem(p, grid[0]) : b_.CreateURem(p, grid[0]),
                        flat ? rest : b_.CreateURem(rest, grid[1]),
                        flat ? rest : b_.CreateUDiv(rest, grid[1])};
  for (auto* v : id) arguments.push_back(v);
  for (auto* v : grid) arguments.push_back(v);
  arguments.push_back(fn->getArg(4));
  b_.CreateCall(program, arguments);
  auto* next = b_.CreateAdd(p, b_.getInt64(1));
  p->addIncoming(next, body);
  b_.CreateCondBr(b_.CreateICmpSLT(next, end), body, exit);
  b_.SetInsertPoint(exit);
  b_.CreateRetVoid();
}

void Emitter::steps(const std::vector<Step>& list) {
  for (const Step& s : list) step(s);
}

void Emitter::step(const Step& s) {
  switch (s.kind) {
    case StepKind::scalar: return scalar(*s.inst);
    case StepKind::loop_nest: return emit_loop_nest(s.domain, s.roots);
    case StepKind::dot: return dot(*s.inst);
    case StepKind::loop: return loop(s);
    case StepKind::branch: return branch(s);
  }
}

void Emitter::scalar(const Inst& inst) {
  if (inst.op == Op::make_desc_) return make_array(inst);
  if (inst.op == Op::store_) return store_value(inst, {});
  if (inst.op == Op::print_) return print(inst);
  lanes_ = 1;
  tail_ = nullptr;
  if (inst.op == Op::atomic_) {
    scalars_[inst.results[0]] = atomic_value(inst, {}).value;
    return;
  }
  Lanes lanes = inst.op == Op::load_ ? load_value(inst, {}) : Lanes{};
  if (inst.op == Op::load_) {
    scalars_[inst.results[0]] = lanes.value;
  } else if (inst.op == Op::offset_) {
    llvm::Value* by = index_of(inst.operands[1]);
    scalars_[inst.results[0]] =
        gep(scalars_[inst.operands[0]], function_.type(inst.results[0]).dtype, by);
  } else if (info(inst.op).op_class == ir::OpClass::shape) {
    // From a tile of one element to a scalar.
    Position first;
    first.index.assign(function_.type(inst.operands[0]).shape.size(), index(0));
    Lanes element = evaluate(inst.operands[0], first);
    scalars_[inst.results[0]] =
        element.base == nullptr
            ? element.value
            : gep(element.base, function_.type(inst.results[0]).dtype, element.value);
  } else {
    std::vector<llvm::Value*> operands;
    for (Value operand : inst.operands) operands.push_back(scalars_[operand]);
    scalars_[inst.results[0]] = element(inst, operands);
  }
}

void Emitter::print(const Inst& inst) {
  std::vector<llvm::Value*> values;
  for (Value operand : inst.operands) values.push_back(scalars_[operand]);
  auto [format, words] = message(function_, inst, values);
  auto* type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), b_.getPtrTy()}, false);
  b_.CreateCall(module_.getOrInsertFunction("write_message", type), {format, words});
}

llvm::Value* Emitter::element(const Inst& inst, const std::vector<llvm::Value*>& operands) {
  if (inst.op == Op::program_id_) return program_id_[inst.get<ir::Axis>().axis];
  if (inst.op == Op::num_programs_) return grid_[inst.get<ir::Axis>().axis];
  flushes_ = inst.results.size() == 1 && only_multiplied_.contains(inst.results[0]);
  llvm::Value* result = elementwise(function_, inst, operands);
  flushes_ = false;
  // A value with several readers may be needed in 16 bits too.
  if (inst.results.size() == 1 && use_counts_[inst.results[0]] != 1) narrowed_.erase(result);
  return result;
}

Emitter::Slot Emitter::allocate(const ir::Type& type) {
  std::int64_t bytes = element_count(type.shape) * (type.is_pointer() ? 8 : size_bytes(type.dtype));
  // Rows in memory often begin at a page. If a slot did too, each store to it would seem to alias
  // the loads that follow (4K aliasing: the processor compares the low 12 bits of addresses).
  constexpr std::int64_t page = 4096, apart = 2112;
  if (bytes >= page) scratch_used_ = (scratch_used_ + page - apart - 1) / page * page + apart;
  auto* data =
      b_.CreateConstGEP1_64(b_.getInt8Ty(), scratch_, static_cast<std::uint64_t>(scratch_used_));
  scratch_used_ += (bytes + 63) / 64 * 64;
  scratch_peak_ = std::max(scratch_peak_, scratch_used_);
  return {data, type, row_major_strides(type.shape)};
}

Emitter::Slot& Emitter::allocate(Value value) {
  return slots_.insert_or_assign(value, allocate(function_.type(value))).first->second;
}

void Emitter::materialise_into(Value value, Slot slot) {
  auto old = slots_.find(value);
  if (old != slots_.end()) {
    std::int64_t bytes =
        element_count(slot.type.shape) * (slot.type.is_pointer() ? 8 : size_bytes(slot.type.dtype));
    b_.CreateMemCpy(slot.data, llvm::Align(64), old->second.data, llvm::Align(64),
                    static_cast<std::uint64_t>(bytes));
    return;
  }
  slots_.insert_or_assign(value, slot);
  emit_loop_nest(slot.type.shape, {{nullptr, value}});
  slots_.erase(value);
}

llvm::Value* Emitter::index_of(Value value) {
  const ir::Type& type = function_.type(value);
  return convert(scalars_[value], type.dtype, DType::i64);
}

llvm::ConstantInt* Emitter::index(std::int64_t value) {
  return b_.getInt64(static_cast<std::uint64_t>(value));
}

llvm::Type* Emitter::lanes_type(llvm::Type* element, int lanes) const {
  return lanes == 1 ? element : llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes));
}
llvm::Type* Emitter::lanes_type(llvm::Type* element) const { return lanes_type(element, lanes_); }

llvm::Value* Emitter::gep(llvm::Value* base, DType dtype, llvm::Value* offset) {
  return b_.CreateGEP(memory_type(dtype), base, offset);
}

}  // namespace tilewright::dsl
