// Atomic operations: by the instruction for them, or by trying again until nobody came between.
#include "dsl/codegen/llvm/arithmetic.h"
#include "runtime/base/error.h"

namespace tilewright::dsl {
namespace {

llvm::AtomicRMWInst::BinOp operation_of(ir::AtomicKind kind, DType dtype) {
  using Rmw = llvm::AtomicRMWInst;
  bool is_float = is_floating(dtype);
  switch (kind) {
    case ir::AtomicKind::add: return is_float ? Rmw::FAdd : Rmw::Add;
    case ir::AtomicKind::max:
      return is_float ? Rmw::FMaximum : is_signed(dtype) ? Rmw::Max : Rmw::UMax;
    case ir::AtomicKind::min:
      return is_float ? Rmw::FMinimum : is_signed(dtype) ? Rmw::Min : Rmw::UMin;
    case ir::AtomicKind::and_: return Rmw::And;
    case ir::AtomicKind::or_: return Rmw::Or;
    case ir::AtomicKind::xor_: return Rmw::Xor;
    case ir::AtomicKind::exchange: return Rmw::Xchg;
    case ir::AtomicKind::compare_exchange: break;
  }
  throw InternalError("[atomic] a comparison is an instruction of its own");
}

}  // namespace

llvm::AtomicOrdering ordering_of(ir::MemoryOrder order) {
  switch (order) {
    case ir::MemoryOrder::relaxed: return llvm::AtomicOrdering::Monotonic;
    case ir::MemoryOrder::acquire: return llvm::AtomicOrdering::Acquire;
    case ir::MemoryOrder::release: return llvm::AtomicOrdering::Release;
    case ir::MemoryOrder::acq_rel: return llvm::AtomicOrdering::AcquireRelease;
  }
  __builtin_unreachable();
}

llvm::Value* Arithmetic::atomic(ir::AtomicKind kind, DType dtype, llvm::Value* pointer,
                                llvm::Value* value, const AtomicWay& way) {
  return b_.CreateAtomicRMW(operation_of(kind, dtype), pointer, value,
                            llvm::Align(static_cast<std::uint64_t>(size_bytes(dtype))), way.order,
                            context_.getOrInsertSyncScopeID(way.scope));
}

llvm::Value* Arithmetic::compare_exchange(DType dtype, llvm::Value* pointer, llvm::Value* expected,
                                          llvm::Value* value, const AtomicWay& way) {
  auto* bits = b_.getIntNTy(static_cast<unsigned>(bit_width(dtype)));
  auto* tried = b_.CreateAtomicCmpXchg(
      pointer, b_.CreateBitCast(expected, bits), b_.CreateBitCast(value, bits),
      llvm::Align(static_cast<std::uint64_t>(size_bytes(dtype))), way.order,
      llvm::AtomicCmpXchgInst::getStrongestFailureOrdering(way.order),
      context_.getOrInsertSyncScopeID(way.scope));
  return b_.CreateBitCast(b_.CreateExtractValue(tried, 0), value->getType());
}

// The value that replaces `old`.
llvm::Value* Arithmetic::exchanged(ir::AtomicKind kind, DType dtype, llvm::Value* old,
                                   llvm::Value* value) {
  switch (kind) {
    case ir::AtomicKind::add: return combine(ir::ReduceKind::sum, dtype, old, value);
    case ir::AtomicKind::max: return combine(ir::ReduceKind::max, dtype, old, value);
    case ir::AtomicKind::min: return combine(ir::ReduceKind::min, dtype, old, value);
    case ir::AtomicKind::and_: return b_.CreateAnd(old, value);
    case ir::AtomicKind::or_: return b_.CreateOr(old, value);
    case ir::AtomicKind::xor_: return b_.CreateXor(old, value);
    case ir::AtomicKind::exchange:
    case ir::AtomicKind::compare_exchange: return value;
  }
  __builtin_unreachable();
}

llvm::Value* Arithmetic::atomic_by_exchange(ir::AtomicKind kind, DType dtype, llvm::Value* pointer,
                                            llvm::Value* value, const AtomicWay& way) {
  auto* bits = b_.getIntNTy(static_cast<unsigned>(bit_width(dtype)));
  llvm::Align align(static_cast<std::uint64_t>(size_bytes(dtype)));
  auto id = context_.getOrInsertSyncScopeID(way.scope);
  auto* before = b_.GetInsertBlock();
  llvm::Function* fn = before->getParent();
  auto* again = llvm::BasicBlock::Create(context_, "again", fn);
  auto* done = llvm::BasicBlock::Create(context_, "done", fn);
  auto* first = b_.CreateAlignedLoad(bits, pointer, align);
  first->setAtomic(llvm::AtomicOrdering::Monotonic, id);
  b_.CreateBr(again);
  b_.SetInsertPoint(again);
  auto* old = b_.CreatePHI(bits, 2);
  old->addIncoming(first, before);
  llvm::Value* made = exchanged(kind, dtype, b_.CreateBitCast(old, value->getType()), value);
  auto* tried = b_.CreateAtomicCmpXchg(pointer, old, b_.CreateBitCast(made, bits), align, way.order,
                                       llvm::AtomicOrdering::Monotonic, id);
  old->addIncoming(b_.CreateExtractValue(tried, 0), b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateExtractValue(tried, 1), done, again);
  b_.SetInsertPoint(done);
  return b_.CreateBitCast(old, value->getType());
}

llvm::Function* Arithmetic::function_by_exchange(ir::AtomicKind kind, DType dtype,
                                                 const AtomicWay& way) {
  std::string name = concat("atomic_", ir::name_of(kind), "_", name_of(dtype));
  if (way.order != llvm::AtomicOrdering::Monotonic)
    name += concat("_", llvm::toIRString(way.order));
  if (llvm::Function* there = module_.getFunction(name)) return there;
  llvm::Type* type = element_type(dtype);
  auto* function =
      llvm::Function::Create(llvm::FunctionType::get(type, {b_.getPtrTy(), type}, false),
                             llvm::Function::InternalLinkage, name, module_);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  llvm::IRBuilderBase::InsertPointGuard guard(b_);
  b_.SetCurrentDebugLocation({});
  b_.SetInsertPoint(llvm::BasicBlock::Create(context_, "", function));
  b_.CreateRet(atomic_by_exchange(kind, dtype, function->getArg(0), function->getArg(1), way));
  return function;
}

}  // namespace tilewright::dsl
