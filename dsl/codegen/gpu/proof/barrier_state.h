// The accesses that may have happened at a point of a kernel and are not yet ordered before later
// ones: the state of the dataflow of barrier_proof.h, and how events change it.
//
// A state is a set of facts; where paths meet, the union. A fact that is the same but for how long
// ago it was is another fact. Facts are small and few (some ten at a time), and sorted.
#pragma once

#include <llvm/IR/Function.h>

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "dsl/codegen/gpu/proof/barrier_events.h"

namespace tilewright::dsl::gpu {

struct Fact {
  enum class What : std::uint8_t {
    access,      // of a place; no barrier has come since
    unfenced,    // a write of a place; a barrier has come since, but no fence
    unawaited,   // a slot that was taken, but whose barrier was not waited for
    unexpected,  // a slot whose bytes are not expected yet
    multiplied,  // a slot that products read
    released,    // a slot that was given back
    kept,        // a slot in a variable
  };
  What what = What::access;
  Engine engine = Engine::thread;
  AccessKind access = AccessKind::read;
  std::uint8_t commits = 0;  // groups that were closed since the engine got this, at most `many`
  std::uint8_t age = 0;      // turns of loops ago, at most `long_ago`
  std::int8_t turn = 0;      // stages after this turn's, or `any_turn`
  bool fenced = false;
  std::int32_t index = -1;  // place or slot
  std::int32_t variable = -1;
  std::int32_t threads = 0;  // which threads: 0 all, else by the condition that they meet

  auto operator<=>(const Fact&) const = default;
};

class BarrierState {
 public:
  static constexpr std::uint8_t many = 9, long_ago = 2;
  static constexpr std::int8_t any_turn = -1;

  struct Entry {
    Fact fact;
    const llvm::Instruction* at;
  };

  const std::vector<Entry>& entries() const { return entries_; }
  bool contains(const Fact& fact) const;
  void add(const Fact& fact, const llvm::Instruction* at);
  // True if anything is new.
  bool merge(const BarrierState& other);
  // change(fact) says whether the fact stays, and may alter it.
  template <typename Change>
  void update(const Change& change) {
    std::vector<Entry> old;
    old.swap(entries_);
    for (Entry& entry : old)
      if (change(entry.fact)) entries_.push_back(entry);
    sort();
  }

 private:
  void sort();

  std::vector<Entry> entries_;
};

// Changes states by events, and reports accesses out of order.
class Transfer {
 public:
  Transfer(Events& events, const llvm::Function& kernel) : events_(events), kernel_(kernel) {}

  // Before any state: all events of the kernel, from which follows what engines may read.
  void prepare(const std::vector<Event>& all);
  // `threads`: the condition that those who come here meet (0: none), or -1 for several.
  void apply(const Event& event, int threads, BarrierState& state) const;

 private:
  struct Conflict {
    const Event& event;
    const BarrierState::Entry& with;
    std::string why;
  };
  bool overlap(const Fact& fact, const Event& event) const;
  bool needs_fence(int place) const;
  void access(const Event& event, int threads, BarrierState& state) const;
  void slot_event(const Event& event, BarrierState& state) const;
  [[noreturn]] void raise(const Event& event, const BarrierState::Entry& with,
                          std::string_view why) const;
  [[noreturn]] void raise(const Event& event, std::string_view why) const;
  std::string describe(int place, int turn, AccessKind kind, const llvm::Instruction* at) const;
  std::string line_of(const llvm::Instruction* at) const;

  Events& events_;
  const llvm::Function& kernel_;
  std::vector<bool> read_by_engines_;  // by place
  std::vector<int> ring_of_slot_;      // by slot, -1 if it was never awaited
};

}  // namespace tilewright::dsl::gpu
