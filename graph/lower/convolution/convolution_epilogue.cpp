#include "graph/lower/convolution/convolution_epilogue.h"

namespace tilewright::graph {
namespace {

using dsl::Operand;
using dsl::Tile;

bool is_computed(const Region& region, const TaskOperand& operand) {
  return operand.producer && region.slot(*operand.producer);
}

}  // namespace

void add_epilogue_memory(const ConvolutionSite& site, Parameters& parameters) {
  for (std::size_t slot = 0; slot < site.region.tasks.size(); ++slot) {
    const Task& task = site.list.tasks[site.region.tasks[slot]];
    for (const TaskOperand& operand : task.operands)
      if (slot > 0 && !operand.number && !is_computed(site.region, operand))
        parameters.add(operand.storage);
    if (site.region.stored[slot]) parameters.add(task.storage);
  }
}

void finish_block(const ConvolutionSite& site, const Tile& results, const LoadBlock& load,
                  const StoreBlock& store) {
  std::vector<Tile> values;
  for (std::size_t slot = 0; slot < site.region.tasks.size(); ++slot) {
    const Task& task = site.list.tasks[site.region.tasks[slot]];
    std::vector<Operand> operands;
    for (const TaskOperand& operand : task.operands) {
      if (slot == 0) break;
      if (operand.number)
        operands.emplace_back(dsl::constant(*operand.number));
      else if (is_computed(site.region, operand))
        operands.emplace_back(values[*site.region.slot(*operand.producer)]);
      else
        operands.emplace_back(load(operand.storage, operand.view));
    }
    values.push_back(slot == 0 ? results : apply_pointwise(task, operands));
    if (site.region.stored[slot]) store(task, values.back());
  }
}

std::int64_t PlaneBlock::stride(const StridedView& view, int of) {
  const int axis = of == channels ? 1 : view.shape.rank() - 3 + of;
  const bool is_there = of == channels || axis > 1;
  return !is_there || view.shape[axis] == 1 ? 0 : view.strides[axis];
}

Tile PlaneBlock::base(const Tile& memory, const StridedView& view) const {
  Offset offset(view.offset);
  offset.add(image, view.strides[0]);
  offset.add(channel, view.strides[1]);
  if (plane.defined()) offset.add(plane, stride(view, plane_axis));
  for (const Axis& axis : axes) offset.add_number(axis.begin * stride(view, axis.of));
  return memory + offset;
}

// Along what an operand repeats, one element is read.
Tile PlaneBlock::load(const Tile& memory, const StridedView& view) const {
  std::vector<Operand> sizes, strides, first;
  std::vector<std::int64_t> block, shape;
  for (const Axis& axis : axes) {
    const std::int64_t apart = stride(view, axis.of);
    shape.push_back(apart == 0 ? 1 : axis.block);
    if (apart == 0) continue;
    sizes.emplace_back(axis.size);
    strides.emplace_back(apart * axis.step);
    first.push_back(axis.first);
    block.push_back(axis.block);
  }
  if (block.empty()) return dsl::load(base(memory, view));
  Tile tile = dsl::load(dsl::make_desc(base(memory, view), sizes, strides), first, Shape(block));
  return block.size() == shape.size() ? tile : dsl::reshape(tile, Shape(shape));
}

void PlaneBlock::store(const Tile& memory, const StridedView& view, const Tile& tile) const {
  std::vector<Operand> sizes, strides, first;
  for (const Axis& axis : axes) {
    sizes.emplace_back(axis.size);
    strides.emplace_back(stride(view, axis.of) * axis.step);
    first.push_back(axis.first);
  }
  dsl::store(dsl::make_desc(base(memory, view), sizes, strides), first, tile);
}

void finish_plane_block(const ConvolutionSite& site, const Parameters& parameters,
                        const PlaneBlock& block, const Tile& results) {
  finish_block(
      site, results,
      [&](StorageId storage, const StridedView& view) {
        return block.load(parameters.pointer(storage), view);
      },
      [&](const Task& task, const Tile& tile) {
        block.store(parameters.pointer(task.storage), task.place, tile);
      });
}

}  // namespace tilewright::graph
