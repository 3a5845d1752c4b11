// Finds barriers that a kernel does not need, and tests whether its proof (barrier_proof.h) needs
// each of the others: every barrier, wait, fence and hand-over is removed in turn, and the rest is
// proved again. If the proof still holds, nothing needs it.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace llvm {
class Function;
}  // namespace llvm

namespace tilewright::dsl::gpu {

struct WarpSpecialisation;  // plan/warp_specialisation.h

// What puts the accesses of a kernel in order, each with what the proof says of the kernel without
// it (barrier_proof.h): nothing, if the kernel does not need it.
struct BarrierAudit {
  struct Order {
    std::string operation;
    int line;
    std::string problem;
  };
  std::string problem;  // of the kernel as it is: empty
  double proof_s = 0;
  std::vector<Order> orders;
};
// Leaves the kernel as it was.
BarrierAudit audit_barriers(llvm::Function& kernel, const std::optional<WarpSpecialisation>& roles);

}  // namespace tilewright::dsl::gpu
