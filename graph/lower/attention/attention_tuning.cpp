#include "graph/lower/attention/attention_tuning.h"

#include <algorithm>

#include "graph/lower/attention/attention_blocks.h"
#include "graph/lower/attention/attention_shape.h"

namespace tilewright::graph {
namespace {

// Tuning tries blocks of up to so many keys, whose scores are gone through so often.
constexpr std::int64_t most_keys = 1024;
constexpr int score_passes = 4;

}  // namespace

BlockChoice choice_of_attention(const TaskList& list, const Region& region,
                                const dsl::Target& target) {
  const Task& task = list.tasks[region.tasks[0]];
  AttentionShape shape(task);
  BlockChoice choice{.chosen = used_blocks(list, task, target, {})};
  choice.chosen.cluster = std::max<std::int64_t>(1, choice.chosen.cluster);
  choice.most.rows = shape.rows;
  choice.most.columns = std::min(shape.keys(), most_keys);
  if (!target.is_gpu()) choice.most.splits = 0;
  std::int64_t least_rows = target.is_gpu() ? std::min(few_rows, choice.chosen.rows) : 1;
  choice.used = [=](BlockSizes blocks) {
    blocks.rows = std::max(blocks.rows, least_rows);  // fewer fill no fragment
    return blocks;
  };
  return choice;
}

RegionWork work_of_attention(const TaskList& list, const Region& region, const dsl::Target&) {
  const Task& task = list.tasks[region.tasks[0]];
  AttentionShape shape(task);
  RegionWork work;
  work.has_product = true;
  work.result_passes = score_passes;
  work.rows = shape.rows;
  work.outer = shape.batch() * shape.heads;
  // Columns are keys, gone through by each program: they are no programs of their own.
  work.row_elements = work.width = shape.keys();
  work.depth = 2 * shape.depth();
  work.element_bytes = size_bytes(task.dtype);
  work.weight_bytes = has_codes(task) ? 1 : work.element_bytes;
  return work;
}

void describe_attention(const TaskList& list, const Region& region, autotune::Record& problem) {
  const Task& task = list.tasks[region.tasks[0]];
  problem.set("shape", to_string(task.shape));
  problem.set("keys", to_string(task.operands[1].view.shape));
  if (has_pages(task))
    problem.set("pages",
                to_string(task.operands[operands_of_attention(task).page_table].view.shape));
}

std::vector<WorkElement> position_of_attention(const TaskList& list, const Region& region) {
  const Task& task = list.tasks[region.tasks[0]];
  if (!has_position(task)) return {};
  const TaskOperand& position = task.operands[operands_of_attention(task).position];
  if (position.number) return {};
  AttentionShape shape(task);
  std::int64_t last = shape.keys() - shape.q.shape[2];
  std::vector<WorkElement> elements;
  for (std::int64_t i = 0; i < position.view.shape[0]; ++i) {
    WorkElement element{position.storage, position.view.offset + i * position.view.strides[0], {}};
    for (int sixteenth : {13, 8, 4, 2, 1})
      element.values.push_back(last * sixteenth * 15 / (16 * 16));
    elements.push_back(std::move(element));
  }
  return elements;
}

}  // namespace tilewright::graph
