// Task lists and regions that are right, and what their verifier complains about after a change.
#pragma once

#include <functional>

#include "graph/ir/text.h"
#include "graph/regions/reference/verify.h"
#include "graph/run/plan_tasks.h"
#include "runtime/base/error.h"

namespace tilewright::graph::testing_tasks {

inline FusedTasks tasks_of(std::string_view graph) {
  return fused_tasks(parse(graph), {.device = Device::cpu()});
}

// The verifier's complaint about the list or its regions after the change; "": nothing.
inline std::string complaint(FusedTasks tasks, const std::function<void(FusedTasks&)>& change) {
  verify(tasks.list);
  verify(tasks.list, tasks.regions);
  change(tasks);
  try {
    verify(tasks.list);
    verify(tasks.list, tasks.regions);
  } catch (const InternalError& error) {
    return error.what();
  }
  return "";
}

// #0 mul, #1 sum of its rows, #2 their quotient, one region.
inline FusedTasks shares() {
  return tasks_of(R"(graph {
  %0: f32[4x8] = input
  %1: f32[4x8] = mul %0, %0
  %2: f32[4x1] = sum %1 {axes=1}
  %3: f32[4x8] = expand %2 {sizes=4x8}
  %4: f32[4x8] = div %1, %3
  inputs %0
  return %4
})");
}
// #0 a copy of the table, #1 and #2 the parts of a cat in one storage, #3 a scatter of it.
inline FusedTasks rows() {
  return tasks_of(R"(graph {
  %0: f32[8x4] = input
  %1: f32[2x4] = input
  %2: i64[4] = input
  %3: f32[2x4] = neg %1
  %4: f32[4x4] = cat %3, %1 {axes=0}
  %5: f32[8x4] = index_copy %0, %2, %4 {axes=0}
  inputs %0 %1 %2
  return %5 %4
})");
}

}  // namespace tilewright::graph::testing_tasks
