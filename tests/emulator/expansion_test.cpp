// Every device operation becomes PTX that the assembler takes, for each architecture that has it.
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "dsl/codegen/gpu/device/device_ops.h"
#include "runtime/base/env.h"
#include "tests/errors.h"

namespace tilewright::dsl::expansion_test {
namespace {

struct Architecture {
  int number;
  const char* name;
  const char* features;
};

// sm_90a is given PTX 8.0 (8.1 to add to vectors), which drivers have known longest; what begins
// with sm_89 needs 8.4.
bool has(const Architecture& architecture, const DeviceOp& op) {
  if (op.minimum_arch == 89) return architecture.number == 89;
  return op.minimum_arch <= architecture.number;
}

std::unique_ptr<llvm::TargetMachine> machine_for(const Architecture& architecture) {
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string problem;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, problem);
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, architecture.name, architecture.features, {}, {}, {},
                                  llvm::CodeGenOptLevel::Default));
}

// An operand that the compiler does not know: a parameter of the kernel, or a place in the block's
// memory.
llvm::Value* operand_of(llvm::IRBuilder<>& b, llvm::Type* type, llvm::Argument* parameter) {
  if (!type->isPointerTy() || type->getPointerAddressSpace() < 3) return parameter;
  auto* base = b.CreateCall(device_op(*b.GetInsertBlock()->getModule(), "shared_base"));
  return b.CreateAddrSpaceCast(base, type);
}

// A kernel that calls the operation with operands from outside and stores what it gives.
void add_kernel(llvm::Module& module, const DeviceOp& op) {
  llvm::LLVMContext& context = module.getContext();
  llvm::FunctionCallee callee = device_op(module, op.name);
  std::vector<llvm::Type*> types;
  for (llvm::Type* type : callee.getFunctionType()->params())
    types.push_back(type->isPointerTy() && type->getPointerAddressSpace() >= 3
                        ? llvm::Type::getInt32Ty(context)
                        : type);
  types.push_back(llvm::PointerType::get(context, 1));
  auto* kernel =
      llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getVoidTy(context), types, false),
                             llvm::Function::ExternalLinkage, "test_" + op.name, module);
  kernel->setCallingConv(llvm::CallingConv::PTX_Kernel);
  kernel->addFnAttr("nvvm.maxntid", "128,1,1");
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "", kernel));
  llvm::SmallVector<llvm::Value*> operands;
  for (unsigned i = 0; i + 1 < types.size(); ++i)
    operands.push_back(operand_of(b, callee.getFunctionType()->getParamType(i), kernel->getArg(i)));
  llvm::Value* result = b.CreateCall(callee, operands);
  if (!result->getType()->isVoidTy())
    b.CreateStore(result, kernel->getArg(static_cast<unsigned>(types.size()) - 1));
  b.CreateRetVoid();
}

std::string ptx_of_all_operations(const Architecture& architecture) {
  llvm::LLVMContext context;
  llvm::Module module("device_ops", context);
  auto machine = machine_for(architecture);
  module.setTargetTriple(machine->getTargetTriple());
  module.setDataLayout(machine->createDataLayout());
  for (const DeviceOp& op : sample_device_ops())
    if (has(architecture, op)) add_kernel(module, op);
  expand_device_ops(module);
  std::string problem;
  llvm::raw_string_ostream problems(problem);
  EXPECT_FALSE(llvm::verifyModule(module, &problems)) << problem;
  for (const llvm::Function& function : module)
    EXPECT_FALSE(function.getName().starts_with("td.")) << function.getName().str();
  llvm::SmallVector<char, 0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile);
  passes.run(module);
  return {text.begin(), text.end()};
}

std::string assembler() {
  if (std::string named = env::ptxas(); !named.empty()) return named;
  return std::system("ptxas --version > /dev/null 2>&1") == 0 ? "ptxas" : "";
}

class DeviceOperations : public testing::TestWithParam<Architecture> {};

TEST_P(DeviceOperations, ExpandToPtxThatAssembles) {
  std::string ptx = ptx_of_all_operations(GetParam());
  for (const DeviceOp& op : sample_device_ops()) {
    if (!has(GetParam(), op)) continue;
    EXPECT_NE(ptx.find(".entry test_" + op.name + "("), std::string::npos) << op.name;
  }
  if (assembler().empty()) GTEST_SKIP() << "no ptxas on PATH or in TILEWRIGHT_PTXAS";
  auto folder = std::filesystem::temp_directory_path();
  std::string stem = (folder / ("tilewright_device_ops_" + std::to_string(getpid()))).string();
  std::ofstream(stem + ".ptx") << ptx;
  std::string command = assembler() + " -arch=" + GetParam().name + " " + stem + ".ptx -o " + stem +
                        ".cubin > " + stem + ".log 2>&1";
  int status = std::system(command.c_str());
  std::ostringstream log;
  log << std::ifstream(stem + ".log").rdbuf();
  EXPECT_EQ(status, 0) << log.str().substr(0, 4000);
  for (const char* extension : {".ptx", ".cubin", ".log"})
    std::filesystem::remove(stem + extension);
}

INSTANTIATE_TEST_SUITE_P(, DeviceOperations,
                         testing::Values(Architecture{80, "sm_80", "+ptx71"},
                                         Architecture{89, "sm_89", "+ptx84"},
                                         Architecture{90, "sm_90a", "+ptx81"}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(DeviceOps, AreDeclaredWithTheirEffects) {
  llvm::LLVMContext context;
  llvm::Module module("effects", context);
  auto declared = [&](const char* name) {
    return llvm::cast<llvm::Function>(device_op(module, name).getCallee());
  };
  EXPECT_TRUE(declared("thread_id")->doesNotAccessMemory());
  EXPECT_FALSE(declared("thread_id")->isConvergent());
  EXPECT_TRUE(declared("shuffle_xor")->doesNotAccessMemory());
  EXPECT_TRUE(declared("shuffle_xor")->isConvergent());
  EXPECT_TRUE(declared("barrier")->isConvergent());
  EXPECT_FALSE(declared("barrier")->doesNotAccessMemory());
  EXPECT_FALSE(declared("store_global_v4")->isConvergent());
  EXPECT_FALSE(find_device_op("no_such_operation").has_value());
  EXPECT_THROW(device_op(module, "cp_async_wait_x"), InternalError);
}

// A conversion may be left out or computed elsewhere; a copy, a store or a product may not.
TEST(DeviceOps, AssemblyHasSideEffectsUnlessItOnlyComputes) {
  llvm::LLVMContext context;
  llvm::Module module("side_effects", context);
  module.setDataLayout(machine_for({90, "sm_90a", "+ptx81"})->createDataLayout());
  for (const DeviceOp& op : sample_device_ops()) add_kernel(module, op);
  expand_device_ops(module);
  int with = 0, without = 0;
  for (const DeviceOp& op : sample_device_ops()) {
    const llvm::Function* kernel = module.getFunction("test_" + op.name);
    for (const llvm::Instruction& instruction : kernel->getEntryBlock()) {
      auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (call == nullptr || !call->isInlineAsm()) continue;
      auto* assembly = llvm::cast<llvm::InlineAsm>(call->getCalledOperand());
      EXPECT_EQ(assembly->hasSideEffects(), op.effect != DeviceEffect::pure) << op.name;
      ++(assembly->hasSideEffects() ? with : without);
    }
  }
  EXPECT_GT(with, 0);
  EXPECT_GT(without, 0);
}

}  // namespace
}  // namespace tilewright::dsl::expansion_test
