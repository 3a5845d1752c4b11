// Programs that run together as a cluster: what they share on Hopper, and that it changes nothing.
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
#include "tests/errors.h"

namespace tilewright::dsl::cluster_test {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Gemm {
  int cluster;
  std::int64_t m, n, k, batch, block_m, block_n;
  // The reason why programs do not share: none, rounds that depend on the row, rows that are not
  // multiplied by anything, sums that stay in memory.
  enum { plain, triangular, some_rows, adds } kind = plain;
  friend std::ostream& operator<<(std::ostream& out, const Gemm& g) {
    return out << g.batch << " of " << g.m << "x" << g.n << "x" << g.k << " by " << g.block_m << "x"
               << g.block_n << ", clusters of " << g.cluster;
  }
};

// c = a b^T, by batches, blocks of 64 along k.
ir::Function traced(const Gemm& g) {
  Tracer tracer("gemm");
  Tile a = tracer.pointer_param("a", bf16), b = tracer.pointer_param("b", bf16),
       c = tracer.pointer_param("c", f32);
  Tile row = program_id(0) * g.block_m, column = program_id(1) * g.block_n;
  Tile batch = g.batch > 1 ? program_id(2) : row * 0;
  Desc da = make_desc(a + batch * (g.m * g.k), {g.m, g.k}, {g.k, 1});
  Desc db = make_desc(b + batch * (g.n * g.k), {g.n, g.k}, {g.k, 1});
  Desc dc = make_desc(c + batch * (g.m * g.n), {g.m, g.n}, {g.n, 1});
  Var acc = full({g.block_m, g.block_n}, 0, f32);
  Tile end = g.kind == Gemm::triangular ? minimum(row + g.block_m, g.k) : row * 0 + g.k;
  auto multiply = [&] {
    for (Tile i : range(0, end, 64))
      acc = dot(load(da, {row, i}, {g.block_m, 64}), trans(load(db, {column, i}, {g.block_n, 64})),
                acc);
  };
  g.kind == Gemm::some_rows ? if_(row > g.block_m, multiply) : multiply();
  if (g.kind == Gemm::adds) acc = acc + load(dc, {row, column}, {g.block_m, g.block_n});
  store(dc, {row, column}, acc);
  ir::Function function = tracer.finish();
  function.cluster = g.cluster;
  return function;
}

gpu::Ptx ptx_of(const Gemm& g) {
  ir::Function function = traced(g);
  run_passes(function, {.target = target_named("sm_90a")});
  return gpu::generate_ptx(function, target_named("sm_90a"));
}

std::vector<Array> emulated(ir::Function function, const Grid& grid,
                            const std::vector<Array>& arrays, std::vector<Argument> more = {}) {
  run_passes(function, {.target = target_named("sm_90a")});
  auto artifact = gpu::generate_emulated(function, target_named("sm_90a"));
  return arrays_after(arrays, [&](std::vector<Argument>& a) {
    a.insert(a.end(), more.begin(), more.end());
    artifact->run(a.data(), grid.size, 0, grid.count(), nullptr);
  });
}
std::vector<Array> interpreted(const ir::Function& function, const Grid& grid,
                               const std::vector<Array>& arrays, std::vector<Argument> more = {}) {
  return arrays_after(arrays, [&](std::vector<Argument>& a) {
    a.insert(a.end(), more.begin(), more.end());
    ir::interpret(function, grid, a);
  });
}

class ClusterGemm : public testing::TestWithParam<Gemm> {};
INSTANTIATE_TEST_SUITE_P(
    Cases, ClusterGemm,
    testing::Values(Gemm{2, 256, 512, 128, 1, 128, 256}, Gemm{2, 300, 520, 200, 1, 128, 256},
                    Gemm{2, 40, 64, 64, 1, 64, 64}, Gemm{2, 128, 384, 328, 3, 64, 128},
                    Gemm{4, 640, 64, 136, 1, 64, 64}, Gemm{4, 136, 264, 72, 2, 128, 64},
                    Gemm{8, 200, 64, 64, 5, 64, 64}));

TEST_P(ClusterGemm, EqualsTheInterpreter) {
  const Gemm& g = GetParam();
  ir::Function function = traced(g);
  Grid grid((g.m + g.block_m - 1) / g.block_m, (g.n + g.block_n - 1) / g.block_n, g.batch);
  std::vector<Array> arrays{small_numbers(g.batch * g.m * g.k, 3),
                            small_numbers(g.batch * g.n * g.k, 7),
                            Array(static_cast<std::size_t>(g.batch * g.m * g.n), NAN)};
  EXPECT_EQ(ptx_of(g).cluster, g.cluster);
  EXPECT_TRUE(emulated(function, grid, arrays)[2] == interpreted(function, grid, arrays)[2]);
}

// The last program of three rows is gone through twice.
TEST(Clusters, ShareInAnyOrderOfThreads) {
  Gemm g{2, 180, 128, 328, 1, 64, 64};
  ir::Function function = traced(g);
  Grid grid(3, 2);
  std::vector<Array> arrays{small_numbers(g.m * g.k, 3), small_numbers(g.n * g.k, 7),
                            Array(static_cast<std::size_t>(g.m * g.n), NAN)};
  Array expected = interpreted(function, grid, arrays)[2];
  run_passes(function, {.target = target_named("sm_90a")});
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    auto artifact = gpu::generate_emulated(function, target_named("sm_90a"), {.seed = seed});
    auto actual = arrays_after(arrays, [&](std::vector<Argument>& a) {
      artifact->run(a.data(), grid.size, 0, grid.count(), nullptr);
    });
    EXPECT_TRUE(actual[2] == expected);
  }
}

TEST(Clusters, FetchWhatTheyShareOnce) {
  Gemm g{2, 512, 512, 512, 1, 128, 256};
  gpu::Ptx ptx = ptx_of(g);
  EXPECT_EQ(ptx.cluster, 2);
  for (const char* part :
       {".reqnctapercluster 2, 1, 1", ".multicast::cluster", "mapa.shared::cluster",
        "mbarrier.arrive.release.cluster.shared::cluster", "barrier.cluster.arrive",
        "barrier.cluster.wait", "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier"})
    EXPECT_THAT(ptx.text, HasSubstr(part));
  // Half of the 256 rows of the larger operand, and all 128 of the one that each fetches for
  // itself.
  EXPECT_EQ(ptx.tensor_maps[0].box, (std::vector<int>{64, 128}));
  EXPECT_EQ(ptx.tensor_maps[1].box, (std::vector<int>{64, 128}));
  g.cluster = 1;
  EXPECT_EQ(ptx_of(g).cluster, 1);
  EXPECT_THAT(ptx_of(g).text, Not(HasSubstr("cluster.arrive")));
}

// Programs that go round a loop differently often share nothing along that axis, but along another.
TEST(Clusters, AreOfProgramsThatFetchEquallyOften) {
  gpu::Ptx ptx = ptx_of({2, 512, 512, 512, 1, 128, 256, Gemm::triangular});
  EXPECT_EQ(ptx.cluster, 2);
  EXPECT_EQ(ptx.tensor_maps[0].box, (std::vector<int>{64, 64}));
  EXPECT_EQ(ptx.tensor_maps[1].box, (std::vector<int>{64, 256}));
}

// The larger operand is the same for both rows, of which only one may want it.
TEST(Clusters, AreOfProgramsThatFetchUnderTheSameCondition) {
  gpu::Ptx ptx = ptx_of({2, 512, 512, 512, 1, 128, 256, Gemm::some_rows});
  EXPECT_EQ(ptx.cluster, 2);
  EXPECT_EQ(ptx.tensor_maps[0].box, (std::vector<int>{64, 64}));
  EXPECT_EQ(ptx.tensor_maps[1].box, (std::vector<int>{64, 256}));
}

// Along an axis on which both operands depend.
TEST(Clusters, AreRefusedWhereTheyWouldShareNothing) {
  std::string text = ir::print(traced({2, 512, 512, 512, 2, 128, 256}));
  auto generated = [&](int axis) {
    ir::Function function = ir::parse(text);
    Target target = target_named("sm_90a");
    run_passes(function, {.target = target});
    function = gpu::scheduled(function, target);
    EXPECT_EQ(function.roles->cluster_axis, 0);
    function.roles->cluster_axis = axis;
    return error_of([&] { gpu::generate_ptx(function, target); });
  };
  EXPECT_EQ(generated(0), "no error");
  EXPECT_EQ(generated(1), "no error");
  EXPECT_THAT(generated(2), HasSubstr("says that its warps have roles which sm_90a cannot give"));
}

// A program that is gone through again must not add again.
TEST(Clusters, AreNotFormedWhereProgramsReadWhatTheyWrite) {
  EXPECT_EQ(ptx_of({2, 512, 512, 512, 1, 128, 256, Gemm::adds}).cluster, 1);
}

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

TEST(Clusters, StandInTheTextOfAFunction) {
  std::string text = "func @f(%y: ptr<f32>) cluster 4 {\n}\n";
  ir::Function function = ir::parse(text);
  EXPECT_EQ(function.cluster, 4);
  EXPECT_EQ(ir::print(function), text);
  ir::Function alone = function;
  alone.cluster = 1;
  EXPECT_NE(content_hash(function), content_hash(alone));
  expect_contains(error_of([] { ir::parse("func @f() cluster 3 {\n}\n"); }),
                  "[func] a cluster of 3 programs; it has 1, 2, 4 or 8");
}

}  // namespace
}  // namespace tilewright::dsl::cluster_test
