// The text of task lists and regions: its worked example, each field, and what is wrong with a
// text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "graph/ir/text.h"
#include "graph/regions/text/text.h"
#include "graph/run/plan_tasks.h"
#include "runtime/base/error.h"
#include "tests/source_folder.h"

namespace tilewright::graph::tasks_text_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::string_view rows_graph = R"(graph {
  %0: f32[4x8] = input
  %1: f32[8x3] = input {strides=1x8}
  %2: f32[4x8] = full {number=0}
  %3: f32[4x8] = maximum %0, %2
  %4: f32[4x1] = sum %3 {axes=1}
  %5: f32[4x3] = matmul %3, %1
  inputs %0 %1
  return %4 %5
})";

// The lines behind "//   " of a header's comment, from this one to the last that closes a brace.
std::string example_of_header() {
  std::ifstream header(source_folder() / "graph/regions/text/text.h");
  std::string text;
  for (std::string line; std::getline(header, line);)
    if (line.starts_with("//   ")) text += line.substr(5) + "\n";
  return text;
}

TEST(TasksText, IsAsTheHeaderShowsIt) {
  FusedTasks tasks = fused_tasks(parse(rows_graph), {.device = Device::cpu()});
  EXPECT_EQ(print(tasks.list, tasks.regions), example_of_header());
}

std::string read_again(const std::string& text) {
  FusedTasks again = parse_tasks(text);
  return again.regions.empty() ? print(again.list) : print(again.list, again.regions);
}

TEST(TasksText, OfAListAloneReadsBack) {
  TaskList list = make_tasks(parse(rows_graph));
  list.f32_products = ir::InputPrecision::tf32;
  list.storages[0].is_aligned = false;
  std::string text = print(list);
  EXPECT_THAT(text, HasSubstr("f32_products tf32"));
  EXPECT_THAT(text, HasSubstr("= input 0 {unaligned}"));
  EXPECT_EQ(read_again(text), text);
}

// Fields that lists do not normally have read back too, for dumps of faulty lists.
TEST(TasksText, SaysEveryFieldThatIsNotAsItFollows) {
  TaskList list = make_tasks(parse(R"(graph {
  %0: i64[5] = arange {start=1, end=11, step=2}
  %1: f32[5] = input
  %2: f32[5] = to %0
  %3: f32[5] = add %1, %2
  inputs %1
  return %3
})"));
  std::string text = print(list);
  EXPECT_THAT(text, HasSubstr("@1: i64[5] = constant {start=1, step=2}"));
  list.storages[1].data[0] = std::byte{7};
  list.storages[0].is_frozen = true;
  list.storages[0].readers = {0};
  list.storages[0].packed_from = {{5, 1}, {1, 5}, 2};
  list.storages[0].panels = {16, true};
  list.storages[0].is_winograd = true;
  list.tasks[0].reduce = ir::ReduceKind::any;
  list.tasks[0].scatter_size = 3;
  text = print(list);
  EXPECT_THAT(text, HasSubstr("data=x0700000000000000"));
  EXPECT_THAT(text,
              HasSubstr("{frozen, from=[5x1:1x5+2], panels=16 in_pairs, winograd, readers=(#0)}"));
  EXPECT_THAT(text, HasSubstr("{reduce=any, axis=0, size=3, stride=0}"));
  // It is no legal list: the verifier finds that once the text has been read.
  try {
    parse_tasks(text);
    FAIL() << "an illegal list was read";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("does not know its readers"));
  }
}

TEST(TasksText, SaysTheAxisOfAScatterWhateverElseItIs) {
  TaskList list = make_tasks(parse(rows_graph));
  EXPECT_THAT(print(list), testing::Not(HasSubstr("size=")));
  list.tasks[0].scatter_axis = 1;
  EXPECT_THAT(print(list), HasSubstr("axis=1, size=0, stride=0"));
}

TEST(TasksText, NumbersReadBackExactly) {
  for (double number : {0.1, -0.0, 1e300, 1.0 / 3, std::numeric_limits<double>::infinity(),
                        -std::numeric_limits<double>::infinity(), std::nan(""), std::nan("7")})
    for (DType dtype : {f64, f32, f16, bf16}) {
      TaskList list = make_tasks(parse(R"(graph {
  %0: f32[3] = input
  %1: f32[3] = neg %0
  inputs %0
  return %1
})"));
      list.tasks[0].tile_op = ir::Op::cast_;
      list.tasks[0].operands = {{ir::Scalar::of(dtype, number), 0, row_major({3}), {}}};
      list.storages[0].readers.clear();
      std::string text = print(list);
      FusedTasks again = parse_tasks(text);
      EXPECT_EQ(print(again.list), text);
      EXPECT_EQ(*again.list.tasks[0].operands[0].number, *list.tasks[0].operands[0].number) << text;
    }
}

std::string complaint(std::string_view text) {
  try {
    parse_tasks(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(TasksText, ErrorsNameTheLineAndTheForm) {
  EXPECT_THAT(complaint("tasks {\n  @1: f32 = input 0\n}\n"),
              HasSubstr("[parse] line 2: this storage is not the next"));
  EXPECT_THAT(complaint("tasks {\n  @0: f33 = input 0\n}\n"), HasSubstr("line 2: unknown dtype"));
  EXPECT_THAT(complaint("tasks {\n  @0: f32 = heap\n}\n"),
              HasSubstr("line 2: unknown kind of storage"));
  EXPECT_THAT(complaint("tasks {\n  @0: f32 = input 0 {colour=1}\n}\n"),
              HasSubstr("there is no field colour"));
  EXPECT_THAT(complaint("tasks {\n  @0: f32[2] = constant {data=x123}\n}\n"),
              HasSubstr("half a byte"));
  EXPECT_THAT(complaint("tasks {\n  @0: f32[2] = constant {data=xzz}\n}\n"),
              HasSubstr("not in hexadecimal digits"));
  EXPECT_THAT(complaint("tasks {\n  #1 %0: f32[4] = pointwise @0 -> @1\n}\n"),
              HasSubstr("this task is not the next"));
  EXPECT_THAT(complaint("tasks {\n  #0 %0: f32[4] = convolution @0 -> @1\n}\n"),
              HasSubstr("unknown kind of task"));
  EXPECT_THAT(complaint("tasks {\n  #0 %0: f32[4] = pointwise plus @0 -> @1\n}\n"),
              HasSubstr("unknown tile op"));
  EXPECT_THAT(complaint("tasks {\n  #0 %0: f32[4] = reduction most @0 -> @1\n}\n"),
              HasSubstr("unknown reduction"));
  EXPECT_THAT(complaint("tasks {\n  #0 %0: f32[4] = pointwise @0 -> 1\n}\n"),
              HasSubstr("expected '@' before '1'; the form is @id: dtype[elements] = kind"));
  EXPECT_THAT(complaint("tasks {\n  return\n}\nregions {\n    #0: rows () columns ()\n}\n"),
              HasSubstr("line 5: a table without a region"));
  EXPECT_THAT(complaint("tasks {\n  return\n}\nregions {\n}\nregions {\n}\n"),
              HasSubstr("line 6: nothing may follow the regions"));
  EXPECT_THAT(
      complaint("tasks {\n  return\n}\nregions {\n  region rows=7, width=1, digits=2x3\n}\n"),
      HasSubstr("the digits do not make up the rows"));
  EXPECT_THAT(complaint("tasks {\n  return\n"), HasSubstr("the text does not end"));
  EXPECT_THAT(complaint("tasks {\n  return\n}\nregions {\n"), HasSubstr("the text does not end"));
  EXPECT_THAT(complaint("tasks {\n  return @0\n}\n"),
              AllOf(HasSubstr("[parse] the tasks are not legal: "),
                    HasSubstr("storage @0 is an output and does not exist")));
}

}  // namespace
}  // namespace tilewright::graph::tasks_text_test
