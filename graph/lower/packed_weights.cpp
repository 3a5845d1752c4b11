#include "graph/lower/packed_weights.h"

#include <algorithm>
#include <utility>

#include "dsl/target/packed_product.h"
#include "graph/lower/block_sizes.h"
#include "graph/lower/lowering.h"
#include "graph/regions/region_facts.h"

namespace tilewright::graph {
namespace {

constexpr std::int64_t most_filled = 5;  // one column in so many may be zeros that fill a panel

class Packer {
 public:
  Packer(TaskList& list, const dsl::Target& host) : list_(list), host_(host) {}

  void visit(const Region& region) {
    if (list_.tasks[region.tasks[0]].is_opaque()) {
      const Lowering& lowering = lowering_of(list_, region);
      if (lowering.use_packed != nullptr) lowering.use_packed(list_, region, host_);
      return;
    }
    auto is_product = [&](TaskId id) { return list_.tasks[id].kind == TaskKind::contraction; };
    if (std::ranges::none_of(region.tasks, is_product)) return;
    const RegionFacts facts = facts_of(list_, region);
    const std::int64_t rows = facts.digit ? facts.digits[*facts.digit] : 1;
    if (rows < dsl::PackedProduct::least_rows) return;
    for (std::size_t slot = 0; slot < region.tasks.size(); ++slot) {
      Task& task = list_.tasks[region.tasks[slot]];
      if (!is_product(region.tasks[slot])) continue;
      const bool is_cut = cuts_columns(region, host_) && region.tables[slot].width == region.width;
      TaskOperand& weight = task.operands[1];
      if (auto panels = panels_for(task, is_cut)) use(weight, *panels);
    }
  }

 private:
  // How a product's weight is to be packed, if it is.
  std::optional<dsl::PackedPanels> panels_for(const Task& product, bool is_cut) const {
    const TaskOperand& weight = product.operands[1];
    if (!may_be_packed(list_, weight)) return std::nullopt;
    const Storage& storage = list_.storages[weight.storage];
    const StridedView& view = weight.view;
    const std::int64_t depth = view.shape[-2], columns = view.shape[-1];
    // All products of a batch must have the same.
    for (int axis = 0; axis < view.shape.rank() - 2; ++axis)
      if (view.shape[axis] != 1 && view.strides[axis] != 0) return std::nullopt;
    if (depth < host_.lanes || columns < 2 * host_.lanes) return std::nullopt;
    const dsl::PackedPanels panels = dsl::panels_of(host_, storage.dtype, depth, columns);
    const std::int64_t filled = panels.count(columns) * panels.width - columns;
    // A weight that is multiplied as another type is packed as that.
    if ((storage.dtype != DType::f32 && !panels.in_pairs) || filled * most_filled > columns)
      return std::nullopt;
    // Whole rows end where the weight does, blocks of them where a panel does: there is one that
    // is full.
    if (filled != 0 && (!is_cut || columns < panels.width)) return std::nullopt;
    return panels;
  }

  void use(TaskOperand& weight, const dsl::PackedPanels& panels) {
    const std::int64_t depth = weight.view.shape[-2], columns = weight.view.shape[-1];
    Storage packed;
    packed.elements = panels.elements(depth, columns);
    packed.packed_from = {
        {depth, columns}, {weight.view.strides[-2], weight.view.strides[-1]}, weight.view.offset};
    packed.panels = panels;
    read_packed(list_, weight, std::move(packed));
    weight.view.strides[-2] = columns;
    weight.view.strides[-1] = 1;
    weight.view.offset = 0;
  }

  TaskList& list_;
  const dsl::Target& host_;
};

}  // namespace

bool may_be_packed(const TaskList& list, const TaskOperand& weight) {
  if (weight.number || weight.producer) return false;
  const Storage& storage = list.storages[weight.storage];
  return storage.kind == StorageKind::input && storage.is_frozen && storage.writers.empty();
}

void read_packed(TaskList& list, TaskOperand& weight, Storage packed) {
  const Storage& from = list.storages[weight.storage];
  packed.kind = StorageKind::packed;
  packed.dtype = from.dtype;
  packed.input = from.input;
  auto known = std::ranges::find_if(list.storages, [&](const Storage& s) {
    return s.kind == StorageKind::packed && s.input == packed.input &&
           s.packed_from == packed.packed_from && s.panels == packed.panels &&
           s.is_winograd == packed.is_winograd;
  });
  weight.storage = static_cast<StorageId>(known - list.storages.begin());
  if (known == list.storages.end()) list.storages.push_back(std::move(packed));
}

void use_packed_weights(TaskList& list, const std::vector<FusedRegion>& regions,
                        const dsl::Target& target) {
  if (target.is_gpu() || std::ranges::none_of(list.storages, &Storage::is_frozen)) return;
  Packer packer(list, target);
  for (const FusedRegion& fused : regions) packer.visit(fused.region);
}

}  // namespace tilewright::graph
