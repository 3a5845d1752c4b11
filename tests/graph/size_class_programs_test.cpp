// Programs of declared sizes: one for each region of a class of sizes, with the results of each
// size.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "dsl/launch/compile.h"
#include "graph/compile/compile.h"
#include "graph/compile/sizes/size_marks.h"
#include "graph/lower/block_sizes.h"
#include "runtime/base/error.h"
#include "tests/graph/on_host.h"
#include "tests/tensors.h"

namespace tilewright::size_class_programs_test {
namespace {

using namespace testing_signatures;

// A layer of a decoder over rows of ids [batch, length].
struct Layer {
  Tensor table = sin(ramp({50, 48})), gain = ramp({48}) * 0.01 + 1;
  Tensor joint = sin(ramp({48, 144})) * 0.3, out = cos(ramp({48, 48})) * 0.3;
  Tensor wide = sin(ramp({48, 80})), narrow = cos(ramp({80, 48})) * 0.2;
  Tensor normed(const Tensor& x) const { return x * rsqrt(mean(x * x, {-1}, true) + 1e-5) * gain; }
  Tensor operator()(const Tensor& ids) const {
    const std::int64_t batch = ids.size(0), length = ids.size(1);
    Tensor x = embedding(ids, table);
    Tensor all = matmul(normed(x), joint).reshape({batch, length, 9, 16}).permute({0, 2, 1, 3});
    Tensor mixed = scaled_dot_product_attention(all.slice(1, 0, 3), all.slice(1, 3, 6),
                                                all.slice(1, 6, 9), {.causal = true});
    x = x + matmul(mixed.permute({0, 2, 1, 3}).reshape({batch, length, 48}), out);
    return x + matmul(gelu(matmul(normed(x), wide)), narrow);
  }
};
Tensor ids_of(std::int64_t batch, std::int64_t length) {
  return remainder(arange(0, batch * length) * 7, 50).reshape({batch, length});
}

const std::vector<std::int64_t> lengths = {16, 17, 19, 23, 24, 29,  31,  32,  37,  40,
                                           41, 47, 48, 53, 64, 100, 127, 128, 200, 255};

std::vector<Tensor> ids_of_lengths() {
  std::vector<Tensor> all;
  for (std::int64_t length : lengths) all.push_back(ids_of(1, length));
  mark_dynamic(all[0], 1, {.min = 2, .max = 256});
  return all;
}

// One for each region of each class of sizes, at the first length of the class.
TEST(DeclaredSizes, CompileAProgramForEachRegionOfAClass) {
  const Layer layer;
  for (Dynamic dynamic : {Dynamic::automatic, Dynamic::never, Dynamic::always})
    for (Mode mode : {Mode::default_, Mode::max_autotune_no_cudagraphs}) {
      SCOPED_TRACE(concat(static_cast<int>(dynamic), " ", name_of(mode)));
      const std::vector<Tensor> ids = ids_of_lengths();
      Compiled fast =
          compile(layer, on_host({.mode = mode, .max_signatures = 1, .dynamic = dynamic}));
      auto made = [] {  // here, or by an earlier process
        const dsl::CompileStatistics all = dsl::compile_statistics();
        return all.compiled + all.loaded;
      };
      const std::int64_t before = made();
      std::map<std::int64_t, std::size_t> regions;  // of each class
      std::set<std::string> programs;
      for (std::size_t i = 0; i < ids.size(); ++i) {
        fast(ids[i]);
        const std::vector<RegionReport> own = fast.report().back().regions;
        for (const RegionReport& region : own) programs.insert(region.key);
        std::size_t& most = regions[graph::least_of_size_class(lengths[i])];
        most = std::max(most, own.size());
      }
      std::size_t all_regions = 0;
      for (const auto& [least, count] : regions) all_regions += count;
      EXPECT_EQ(fast.report().size(), lengths.size());
      EXPECT_EQ(regions.size(), 2U);
      EXPECT_LE(programs.size(), all_regions);
      EXPECT_LE(made() - before, static_cast<std::int64_t>(all_regions));
    }
}

TEST(DeclaredSizes, HaveTheResultsOfEachSizeAlone) {
  const Layer layer;
  Compiled fast = compile(layer, on_host());
  for (const Tensor& ids : ids_of_lengths()) {
    SCOPED_TRACE(ids.size(1));
    Compiled alone = compile(layer, on_host({.dynamic = Dynamic::never}));
    EXPECT_LE(relative_difference(fast(ids).to_vector<float>(), alone(ids).to_vector<float>()),
              2e-6);
  }
}

}  // namespace
}  // namespace tilewright::size_class_programs_test
