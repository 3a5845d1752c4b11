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
  }
  __builtin_unreachable();
}

ir::ReduceKind reduction_of(ir::AtomicKind kind) {
  return kind == ir::AtomicKind::add   ? ir::ReduceKind::sum
         : kind == ir::AtomicKind::max ? ir::ReduceKind::max
                                       : ir::ReduceKind::min;
}

}  // namespace

llvm::Value* Arithmetic::atomic(ir::AtomicKind kind, DType dtype, llvm::Value* pointer,
                                llvm::Value* value, const char* scope) {
  return b_.CreateAtomicRMW(operation_of(kind, dtype), pointer, value,
                            llvm::Align(static_cast<std::uint64_t>(size_bytes(dtype))),
                            llvm::AtomicOrdering::Monotonic,
                            context_.getOrInsertSyncScopeID(scope));
}

llvm::Value* Arithmetic::atomic_by_exchange(ir::AtomicKind kind, DType dtype, llvm::Value* pointer,
                                            llvm::Value* value, const char* scope) {
  auto* bits = b_.getIntNTy(static_cast<unsigned>(bit_width(dtype)));
  llvm::Align align(static_cast<std::uint64_t>(size_bytes(dtype)));
  auto id = context_.getOrInsertSyncScopeID(scope);
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
  llvm::Value* made =
      combine(reduction_of(kind), dtype, b_.CreateBitCast(old, value->getType()), value);
  auto* tried =
      b_.CreateAtomicCmpXchg(pointer, old, b_.CreateBitCast(made, bits), align,
                             llvm::AtomicOrdering::Monotonic, llvm::AtomicOrdering::Monotonic, id);
  old->addIncoming(b_.CreateExtractValue(tried, 0), b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateExtractValue(tried, 1), done, again);
  b_.SetInsertPoint(done);
  return b_.CreateBitCast(old, value->getType());
}

llvm::Function* Arithmetic::function_by_exchange(ir::AtomicKind kind, DType dtype) {
  std::string name = concat("atomic_", ir::name_of(kind), "_", name_of(dtype));
  if (llvm::Function* there = module_.getFunction(name)) return there;
  llvm::Type* type = element_type(dtype);
  auto* function =
      llvm::Function::Create(llvm::FunctionType::get(type, {b_.getPtrTy(), type}, false),
                             llvm::Function::InternalLinkage, name, module_);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  llvm::IRBuilderBase::InsertPointGuard guard(b_);
  b_.SetCurrentDebugLocation({});
  b_.SetInsertPoint(llvm::BasicBlock::Create(context_, "", function));
  b_.CreateRet(atomic_by_exchange(kind, dtype, function->getArg(0), function->getArg(1)));
  return function;
}

}  // namespace tilewright::dsl
