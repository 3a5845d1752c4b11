#include "dsl/codegen/gpu/emit/emitter.h"

#include "dsl/codegen/gpu/device/device_ops.h"
#include "dsl/codegen/gpu/emit/grid_wait.h"
#include "runtime/base/out_of_memory.h"

namespace tilewright::dsl::gpu {

using ir::Inst;
using ir::Op;
using ir::Value;

Emitter::Emitter(llvm::Module& module, const ir::Function& function, const Target& target,
                 const Uses& uses, const std::vector<ScalarFacts>& facts,
                 const std::optional<WarpSpecialisation>& roles,
                 const std::optional<LaunchTable>& table)
    : Arithmetic(module),
      function_(function),
      target_(target),
      uses_(uses),
      facts_(facts),
      roles_(roles),
      table_(table),
      pipelines_(pipelines_of(function, uses, facts, target)),
      axis_info_(axis_info(function)),
      scalars_(function.types.size(), nullptr),
      exchange_bytes_(cluster_exchange_bytes(function)),
      access_kind_(module.getContext().getMDKindID(access_metadata)) {}

llvm::Function* Emitter::declare(const std::string& entry) {
  std::vector<llvm::Type*> types;
  for (const ir::Param& param : function_.params) {
    const ir::Type& type = function_.type(param.value);
    types.push_back(type.is_pointer() ? b_.getPtrTy(1) : memory_type(type.dtype));
  }
  if (table_) types = {b_.getPtrTy()};
  std::size_t maps = roles_ ? roles_->maps.size() : 0;
  types.insert(types.end(), maps, b_.getPtrTy());
  if (roles_) types.insert(types.end(), 3, b_.getInt32Ty());
  auto* fn = llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), types, false),
                                    llvm::Function::ExternalLinkage, entry, module_);
  fn->setCallingConv(llvm::CallingConv::PTX_Kernel);
  fn->addFnAttr(llvm::Attribute::NoUnwind);
  fn->addFnAttr("nvvm.reqntid", std::to_string(shape().threads) + ",1,1");
  if (const int most = roles_ ? roles_->entry_registers() : function_.most_registers; most != 0)
    fn->addFnAttr("nvvm.maxnreg", std::to_string(most));
  fn->addFnAttr("target-cpu", target_.cpu);
  b_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", fn));
  if (table_) {
    declare_table(fn);
    return fn;
  }
  for (unsigned i = 0; i < function_.params.size(); ++i) {
    Value value = function_.params[i].value;
    const ir::Type& type = function_.type(value);
    llvm::Argument* argument = fn->getArg(i);
    scalars_[value] = type.is_pointer() ? argument : from_memory(argument, type.dtype);
    if (!type.is_pointer()) continue;
    argument->addAttr(llvm::Attribute::NoAlias);
    argument->addAttr(llvm::Attribute::getWithAlignment(
        context_, llvm::Align(static_cast<std::uint64_t>(function_.params[i].align_bytes))));
    if (!uses_.is_written(value)) argument->addAttr(llvm::Attribute::ReadOnly);
  }
  auto* bytes = llvm::ArrayType::get(b_.getInt8Ty(), 128);
  for (unsigned i = 0; i < maps; ++i) {
    unsigned at = static_cast<unsigned>(function_.params.size()) + i;
    fn->addParamAttr(at, llvm::Attribute::getWithByValType(context_, bytes));
    fn->addParamAttr(at, llvm::Attribute::getWithAlignment(context_, llvm::Align(64)));
    fn->addParamAttr(at, llvm::Attribute::get(context_, "nvvm.grid_constant"));
  }
  return fn;
}

void Emitter::run(const std::string& entry) {
  require_memory(function_.shared.bytes <= shared_memory_limit(target_), "[codegen] ",
                 function_.name, " needs ", function_.shared.bytes, " bytes of shared memory; ",
                 target_.cpu, " has ", shared_memory_limit(target_), "; use smaller tiles");
  kernel_ = declare(entry);
  lines_.emplace(module_, *kernel_);
  for (const Inst& inst : function_.body.insts)
    if (auto place = lines_->at(inst.where)) {  // what comes before the first line is there too
      b_.SetCurrentDebugLocation(place);
      break;
    }
  llvm::Value* thread = device("thread_id");
  lane_ = b_.CreateAnd(thread, i32(31));
  warp_ = b_.CreateLShr(thread, i32(5));
  shared_base_ = device("shared_base");
  if (roles_) {
    run_roles();
  } else {
    if (table_) find_launch();
    open_exchange();
    let_next_grid_begin();
    block(function_.body);
    b_.CreateRetVoid();
    if (target_.gpu().overlaps_launches) place_grid_wait(*kernel_);
  }
  lines_->finish();
  if (shape().cluster > 1)
    kernel_->addFnAttr("nvvm.cluster_dim", std::to_string(shape().cluster) + ",1,1");
}

// The next launch may come as soon as all blocks of this one have begun (grid_wait.h).
void Emitter::let_next_grid_begin() {
  if (target_.gpu().overlaps_launches) device("griddepcontrol_launch");
}

llvm::Value* Emitter::device(std::string_view op, const std::vector<llvm::Value*>& operands) {
  return b_.CreateCall(device_op(module_, op), operands);
}

bool Emitter::is_tile(Value value) const {
  const ir::Type& type = function_.type(value);
  return !type.is_scalar() && !type.is_descriptor();
}

void Emitter::block(const ir::Block& block) {
  for (const Inst& inst : block.insts)
    if (inst.op != Op::yield_) instruction(inst);
  close_invariant_operands(block);
}

void Emitter::instruction(const Inst& inst) {
  if (auto place = lines_->at(inst.where)) b_.SetCurrentDebugLocation(place);
  // Its copy is in a ring.
  if (const Fetch* fetch = roles_ && inst.op == Op::load_desc_ ? roles_->fetch_at(&inst) : nullptr)
    return open_invariant_operand(*fetch);
  if (!inst.results.empty() && (staged_load(inst.results[0]) || is_in_ring(inst.results[0])))
    return;
  switch (ir::info(inst.op).op_class) {
    case ir::OpClass::control: return inst.op == Op::loop_ ? loop(inst) : branch(inst);
    case ir::OpClass::memory:
      if (inst.op == Op::make_desc_) return make_array(inst);
      if (inst.op == Op::atomic_) return atomic_update(inst);
      return ir::info(inst.op).effect == ir::Effect::writes ? store(inst) : load(inst);
    case ir::OpClass::reduction: return reduce(inst);
    case ir::OpClass::contraction: return dot(inst);
    case ir::OpClass::exchange: return cluster_reduce(inst);
    case ir::OpClass::shape: return shape_op(inst);
    case ir::OpClass::selection: return gather(inst);
    case ir::OpClass::creation: return is_tile(inst.results[0]) ? creation(inst) : scalar(inst);
    case ir::OpClass::elementwise:
      if (inst.op == Op::inline_asm_) return inline_asm(inst);
      return is_tile(inst.results[0]) ? elementwise_tile(inst) : scalar(inst);
    case ir::OpClass::hint: return inst.op == Op::print_ ? print(inst) : void();
  }
}

void Emitter::scalar(const Inst& inst) {
  llvm::Value*& result = scalars_[inst.results[0]];
  constexpr std::string_view ids[] = {"block_id_x", "block_id_y", "block_id_z"};
  constexpr std::string_view sizes[] = {"grid_size_x", "grid_size_y", "grid_size_z"};
  if (inst.op == Op::program_id_ || inst.op == Op::num_programs_) {
    auto axis = static_cast<std::size_t>(inst.get<ir::Axis>().axis);
    bool is_id = inst.op == Op::program_id_;
    result = is_id ? program_ids_[axis] : grid_sizes_[axis];
    if (result != nullptr) return;
    result = b_.CreateZExt(device(is_id ? ids[axis] : sizes[axis]), b_.getInt64Ty());
  } else if (inst.op == Op::offset_) {
    result = address(scalars_[inst.operands[0]], function_.type(inst.results[0]).dtype,
                     index_of(inst.operands[1]));
  } else {
    std::vector<llvm::Value*> operands;
    for (Value operand : inst.operands) operands.push_back(scalars_[operand]);
    result = element(inst, operands);
  }
}

void Emitter::print(const Inst& inst) {
  when(first_thread(), nullptr, [&]() -> llvm::Value* {
    std::vector<llvm::Value*> values;
    for (Value operand : inst.operands) values.push_back(scalars_[operand]);
    auto [format, words] = message(function_, inst, values);
    return device("print", {format, words});
  });
}

llvm::Value* Emitter::element(const Inst& inst, const std::vector<llvm::Value*>& operands) {
  const ir::Type& type = function_.type(inst.results[0]);
  if (inst.op == Op::exp2_ && type.dtype == DType::f32) return device("exp2_approx", operands);
  if (inst.op == Op::rsqrt_ && type.dtype == DType::f32) return device("rsqrt_approx", operands);
  return elementwise(function_, inst, operands);
}

llvm::Value* Emitter::index_of(Value value) {
  return convert(scalars_[value], function_.type(value).dtype, DType::i64);
}

// The sizes are compared without a sign: one below 0, of which nothing is inside, becomes 0.
void Emitter::make_array(const Inst& inst) {
  Array array{scalars_[inst.operands[0]], {}, {}, &inst};
  std::size_t rank = (inst.operands.size() - 1) / 2;
  for (std::size_t i = 0; i < rank; ++i) {
    llvm::Value* size = index_of(inst.operands[1 + i]);
    bool may_be_below = facts_[inst.operands[1 + i]].low < 0;
    array.sizes.push_back(may_be_below ? integer_op(Op::max_, DType::i64, {size, i64(0)}) : size);
    array.strides.push_back(index_of(inst.operands[1 + rank + i]));
  }
  arrays_.insert_or_assign(inst.results[0], std::move(array));
}

}  // namespace tilewright::dsl::gpu
