// From a function of tile IR to machine code in this process: emission, LLVM's passes, linking.
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>

#include "dsl/codegen/codegen.h"
#include "dsl/codegen/emitter.h"
#include "runtime/base/error.h"

// Conversions of half precision, of the compiler's own library: for processors without F16C.
extern "C" {
_Float16 __truncsfhf2(float x);
float __extendhfsf2(_Float16 x);
}

namespace tilewright::dsl {
namespace {

// LLVM's errors become ours here and nowhere else.
template <typename T>
T value_of(llvm::Expected<T> expected, const char* action) {
  if (!expected)
    throw InternalError(concat("[codegen] ", action, ": ", llvm::toString(expected.takeError())));
  return std::move(*expected);
}

void expect_success(llvm::Error error, const char* action) {
  if (error)
    throw InternalError(concat("[codegen] ", action, ": ", llvm::toString(std::move(error))));
}

void initialise_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
}

llvm::orc::JITTargetMachineBuilder machine_builder(const Target& target) {
  llvm::orc::JITTargetMachineBuilder builder{llvm::Triple("x86_64-unknown-linux-gnu")};
  builder.setCPU(target.cpu);
  llvm::SubtargetFeatures features(target.features);
  builder.addFeatures(features.getFeatures());
  builder.setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
  builder.getOptions().AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return builder;
}

// What generated code may call: the functions of libm that the language has no expansion for, and
// the memory functions that LLVM itself puts in.
llvm::orc::SymbolMap callable_symbols(llvm::orc::LLJIT& jit) {
  llvm::orc::SymbolMap symbols;
  auto add = [&](const char* name, auto* function) {
    symbols[jit.mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(function),
                                          llvm::JITSymbolFlags::Exported};
  };
  using F = float (*)(float);
  using D = double (*)(double);
#define TILEWRIGHT_LIBM(name) \
  (add(#name, static_cast<D>(&::name)), add(#name "f", static_cast<F>(&::name##f)))
  TILEWRIGHT_LIBM(exp);
  TILEWRIGHT_LIBM(exp2);
  TILEWRIGHT_LIBM(log);
  TILEWRIGHT_LIBM(log2);
  TILEWRIGHT_LIBM(sin);
  TILEWRIGHT_LIBM(cos);
  TILEWRIGHT_LIBM(tanh);
  TILEWRIGHT_LIBM(erf);
  TILEWRIGHT_LIBM(floor);
  TILEWRIGHT_LIBM(ceil);
  TILEWRIGHT_LIBM(roundeven);
#undef TILEWRIGHT_LIBM
  add("fmod", static_cast<double (*)(double, double)>(&::fmod));
  add("fmodf", static_cast<float (*)(float, float)>(&::fmodf));
  add("fma", static_cast<double (*)(double, double, double)>(&::fma));
  add("fmaf", static_cast<float (*)(float, float, float)>(&::fmaf));
  add("__truncsfhf2", &::__truncsfhf2);
  add("__extendhfsf2", &::__extendhfsf2);
  add("memcpy", &::memcpy);
  add("memset", &::memset);
  add("memmove", &::memmove);
  return symbols;
}

// The linker of one target, for the life of the process.
class Linker {
 public:
  explicit Linker(const Target& target) {
    initialise_llvm();
    jit_ = value_of(
        llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(machine_builder(target)).create(),
        "starting the linker");
    jit_->getIRTransformLayer();
    expect_success(
        jit_->getMainJITDylib().define(llvm::orc::absoluteSymbols(callable_symbols(*jit_))),
        "defining symbols");
  }

  static Linker& of(const Target& target) {
    static std::mutex mutex;
    static std::map<std::string, std::unique_ptr<Linker>> linkers;
    std::lock_guard lock(mutex);
    auto& linker = linkers[target.cpu + target.features];
    if (!linker) linker = std::make_unique<Linker>(target);
    return *linker;
  }

  HostFunction link(std::unique_ptr<llvm::MemoryBuffer> object, const std::string& entry) {
    expect_success(jit_->addObjectFile(std::move(object)), "adding a kernel");
    auto address = value_of(jit_->lookup(entry), "linking a kernel");
    return address.toPtr<HostFunction>();
  }

 private:
  std::unique_ptr<llvm::orc::LLJIT> jit_;
};

// The part of LLVM's pipeline that pays for kernels: our loops are already blocked and vectorised.
constexpr const char* llvm_passes =
    "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm),"
    "early-cse,adce)";

struct Generated {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::int64_t scratch_bytes;
};

Generated generate(const ir::Function& function, const Target& target, const std::string& entry) {
  initialise_llvm();
  Generated g;
  g.context = std::make_unique<llvm::LLVMContext>();
  g.module = std::make_unique<llvm::Module>(function.name, *g.context);
  g.machine = value_of(machine_builder(target).createTargetMachine(), "choosing the processor");
  g.module->setTargetTriple(g.machine->getTargetTriple());
  g.module->setDataLayout(g.machine->createDataLayout());
  Emitter emitter(*g.module, function, target);
  emitter.run(entry);
  g.scratch_bytes = emitter.scratch_bytes();
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(*g.module, &stream))
    throw InternalError(concat("[codegen] ", function.name, ": ", problem));

  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(g.machine.get());
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager passes;
  expect_success(builder.parsePassPipeline(passes, llvm_passes), "building the pipeline");
  passes.run(*g.module, modules);
  return g;
}

llvm::SmallVector<char, 0> assemble(Generated& g, llvm::CodeGenFileType form) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (g.machine->addPassesToEmitFile(passes, stream, nullptr, form))
    throw InternalError("[codegen] this processor has no code emitter");
  passes.run(*g.module);
  return bytes;
}

}  // namespace

std::shared_ptr<const Artifact> generate_host_code(const ir::Function& function,
                                                   const Target& target) {
  auto artifact = std::make_shared<Artifact>();
  artifact->name = function.name;
  artifact->key = Hasher().add(ir::content_hash(function)).add(target.hash()).finish();
  static std::atomic<std::uint64_t> serial = 0;
  std::string entry = "tw_" + artifact->key.hex() + "_" + std::to_string(serial++);
  Generated g = generate(function, target, entry);
  artifact->scratch_bytes = g.scratch_bytes;
  for (const ir::Param& param : function.params)
    artifact->params.push_back(
        {param.name, function.type(param.value).is_pointer(), function.type(param.value).dtype});
  auto object = std::make_unique<llvm::SmallVectorMemoryBuffer>(
      assemble(g, llvm::CodeGenFileType::ObjectFile), entry, false);
  artifact->host = Linker::of(target).link(std::move(object), entry);
  return artifact;
}

std::string host_code_text(const ir::Function& function, const Target& target,
                           const std::string& form) {
  Generated g = generate(function, target, "kernel");
  if (form == "llvm") {
    std::string text;
    llvm::raw_string_ostream stream(text);
    g.module->print(stream, nullptr);
    return text;
  }
  require(form == "asm", "[codegen] unknown form \"", form, "\"; known are llvm and asm");
  auto bytes = assemble(g, llvm::CodeGenFileType::AssemblyFile);
  return {bytes.begin(), bytes.end()};
}

}  // namespace tilewright::dsl
