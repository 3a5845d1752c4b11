#include "graph/lower/cumulation/cumulation_shape.h"

namespace tilewright::graph {

CumulationShape::CumulationShape(const Task& task) {
  const StridedView& operand = task.operands[0].view;
  const int axis = task.attributes.axes[0];
  from = operand.offset;
  for (int i = 0; i < task.shape.rank(); ++i) {
    Mode mode{task.shape[i], operand.strides[i], task.place.strides[i]};
    if (i == axis) {
      along = mode;
    } else if (mode.size != 1) {
      if (!others.empty() && others.back().joins(mode)) {
        mode.size *= others.back().size;
        others.pop_back();
      }
      others.push_back(mode);
    }
  }
  if (!others.empty() && others.back().result == 1) {
    columns = others.back();
    others.pop_back();
  }
  for (const Mode& mode : others) rows *= mode.size;
}

void CumulationShape::move_to_row(const dsl::Tile& row, Offset& operand, Offset& result) const {
  dsl::Tile rest = row;
  for (std::size_t i = others.size(); i-- > 0;) {
    const Mode& mode = others[i];
    const dsl::Tile place = i == 0 ? rest : rest % mode.size;
    operand.add(place, mode.operand);
    result.add(place, mode.result);
    if (i > 0) rest = rest / mode.size;
  }
}

}  // namespace tilewright::graph
