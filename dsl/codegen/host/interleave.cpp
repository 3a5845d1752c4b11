#include "dsl/codegen/host/interleave.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <deque>

namespace tilewright::dsl {
namespace {

bool is_prefetch(const llvm::Value& value) {
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&value);
  return call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::prefetch;
}
bool writes(const llvm::Instruction& instruction) {
  return !is_prefetch(instruction) && instruction.mayWriteToMemory();
}
// A prefetch, or its address.
bool only_prefetches(const llvm::Instruction& instruction) {
  return is_prefetch(instruction) ||
         (instruction.hasOneUse() && is_prefetch(**instruction.user_begin()));
}

// Rearranges the instructions of some copies at the end of their block.
class Mixer {
 public:
  explicit Mixer(std::vector<std::deque<llvm::Instruction*>> copies) : copies_(std::move(copies)) {
    for (const auto& copy : copies_)
      for (llvm::Instruction* instruction : copy) {
        waiting_.insert(instruction);
        if (writes(*instruction)) writers_.push_back(instruction);
      }
  }

  void run(llvm::BasicBlock& block) {
    while (!waiting_.empty())
      for (auto& copy : copies_) {
        if (copy.empty() || !ready(*copy.front())) continue;
        const bool wrote = writes(*copy.front());
        place_next(copy, block);
        while (wrote && !copy.empty() && only_prefetches(*copy.front()) && ready(*copy.front()))
          place_next(copy, block);
      }
  }

 private:
  void place_next(std::deque<llvm::Instruction*>& copy, llvm::BasicBlock& block) {
    llvm::Instruction* instruction = copy.front();
    copy.pop_front();
    waiting_.erase(instruction);
    if (writes(*instruction)) writers_.pop_front();  // which it is the first of: ready()
    instruction->moveBefore(block, block.end());
  }
  bool ready(const llvm::Instruction& instruction) const {
    if (writes(instruction) && writers_.front() != &instruction) return false;
    for (const llvm::Use& operand : instruction.operands())
      if (const auto* definition = llvm::dyn_cast<llvm::Instruction>(operand.get()))
        if (waiting_.contains(definition)) return false;
    return true;
  }

  std::vector<std::deque<llvm::Instruction*>> copies_;
  llvm::SmallPtrSet<const llvm::Instruction*, 32> waiting_;
  std::deque<const llvm::Instruction*> writers_;
};

}  // namespace

void Interleave::begin_copy() {
  last_before_.push_back(block_->empty() ? nullptr : &block_->back());
}

void Interleave::mix(const llvm::BasicBlock* now, std::size_t width) {
  if (now != block_ || last_before_.size() < 2 || width < 2) return;
  auto after = [&](llvm::Instruction* last) {
    return last == nullptr ? block_->begin() : std::next(last->getIterator());
  };
  std::vector<std::deque<llvm::Instruction*>> all;
  for (std::size_t c = 0; c < last_before_.size(); ++c) {
    all.emplace_back();
    auto end = c + 1 < last_before_.size() ? after(last_before_[c + 1]) : block_->end();
    for (auto i = after(last_before_[c]); i != end; ++i) all.back().push_back(&*i);
  }
  for (std::size_t c = 0; c < all.size(); c += width)
    Mixer({all.begin() + static_cast<std::ptrdiff_t>(c),
           all.begin() + static_cast<std::ptrdiff_t>(std::min(c + width, all.size()))})
        .run(*block_);
}

}  // namespace tilewright::dsl
