#include "dsl/codegen/nvptx/nvptx.h"

#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/CodeGen/CodeGenTargetMachineImpl.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>

#include <initializer_list>
#include <mutex>

#include "dsl/codegen/llvm/jit.h"
#include "runtime/base/error.h"

namespace tilewright::dsl::gpu {

std::unique_ptr<llvm::TargetMachine> nvptx_machine(const Target& target) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string problem;
  const llvm::Target* nvptx = llvm::TargetRegistry::lookupTarget(triple, problem);
  check(nvptx != nullptr, "LLVM was built without NVPTX");
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(
      nvptx->createTargetMachine(triple, target.cpu, target.features, options, std::nullopt,
                                 std::nullopt, llvm::CodeGenOptLevel::Default));
}

namespace {

void add_passes(llvm::legacy::PassManager& passes, llvm::TargetMachine& machine, bool joins_copies,
                llvm::raw_svector_ostream& stream) {
  using Level = llvm::CodeGenOptLevel;
  machine.setOptLevel(Level::None);  // of what is added from here on
  auto& generator = static_cast<llvm::CodeGenTargetMachineImpl&>(machine);
  llvm::TargetPassConfig* config = generator.createPassConfig(passes);
  auto disable = [&](std::initializer_list<llvm::AnalysisID> ids) {
    for (llvm::AnalysisID id : ids) config->disablePass(id);
  };
  // As NVPTX itself does: these expect the registers of a machine.
  disable({&llvm::PrologEpilogCodeInserterID, &llvm::MachineLateInstrsCleanupID,
           &llvm::MachineCopyPropagationID, &llvm::TailDuplicateLegacyID, &llvm::StackMapLivenessID,
           &llvm::PostRAMachineSinkingID, &llvm::PostRASchedulerID, &llvm::FuncletLayoutID,
           &llvm::PatchableFunctionID, &llvm::ShrinkWrapID, &llvm::RemoveLoadsIntoFakeUsesID});
  // ptxas does these again, over all of a kernel.
  disable({&llvm::MachineCSELegacyID, &llvm::EarlyMachineLICMID, &llvm::MachineSinkingLegacyID});
  auto* functions = new llvm::MachineModuleInfoWrapperPass(&machine);
  passes.add(config);
  passes.add(functions);
  passes.add(llvm::createTargetTransformInfoWrapperPass(machine.getTargetIRAnalysis()));
  config->addCodeGenPrepare();  // brings an address's constant part to its access
  bool complete = !config->addInstSelector();
  passes.add(llvm::Pass::createPass(&llvm::FinalizeISelID));
  if (joins_copies) machine.setOptLevel(Level::Default);
  config->addMachinePasses();
  config->setInitialized();
  complete = complete &&
             !machine.addAsmPrinter(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile,
                                    functions->getMMI().getContext());
  passes.add(llvm::createFreeMachineFunctionPass());
  check(complete, "NVPTX has no code emitter");
}

}  // namespace

std::string ptx_text(llvm::Module& module, llvm::TargetMachine& machine, bool joins_copies) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  auto passes = std::make_unique<llvm::legacy::PassManager>();
  or_leave_behind(
      [&] {
        add_passes(*passes, machine, joins_copies, stream);
        passes->run(module);
      },
      passes);
  return {bytes.begin(), bytes.end()};
}

}  // namespace tilewright::dsl::gpu
