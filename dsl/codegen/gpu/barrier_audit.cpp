#include "dsl/codegen/gpu/barrier_audit.h"

#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <chrono>

#include "dsl/codegen/gpu/emit/grid_wait.h"
#include "dsl/codegen/gpu/plan/warp_specialisation.h"
#include "dsl/codegen/gpu/proof/barrier_proof.h"
#include "runtime/base/error.h"

namespace tilewright::dsl::gpu {
namespace {

// Operations that only put accesses in order. Turns at the tensor cores (arrivals of named
// barriers, and barriers whose number is computed from the other warpgroup's) do not.
bool is_order(llvm::StringRef name) {
  constexpr llvm::StringLiteral orders[] = {"td.barrier",
                                            "td.named_barrier_sync",
                                            "td.fence_proxy_async",
                                            "td.fence_mbarrier_init",
                                            "td.cp_async_wait_",
                                            "td.cp_async_commit",
                                            "td.bulk_wait_",
                                            "td.bulk_commit",
                                            "td.wgmma_wait_",
                                            "td.wgmma_commit",
                                            "td.mbarrier_try_wait_parity",
                                            "td.mbarrier_arrive_expect_tx",
                                            "td.griddepcontrol_wait"};
  return std::ranges::any_of(orders, [&](llvm::StringLiteral order) {
    return order.ends_with("_") ? name.starts_with(order) : name == order;
  });
}

bool is_turn(const llvm::CallInst& call) {
  return call.getCalledFunction()->getName() == "td.named_barrier_sync" &&
         !llvm::isa<llvm::ConstantInt>(call.getArgOperand(0)) &&
         llvm::cast<llvm::ConstantInt>(call.getArgOperand(1))->getZExtValue() != 128;
}

// The proof's objection to a kernel; empty if it holds.
std::string problem(const llvm::Function& kernel, const std::optional<WarpSpecialisation>& roles,
                    bool waits_for_grid) {
  try {
    prove_barriers(kernel, roles);
    if (waits_for_grid) check_grid_wait(kernel);
    return "";
  } catch (const InternalError& error) {
    return error.what();
  }
}

}  // namespace

BarrierAudit audit_barriers(llvm::Function& kernel,
                            const std::optional<WarpSpecialisation>& roles) {
  BarrierAudit audit;
  auto start = std::chrono::steady_clock::now();
  bool waits = kernel.getParent()->getFunction("td.griddepcontrol_wait") != nullptr;
  audit.problem = problem(kernel, roles, waits);
  audit.proof_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (llvm::Instruction& instruction : llvm::instructions(kernel)) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    llvm::Function* callee = call == nullptr ? nullptr : call->getCalledFunction();
    if (callee == nullptr || !is_order(callee->getName()) || is_turn(*call)) continue;
    auto* nothing = llvm::Function::Create(
        callee->getFunctionType(), llvm::Function::ExternalLinkage, "nothing", kernel.getParent());
    call->setCalledFunction(nothing);
    std::string found = problem(kernel, roles, waits);
    call->setCalledFunction(callee);
    nothing->eraseFromParent();
    const llvm::DebugLoc& place = call->getDebugLoc();
    audit.orders.push_back({callee->getName().drop_front(3).str(),
                            place ? static_cast<int>(place->getLine()) : 0, found});
  }
  return audit;
}

}  // namespace tilewright::dsl::gpu
