// Shared by passes when they edit a function: replacing values, counting uses, dropping
// instructions, renumbering.
//
// A function has no use-lists, so a replacement is one sweep over the code with a table of old and
// new values; a pass gathers its replacements and applies them at once. Nothing here knows what an
// operation means.
#pragma once

#include <unordered_map>
#include <vector>

#include "dsl/ir/function.h"

namespace tilewright::ir {

// Old value to new. Chains (a to b, b to c) are followed to their end; cycles are a bug.
class Replacements {
 public:
  void add(Value old, Value replacement) { map_[old] = replacement; }
  bool empty() const { return map_.empty(); }
  Value operator()(Value value) const;

 private:
  std::unordered_map<Value, Value> map_;
};

// Replaces operands, in nested blocks too. Definitions stay; `dead_code` drops them.
void replace_uses(Block& block, const Replacements& replacements);
void replace_uses(Function& function, const Replacements& replacements);

// How often each value is an operand, indexed by Value.
std::vector<std::uint32_t> count_uses(const Function& function);

// By value: the parameter that a pointer or a descriptor comes from, also by way of loops and ifs,
// whose pointers are all of one array; of other values one that they are made of.
std::vector<Value> array_bases(const Function& function);

// The values that a block uses, its nested blocks included, and does not define itself.
std::vector<Value> free_values(const Block& block);

// Drops results, yields and, for a loop, initial values and block parameters of those places of a
// structured instruction whose `keep` is false, indexed by result. Nothing may use what goes away.
void keep_results(Inst& inst, const std::vector<bool>& keep);

// Renumbers values densely in order of definition (the results of a loop or if come after its
// bodies) and forgets the types of values that nothing defines. Ids held elsewhere are void.
void compact(Function& function);

// Like for_each_inst of function.h, on instructions that may be changed.
template <typename Visit>
void for_each_inst(Block& block, Visit&& visit) {
  for (Inst& inst : block.insts) {
    visit(inst);
    for (Block& body : inst.bodies) for_each_inst(body, visit);
  }
}

// Calls `visit(Block&)` on a block and all blocks within it, inner before outer.
template <typename Visit>
void for_each_block(Block& block, Visit&& visit) {
  for (Inst& inst : block.insts)
    for (Block& body : inst.bodies) for_each_block(body, visit);
  visit(block);
}

}  // namespace tilewright::ir
