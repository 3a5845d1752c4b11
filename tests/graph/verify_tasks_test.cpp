// The verifier of task lists and regions, on lists that are right but for one thing.
#include "graph/regions/reference/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <set>

#include "graph/ir/text.h"
#include "graph/regions/reference/overlap.h"
#include "graph/run/plan_tasks.h"
#include "runtime/base/error.h"

namespace tilewright::graph::verify_tasks_test {
namespace {

using testing::HasSubstr;

FusedTasks tasks_of(std::string_view graph) {
  return fused_tasks(parse(graph), {.device = Device::cpu()});
}

// The verifier's complaint about the list or its regions after the change; "": nothing.
std::string complaint(FusedTasks tasks, const std::function<void(FusedTasks&)>& change) {
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
std::string complaint_of_list(const FusedTasks& tasks,
                              const std::function<void(TaskList&)>& change) {
  return complaint(tasks, [&](FusedTasks& t) { change(t.list); });
}
std::string complaint_of_region(const FusedTasks& tasks,
                                const std::function<void(Region&)>& change) {
  return complaint(tasks, [&](FusedTasks& t) { change(t.regions[0].region); });
}

// #0 mul, #1 sum of its rows, #2 their quotient, one region.
FusedTasks shares() {
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
FusedTasks rows() {
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

TEST(VerifyTasks, PartsOfAWholeAreShownToBeApart) {
  Task a, b;
  a.kind = b.kind = TaskKind::pointwise;
  a.storage = b.storage = 0;
  a.place = {{4, 3}, {8, 1}, 0};
  b.place = {{4, 5}, {8, 1}, 3};
  EXPECT_TRUE(write_apart(a, b));
  EXPECT_TRUE(write_apart(b, a));
  b.place.offset = 2;
  EXPECT_FALSE(write_apart(a, b));
  // Beyond the end of a row of 8 the second part is in the next row.
  b.place = {{4, 5}, {8, 1}, 4};
  EXPECT_FALSE(write_apart(a, b));
  // Scattered to rows that are not known, parts along another axis are apart.
  a.kind = b.kind = TaskKind::scatter;
  a.scatter_axis = b.scatter_axis = 0;
  a.scatter_size = b.scatter_size = 10;
  a.scatter_stride = b.scatter_stride = 8;
  a.place = {{4, 3}, {0, 1}, 0};
  b.place = {{4, 5}, {0, 1}, 3};
  EXPECT_TRUE(write_apart(a, b));
  b.place = {{4, 3}, {0, 1}, 8};
  EXPECT_FALSE(write_apart(a, b));
}

TEST(VerifyTasks, PlacesAreOfDifferentElements) {
  EXPECT_TRUE(is_injective({{4, 3}, {5, 2}, 0}));   // every second of five, the last among them
  EXPECT_FALSE(is_injective({{4, 3}, {4, 2}, 0}));  // the last is the first of the next row
  EXPECT_TRUE(is_injective({{2, 3}, {1, 2}, 0}));   // pairs beside each other
  EXPECT_FALSE(is_injective({{3, 3}, {1, 2}, 0}));
  EXPECT_FALSE(is_injective({{4, 1}, {0, 1}, 0}));
  EXPECT_TRUE(is_injective({{4, 3}, {-3, 1}, 9}));
  EXPECT_TRUE(is_injective({{4, 0}, {0, 1}, 0}));
  // Sums of several axes: 0 to 5 in steps of 1 and 2 and 3 are not apart.
  EXPECT_FALSE(is_injective({{2, 2, 2}, {3, 2, 1}, 0}));
  EXPECT_TRUE(is_injective({{2, 2, 2}, {4, 2, 1}, 0}));
}

TEST(VerifyTasks, AddressesOfDifferentElementsAreFoundAsByEachElement) {
  std::mt19937_64 chance(7);
  for (int each = 0; each < 2000; ++each) {
    auto size = [&] { return static_cast<std::int64_t>(chance() % 4); };
    auto stride = [&] { return static_cast<std::int64_t>(chance() % 25) - 12; };
    const StridedView view{{size(), size(), size()}, {stride(), stride(), stride()}, 0};
    std::set<std::int64_t> seen;
    bool once = true;
    for (std::int64_t i = 0; i < view.shape[0]; ++i)
      for (std::int64_t j = 0; j < view.shape[1]; ++j)
        for (std::int64_t k = 0; k < view.shape[2]; ++k)
          once &=
              seen.insert(i * view.strides[0] + j * view.strides[1] + k * view.strides[2]).second;
    EXPECT_LE(is_injective(view), once) << view.shape << " of strides " << view.strides;
  }
}

TEST(VerifyRegions, FindsTablesThatDoNotAgree) {
  EXPECT_THAT(complaint_of_region(shares(),
                                  [](Region& r) {
                                    r.tables[0].place.rows = IndexMap({{4, 1}});
                                    r.tables[0].place.columns = IndexMap({{8, 4}});
                                  }),
              HasSubstr("whose table has element"));
  EXPECT_THAT(
      complaint_of_region(shares(), [](Region& r) { r.tables[1].place.offset = 1; }),
      HasSubstr("reads element 0 of operand 1 at row 0, column 0, whose table has element 1"));
}

TEST(VerifyRegions, FindsWeightsThatAreNoneAndTheOtherWay) {
  EXPECT_THAT(complaint_of_region(shares(),
                                  [](Region& r) {
                                    r.tables[0].inner = IndexMap({{8, 1}});
                                  }),
              HasSubstr("wants operand 0 not as weights, and it is otherwise"));
}

TEST(VerifyRegions, FindsStoredValuesThatAreNotCovered) {
  EXPECT_THAT(complaint_of_region(shares(),
                                  [](Region& r) {
                                    r.rows = 2;
                                    r.digits = RowDigits(2);
                                  }),
              HasSubstr("has a table of 2 rows of 8 for 32 elements"));
  EXPECT_THAT(complaint_of_region(shares(),
                                  [](Region& r) {
                                    r.tables[2].place.rows = IndexMap({{4, 4}});
                                  }),
              HasSubstr("that are not each of them once"));
  EXPECT_THAT(complaint_of_region(shares(), [](Region& r) { r.width = 9; }),
              HasSubstr("is 9 wide, its stores 8"));
}

TEST(VerifyRegions, FindsWrongFactsAboutWhatIsStoredAndRead) {
  EXPECT_THAT(complaint_of_region(shares(), [](Region& r) { r.stored[0] = true; }),
              HasSubstr("says that the value is wanted in memory"));
  EXPECT_THAT(complaint_of_region(shares(), [](Region& r) { r.stored[2] = false; }),
              HasSubstr("says that the value is not wanted in memory"));
  EXPECT_THAT(complaint_of_region(shares(), [](Region& r) { r.is_in_place = true; }),
              HasSubstr("is not in place as it says"));
  EXPECT_THAT(complaint_of_region(shares(), [](Region& r) { r.weight_bytes = 4; }),
              HasSubstr("names 4 bytes of weights, which are 0"));
  EXPECT_THAT(complaint_of_region(shares(), [](Region& r) { r.digits = RowDigits(5); }),
              HasSubstr("has digits of 5 rows"));
  EXPECT_THAT(complaint_of_region(shares(), [](Region& r) { r.tables.clear(); }),
              HasSubstr("has several tasks and no tables"));
}

TEST(VerifyRegions, FindsDigitsThatAnAccessDoesNotHave) {
  // Rows of a transposed tensor are two digits in memory.
  FusedTasks tasks = tasks_of(R"(graph {
  %0: f32[5x3x8] = input
  %1: f32[3x5x8] = permute %0 {axes=1x0x2}
  %2: f32[3x5x8] = exp %1
  %3: f32[3x5x1] = sum %2 {axes=2}
  inputs %0
  return %3
})");
  EXPECT_THAT(complaint_of_region(tasks, [](Region& r) { r.digits = RowDigits(15); }),
              HasSubstr("at one stride a digit of the rows"));
}

TEST(VerifyRegions, FindsTasksInNoRegionOrTwoAndRegionsOutOfOrder) {
  FusedTasks tasks = rows();
  ASSERT_GE(tasks.regions.size(), 2u);
  EXPECT_THAT(complaint(tasks, [](FusedTasks& t) { t.regions.pop_back(); }),
              HasSubstr("is in no region"));
  EXPECT_THAT(complaint(tasks, [](FusedTasks& t) { t.regions.push_back(t.regions[0]); }),
              HasSubstr("is in two regions"));
  EXPECT_THAT(complaint(tasks, [](FusedTasks& t) { std::ranges::reverse(t.regions); }),
              HasSubstr("which it waits for"));
}

}  // namespace
}  // namespace tilewright::graph::verify_tasks_test
