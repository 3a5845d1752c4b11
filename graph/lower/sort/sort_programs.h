// The ways in which a region that sorts becomes programs (sort.cpp chooses).
#pragma once

#include "graph/lower/sort/sort_words.h"

namespace tilewright::graph {

// Shared by the programs of one region.
struct SortSite {
  SortSite(const TaskList& list, const Region& region, const dsl::Target& target)
      : list(list),
        region(region),
        target(target),
        task(list.tasks[region.tasks[0]]),
        shape(list, task),
        order(shape) {}

  const TaskList& list;
  const Region& region;
  const dsl::Target& target;
  const Task& task;
  SortShape shape;
  SortOrder order;
};

// On a host each program takes rows one after the other, as few numbers go to it as there are
// threads for.
LoweredRegion radix_sort(const SortSite& site);    // digit by digit
LoweredRegion radix_select(const SortSite& site);  // of few wanted elements: those that may be
// The same of very few, whose words hold their places: the best so far are kept in registers.
LoweredRegion insertion_select(const SortSite& site);
LoweredRegion counting_sort(const SortSite& site);  // each element against each other one
// On a GPU many programs have a part of a row each, and neighbouring parts are merged in turns.
LoweredRegion merge_sort(const SortSite& site);

}  // namespace tilewright::graph
