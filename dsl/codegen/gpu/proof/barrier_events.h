// The accesses of a kernel's instructions to memory that threads share, and everything that orders
// these accesses, for barrier_proof.h. Everything else in a kernel is not an event.
//
// Where accesses lie is partly noted by the emitter (shared_access.h) and partly read off
// addresses: which array, which stage of a ring, and whether a barrier in shared memory is the full
// or the empty one of which ring.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "dsl/codegen/gpu/device/shared_access.h"
#include "dsl/codegen/gpu/plan/warp_specialisation.h"

namespace tilewright::dsl::gpu {

// the unit that makes an access
enum class Engine : std::uint8_t { thread, cp_async, bulk, wgmma };
enum class AccessKind : std::uint8_t { read, write, atomic };

struct Event {
  enum class Kind : std::uint8_t {
    access,             // of bytes or of an array: touch, engine, access, turn
    barrier,            // of all threads of the block, of all consumers, or (1) of the cluster
    warpgroup_barrier,  // of each warpgroup by itself
    fence,              // engines may read the thread's writes
    init_fence,         // of barriers in shared memory
    commit,             // the work that the thread gave to the engine is a group
    wait,               // for all of the engine's groups but `number`
    load_slot,          // of a ring, from a variable: slot, variable
    store_slot,         // into a variable; slot -1: something else
    await,              // until a barrier's phase is over: ring, slot, full or empty
    expect,             // bytes on the full barrier: ring, slot
    fill,               // of a stage by TMA: ring, slot
    multiply,           // from a stage: ring, slot
    release,            // at the empty barrier: ring, slot
    end,                // of the thread
  };
  Kind kind;
  Engine engine = Engine::thread;
  AccessKind access = AccessKind::read;
  int number = 0;
  int touch = -1;     // in Events::touches
  int turn = 0;       // in a ring that all threads fill: stages after this turn's
  int slot = -1;      // in Events::slots
  int variable = -1;  // in Events::slots too
  int ring = -1;      // of WarpSpecialisation::rings
  bool full = false;
  const llvm::Instruction* at = nullptr;
};

// Bytes of shared memory, or an array: then `array` is its parameter.
struct TouchedMemory {
  SharedAccess touch;
  const llvm::Value* array = nullptr;
  const llvm::BasicBlock* head = nullptr;  // of the loop whose turns go round the ring
};

class Events {
 public:
  Events(const llvm::Function& kernel, const std::optional<WarpSpecialisation>& roles);

  // Appends those of an instruction. Raises `InternalError` for an access that cannot be read.
  void read(const llvm::Instruction& instruction, std::vector<Event>& to);
  // An event that waits until an engine's barrier lets it pass, by looping over its own block.
  static bool is_await_loop(const llvm::BasicBlock& block);

  std::vector<TouchedMemory> places;
  std::vector<const llvm::Value*> slots;
  int barriers_place() const { return 0; }  // of all barriers in shared memory

 private:
  struct Operation {
    enum class Kind : std::uint8_t {
      none,
      barrier,
      named_barrier,
      cluster_barrier,
      fence,
      init_fence,
      commit,
      wait,
      atomic,
      matrices,
      cp_async,
      wgmma,
      tma_load,
      tma_store,
      init,
      await,
      expect,
      arrive
    };
    Kind kind = Kind::none;
    Engine engine = Engine::thread;
    bool writes = false;
    int number = 0;
  };
  // constant + stage bytes * slot + what depends on the thread.
  struct Address {
    std::int64_t constant = 0;
    const llvm::Value* slot = nullptr;
    std::int64_t factor = 0;
  };

  static Operation operation_named(llvm::StringRef name);
  const Operation& operation_of(const llvm::Function& function);
  void read_call(const llvm::CallInst& call, std::vector<Event>& to);
  void read_access(const llvm::Instruction& at, Engine engine, AccessKind access,
                   const llvm::Value* pointer, std::vector<Event>& to);
  void walk(const llvm::Value* value, Address& address) const;
  Address address_of(const llvm::Value* value) const;
  bool is_stage_bytes(std::int64_t factor) const;
  int slot_number(const llvm::Value* slot);
  int place_of(const llvm::MDNode& note);
  int place_of_array(const llvm::Value* pointer, int group);
  int turn_of(TouchedMemory& place, const llvm::Value* pointer, const llvm::Instruction& at) const;
  Event memory_barrier_event(Event::Kind kind, const llvm::CallInst& call);
  Event stage_event(Event::Kind kind, const llvm::Value* pointer, const llvm::CallInst& call);

  const std::optional<WarpSpecialisation>& roles_;
  const llvm::Function& kernel_;
  unsigned metadata_kind_;
  std::unordered_map<const llvm::Function*, Operation> operations_;
  std::unordered_map<const llvm::Value*, int> slot_numbers_;
  std::unordered_map<const llvm::MDNode*, int> place_of_note_;
  std::vector<std::int64_t> ring_stages_;  // bytes of stages of rings that all threads fill
};

}  // namespace tilewright::dsl::gpu
