#include "dsl/codegen/llvm/jit.h"

#include <execinfo.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/MathExtras.h>
#include <llvm/Support/TargetSelect.h>

#include <atomic>
#include <map>
#include <mutex>
#include <system_error>

#include "runtime/base/fork_gate.h"
#include "runtime/base/out_of_memory.h"
#include "runtime/code/callable_functions.h"

namespace tilewright::dsl {
namespace {

std::atomic<bool> has_broken_off = false;

constexpr std::size_t unloaded_names = 256;  // of kernels, that LLVM's table of names may have

llvm::orc::SymbolMap callable_symbols(llvm::orc::LLJIT& jit) {
  llvm::orc::SymbolMap symbols;
  for (const CallableFunction& function : callable_functions())
    symbols[jit.mangleAndIntern(function.name)] = {
        llvm::orc::ExecutorAddr::fromPtr(function.address), llvm::JITSymbolFlags::Exported};
  return symbols;
}

void raise_bad_alloc(void*, const char*, bool) { throw std::bad_alloc(); }

void raise_failure(void*, const char* reason, bool) {
  throw LlvmFailure(concat("[codegen] LLVM gave up: ", reason));
}

}  // namespace

void expect_success(llvm::Error error, const char* action) {
  if (error)
    throw InternalError(concat("[codegen] ", action, ": ", llvm::toString(std::move(error))));
}

void note_broken_off() noexcept { has_broken_off = true; }

void initialise_llvm() {
  require(!has_broken_off,
          "[codegen] LLVM ran out of memory or failed earlier in this process, which generates no "
          "more code; start it again");
  // Loads what exceptions need to leave pthread_once, in which LLVM registers its passes, while
  // there is memory for it.
  static const int frames = [] {
    void* frame = nullptr;
    return ::backtrace(&frame, 1);
  }();
  static_cast<void>(frames);
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::install_bad_alloc_error_handler(raise_bad_alloc);
    llvm::install_fatal_error_handler(raise_failure);
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
}

namespace {

void initialise_arm() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
  });
}

llvm::orc::JITTargetMachineBuilder machine_builder(const Target& target) {
  if (target.is_arm) initialise_arm();
  llvm::orc::JITTargetMachineBuilder builder{
      llvm::Triple(target.is_arm ? "aarch64-unknown-linux-gnu" : "x86_64-unknown-linux-gnu")};
  builder.setCPU(target.cpu);
  llvm::SubtargetFeatures features(target.features);
  builder.addFeatures(features.getFeatures());
  builder.setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
  // Constants lie beside the code that reads them, within the reach of 32 bits.
  builder.setRelocationModel(llvm::Reloc::PIC_);
  builder.setCodeModel(llvm::CodeModel::Small);
  builder.getOptions().AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return builder;
}

// Code generators of all targets that nobody uses. There are as many as threads that generate code
// at once.
struct IdleMachines {
  std::mutex mutex;
  std::multimap<std::string, std::unique_ptr<llvm::TargetMachine>> by_key;
};
// Never destroyed, as threads may still run at the end of a process.
IdleMachines& idle_machines() {
  static auto& machines = *new IdleMachines;
  return machines;
}

}  // namespace

void KeptMachine::operator()(llvm::TargetMachine* machine) const noexcept {
  std::unique_ptr<llvm::TargetMachine> owner(machine);
  try {
    GatedLock lock(idle_machines().mutex);
    idle_machines().by_key.emplace(key, std::move(owner));
  } catch (const std::bad_alloc&) {
    return;  // the next kernel makes one
  }
}

HostMachine host_machine(const Target& target, Optimised optimised) {
  std::string key = concat(target.cpu, " ", target.features, " ", static_cast<int>(optimised));
  {
    GatedLock lock(idle_machines().mutex);
    auto& by_key = idle_machines().by_key;
    if (auto idle = by_key.extract(key)) return {idle.mapped().release(), {std::move(key)}};
  }
  llvm::orc::JITTargetMachineBuilder builder = machine_builder(target);
  if (optimised == Optimised::no) builder.setCodeGenOptLevel(llvm::CodeGenOptLevel::None);
  auto made = value_of(builder.createTargetMachine(), "choosing the processor");
  return {made.release(), {std::move(key)}};
}

namespace {

// Adds the passes of code generation. How registers are allocated without optimisation is an option
// of LLVM's for the whole process, which it reads here; with optimisation it makes no difference.
bool add_passes(llvm::TargetMachine& machine, llvm::legacy::PassManager& passes,
                llvm::raw_pwrite_stream& stream, llvm::CodeGenFileType form, Registers registers) {
  if (machine.getOptLevel() != llvm::CodeGenOptLevel::None)
    return machine.addPassesToEmitFile(passes, stream, nullptr, form);
  static std::mutex mutex;
  static auto* const option = static_cast<llvm::cl::opt<llvm::cl::boolOrDefault>*>(
      llvm::cl::getRegisteredOptions().lookup("optimize-regalloc"));
  check(option != nullptr, "LLVM has no option for the allocation of registers");
  std::lock_guard lock(mutex);
  option->setValue(registers == Registers::allocated ? llvm::cl::BOU_TRUE : llvm::cl::BOU_UNSET);
  return machine.addPassesToEmitFile(passes, stream, nullptr, form);
}

}  // namespace

llvm::SmallVector<char, 0> assemble(llvm::Module& module, llvm::TargetMachine& machine,
                                    llvm::CodeGenFileType form, Registers registers) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  auto passes = std::make_unique<llvm::legacy::PassManager>();
  or_leave_behind(
      [&] {
        if (add_passes(machine, *passes, stream, form, registers))
          throw InternalError("[codegen] this processor has no code emitter");
        passes->run(module);
      },
      passes);
  return bytes;
}

Linker::Linker(const Target& target) : target_(target) { initialise_llvm(); }

void Linker::Reported::add(llvm::Error error) {
  llvm::handleAllErrors(std::move(error), [&](const llvm::ErrorInfoBase& one) {
    if (!text.empty()) text += "; ";
    text += one.message();
    lacks_memory = lacks_memory || one.convertToErrorCode() == std::errc::not_enough_memory;
  });
}

std::unique_ptr<llvm::orc::LLJIT> Linker::started() {
  auto jit = value_of(
      llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(machine_builder(target_)).create(),
      "starting the linker");
  or_leave_behind(
      [&] {
        jit->getExecutionSession().setErrorReporter(
            [this](llvm::Error error) { reported_.add(std::move(error)); });
        expect_success(
            jit->getMainJITDylib().define(llvm::orc::absoluteSymbols(callable_symbols(*jit))),
            "defining symbols");
      },
      jit);
  return jit;
}

Linker& Linker::of(const Target& target) {
  static std::mutex mutex;
  // Never destroyed: the end of a process needs no memory for it, and threads may still run.
  static auto& linkers = *new std::map<std::string, std::unique_ptr<Linker>>;
  std::lock_guard lock(mutex);
  auto& linker = linkers[target.cpu + target.features];
  if (!linker) linker = std::make_unique<Linker>(target);
  return *linker;
}

// Run by the last owner of code.
struct Linker::Unloading {
  Linker* linker;
  Tracker tracker;
  void operator()(void*) noexcept { linker->unload(std::move(tracker)); }
};

std::shared_ptr<void> Linker::link(std::unique_ptr<llvm::MemoryBuffer> object,
                                   const std::string& entry) {
  Tracker tracker;
  void* address = nullptr;
  {
    GatedLock lock(mutex_);
    if (jit_ == nullptr) jit_ = started();
    // Code that was linked earlier stays where it is when the linker is left behind.
    or_leave_behind(
        [&] {
          reported_ = {};
          tracker = std::make_unique<llvm::orc::ResourceTrackerSP>(
              jit_->getMainJITDylib().createResourceTracker());
          expect_success(jit_->addObjectFile(*tracker, std::move(object)), "adding a kernel");
          auto found = jit_->lookup(entry);
          if (!found) {
            static_cast<void>(tracker.release());  // what it names may be left behind
            fail_to_link(found.takeError());
          }
          address = found->toPtr<void*>();
        },
        jit_, tracker);
  }
  return {address, Unloading{this, std::move(tracker)}};
}

// Where LLVM has broken off while it linked, its tables are not looked at again, and the code stays
// with them.
void Linker::unload(Tracker tracker) noexcept {
  GatedLock lock(mutex_);
  if (jit_ == nullptr) return static_cast<void>(tracker.release());
  try {
    or_leave_behind(
        [&] {
          expect_success((*tracker)->remove(), "unloading a kernel");
          tracker.reset();
          // Names that nothing has any more stay in LLVM's table until this is called.
          if (++unloaded_ % unloaded_names == 0)
            jit_->getExecutionSession().getSymbolStringPool()->clearDeadEntries();
        },
        jit_, tracker);
  } catch (...) {
    // there is no caller to report to, and the code is left alone
    static_cast<void>(tracker.release());
  }
}

// A linker in which an object's names have failed would not take that object again: the next one
// gets another linker.
void Linker::fail_to_link(llvm::Error error) {
  reported_.add(std::move(error));
  std::string message = concat("[codegen] linking a kernel: ", reported_.text);
  if (!reported_.lacks_memory) throw InternalError(message);
  static_cast<void>(jit_.release());
  throw OutOfMemory(message + "; with less in use it may succeed");
}

}  // namespace tilewright::dsl
