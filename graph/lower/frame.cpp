#include "graph/lower/frame.h"

#include <algorithm>

#include "runtime/base/error.h"

namespace tilewright::graph {

void Parameters::add(StorageId storage) {
  if (std::ranges::find(storages_, storage) != storages_.end()) return;
  storages_.push_back(storage);
  pointers_.push_back(
      tracer_.pointer_param("p" + std::to_string(pointers_.size()), list_.storages[storage].dtype));
}

const dsl::Tile& Parameters::pointer(StorageId storage) const {
  auto it = std::ranges::find(storages_, storage);
  check(it != storages_.end(), "a program uses memory that it has no parameter for");
  return pointers_[static_cast<std::size_t>(it - storages_.begin())];
}

void Offset::add(const dsl::Operand& index, std::int64_t factor) {
  if (factor == 0) return;
  if (index.is_number()) {
    check(false, "a constant index belongs to the constant offset");
  }
  dsl::Tile term = factor == 1 ? index.tile() : index * factor;
  varying_ = varying_.defined() ? varying_ + term : term;
}

dsl::Operand Offset::value() const {
  if (!varying_.defined()) return number_;
  return number_ == 0 ? varying_ : varying_ + number_;
}

dsl::Tile operator+(const dsl::Tile& pointer, const Offset& offset) {
  return offset.is_zero() ? pointer : dsl::operator+(dsl::Operand(pointer), offset.value());
}

std::string_view word_of(const Task& task) {
  switch (task.kind) {
    case TaskKind::pointwise: return task.tile_op ? ir::info(*task.tile_op).name : "copy";
    case TaskKind::reduction: return ir::name_of(task.reduce);
    case TaskKind::contraction: return "matmul";
    case TaskKind::gather: return "gather";
    case TaskKind::scatter: return "scatter";
    case TaskKind::attention: return "attention";
  }
  __builtin_unreachable();
}

std::string program_name(const TaskList& list, std::span<const TaskId> tasks,
                         std::string_view kind) {
  constexpr std::size_t most_words = 6;
  std::string name(kind);
  std::size_t words = 0;
  for (TaskId id : tasks) {
    if (words++ == most_words) break;
    name += concat("_", word_of(list.tasks[id]));
  }
  if (tasks.size() > most_words) name += concat("_and_", tasks.size() - most_words);
  return name;
}

}  // namespace tilewright::graph
