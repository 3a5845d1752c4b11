// Counts of bins and bags of rows against loops, at once and compiled.
#include "graph/functions/indexing/histograms.h"

#include <gtest/gtest.h>

#include <cmath>

#include "graph/compile/compile.h"
#include "graph/functions/indexing/embedding_bag.h"
#include "tests/errors.h"

namespace tilewright::histograms_test {
namespace {

using Floats = std::vector<float>;
using Integers = std::vector<std::int64_t>;

Options fullgraph() {
  Options options;
  options.fullgraph = true;
  return options;
}

TEST(Histograms, BincountCountsAndAddsWeights) {
  Tensor x = Tensor::from(Integers{3, 1, 3, 0}, {4});
  EXPECT_EQ(bincount(x).to_vector<std::int64_t>(), (Integers{1, 1, 0, 2}));
  EXPECT_EQ(bincount(x.to(DType::u8), {}, 6).to_vector<std::int64_t>(),
            (Integers{1, 1, 0, 2, 0, 0}));
  Tensor weights = Tensor::from(Floats{0.5F, 2, 0.25F, 8}, {4});
  EXPECT_EQ(bincount(x, weights).to_vector<float>(), (Floats{8, 2, 0, 0.75F}));
  EXPECT_EQ(bincount(x, weights.to(i32)).dtype(), f64);
  EXPECT_EQ(bincount(zeros({0}, i64), {}, 2).to_vector<std::int64_t>(), (Integers{0, 0}));
  EXPECT_EQ(bincount(zeros({0}, i64)).shape(), Shape{0});
  EXPECT_EQ(
      compile([](const Tensor& t) { return bincount(t, {}, 5) + 1; })(x).to_vector<std::int64_t>(),
      (Integers{2, 2, 1, 3, 1}));
}

TEST(Histograms, BincountRefusesWhatItCannotCount) {
  expect_contains(error_of([] {
                    bincount(Tensor::from(Integers{1, -2}, {2}));
                  }),
                  "[bincount] an element is -2");
  expect_contains(error_of([] { bincount(zeros({2})); }), "[bincount] the tensor is f32");
  expect_contains(error_of([] { bincount(zeros({2}, i64), ones({3})); }), "[bincount] the tensor");
  expect_contains(error_of([] { bincount(zeros({2}, i64), {}, -1); }), "[bincount] at least -1");
}

// Outside, at all edges, and no numbers.
Tensor samples() {
  return Tensor::from(Floats{-1, 0, 0.1F, 0.25F, 0.5F, 0.74F, 0.75F, 1, 1.5F, std::nanf("")},
                      {2, 5});
}

TEST(Histograms, CountBetweenEdges) {
  auto counts = [](const Tensor& x) { return histc(x, 4, 0, 1); };
  EXPECT_EQ(counts(samples()).to_vector<float>(), (Floats{2, 1, 2, 2}));
  EXPECT_EQ(compile(counts, fullgraph())(samples()).to_vector<float>(), (Floats{2, 1, 2, 2}));
  auto [hist, edges] = histogram(samples(), 4, {.range = std::pair(0.0, 1.0)});
  EXPECT_EQ(hist.to_vector<float>(), (Floats{2, 1, 2, 2}));
  EXPECT_EQ(edges.to_vector<float>(), (Floats{0, 0.25F, 0.5F, 0.75F, 1}));
}

TEST(Histograms, FindTheirEdges) {
  Tensor x = Tensor::from(Floats{3, -1, 0, 1}, {4});
  auto function = [](const Tensor& t) {
    auto [counts, edges] = histogram(t, 2);
    return std::vector<Tensor>{counts, edges, histc(t, 2)};
  };
  for (const auto& got : {function(x), compile(function, fullgraph())(x)}) {
    EXPECT_EQ(got[0].to_vector<float>(), (Floats{2, 2}));
    EXPECT_EQ(got[1].to_vector<float>(), (Floats{-1, 1, 3}));
    EXPECT_EQ(got[2].to_vector<float>(), (Floats{2, 2}));
  }
  Tensor same = full({3}, 2.0);
  EXPECT_EQ(histogram(same, 1).second.to_vector<float>(), (Floats{1.5F, 2.5F}));
  EXPECT_EQ(histc(same, 2).to_vector<float>(), (Floats{0, 3}));
  EXPECT_EQ(histogram(zeros({0}), 1).second.to_vector<float>(), (Floats{0, 1}));
  EXPECT_EQ(histc(zeros({0}), 3).to_vector<float>(), (Floats{0, 0, 0}));
}

TEST(Histograms, WeighElementsAndGiveDensities) {
  Tensor x = Tensor::from(Floats{0, 1, 2, 4}, {4});
  HistogramOptions options{.range = std::pair(0.0, 4.0),
                           .weight = Tensor::from(Floats{1, 2, 4, 9}, {4})};
  EXPECT_EQ(histogram(x, 2, options).first.to_vector<float>(), (Floats{3, 13}));
  options.density = true;
  EXPECT_EQ(histogram(x, 2, options).first.to_vector<float>(), (Floats{3 / 32.F, 13 / 32.F}));
}

TEST(Histograms, RefuseBinsThatAreNone) {
  expect_contains(error_of([] { histc(zeros({2}), 0); }), "[histc] 0 bins");
  expect_contains(error_of([] { histc(zeros({2}), 2, 3, 1); }), "[histc] bins from 3 to 1");
  expect_contains(error_of([] { histc(zeros({2}, i64), 2); }), "[histc] the tensor is i64");
  expect_contains(error_of([] { histogram(zeros({2}), 2, {.weight = ones({3})}); }),
                  "[histogram] the tensor is f32");
}

Tensor table() {
  Floats rows;
  for (int i = 0; i < 12; ++i) rows.push_back(static_cast<float>(i * i % 7) - 2);
  return Tensor::from(rows, {4, 3});
}

Floats looped(const Integers& indices, const Integers& offsets, BagMode mode, const Floats& weights,
              std::int64_t ignored) {
  const Floats rows = table().to_vector<float>();
  Floats result(offsets.size() * 3);
  for (std::size_t bag = 0; bag < offsets.size(); ++bag) {
    const std::size_t end =
        bag + 1 < offsets.size() ? static_cast<std::size_t>(offsets[bag + 1]) : indices.size();
    int count = 0;
    for (auto i = static_cast<std::size_t>(offsets[bag]); i < end; ++i) {
      if (indices[i] == ignored) continue;
      for (std::size_t c = 0; c < 3; ++c) {
        float value = rows[static_cast<std::size_t>(indices[i]) * 3 + c];
        if (!weights.empty()) value *= weights[i];
        float& to = result[bag * 3 + c];
        to = mode == BagMode::max ? (count == 0 ? value : std::max(to, value)) : to + value;
      }
      ++count;
    }
    for (std::size_t c = 0; c < 3 && mode == BagMode::mean && count > 0; ++c)
      result[bag * 3 + c] /= static_cast<float>(count);
  }
  return result;
}

TEST(Bags, AreThoseOfALoop) {
  const Integers indices = {3, 0, 0, 2, 1, 3, 2}, offsets = {0, 3, 3, 6};
  const Floats weights = {1, -2, 0.5F, 4, 1, 1, 2};
  Tensor i = Tensor::from(indices, {7}), o = Tensor::from(offsets, {4});
  for (BagMode mode : {BagMode::sum, BagMode::mean, BagMode::max})
    for (std::int64_t ignored : {-1, 2}) {
      BagOptions options{.mode = mode};
      if (ignored >= 0) options.ignored_row = ignored;
      auto function = [&](const Tensor& a, const Tensor& t, const Tensor& b) {
        return embedding_bag(a, t, b, options);
      };
      const Floats wanted = looped(indices, offsets, mode, {}, ignored);
      EXPECT_EQ(function(i, table(), o).to_vector<float>(), wanted);
      EXPECT_EQ(compile(function, fullgraph())(i, table(), o).to_vector<float>(), wanted);
    }
  BagOptions weighted{.mode = BagMode::sum, .weights = Tensor::from(weights, {7})};
  EXPECT_EQ(embedding_bag(i, table(), o, weighted).to_vector<float>(),
            looped(indices, offsets, BagMode::sum, weights, -1));
  BagOptions ended{.mode = BagMode::sum, .has_last_offset = true};
  EXPECT_EQ(embedding_bag(i, table(), Tensor::from(Integers{0, 3, 3, 6, 7}, {5}), ended)
                .to_vector<float>(),
            looped(indices, offsets, BagMode::sum, {}, -1));
}

TEST(Bags, OfOneSizeNeedNoOffsets) {
  const Integers indices = {3, 0, 0, 2, 1, 3};
  EXPECT_EQ(embedding_bag(Tensor::from(indices, {3, 2}), table()).to_vector<float>(),
            looped(indices, {0, 2, 4}, BagMode::mean, {}, -1));
  EXPECT_EQ(embedding_bag(zeros({2, 0}, i64), table()).to_vector<float>(), Floats(6));
  EXPECT_EQ(embedding_bag(zeros({2}, i64), table(), zeros({0}, i64)).shape(), (Shape{0, 3}));
}

TEST(Bags, RefuseWhatDoesNotFit) {
  Tensor i = zeros({2}, i64), o = zeros({1}, i64);
  expect_contains(error_of([&] { embedding_bag(i.to(f32), table(), o); }), "must be i32 or i64");
  expect_contains(error_of([&] { embedding_bag(i, table()); }),
                  "[embedding_bag] the indices are 2");
  expect_contains(error_of([&] { embedding_bag(i, table().reshape({12}), o); }),
                  "[embedding_bag] the table is f32 12");
  expect_contains(error_of([&] {
                    embedding_bag(i, table(), zeros({1, 1}, i64));
                  }),
                  "[embedding_bag] the offsets are");
  expect_contains(
      error_of([&] { embedding_bag(i, table(), zeros({0}, i64), {.has_last_offset = true}); }),
      "and a last one where the options say so");
  expect_contains(error_of([&] { embedding_bag(i, table(), o, {.weights = ones({2})}); }),
                  "are for sums alone");
  expect_contains(error_of([&] { embedding_bag(i + 4, table(), o); }),
                  "id 4 is outside a table of 4 rows");
}

}  // namespace
}  // namespace tilewright::histograms_test
