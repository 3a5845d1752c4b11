// The verifier of task lists, on lists that are right but for one thing.
#include "graph/regions/reference/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/graph/complaints.h"

namespace tilewright::graph::verify_tasks_test {
namespace {

using namespace testing_tasks;

using testing::HasSubstr;

std::string complaint_of_list(const FusedTasks& tasks,
                              const std::function<void(TaskList&)>& change) {
  return complaint(tasks, [&](FusedTasks& t) { change(t.list); });
}

TaskId find(const TaskList& list, TaskKind kind) {
  for (TaskId id = 0; id < list.tasks.size(); ++id)
    if (list.tasks[id].kind == kind) return id;
  ADD_FAILURE() << "there is no such task";
  return 0;
}

TEST(VerifyTasks, FindsIdsThatDoNotExist) {
  EXPECT_THAT(complaint_of_list(shares(), [](TaskList& l) { l.tasks[0].storage = 9; }),
              HasSubstr("@9, which does not exist"));
  EXPECT_THAT(complaint_of_list(shares(), [](TaskList& l) { l.tasks[0].operands[0].storage = 9; }),
              HasSubstr("reads @9, which does not exist"));
  EXPECT_THAT(complaint_of_list(shares(), [](TaskList& l) { l.outputs[0].storage = 9; }),
              HasSubstr("@9 is an output and does not exist"));
  EXPECT_THAT(complaint_of_list(shares(), [](TaskList& l) { l.tasks[1].operands[0].producer = 2; }),
              HasSubstr("the producer #2 does not come before"));
}

TEST(VerifyTasks, FindsStoragesThatDoNotKnowTheirUsers) {
  // Lists without memory, so that a read behind the end shows.
  const std::vector<TaskId> nobody;
  EXPECT_THAT(complaint_of_list(shares(),
                                [&](TaskList& l) { l.storages[1].readers = std::vector(nobody); }),
              HasSubstr("storage @1 does not know its readers"));
  EXPECT_THAT(complaint_of_list(shares(),
                                [&](TaskList& l) { l.storages[1].writers = std::vector(nobody); }),
              HasSubstr("storage @1 does not know its writers"));
  EXPECT_THAT(complaint_of_list(shares(), [](TaskList& l) { l.storages[0].input = -1; }),
              HasSubstr("storage @0 names input -1"));
  EXPECT_THAT(
      complaint_of_list(shares(),
                        [](TaskList& l) { l.storages[l.outputs[0].storage].is_output = false; }),
      HasSubstr("is an output and does not say so"));
}

TEST(VerifyTasks, FindsViewsAndPlacesOutsideTheirStorage) {
  EXPECT_THAT(
      complaint_of_list(shares(), [](TaskList& l) { l.tasks[2].operands[1].view.offset = 1; }),
      HasSubstr("elements 1 to 4 of a storage of 4"));
  EXPECT_THAT(
      complaint_of_list(rows(),
                        [](TaskList& l) { l.tasks[find(l, TaskKind::scatter)].scatter_size = 9; }),
      HasSubstr("of a storage of 32"));
  EXPECT_THAT(complaint_of_list(shares(),
                                [](TaskList& l) {
                                  l.tasks[0].place.strides = {1, 0};
                                }),
              testing::AnyOf(HasSubstr("twice"), HasSubstr("is not all that")));
  // Transposed it is all that the storage holds, but not as a reader has it.
  EXPECT_THAT(complaint_of_list(shares(),
                                [](TaskList& l) {
                                  l.tasks[0].place.strides = {1, 4};
                                }),
              HasSubstr("is not all that"));
}

TEST(VerifyTasks, FindsOperandsOfAnotherType) {
  EXPECT_THAT(complaint_of_list(shares(),
                                [](TaskList& l) {
                                  l.tasks[0].operands[0].view = row_major({8, 4});
                                }),
              HasSubstr("operand 0 is 8x4, not 4x8"));
  EXPECT_THAT(complaint_of_list(shares(), [](TaskList& l) { l.tasks[0].operands.pop_back(); }),
              HasSubstr("mul of 1 operands"));
  EXPECT_THAT(complaint_of_list(shares(), [](TaskList& l) { l.tasks[0].tile_op = ir::Op::lt_; }),
              HasSubstr("lt gives bool, not f32"));
  EXPECT_THAT(complaint_of_list(shares(), [](TaskList& l) { l.tasks[0].tile_op = ir::Op::and_; }),
              HasSubstr("must be integer or bool"));
  EXPECT_THAT(complaint_of_list(shares(), [](TaskList& l) { l.tasks[0].tile_op.reset(); }),
              HasSubstr("has 2 operands, not 1"));
  EXPECT_THAT(complaint_of_list(shares(), [](TaskList& l) { l.tasks[1].axis_begin = 0; }),
              HasSubstr("gives 1x1, not 4x1"));
  EXPECT_THAT(
      complaint_of_list(shares(), [](TaskList& l) { l.tasks[1].reduce = ir::ReduceKind::argmax; }),
      HasSubstr("the argmax of f32 is f32"));
  EXPECT_THAT(complaint_of_list(shares(), [](TaskList& l) { l.storages[1].dtype = DType::i32; }),
              HasSubstr("the value is f32, @1 is i32"));
}

TEST(VerifyTasks, FindsProductsThatDoNotFit) {
  FusedTasks product = tasks_of(R"(graph {
  %0: f32[4x8] = input
  %1: f32[8x3] = input
  %2: f32[4x3] = matmul %0, %1
  inputs %0 %1
  return %2
})");
  EXPECT_THAT(complaint_of_list(product,
                                [](TaskList& l) {
                                  l.tasks[0].operands[1].view = row_major({6, 4});
                                }),
              HasSubstr("multiplies 4x8 by 6x4"));
  EXPECT_THAT(complaint_of_list(product, [](TaskList& l) { l.storages[1].dtype = DType::f16; }),
              HasSubstr("operand 1 is f16, not f32"));
}

TEST(VerifyTasks, FindsScattersWhoseRowNumbersDoNotFit) {
  EXPECT_THAT(complaint_of_list(rows(),
                                [](TaskList& l) {
                                  Task& task = l.tasks[find(l, TaskKind::scatter)];
                                  task.operands[1].view.strides[1] = 1;
                                  task.operands[1].view.strides[0] = 0;
                                }),
              HasSubstr("row numbers differ along the axis 1"));
  EXPECT_THAT(complaint_of_list(rows(),
                                [](TaskList& l) {
                                  Task& task = l.tasks[find(l, TaskKind::scatter)];
                                  task.place.strides[0] = 4;
                                }),
              HasSubstr("the scattered axis has the stride 4"));
}

TEST(VerifyTasks, FindsResultsThatAreNotWrittenWhole) {
  EXPECT_THAT(complaint_of_list(shares(), [](TaskList& l) { l.storages[1].elements = 33; }),
              testing::AnyOf(HasSubstr("of which 32 are written"), HasSubstr("is not all that")));
  EXPECT_THAT(complaint_of_list(rows(),
                                [](TaskList& l) {
                                  for (Storage& s : l.storages)
                                    if (s.writers.size() == 2 && s.elements == 16) ++s.elements;
                                }),
              HasSubstr("has 17 elements, of which 16 are written"));
}

TEST(VerifyTasks, FindsEachDependenceThatIsMissing) {
  for (const FusedTasks& tasks : {shares(), rows()})
    for (TaskId id = 0; id < tasks.list.tasks.size(); ++id)
      for (std::size_t i = 0; i < tasks.list.tasks[id].after.size(); ++i)
        EXPECT_THAT(complaint_of_list(tasks,
                                      [&](TaskList& l) {
                                        std::vector<TaskId>& after = l.tasks[id].after;
                                        after.erase(after.begin() + static_cast<long>(i));
                                      }),
                    testing::ContainsRegex("does not come after it"))
            << "#" << id << ", " << i;
}

TEST(VerifyTasks, FindsPartsThatOverlap) {
  EXPECT_THAT(complaint_of_list(rows(),
                                [](TaskList& l) {
                                  for (Task& task : l.tasks)
                                    if (task.place.offset == 8) task.place.offset = 4;
                                }),
              HasSubstr("overwrites the value of"));
}

}  // namespace
}  // namespace tilewright::graph::verify_tasks_test
