// The ways in which a region that cumulates becomes programs (cumulation.cpp chooses), and their
// shared parts.
#pragma once

#include "graph/lower/cumulation/cumulation_shape.h"

namespace tilewright::graph {

struct CumulationSite {
  CumulationSite(const TaskList& list, const Region& region, const dsl::Target& target);

  dsl::Tile join(const dsl::Operand& before, const dsl::Operand& after) const;
  // The neutral element, everywhere.
  dsl::Tile identity(const Shape& shape) const;
  // An element of the operand as it joins others, and the stored part of it.
  dsl::Tile widened(const dsl::Tile& element) const;
  dsl::Tile narrowed(const dsl::Tile& joined) const { return dsl::cast(joined, task.dtype); }

  const TaskList& list;
  const Region& region;
  const dsl::Target& target;
  const Task& task;
  ir::ReduceKind kind;
  DType carried;  // in which elements join
  CumulationShape shape;
};

// How the axis is cut, so that there are programs enough: first each chunk but the last has its
// total taken, and then each begins with the join of those before it.
struct Chunks {
  std::int64_t count = 1, length = 0;
  // For `size` elements: up to `most`, of a multiple of `quantum`.
  static Chunks of(std::int64_t size, std::int64_t most, std::int64_t quantum);
};

// A program on a host goes along the axis with a vector, or with some columns side by side.
LoweredRegion host_cumulation(const CumulationSite& site);
// On a GPU a program has a block of some rows, or some columns side by side.
LoweredRegion gpu_cumulation(const CumulationSite& site);

}  // namespace tilewright::graph
