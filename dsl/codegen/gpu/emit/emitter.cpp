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

void Emitter::emit_loop(llvm::Value* low, llvm::Value* step,
                        const std::function<llvm::Value*(llvm::Value*)>& goes_on,
                        std::vector<llvm::Value*>& carried,
                        const std::function<void(llvm::Value*)>& body) {
  auto* before = b_.GetInsertBlock();
  auto* header = llvm::BasicBlock::Create(context_, "header", kernel_);
  auto* inside = llvm::BasicBlock::Create(context_, "body", kernel_);
  auto* exit = llvm::BasicBlock::Create(context_, "exit", kernel_);
  b_.CreateBr(header);
  b_.SetInsertPoint(header);
  auto* i = b_.CreatePHI(low->getType(), 2);
  i->addIncoming(low, before);
  std::vector<llvm::PHINode*> phis;
  for (llvm::Value*& value : carried) {
    phis.push_back(b_.CreatePHI(value->getType(), 2));
    phis.back()->addIncoming(value, before);
    value = phis.back();
  }
  b_.CreateCondBr(goes_on(i), inside, exit);
  b_.SetInsertPoint(inside);
  body(i);
  auto* latch = b_.GetInsertBlock();
  i->addIncoming(b_.CreateAdd(i, step), latch);
  for (std::size_t k = 0; k < phis.size(); ++k) {
    phis[k]->addIncoming(carried[k], latch);
    carried[k] = phis[k];
  }
  b_.CreateBr(header);
  b_.SetInsertPoint(exit);
}

namespace {

bool is_half_word(const llvm::Type* type) { return type->getPrimitiveSizeInBits() == 16; }

}  // namespace

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

void Emitter::loop(const Inst& inst) {
  const ir::Block& body = inst.bodies[0];
  const Inst& yield = body.insts.back();
  // Carried tiles enter in the layout of the loop's results; registers that are one stay one.
  std::vector<llvm::Value*> carried, bases;
  std::vector<llvm::Type*> types;
  std::vector<std::vector<int>> first;
  auto carry = [&](std::size_t k, const std::vector<llvm::Value*>& values) {
    std::vector<llvm::Value*> different;
    for (std::size_t r = 0; r < values.size(); ++r)
      if (static_cast<std::size_t>(first[k][r]) == r) different.push_back(values[r]);
    std::ranges::copy(in_words(different), std::back_inserter(carried));
  };
  for (std::size_t k = 0; k < inst.results.size(); ++k) {
    Value init = inst.operands[3 + k];
    if (is_tile(init)) {
      Registers registers = get(init);
      bases.push_back(registers.base);
      first.push_back(layout::first_duplicates(registers.layout));
      types.push_back(registers.values[0]->getType());
      carry(k, registers.values);
    } else {
      bases.push_back(nullptr);
      first.push_back({0});
      types.push_back(scalars_[init]->getType());
      carry(k, {scalars_[init]});
    }
  }
  auto give = [&](const std::vector<Value>& to, std::size_t from) {
    std::size_t at = 0;
    for (std::size_t k = 0; k < inst.results.size(); ++k) {
      std::vector<llvm::Value*> halves, values;
      for (std::size_t r = 0; r < first[k].size(); ++r) {
        auto same = static_cast<std::size_t>(first[k][r]);
        if (same == r && halves.empty()) halves = out_of_word(carried[at++], types[k]);
        values.push_back(same == r ? halves.front() : values[same]);
        if (same == r) halves.erase(halves.begin());
      }
      if (is_tile(inst.results[k]))
        tiles_.insert_or_assign(to[from + k],
                                Registers{function_.layout(inst.results[k]), values, bases[k]});
      else
        scalars_[to[from + k]] = values[0];
    }
  };
  auto pipeline = pipelines_.find(&inst);
  const LoopPipeline* ring = pipeline == pipelines_.end() ? nullptr : &pipeline->second;
  std::int64_t ring_start = ring == nullptr ? 0 : open_ring(inst, *ring);
  if (ring != nullptr) carried.push_back(i32(0));  // the slot
  finish_products();
  DType dtype = function_.type(inst.operands[0]).dtype;
  auto goes_on = [&](llvm::Value* i) {
    llvm::Value* is_below = compare(Op::lt_, dtype, i, scalars_[inst.operands[1]]);
    return ir::ends_by_condition(inst) ? b_.CreateAnd(is_below, carried[0]) : is_below;
  };
  emit_loop(scalars_[inst.operands[0]], scalars_[inst.operands[2]], goes_on, carried,
            [&](llvm::Value* i) {
              scalars_[body.params[0]] = i;
              give(body.params, 1);
              llvm::Value* slot = ring == nullptr ? nullptr : carried.back();
              if (ring != nullptr) begin_turn(inst, *ring, ring_start, i, slot);
              block(body);
              carried.clear();
              for (std::size_t k = 0; k < inst.results.size(); ++k) {
                if (!is_tile(inst.results[k])) {
                  carry(k, {scalars_[yield.operands[k]]});
                  continue;
                }
                Registers registers = get(yield.operands[k]);
                require(
                    registers.base == bases[k], "[codegen] ", describe(inst.where),
                    ": a loop carries a tile of pointers that changes from one array to another");
                carry(k, registers.values);
              }
              finish_products();
              if (ring == nullptr) return;
              auto* wraps = b_.CreateICmpEQ(slot, i32(ring->stages - 1));
              carried.push_back(b_.CreateSelect(wraps, i32(0), b_.CreateAdd(slot, i32(1))));
              open_pipelines_.pop_back();
            });
  give(inst.results, 0);
  if (ring != nullptr) close_ring(inst, *ring);
  if (roles_) close_deferred(inst);
}

void Emitter::branch(const Inst& inst) {
  finish_products();
  llvm::Function* fn = b_.GetInsertBlock()->getParent();
  auto* join = llvm::BasicBlock::Create(context_, "join", fn);
  llvm::BasicBlock* sides[2] = {llvm::BasicBlock::Create(context_, "then", fn),
                                llvm::BasicBlock::Create(context_, "else", fn)};
  b_.CreateCondBr(scalars_[inst.operands[0]], sides[0], sides[1]);
  std::vector<std::vector<llvm::Value*>> given[2];
  std::vector<llvm::Value*> bases[2];
  for (std::size_t side = 0; side < 2; ++side) {
    b_.SetInsertPoint(sides[side]);
    block(inst.bodies[side]);
    const Inst& yield = inst.bodies[side].insts.back();
    for (std::size_t k = 0; k < inst.results.size(); ++k) {
      bases[side].push_back(nullptr);
      if (!is_tile(inst.results[k])) {
        given[side].push_back({scalars_[yield.operands[k]]});
        continue;
      }
      Registers registers = get(yield.operands[k]);
      bases[side].back() = registers.base;
      given[side].push_back(std::move(registers.values));
    }
    finish_products();
    sides[side] = b_.GetInsertBlock();
    b_.CreateBr(join);
  }
  b_.SetInsertPoint(join);
  for (std::size_t k = 0; k < inst.results.size(); ++k) {
    require(bases[0][k] == bases[1][k], "[codegen] ", describe(inst.where),
            ": an if yields tiles of pointers into different arrays");
    std::vector<llvm::Value*> values;
    for (std::size_t r = 0; r < given[0][k].size(); ++r) {
      auto* phi = b_.CreatePHI(given[0][k][r]->getType(), 2);
      for (std::size_t side = 0; side < 2; ++side) phi->addIncoming(given[side][k][r], sides[side]);
      values.push_back(phi);
    }
    Value result = inst.results[k];
    if (is_tile(result))
      tiles_.insert_or_assign(result, Registers{function_.layout(result), values, bases[0][k]});
    else
      scalars_[result] = values[0];
  }
}

}  // namespace tilewright::dsl::gpu
