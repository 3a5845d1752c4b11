// What planning and emission for hosts ask of a function's values: the instruction that makes one,
// the pointer that an address comes from, and how a reshape goes through its operand.
#pragma once

#include <optional>
#include <vector>

#include "dsl/ir/function.h"

namespace tilewright::dsl {

class Definitions {
 public:
  explicit Definitions(const ir::Function& function);
  const ir::Inst* inst(ir::Value value) const { return defining_[value]; }
  const ir::Type& type(ir::Value value) const { return function_.type(value); }
  bool is_tile(ir::Value value) const {
    return !type(value).is_scalar() && !type(value).is_descriptor();
  }
  // The pointer parameter that a pointer or descriptor leads back to; nothing if several may.
  std::optional<ir::Value> base(ir::Value value) const;
  bool is_written(std::optional<ir::Value> base) const;
  const ir::Function& function() const { return function_; }

 private:
  void visit(const ir::Block& block);
  const ir::Function& function_;
  std::vector<const ir::Inst*> defining_;
  std::vector<ir::Value> written_;
  bool writes_unknown_ = false;
};

// How a tile program reads a weight that was packed beforehand (packed_product.h): it loads a block
// of an array of panels, and permutes and reshapes it to a matrix that is the right operand of a
// dot.
struct PanelBlock {
  const ir::Inst* load;     // [panels, depth, width], in pairs [panels, depth / 2, width, 2]
  const ir::Inst* permute;  // [depth, panels, width], in pairs [depth / 2, 2, panels, width]
  bool in_pairs;
};
std::optional<PanelBlock> panel_block(const Definitions& definitions, ir::Value matrix);

// Whether a reshape only adds or drops axes of one element, which moves nothing. A reshape that
// joins axes is looked through if the last of each group has whole vectors; others read the operand
// in row-major order from scratch memory.
bool only_moves_unit_axes(const Shape& from, const Shape& to);
// For each axis of `to` the axes of `from` that it is made of, except those of one element.
std::optional<std::vector<std::vector<int>>> joined_axes(const Shape& from, const Shape& to);

}  // namespace tilewright::dsl
