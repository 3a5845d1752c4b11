// One application of a custom op in a task list: its types, and where all of its memory is.
//
// Apart from the lowering, because calls that run beside a program (buffers_call.h,
// checked_kernel.h) find the same memory among the arguments of that program.
#pragma once

#include <cstddef>
#include <vector>

#include "graph/custom/definition.h"
#include "graph/regions/region.h"

namespace tilewright::graph {

struct CustomSite {
  const TaskList& list;
  const Region& region;
  const Task& task = list.tasks[region.tasks[0]];
  const CustomReference& custom = task.attributes.custom;

  struct PlacedTensor {
    TensorType type;
    StorageId storage;
    std::int64_t offset;
  };

  std::vector<TensorType> operand_types() const;
  std::vector<PlacedTensor> operands() const;
  // Of an op that changes its first operand none: they are there.
  std::vector<PlacedTensor> results(const CustomCall& call) const;
};

// An operand or a result in the memory that is an argument of the program.
struct CustomView {
  TensorType type;
  std::size_t argument;
  std::int64_t offset_bytes;

  std::int64_t bytes() const { return type.count() * size_bytes(type.dtype); }
  std::byte* begin(const Argument* arguments) const {
    return static_cast<std::byte*>(const_cast<void*>(arguments[argument].pointer)) + offset_bytes;
  }
};
std::vector<CustomView> views_of(const CustomSite& site,
                                 const std::vector<CustomSite::PlacedTensor>& places);

}  // namespace tilewright::graph
