#include "dsl/codegen/gpu/proof/barrier_proof.h"

#include <llvm/IR/Constants.h>

#include <algorithm>
#include <unordered_map>

#include "dsl/codegen/gpu/proof/barrier_state.h"
#include "runtime/base/error.h"

namespace tilewright::dsl::gpu {
namespace {

constexpr int mixed_threads = -1;

class Proof {
 public:
  Proof(const llvm::Function& kernel, const std::optional<WarpSpecialisation>& roles)
      : kernel_(kernel), events_(kernel, roles), transfer_(events_, kernel) {}

  void run() {
    order_blocks();
    std::vector<Event> all;
    for (Block& block : blocks_) {
      block.first = all.size();
      for (const llvm::Instruction& instruction : *block.block) events_.read(instruction, all);
      block.last = all.size();
    }
    transfer_.prepare(all);
    find_slot_places();
    find_threads();
    go_to_fixpoint(all);
  }

 private:
  struct Block {
    const llvm::BasicBlock* block;
    std::size_t first = 0, last = 0;  // events
    int threads = 0;                  // as Fact::threads, or mixed_threads
    int reached = -1;                 // the branch that some threads skip it by
    bool is_known = false;
    BarrierState before;
  };

  // Bodies of loops, and what stands behind a condition, before what comes after them.
  void order_blocks() {
    std::vector<std::pair<const llvm::BasicBlock*, int>> open;
    std::unordered_map<const llvm::BasicBlock*, bool> seen;
    std::vector<const llvm::BasicBlock*> finished;
    open.emplace_back(&kernel_.getEntryBlock(), -1);
    seen[open.back().first] = true;
    while (!open.empty()) {
      auto& [block, next] = open.back();
      const llvm::Instruction* end = block->getTerminator();
      if (next < 0) next = static_cast<int>(end->getNumSuccessors());
      if (next-- == 0) {
        finished.push_back(block);
        open.pop_back();
        continue;
      }
      const llvm::BasicBlock* successor = end->getSuccessor(static_cast<unsigned>(next));
      if (std::exchange(seen[successor], true)) continue;
      open.emplace_back(successor, -1);
    }
    for (auto it = finished.rbegin(); it != finished.rend(); ++it) {
      number_[*it] = static_cast<int>(blocks_.size());
      blocks_.push_back({*it});
    }
  }

  int number(const llvm::BasicBlock* block) const { return number_.at(block); }

  // Where slots are taken, and the heads of the loops that rings go with.
  void find_slot_places() {
    for (const llvm::Value* slot : events_.slots) {
      auto* inst = llvm::dyn_cast<llvm::Instruction>(slot);
      slot_blocks_.push_back(inst == nullptr ? 0 : number(inst->getParent()));
    }
    for (const TouchedMemory& place : events_.places)
      if (place.head != nullptr) heads_[place.touch.ring] = number(place.head);
  }

  // True if a condition gives the same each time it is evaluated: it follows from the thread's
  // number.
  bool is_of_thread(const llvm::Value* value, int depth = 6) const {
    if (llvm::isa<llvm::Constant>(value)) return true;
    if (auto* call = llvm::dyn_cast<llvm::CallInst>(value))
      return call->getCalledFunction() != nullptr &&
             call->getCalledFunction()->getName() == "td.thread_id";
    auto* inst = llvm::dyn_cast<llvm::Instruction>(value);
    if (inst == nullptr || depth == 0 || !llvm::isa<llvm::BinaryOperator, llvm::ICmpInst>(inst))
      return false;
    return std::ranges::all_of(inst->operands(), [&](const llvm::Use& operand) {
      return is_of_thread(operand.get(), depth - 1);
    });
  }

  // Which threads come to a block: all, those that meet one condition, or fewer.
  void find_threads() {
    std::unordered_map<const llvm::Value*, int> conditions;
    unsigned divergent = kernel_.getContext().getMDKindID(divergent_note);
    struct Region {
      int threads, parent;
      const llvm::BasicBlock* after;
    };
    std::vector<Region> regions{{0, -1, nullptr}};
    std::vector<int> region_of(blocks_.size(), -1);
    region_of[0] = 0;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      int here = std::max(region_of[i], 0);
      blocks_[i].threads = regions[static_cast<std::size_t>(here)].threads;
      const llvm::Instruction* end = blocks_[i].block->getTerminator();
      bool splits = end->getMetadata(divergent) != nullptr;
      if (splits) {
        const llvm::Value* condition = llvm::cast<llvm::BranchInst>(end)->getCondition();
        // Some of those that come here, whichever they are.
        int threads = blocks_[i].threads != 0 ? blocks_[i].threads : mixed_threads;
        skips_.resize(blocks_.size(), 0);
        if (is_of_thread(condition)) {
          int fresh = static_cast<int>(conditions.size()) + 1;
          threads = conditions.emplace(condition, fresh).first->second;
          skips_[i] = threads;
        }
        regions.push_back({threads, here, end->getSuccessor(1)});
        enter(region_of, end->getSuccessor(0), static_cast<int>(regions.size()) - 1);
        enter(region_of, end->getSuccessor(1), here);
        continue;
      }
      for (unsigned k = 0; k < end->getNumSuccessors(); ++k) {
        int to = here;
        while (to > 0 && regions[static_cast<std::size_t>(to)].after == end->getSuccessor(k))
          to = regions[static_cast<std::size_t>(to)].parent;
        enter(region_of, end->getSuccessor(k), to);
      }
    }
    skips_.resize(blocks_.size(), 0);
  }
  void enter(std::vector<int>& region_of, const llvm::BasicBlock* block, int region) const {
    int& known = region_of[static_cast<std::size_t>(number(block))];
    known = known < 0 ? region : std::min(known, region);
  }

  void go_to_fixpoint(const std::vector<Event>& all) {
    std::size_t next = 0;
    blocks_[0].is_known = true;
    std::vector<bool> waits(blocks_.size(), false);
    waits[0] = true;
    while (next < blocks_.size()) {
      if (!waits[next]) {
        ++next;
        continue;
      }
      waits[next] = false;
      Block& block = blocks_[next];
      BarrierState state = block.before;
      for (std::size_t i = block.first; i < block.last; ++i)
        transfer_.apply(all[i], block.threads, state);
      const llvm::Instruction* end = block.block->getTerminator();
      std::size_t again = next + 1;
      for (unsigned k = 0; k < end->getNumSuccessors(); ++k) {
        const llvm::BasicBlock* successor = end->getSuccessor(k);
        auto to = static_cast<std::size_t>(number(successor));
        if (to == next && Events::is_await_loop(*successor)) continue;
        bool changed = false;
        if (to <= next) {
          BarrierState back = state;
          turn_round(to, next, back);
          changed = blocks_[to].before.merge(back);
        } else if (k == 1 && skips_[next] > 0) {
          BarrierState rest = state;
          rest.update([&](const Fact& fact) { return fact.threads != skips_[next]; });
          changed = blocks_[to].before.merge(rest);
        } else {
          changed = blocks_[to].before.merge(state);
        }
        if (!changed && blocks_[to].is_known) continue;
        blocks_[to].is_known = true;
        waits[to] = true;
        again = std::min(again, to);
      }
      next = again;
    }
  }

  // From the end of a loop's turn to the next turn.
  void turn_round(std::size_t head, std::size_t latch, BarrierState& state) const {
    bool programs = blocks_[head].block->getTerminator()->getMetadata(programs_note) != nullptr;
    auto is_inside = [&](int block) {
      return static_cast<std::size_t>(block) >= head && static_cast<std::size_t>(block) <= latch;
    };
    state.update([&](Fact& fact) {
      bool is_slot = fact.what > Fact::What::unfenced;
      if (is_slot) {
        if (is_inside(slot_blocks_[static_cast<std::size_t>(fact.index)]) &&
            fact.age < BarrierState::long_ago)
          ++fact.age;
        // Only what is still kept or under way matters after the turn.
        return fact.age == 0 || fact.what == Fact::What::kept ||
               fact.what == Fact::What::multiplied;
      }
      fact.age = 1;
      const TouchedMemory& place = events_.places[static_cast<std::size_t>(fact.index)];
      if (place.array != nullptr) return !programs;
      if (place.touch.ring < 0 || fact.turn == BarrierState::any_turn) return true;
      auto ring = heads_.find(place.touch.ring);
      if (ring == heads_.end()) return true;
      if (static_cast<std::size_t>(ring->second) == head)
        fact.turn =
            static_cast<std::int8_t>((fact.turn + place.touch.stages - 1) % place.touch.stages);
      else if (is_inside(ring->second))
        fact.turn = BarrierState::any_turn;
      return true;
    });
  }

  const llvm::Function& kernel_;
  Events events_;
  Transfer transfer_;
  std::vector<Block> blocks_;
  std::unordered_map<const llvm::BasicBlock*, int> number_;
  std::vector<int> slot_blocks_, skips_;
  std::unordered_map<int, int> heads_;
};

}  // namespace

void prove_barriers(const llvm::Function& kernel, const std::optional<WarpSpecialisation>& roles) {
  Proof(kernel, roles).run();
}

}  // namespace tilewright::dsl::gpu
