#include "graph/lower/lower.h"

#include <algorithm>
#include <map>

#include "graph/lower/lowering.h"
#include "graph/regions/region_key.h"
#include "runtime/base/error.h"

namespace tilewright::graph {

namespace {

bool has_products(const ir::Function& function) {
  bool found = false;
  ir::for_each_inst(function.body, [&](const ir::Inst& inst) { found |= inst.op == ir::Op::dot_; });
  return found;
}

}  // namespace

std::span<const Lowering* const> all_lowerings() {
  static constexpr const Lowering* rows[] = {
#define TILEWRIGHT_LOWERING(name) &lowerings::name,
#include "graph/lower/lowerings.def"
#undef TILEWRIGHT_LOWERING
  };
  return rows;
}

const Lowering& lowering_of(const TaskList& list, const Region& region) {
  for (const Lowering* lowering : all_lowerings())
    if (lowering->matches(list, region)) return *lowering;
  raise_internal_error("no lowering takes a region", std::source_location::current());
}

Hash program_key(const TaskList& list, const Region& region, const dsl::Target& target) {
  const Lowering& lowering = lowering_of(list, region);
  const Hash key =
      lowering.key != nullptr ? lowering.key(list, region, target) : region_key(list, region);
  return list.row_invariant ? Hasher().add(key).add("row_invariant").finish() : key;
}

std::vector<WorkElement> work_elements(const TaskList& list, const Region& region) {
  const Lowering& lowering = lowering_of(list, region);
  return lowering.elements == nullptr ? std::vector<WorkElement>()
                                      : lowering.elements(list, region);
}

LoweredRegion lower(const TaskList& list, const Region& region, const dsl::Target& target,
                    const BlockSizes& blocks) {
  LoweredRegion result = lowering_of(list, region).lower(list, region, target, blocks);
  for (LoweredProgram& program : result.programs)
    program.function.row_invariant = list.row_invariant && has_products(program.function);
  return result;
}

std::int64_t bytes_moved(const TaskList& list, const Region& region) {
  std::map<StorageId, std::int64_t> read;  // the largest read of each storage
  std::int64_t written = 0;
  for (std::size_t slot = 0; slot < region.tasks.size(); ++slot) {
    const Task& task = list.tasks[region.tasks[slot]];
    if (region.stored[slot]) written += task.bytes();
    for (const TaskOperand& operand : task.operands) {
      if (operand.number || (operand.producer && region.slot(*operand.producer))) continue;
      std::int64_t elements = operand.elements_read();
      bool gathered = task.kind == TaskKind::gather && &operand == &task.operands[0];
      if (gathered) elements = task.count();
      std::int64_t& bytes = read[operand.storage];
      bytes = std::max(bytes, elements * size_bytes(list.storages[operand.storage].dtype));
    }
  }
  for (const auto& [storage, bytes] : read) written += bytes;
  return written;
}

}  // namespace tilewright::graph
