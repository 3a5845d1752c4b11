#include "dsl/codegen/llvm/llvm_passes.h"

#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>

#include "dsl/codegen/llvm/jit.h"
#include "runtime/base/error.h"

namespace tilewright::dsl {
namespace {

// The managers of one run, which know each other.
class PassRun {
 public:
  explicit PassRun(llvm::TargetMachine* machine) : builder_(machine) {}

  void over(llvm::Module& module, const char* pipeline) {
    builder_.registerModuleAnalyses(modules_);
    builder_.registerCGSCCAnalyses(components_);
    builder_.registerFunctionAnalyses(functions_);
    builder_.registerLoopAnalyses(loops_);
    builder_.crossRegisterProxies(loops_, functions_, components_, modules_);
    expect_success(builder_.parsePassPipeline(passes_, pipeline), "building the pipeline");
    passes_.run(module, modules_);
  }

 private:
  llvm::LoopAnalysisManager loops_;
  llvm::FunctionAnalysisManager functions_;
  llvm::CGSCCAnalysisManager components_;
  llvm::ModuleAnalysisManager modules_;
  llvm::PassBuilder builder_;
  llvm::ModulePassManager passes_;
};

}  // namespace

void verify_llvm(const llvm::Module& module, const std::string& name) {
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(module, &stream))
    throw InternalError(concat("[codegen] ", name, ": ", problem));
}

void run_llvm_passes(llvm::Module& module, llvm::TargetMachine* machine, const char* pipeline) {
  auto run = std::make_unique<PassRun>(machine);
  or_leave_behind([&] { run->over(module, pipeline); }, run);
}

}  // namespace tilewright::dsl
