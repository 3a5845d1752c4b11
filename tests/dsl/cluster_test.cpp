// Programs that run together as a cluster: what they share on Hopper, and that it changes nothing.
#include <gmock/gmock.h>

#include <cmath>

#include "dsl/codegen/gpu/gpu_code.h"
#include "dsl/ir/text/text.h"
#include "dsl/language/tile.h"
#include "dsl/language/tracer.h"
#include "dsl/passes/pipeline.h"
#include "runtime/base/half.h"
#include "tests/dsl/arrays.h"
#include "tests/dsl/cluster_programs.h"
#include "tests/errors.h"

namespace tilewright::dsl::cluster_test {
namespace {

using namespace testing_clusters;

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
