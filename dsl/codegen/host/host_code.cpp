// From a function of tile IR to machine code in this process: emission, LLVM's passes, loading.
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/Target/TargetMachine.h>

#include "dsl/codegen/host/codegen.h"
#include "dsl/codegen/host/emitter.h"
#include "dsl/codegen/host/passes/host_pipeline.h"
#include "dsl/codegen/llvm/jit.h"
#include "dsl/codegen/llvm/llvm_passes.h"
#include "runtime/base/error.h"
#include "runtime/code/callable_functions.h"
#include "runtime/code/object.h"

namespace tilewright::dsl {
namespace {

// The part of LLVM's pipeline that pays for kernels: our loops are already blocked and vectorised.
constexpr const char* llvm_passes =
    "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm),"
    "early-cse,adce)";
// The part of quick code's.
constexpr const char* quick_llvm_passes = "function(sroa,early-cse<memssa>)";

struct Generated {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  HostMachine machine;
  std::int64_t scratch_bytes = 0;
  Registers registers = Registers::allocated;
  std::string reported;  // LLVM's first error, after which it goes on
};

// Without a handler LLVM ends the process.
void note_error(const llvm::DiagnosticInfo* info, void* reported) {
  std::string& text = *static_cast<std::string*>(reported);
  if (info->getSeverity() != llvm::DS_Error || !text.empty()) return;
  llvm::raw_string_ostream stream(text);
  llvm::DiagnosticPrinterRawOStream printer(stream);
  info->print(printer);
}

// LLVM's lists of facts about parameters take memory quadratic in their number.
constexpr std::size_t most_parameters = 4096;
// LLVM's registers, schedule and combinations of instructions take time by the square of the
// instructions of a block: a quarter of a minute for these.
constexpr std::size_t most_instructions_in_a_row = 1 << 16;

void require_short_blocks(const llvm::Module& module, const std::string& name) {
  for (const llvm::Function& function : module)
    for (const llvm::BasicBlock& block : function)
      require(block.size() <= most_instructions_in_a_row, "[codegen] ", name, " has ", block.size(),
              " instructions of LLVM with no loop or branch between them; ",
              most_instructions_in_a_row,
              " are compiled at the most; use loops, or several kernels");
}

// Products keep their sums in registers, for which it pays to allocate these well.
bool has_products(const ir::Function& function) {
  bool found = false;
  ir::for_each_inst(function.body,
                    [&](const ir::Inst& inst) { found = found || inst.op == ir::Op::dot_; });
  return found;
}

void generate(const ir::Function& function, const Target& target, CodeTier tier, Generated& g) {
  require(function.params.size() <= most_parameters, "[codegen] ", function.name, " has ",
          function.params.size(), " parameters; a processor's code takes ", most_parameters,
          " at the most; put numbers into an array");
  ir::Function scheduled = function;
  host::schedule(scheduled, {.target = target});
  require(scheduled.stage == ir::Stage::scheduled, "[codegen] @", function.name, " is ",
          name_of(function.stage),
          "; a host's code is made of a function that is traced or "
          "scheduled");
  g.context = std::make_unique<llvm::LLVMContext>();
  g.context->setDiagnosticHandlerCallBack(note_error, &g.reported);
  g.module = std::make_unique<llvm::Module>(function.name, *g.context);
  const bool is_quick = tier == CodeTier::quick;
  g.machine = host_machine(target, is_quick ? Optimised::no : Optimised::yes);
  g.registers = !is_quick || has_products(function) ? Registers::allocated : Registers::spilled;
  g.module->setTargetTriple(g.machine->getTargetTriple());
  g.module->setDataLayout(g.machine->createDataLayout());
  Emitter emitter(*g.module, scheduled, target, tier);
  emitter.run(std::string(kernel_entry));
  g.scratch_bytes = emitter.scratch_bytes();
  verify_llvm(*g.module, function.name);
  run_llvm_passes(*g.module, g.machine.get(), is_quick ? quick_llvm_passes : llvm_passes);
  require_short_blocks(*g.module, function.name);
}

// The result of `use` on the function's module.
template <typename Use>
auto of_generated(const ir::Function& function, const Target& target, CodeTier tier,
                  const Use& use) {
  initialise_llvm();
  Generated g;
  return or_leave_behind(
      [&] {
        generate(function, target, tier, g);
        auto result = use(g);
        if (!g.reported.empty())
          throw InternalError(concat("[codegen] ", function.name, ": ", g.reported));
        return result;
      },
      g.module, g.machine, g.context);
}

std::string text_of(Generated& g, const std::string& form) {
  if (form == "llvm") {
    std::string text;
    llvm::raw_string_ostream stream(text);
    g.module->print(stream, nullptr);
    return text;
  }
  require(form == "asm", "[codegen] unknown form \"", form, "\"; known are llvm and asm");
  auto bytes = assemble(*g.module, *g.machine, llvm::CodeGenFileType::AssemblyFile);
  return {bytes.begin(), bytes.end()};
}

}  // namespace

bool has_quick_code(const ir::Function& function, const Target& target) {
  return !target.has_tiles || !has_products(function);
}

HostObject generate_host_object(const ir::Function& function, const Target& target, CodeTier tier) {
  return of_generated(function, target, tier, [](Generated& g) {
    const auto bytes =
        assemble(*g.module, *g.machine, llvm::CodeGenFileType::ObjectFile, g.registers);
    return HostObject{{bytes.begin(), bytes.end()}, g.scratch_bytes};
  });
}

std::shared_ptr<const Artifact> load_host_object(const ir::Function& function,
                                                 const HostObject& object) {
  auto artifact = std::make_shared<Artifact>();
  artifact->name = function.name;
  for (const ir::Param& param : function.params)
    artifact->params.push_back(
        {param.name, function.type(param.value).is_pointer(), function.type(param.value).dtype});
  artifact->scratch_bytes = object.scratch_bytes;
  artifact->code = load_object(object.bytes, kernel_entry, callable_functions());
  artifact->host = reinterpret_cast<HostFunction>(artifact->code.get());
  return artifact;
}

std::shared_ptr<const Artifact> generate_host_code(const ir::Function& function,
                                                   const Target& target) {
  auto artifact = std::make_shared<Artifact>(
      *load_host_object(function, generate_host_object(function, target)));
  artifact->key = Hasher().add(ir::content_hash(function)).add(target.hash()).finish();
  return artifact;
}

std::int64_t host_code_bytes(const Artifact& artifact) { return loaded_bytes(artifact.code); }

std::string host_code_text(const ir::Function& function, const Target& target,
                           const std::string& form) {
  return of_generated(function, target, CodeTier::full,
                      [&](Generated& g) { return text_of(g, form); });
}

}  // namespace tilewright::dsl
