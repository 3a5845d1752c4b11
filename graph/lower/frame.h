// What every lowering needs while it traces a program: parameters for storages, and addresses.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "dsl/tile.h"
#include "dsl/tracer.h"
#include "graph/fuse/task.h"

namespace tilewright::graph {

// The pointer parameters of a program, one for each storage that the tasks read from or write to.
class Parameters {
 public:
  // Parameters are numbered in the order of first use by the tasks, so that equal regions of
  // different layers agree.
  Parameters(dsl::Tracer& tracer, const TaskList& list) : tracer_(tracer), list_(list) {}
  void add(StorageId storage);
  const dsl::Tile& pointer(StorageId storage) const;
  const std::vector<StorageId>& storages() const { return storages_; }

 private:
  dsl::Tracer& tracer_;
  const TaskList& list_;
  std::vector<StorageId> storages_;
  std::vector<dsl::Tile> pointers_;
};

// number + sum of factor * index, leaving out what is zero; a number where nothing varies.
class Offset {
 public:
  explicit Offset(std::int64_t number = 0) : number_(number) {}
  void add(const dsl::Operand& index, std::int64_t factor);
  bool is_zero() const { return !varying_.defined() && number_ == 0; }
  dsl::Operand value() const;

 private:
  std::int64_t number_;
  dsl::Tile varying_;
};
dsl::Tile operator+(const dsl::Tile& pointer, const Offset& offset);

// "exp_sum_div": the ops of the tasks, shortened where they are many.
std::string program_name(const TaskList& list, std::span<const TaskId> tasks,
                         std::string_view kind);
// What a task does in one word.
std::string_view word_of(const Task& task);

}  // namespace tilewright::graph
