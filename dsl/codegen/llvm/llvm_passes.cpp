#include "dsl/codegen/llvm/llvm_passes.h"

#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>

#include "dsl/codegen/llvm/jit.h"
#include "runtime/base/error.h"

namespace tilewright::dsl {

void verify_llvm(const llvm::Module& module, const std::string& name) {
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(module, &stream))
    throw InternalError(concat("[codegen] ", name, ": ", problem));
}

void run_llvm_passes(llvm::Module& module, llvm::TargetMachine* machine, const char* pipeline) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager passes;
  expect_success(builder.parsePassPipeline(passes, pipeline), "building the pipeline");
  passes.run(module, modules);
}

}  // namespace tilewright::dsl
