// The definition and the users of each value of a program, and the arrays that the program writes:
// the plans of the code generator ask for these again and again. The program must outlive it.
#pragma once

#include <optional>
#include <vector>

#include "dsl/ir/function.h"

namespace tilewright::dsl::gpu {

class Uses {
 public:
  explicit Uses(const ir::Function& function);

  // Null for parameters of the function and of bodies.
  const ir::Inst* definition(ir::Value value) const { return definitions_[value]; }
  const std::vector<const ir::Inst*>& users(ir::Value value) const { return users_[value]; }
  // The pointer parameter that a pointer or a descriptor comes from.
  ir::Value base(ir::Value pointer) const { return bases_[pointer]; }
  bool is_written(ir::Value base) const { return written_[base]; }
  int accesses(ir::Value base) const { return accesses_[base]; }  // loads and stores

 private:
  std::vector<ir::Value> bases_;
  std::vector<const ir::Inst*> definitions_;
  std::vector<std::vector<const ir::Inst*>> users_;
  std::vector<bool> written_;
  std::vector<int> accesses_;
};

// The product that alone takes a loaded block, as it is or with its axes exchanged, and where.
struct ProductOperand {
  const ir::Inst* dot;
  int index;        // 0 or 1
  ir::Value value;  // of the product's operand
  bool transposed;  // it is the block with axes exchanged
};
std::optional<ProductOperand> product_operand(const Uses& uses, const ir::Inst& load);

// True if an instruction stands in this very block.
bool is_in(const ir::Block& block, const ir::Inst* inst);
// True if only the next iteration's product, in a loop with this body, uses a product's result.
bool only_accumulates(const Uses& uses, const ir::Inst& dot, const ir::Block& body);

}  // namespace tilewright::dsl::gpu
