// Reductions over the programs of a cluster, on the host and on emulated GPUs.
#include <gmock/gmock.h>

#include <cmath>

#include "dsl/codegen/gpu/gpu_code.h"
#include "dsl/interpret/interpret.h"
#include "dsl/ir/text/text.h"
#include "dsl/language/tile.h"
#include "dsl/language/tracer.h"
#include "dsl/launch/compile.h"
#include "dsl/passes/pipeline.h"
#include "runtime/base/half.h"
#include "tests/dsl/arrays.h"
#include "tests/dsl/cluster_programs.h"
#include "tests/errors.h"

namespace tilewright::dsl::cluster_reduce_test {
namespace {

using namespace testing_clusters;

using testing::HasSubstr;

// Each program of a cluster takes a part of its row, of which `width` columns are there.
ir::Function softmax(int cluster, std::int64_t rows, std::int64_t width, std::int64_t part) {
  Tracer tracer("softmax");
  Tile x = tracer.pointer_param("x", f32), y = tracer.pointer_param("y", f32);
  form_clusters(cluster);
  Desc from = make_desc(x, {rows, width}, {width, 1}), to = make_desc(y, {rows, width}, {width, 1});
  Tile row = program_id(1) * 2, first = program_id(0) * part;
  Tile values = load(from, {row, first}, {2, part});
  Tile columns = broadcast_to(reshape(arange(0, part), {1, part}), {2, part});
  values = where(columns < cast(width - first, i32), values, -INFINITY);
  Tile highest = cluster_reduce(max(values, 1, true), ir::ReduceKind::max);
  Tile powers = exp(values - highest);
  store(to, {row, first}, powers / cluster_reduce(sum(powers, 1, true), ir::ReduceKind::sum));
  return tracer.finish();
}

// As often as a parameter says, adds up over the cluster what it has and each program's place.
ir::Function rounds(int cluster) {
  Tracer tracer("rounds");
  Tile out = tracer.pointer_param("out", i32), count = tracer.scalar_param("count", i32);
  form_clusters(cluster);
  Tile place = program_id(0);
  Var tile = arange(0, 40) + cast(place, i32);
  Var scalar = cast(place, i32);
  for (Tile i : range(0, count)) {
    tile = cluster_reduce(tile, ir::ReduceKind::sum) + i;
    scalar = cluster_reduce(scalar + cast(place, i32) * i, ir::ReduceKind::max);
  }
  store(make_desc(out, {1024}, {1}), {place * 40}, tile + scalar);
  return tracer.finish();
}

TEST(ClusterReduce, SharesARowAmongPrograms) {
  for (int cluster : {1, 2, 4, 8}) {
    std::int64_t width = cluster * 256 - 40;
    ir::Function function = softmax(cluster, 5, width, 256);
    Grid grid(cluster, 3);
    std::vector<Array> arrays{random_array(static_cast<std::size_t>(5 * width), 3),
                              Array(static_cast<std::size_t>(5 * width), NAN)};
    Array expected = interpreted(function, grid, arrays)[1];
    Array actual = emulated(function, grid, arrays)[1];
    for (std::size_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(actual[i], expected[i], 1e-6F) << cluster << " programs, element " << i;
    double total = 0;
    for (std::int64_t i = 0; i < width; ++i) total += expected[static_cast<std::size_t>(i)];
    EXPECT_NEAR(total, 1, 1e-4);
  }
}

TEST(ClusterReduce, GoesOverTilesAndScalarsInLoops) {
  for (int cluster : {1, 2, 8})
    for (std::int64_t count : {0, 1, 3, 4}) {
      ir::Function function = rounds(cluster);
      std::vector<Array> arrays{Array(1024, 0)};
      Grid grid(16);
      EXPECT_EQ(emulated(function, grid, arrays, {{.integer = count}}),
                interpreted(function, grid, arrays, {{.integer = count}}));
    }
}

TEST(ClusterReduce, GoesThroughEachOthersSharedMemory) {
  ir::Function function = softmax(4, 8, 1024, 256);
  run_passes(function, {.target = target_named("sm_90a")});
  gpu::Ptx ptx = gpu::generate_ptx(function, target_named("sm_90a"));
  EXPECT_EQ(ptx.cluster, 4);
  for (const char* part : {".reqnctapercluster 4, 1, 1", "mapa.shared::cluster",
                           "st.shared::cluster", "barrier.cluster.arrive", "barrier.cluster.wait"})
    EXPECT_THAT(ptx.text, HasSubstr(part));
}

TEST(ClusterReduce, SaysWhereItCannotBe) {
  ir::Function function = softmax(2, 4, 512, 256);
  run_passes(function, {.target = target_named("sm_90a")});
  expect_contains(
      error_of([&] { gpu::generate_ptx(function, target_named("sm_80")); }),
      ": programs of a cluster exchange values on a GPU that has clusters (sm_90a), not "
      "on sm_80");
  expect_contains(
      error_of([] { compile(softmax(2, 4, 512, 256), host_target()); }),
      ": programs of a cluster exchange values on a GPU that has clusters (sm_90a), not "
      "on the host");
  std::vector<Array> arrays{Array(2048), Array(2048)};
  expect_contains(error_of([&] { interpreted(softmax(2, 4, 512, 256), Grid(3, 2), arrays); }),
                  "[interpret] softmax has clusters of 2 programs along axis 0, where the grid has "
                  "3; it must be a multiple");
  std::string wrong = "func @f(%y: ptr<f32>) cluster 2 {\n  %1 = constant 1 : ";
  expect_contains(
      error_of([&] { ir::parse(wrong + "f32\n  %2 = cluster_reduce %1, sum 1 : f32\n}\n"); }),
      "[cluster_reduce] clusters lie along axis 0 of the grid, not along 1");
  expect_contains(
      error_of([&] { ir::parse(wrong + "f32\n  %2 = cluster_reduce %1, argmax 0 : f32\n}\n"); }),
      "[cluster_reduce] argmax between programs; it can be sum, prod, max or min");
  expect_contains(
      error_of([&] { ir::parse(wrong + "f16\n  %2 = cluster_reduce %1, sum 0 : f16\n}\n"); }),
      "[cluster_reduce] the operand is f16; programs exchange numbers of at least 32 "
      "bits");
}

TEST(ClusterReduce, IsComeToByAllProgramsOfACluster) {
  std::string text = R"(func @f(%y: ptr<i64>) cluster 2 {
  %1 = program_id 0 : i64
  %2 = constant 0 : i64
  %3 = constant 1 : i64
  %6 = loop %2 to %1 step %3 index %4 with (%5 = %1) {
    %7 = cluster_reduce %5, sum 0 : i64
    yield %7
  } : i64
  store %y, %6
}
)";
  std::vector<Array> arrays{Array(16)};
  expect_contains(error_of([&] { interpreted(ir::parse(text), Grid(2), arrays); }),
                  "[cluster_reduce] ");
}

}  // namespace
}  // namespace tilewright::dsl::cluster_reduce_test
