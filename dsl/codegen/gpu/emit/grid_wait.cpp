#include "dsl/codegen/gpu/emit/grid_wait.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <unordered_map>

#include "dsl/codegen/gpu/device/device_ops.h"
#include "runtime/base/error.h"

namespace tilewright::dsl::gpu {
namespace {

llvm::StringRef operation_name(const llvm::Instruction& instruction) {
  auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  const llvm::Function* callee = call == nullptr ? nullptr : call->getCalledFunction();
  if (callee == nullptr || !callee->getName().starts_with("td."))
    return instruction.getOpcodeName();
  return callee->getName().drop_front(3);
}

bool is_wait(const llvm::Instruction& instruction) {
  return operation_name(instruction) == "griddepcontrol_wait";
}

// Plain accesses, operations that take a pointer to global memory or a tensor map, and PTX that may
// do anything; a map itself is a parameter, which may be fetched any time.
bool touches_global(const llvm::Instruction& instruction) {
  llvm::StringRef name = operation_name(instruction);
  if (name.starts_with("tma_")) return true;
  if (!instruction.mayReadOrWriteMemory()) return false;
  if (name.starts_with("inline_asm.")) return true;
  return llvm::any_of(instruction.operands(), [](const llvm::Use& operand) {
    return operand->getType()->isPointerTy() && operand->getType()->getPointerAddressSpace() == 1;
  });
}

}  // namespace

void place_grid_wait(llvm::Function& kernel) {
  llvm::DominatorTree dominators(kernel);
  llvm::PostDominatorTree after(kernel);
  llvm::LoopInfo loops(dominators);
  llvm::BasicBlock *entry = &kernel.getEntryBlock(), *place = nullptr;
  for (llvm::BasicBlock& block : kernel)
    if (dominators.isReachableFromEntry(&block) && llvm::any_of(block, touches_global))
      place = place == nullptr ? &block : dominators.findNearestCommonDominator(place, &block);
  if (place == nullptr) place = entry;
  while (place != entry && (loops.getLoopFor(place) != nullptr || !after.dominates(place, entry)))
    place = dominators.getNode(place)->getIDom()->getBlock();
  llvm::Instruction* before = place->getTerminator();
  for (llvm::Instruction& instruction : *place)
    if (touches_global(instruction)) {
      before = &instruction;
      break;
    }
  llvm::CallInst::Create(device_op(*kernel.getParent(), "griddepcontrol_wait"), {}, "",
                         before->getIterator())
      ->setDebugLoc(before->getDebugLoc());
}

void check_grid_wait(const llvm::Function& kernel) {
  // For each basic block: true if threads have waited wherever it begins; assumed until a path
  // shows otherwise.
  std::unordered_map<const llvm::BasicBlock*, bool> waited;
  std::vector<const llvm::BasicBlock*> work{&kernel.getEntryBlock()};
  waited[work[0]] = false;
  bool waits_before_end = false;
  auto go_through = [&](const llvm::BasicBlock& block, bool state, bool final) {
    for (const llvm::Instruction& instruction : block) {
      state = state || is_wait(instruction);
      if (!final) continue;
      const llvm::DebugLoc& where = instruction.getDebugLoc();
      if (!state && touches_global(instruction))
        throw InternalError(concat("[codegen] ", operation_name(instruction).str(), " of line ",
                                   where ? static_cast<int>(where.getLine()) : 0,
                                   " touches global memory before griddepcontrol_wait"));
      waits_before_end = waits_before_end || (state && llvm::isa<llvm::ReturnInst>(instruction));
    }
    return state;
  };
  while (!work.empty()) {
    const llvm::BasicBlock* block = work.back();
    work.pop_back();
    bool state = go_through(*block, waited[block], false);
    for (const llvm::BasicBlock* next : llvm::successors(block)) {
      auto [known, is_new] = waited.try_emplace(next, state);
      if (!is_new && (!known->second || state)) continue;
      known->second = known->second && state;
      work.push_back(next);
    }
  }
  for (const llvm::BasicBlock& block : kernel)
    if (waited.contains(&block)) go_through(block, waited[&block], true);
  if (!waits_before_end)
    throw InternalError(concat("[codegen] no thread of ", kernel.getName().str(),
                               " waits on all its paths (griddepcontrol_wait)"));
}

}  // namespace tilewright::dsl::gpu
