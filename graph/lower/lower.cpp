#include "graph/lower/lower.h"

#include <algorithm>
#include <map>

namespace tilewright::graph {

LoweredRegion lower(const Graph& graph, const TaskList& list, const Region& region,
                    const dsl::Target& target, const BlockSizes& blocks) {
  const Task& first = list.tasks[region.tasks[0]];
  if (first.kind == TaskKind::attention)
    return lower_attention(list, region, graph.node(first.node), target, blocks);
  return lower_rows(list, region, target, blocks);
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
