#include "graph/regions/region_facts.h"

#include <algorithm>
#include <numeric>

#include "dsl/target/tma.h"

namespace tilewright::graph {
namespace {

bool a_product_needs_another(const TaskList& list, const Region& region) {
  std::vector<bool> follows(region.tasks.size(), false);  // a product, or what is made of one
  for (std::size_t slot = 0; slot < region.tasks.size(); ++slot) {
    const Task& task = list.tasks[region.tasks[slot]];
    for (const TaskOperand& operand : task.operands)
      if (auto p = operand.producer ? region.slot(*operand.producer) : std::nullopt)
        follows[slot] = follows[slot] || follows[*p];
    if (task.kind != TaskKind::contraction) continue;
    if (follows[slot]) return true;
    follows[slot] = true;
  }
  return false;
}

// Where a matrix in memory lies: at the offset, plus a stride for each digit of the region's rows
// that a program has one value of, plus those of the product's inner axis and of its other one.
struct MatrixPlace {
  std::int64_t offset;
  std::vector<std::int64_t> outer;
  std::int64_t inner_stride, other_stride;
};

// As dsl/codegen/gpu/plan/tensor_copy.h decides it. Elements other than those of 16 bits are
// multiplied where they lie along the inner axis.
bool is_fetched(const Storage& storage, const MatrixPlace& at) {
  std::int64_t bytes = size_bytes(storage.dtype);
  bool along_inner = at.inner_stride == 1;
  std::int64_t row_stride = along_inner ? at.other_stride : at.inner_stride;
  bool has_rows = along_inner || (at.other_stride == 1 && bytes == 2);
  auto moves = std::ranges::count_if(at.outer, [](std::int64_t stride) { return stride != 0; });
  return storage.is_aligned && has_rows && row_stride > 0 && dsl::tma::takes(row_stride * bytes) &&
         dsl::tma::takes(at.offset * bytes) &&
         static_cast<std::size_t>(moves) + 2 <= dsl::tma::most_dimensions &&
         std::ranges::all_of(at.outer, [&](std::int64_t stride) {
           return stride >= 0 && dsl::tma::takes(stride * bytes);
         });
}

// TMA does not know of what the program writes meanwhile.
bool is_written(const TaskList& list, const Region& region, StorageId storage) {
  for (std::size_t slot = 0; slot < region.tasks.size(); ++slot)
    if (region.stored[slot] && list.tasks[region.tasks[slot]].storage == storage) return true;
  return false;
}

// True if operands of the products, whose rows go along a digit, are fetched from memory as they
// lie. The part of a left operand that the region computes comes from registers.
bool has_fetched_operands(const TaskList& list, const Region& region, std::size_t digit) {
  auto fetches = [&](const TaskOperand& operand, const TableAccess& access, MatrixPlace at) {
    at.offset = access.offset;
    at.outer = region.digits.strides(access.rows);
    at.outer[digit] = 0;
    return !is_written(list, region, operand.storage) &&
           is_fetched(list.storages[operand.storage], at);
  };
  for (std::size_t slot = 0; slot < region.tasks.size(); ++slot) {
    const Task& task = list.tasks[region.tasks[slot]];
    if (task.kind != TaskKind::contraction) continue;
    const TaskOperand &left = task.operands[0], &right = task.operands[1];
    if (right.producer && region.slot(*right.producer)) return false;
    Table weights = weight_table(task);
    TableAccess access = *compose(right.view, weights.place);
    IndexMap inner = *compose(index_map(right.view), *weights.inner);
    if (!fetches(right, access, {0, {}, stride_of(inner), stride_of(access.columns)})) return false;
    if (left.producer && region.slot(*left.producer)) continue;
    access = *compose(left.view, operand_table(task, 0, region.tables[slot])->place);
    std::int64_t row_stride = region.digits.strides(access.rows)[digit];
    if (!fetches(left, access, {0, {}, stride_of(access.columns), row_stride})) return false;
  }
  return true;
}

}  // namespace

std::int64_t stride_of(const IndexMap& map) {
  return map.is_constant() ? 0 : map.modes()[0].stride;
}

std::int64_t depth_quantum(const TaskList& list, const Region& region, std::size_t product) {
  std::vector<std::int64_t> digits = inner_digits(list, region, product)->sizes();
  std::int64_t quantum = 1;
  for (std::size_t i = 0; i + 1 < digits.size(); ++i) quantum *= digits[i];
  return quantum;
}

RegionFacts facts_of(const TaskList& list, const Region& region) {
  RegionFacts facts;
  facts.products_come_first = !a_product_needs_another(list, region);
  facts.digits = region.digits.sizes();
  std::vector<bool> usable(facts.digits.size(), true);
  for (std::size_t slot = 0; slot < region.tasks.size(); ++slot) {
    const Task& task = list.tasks[region.tasks[slot]];
    if (!region.tables[slot].inner)
      facts.widest = std::max(facts.widest, region.tables[slot].width);
    facts.element_bytes = std::max(facts.element_bytes, size_bytes(task.dtype));
    const bool looks_up = task.kind == TaskKind::gather && !task.gathers_elements();
    if (looks_up && region.tables[slot].inner) facts.looks_up_weights = true;
    if ((looks_up && !region.tables[slot].inner) ||
        (task.kind == TaskKind::scatter && !task.scatters_elements()))
      facts.one_row = true;
    facts.scatters_elements = facts.scatters_elements || task.scatters_elements();
    facts.reduces = facts.reduces || task.kind == TaskKind::reduction;
    if (task.kind == TaskKind::reduction)
      facts.widest = std::max(facts.widest, operand_table(task, 0, {})->width);
    if (task.kind != TaskKind::contraction) continue;
    const TaskOperand& weight = task.operands[1];
    const DType dtype =
        weight.producer ? list.tasks[*weight.producer].dtype : list.storages[weight.storage].dtype;
    facts.multiplied =
        facts.has_product && facts.multiplied != dtype ? std::nullopt : std::optional(dtype);
    facts.has_product = true;
    facts.weight_element_bytes = std::max(
        facts.weight_element_bytes, size_bytes(list.storages[task.operands[1].storage].dtype));
    facts.on_tensor_cores = facts.on_tensor_cores &&
                            list.on_tensor_cores(list.storages[task.operands[1].storage].dtype);
    facts.depth = std::max(facts.depth, task.operands[1].view.shape[-2]);
    if (const Storage& storage = list.storages[task.operands[1].storage];
        storage.kind == StorageKind::packed) {
      if (region.tables[slot].width == region.width) facts.panel_width = storage.panels.width;
      if (storage.panels.in_pairs)
        facts.depth_quantum = std::lcm<std::int64_t>(facts.depth_quantum, 2);
    }
    Table weights = weight_table(task);
    if (task.operands[1].producer && region.slot(*task.operands[1].producer)) {
      facts.computes_weights = true;
      facts.depth_quantum = std::lcm(facts.depth_quantum, depth_quantum(list, region, slot));
    }
    IndexMap inner = *compose(index_map(task.operands[1].view), *weights.inner);
    facts.weights_along_depth =
        facts.weights_along_depth && !inner.is_constant() && inner.modes()[0].stride == 1;
    auto access = compose(task.operands[1].view, TableAccess{weights.place.rows, IndexMap(), 0});
    std::vector<std::int64_t> strides = region.digits.strides(access->rows);
    for (std::size_t i = 0; i < strides.size(); ++i) usable[i] = usable[i] && strides[i] == 0;
  }
  if (facts.one_row) return facts;
  for (std::size_t i = 0; i < facts.digits.size(); ++i)
    if (usable[i] && (!facts.digit || facts.digits[i] > facts.digits[*facts.digit]))
      facts.digit = i;
  facts.has_fetched_operands =
      facts.on_tensor_cores && facts.digit && has_fetched_operands(list, region, *facts.digit);
  return facts;
}

Contiguity contiguity_of(const TaskList& list, const Region& region) {
  std::int64_t along_columns = 0;
  std::vector<std::int64_t> along_digit(region.digits.sizes().size(), 0);
  std::optional<std::size_t> digit_of_rows;
  auto vote = [&](const std::optional<TableAccess>& access, std::int64_t bytes) {
    if (!access) return;
    if (access->columns.is_constant()) return;
    auto are_neighbours = [](std::int64_t stride) { return std::abs(stride) == 1; };
    if (are_neighbours(access->columns.modes()[0].stride)) along_columns += bytes;
    std::vector<std::int64_t> strides = region.digits.strides(access->rows);
    for (std::size_t i = 0; i < strides.size(); ++i)
      if (are_neighbours(strides[i])) along_digit[i] += bytes;
  };
  for (std::size_t slot = 0; slot < region.tasks.size(); ++slot) {
    const Task& task = list.tasks[region.tasks[slot]];
    for (std::size_t i = 0; i < task.operands.size(); ++i) {
      const TaskOperand& operand = task.operands[i];
      if (operand.number || (operand.producer && region.slot(*operand.producer))) continue;
      if (auto seen = operand_table(task, i, region.tables[slot]))
        vote(compose(operand.view, seen->place), element_count(operand.view.shape));
    }
    if (!region.stored[slot]) continue;
    const std::optional<TableAccess> stored = compose(task.place, region.tables[slot].place);
    vote(stored, task.count());
    if (!stored) continue;
    const std::vector<std::int64_t> strides = region.digits.strides(stored->rows);
    const auto found = std::ranges::find(strides, region.tables[slot].width);
    if (found != strides.end()) digit_of_rows = static_cast<std::size_t>(found - strides.begin());
  }
  auto best = std::ranges::max_element(along_digit);
  if (best == along_digit.end()) return {along_columns};
  return {along_columns, *best, static_cast<std::size_t>(best - along_digit.begin()),
          digit_of_rows};
}

}  // namespace tilewright::graph
