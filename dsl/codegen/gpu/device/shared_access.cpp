#include "dsl/codegen/gpu/device/shared_access.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Metadata.h>

namespace tilewright::dsl::gpu {

llvm::MDNode* metadata_of(llvm::LLVMContext& context, const SharedAccess& touch) {
  llvm::Type* type = llvm::Type::getInt32Ty(context);
  llvm::SmallVector<llvm::Metadata*, 8> numbers;
  for (std::int64_t number :
       {std::int64_t{touch.group}, touch.begin, touch.end, std::int64_t{touch.ring},
        std::int64_t{touch.stages}, touch.ring_begin, touch.stage_bytes,
        std::int64_t{touch.by_warpgroup ? 1 : 0}, std::int64_t{touch.by_cluster ? 1 : 0}})
    numbers.push_back(llvm::ConstantAsMetadata::get(llvm::ConstantInt::getSigned(type, number)));
  return llvm::MDNode::get(context, numbers);
}

SharedAccess read_metadata(const llvm::MDNode& note) {
  auto number = [&](unsigned i) {
    return llvm::mdconst::extract<llvm::ConstantInt>(note.getOperand(i))->getSExtValue();
  };
  return {static_cast<int>(number(0)),
          number(1),
          number(2),
          static_cast<int>(number(3)),
          static_cast<int>(number(4)),
          number(5),
          number(6),
          number(7) != 0,
          number(8) != 0};
}

}  // namespace tilewright::dsl::gpu
