// Finds the modules of a model that are repeated blocks, and marks their calls while the model is
// captured; compile_regions uses it.
//
// A list (ModuleList, Sequential) has blocks: those of its modules that have parts of their own and
// whose class occurs in it twice or more, or that are all of one class. A module without parts,
// such as a Linear, is not a block: it is fused with its neighbours. Modules within a block are not
// blocks either, but belong to it.
//
// A block is called where its list is asked for it, to the end of that expression:
// `layers[i](x)`. Where nothing is computed up to there, as in `auto& layer = layers[i];`, its call
// goes on until the list is asked for another one or for its size, as the condition of the loop
// does. A block that is asked for within the expression of another one belongs to that. None of
// this changes a result: where a model walks through its lists in another way, its kernels are
// those that compile() makes.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "graph/compile/marks/mark_scope.h"
#include "graph/tensor/tensor.h"
#include "runtime/owned.h"

namespace tilewright {

class Module;
namespace graph {
class MarkScope;
}

namespace detail {

// Marks the calls of a model's repeated blocks for as long as it lives, if a function is being
// captured on this thread. The blocks are those that there are when it is made.
class RepeatedBlocks {
 public:
  explicit RepeatedBlocks(const Module& model);
  ~RepeatedBlocks();
  RepeatedBlocks(const RepeatedBlocks&) = delete;
  RepeatedBlocks& operator=(const RepeatedBlocks&) = delete;

  // True if its mark was opened: it is a block, within no other.
  bool enter(const Module& module);
  void leave_expression();  // in which `enter` said so
  void leave_list(const Module& list);

 private:
  struct Block {
    std::string name;  // of its class
    const Module* list;
  };
  void collect(const Module& module);
  std::map<const Module*, Block> blocks_;
  Owned<graph::MarkScope> mark_;      // null: nothing is captured
  const Module* list_ = nullptr;      // of the block whose mark is open
  bool is_in_expression_ = false;     // that asked for it
  std::size_t operations_ = 0;        // of the capture, when it was opened
  RepeatedBlocks* around_ = nullptr;  // on this thread
};

// Called by lists, in every call: they cost a comparison where nothing is captured.
bool enter_block(const Module& block);
void leave_block();
void leave_list(const Module& list);

// The number of a module in a list, made where the list is asked for that module.
class BlockIndex {
 public:
  BlockIndex(std::size_t index) : index_(index) {}
  ~BlockIndex() {
    if (is_entered_) [[unlikely]]
      leave_block();
  }
  BlockIndex(const BlockIndex&) = delete;
  BlockIndex& operator=(const BlockIndex&) = delete;
  std::size_t index() const { return index_; }
  template <typename M>
  M& enter(M& block) {
    if (captures.load(std::memory_order_relaxed) != 0) [[unlikely]]
      is_entered_ = enter_block(block);
    return block;
  }

 private:
  std::size_t index_;
  bool is_entered_ = false;
};

}  // namespace detail
}  // namespace tilewright
