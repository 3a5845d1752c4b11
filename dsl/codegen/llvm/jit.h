// The host's linker: from LLVM IR made for this processor to code in this process.
//
// Both the code of tile programs (host_code.cpp) and that of emulated GPU kernels
// (gpu/emulate/emulate.cpp) end here. A part of its own so that there is one linker per target, one
// list of functions that generated code may call, and one place where LLVM's errors become ours.
//
// Where LLVM cannot go on it calls a handler, and ends the process if that returns. Ours raise
// instead: `std::bad_alloc` where memory ran out, which is what LLVM offers that handler for, and
// `LlvmFailure` for all else. Its own `new` raises `std::bad_alloc` too. LLVM is built without
// exceptions: they pass through its frames, but nothing there is cleaned up, so its objects may be
// half changed and a lock of its tables may be held. Such objects are therefore never looked at
// again, nor destroyed (`or_leave_behind`): their memory is lost. From then on the process
// generates no code, which is an error at once and not a wait for a lock; compiled code still runs.
// The other choice was that any host of the library dies with LLVM.
#pragma once

#include <llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <mutex>
#include <new>
#include <string>

#include "dsl/target/target.h"
#include "runtime/base/error.h"

namespace tilewright::dsl {

// LLVM's errors become ours here and nowhere else.
template <typename T>
T value_of(llvm::Expected<T> expected, const char* action) {
  if (!expected)
    throw InternalError(concat("[codegen] ", action, ": ", llvm::toString(expected.takeError())));
  return std::move(*expected);
}
void expect_success(llvm::Error error, const char* action);

// LLVM gave up in the midst of its work.
class LlvmFailure : public InternalError {
 public:
  using InternalError::InternalError;
};

// That LLVM has broken off: `initialise_llvm` raises from now on.
void note_broken_off() noexcept;

// Calls `work`, which uses the objects. Where LLVM breaks off within it, they are left behind.
template <typename Work, typename... Objects, typename... Ends>
auto or_leave_behind(const Work& work, std::unique_ptr<Objects, Ends>&... objects) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    (static_cast<void>(objects.release()), ...);
    note_broken_off();
    throw;
  } catch (const LlvmFailure&) {
    (static_cast<void>(objects.release()), ...);
    note_broken_off();
    throw;
  }
}

// Makes LLVM know the host, and raise where it cannot go on; raises `Error` where it has. To be
// called before any of its objects is made. Thread safe; later calls do nothing.
void initialise_llvm();

// LLVM's code generator for a target of the host. It is kept for the next kernel when its owner
// ends: making one reads the names of all features of a processor, which takes some per cent of the
// time of a small kernel.
struct KeptMachine {
  std::string key;
  void operator()(llvm::TargetMachine* machine) const noexcept;
};
using HostMachine = std::unique_ptr<llvm::TargetMachine, KeptMachine>;

enum class Optimised : std::uint8_t { yes, no };
// Thread safe; one that nobody else uses.
HostMachine host_machine(const Target& target, Optimised optimised);

// Where values live in code that is generated without optimisation.
enum class Registers : std::uint8_t {
  allocated,  // in registers for as long as possible
  spilled     // in memory between blocks, which takes less than half the time to generate
};

// The code of a module, as an object file or as text. The module is used up.
llvm::SmallVector<char, 0> assemble(llvm::Module& module, llvm::TargetMachine& machine,
                                    llvm::CodeGenFileType form,
                                    Registers registers = Registers::allocated);

// The linker of one target, for the life of the process. Thread safe.
class Linker {
 public:
  explicit Linker(const Target& target);
  static Linker& of(const Target& target);

  // The object's code, at its `entry`; the end of the last owner unloads it. No other object may
  // have its exported names. Raises `OutOfMemory` if there is no memory for the code.
  std::shared_ptr<void> link(std::unique_ptr<llvm::MemoryBuffer> object, const std::string& entry);

 private:
  // LLVM's handle for the code of an object. On the heap, so that it can be left behind.
  using Tracker = std::unique_ptr<llvm::orc::ResourceTrackerSP>;
  struct Unloading;
  // LLVM's message about a failure, before it says that there was one; it would print it.
  struct Reported {
    std::string text;
    bool lacks_memory = false;
    void add(llvm::Error error);
  };
  std::unique_ptr<llvm::orc::LLJIT> started();
  [[noreturn]] void fail_to_link(llvm::Error error);
  void unload(Tracker tracker) noexcept;

  Target target_;
  std::mutex mutex_;                       // one object at a time
  std::unique_ptr<llvm::orc::LLJIT> jit_;  // started by the first object
  Reported reported_;                      // of the object that is linked
  std::size_t unloaded_ = 0;
};

}  // namespace tilewright::dsl
