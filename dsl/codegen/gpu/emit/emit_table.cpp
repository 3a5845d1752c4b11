// The frame of a kernel that is several launches (runtime/launch_table.h): each block finds whose
// program it is, and where that launch's arguments are. All threads of a block read the same
// places, so that this costs a few reads of the constant cache.
#include "dsl/codegen/gpu/device/device_ops.h"
#include "dsl/codegen/gpu/emit/emitter.h"

namespace tilewright::dsl::gpu {

void Emitter::declare_table(llvm::Function* fn) {
  auto* bytes = llvm::ArrayType::get(b_.getInt8Ty(), static_cast<std::uint64_t>(table_->bytes()));
  fn->addParamAttr(0, llvm::Attribute::getWithByValType(context_, bytes));
  fn->addParamAttr(0, llvm::Attribute::getWithAlignment(context_, llvm::Align(8)));
  fn->addParamAttr(0, llvm::Attribute::get(context_, "nvvm.grid_constant"));
}

void Emitter::find_launch() {
  llvm::Value* table = kernel_->getArg(0);
  // The element of `size` bytes at `begin + size * index`.
  auto read = [&](llvm::Type* type, std::int64_t begin, std::int64_t size, llvm::Value* index) {
    auto* offset = b_.CreateAdd(b_.CreateMul(index, i32(size)), i32(begin));
    auto* at = b_.CreateGEP(b_.getInt8Ty(), table, b_.CreateZExt(offset, b_.getInt64Ty()));
    auto align = static_cast<std::uint64_t>(size % 8 == 0 && begin % 8 == 0 ? 8 : 4);
    return b_.CreateAlignedLoad(type, at, llvm::Align(align));
  };
  llvm::Value *block = device("block_id_x"), *launch = i32(0);
  for (int step = table_->places() / 2; step > 0; step /= 2) {
    llvm::Value* next = b_.CreateAdd(launch, i32(step));
    llvm::Value* begins = read(b_.getInt32Ty(), 0, 4, next);
    launch = b_.CreateSelect(b_.CreateICmpUGE(block, begins), next, launch);
  }
  llvm::Value* program = b_.CreateSub(block, read(b_.getInt32Ty(), 0, 4, launch));
  std::int64_t row = 8 * table_->params;
  for (std::size_t i = 0; i < function_.params.size(); ++i) {
    ir::Value value = function_.params[i].value;
    const ir::Type& type = function_.type(value);
    llvm::Type* stored = type.is_pointer() ? b_.getPtrTy(1) : memory_type(type.dtype);
    std::int64_t begin = table_->arguments_at() + 8 * static_cast<std::int64_t>(i);
    llvm::Value* argument = read(stored, begin, row, launch);
    scalars_[value] = type.is_pointer() ? argument : from_memory(argument, type.dtype);
  }
  auto wide = [&](llvm::Value* x) { return b_.CreateZExt(x, b_.getInt64Ty()); };
  if (!table_->has_sizes) {
    program_ids_[0] = wide(program);
    return;
  }
  llvm::Value* rest = program;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    std::int64_t begin = table_->sizes_at() + 4 * static_cast<std::int64_t>(axis);
    llvm::Value* size = read(b_.getInt32Ty(), begin, 12, launch);
    program_ids_[axis] = wide(axis == 2 ? rest : b_.CreateURem(rest, size));
    grid_sizes_[axis] = wide(size);
    if (axis < 2) rest = b_.CreateUDiv(rest, size);
  }
}

}  // namespace tilewright::dsl::gpu
