// Operators whose elements join others, as far as the corpus has none of them:
// exported_corpus_test.cpp compares the others with PyTorch.
#include <gtest/gtest.h>

#include "tests/errors.h"
#include "tests/models/exported_call.h"

namespace tilewright::exported_scatters_test {
namespace {

using testing::OneCall;
using Floats = std::vector<float>;
using Integers = std::vector<std::int64_t>;

Tensor index() { return Tensor::from(Integers{2, 0, 2}, {3}); }

TEST(ExportedScatters, OfANumberAndOfSlices) {
  Tensor x = Tensor::from(Floats{1, 2, 3}, {3});
  OneCall scatter("aten.scatter.value_reduce");
  scatter.with("self", x).with("dim", std::int64_t{0}).with("index", index());
  EXPECT_EQ(OneCall(scatter).with("value", 2.0).with("reduce", "multiply").one().to_vector<float>(),
            (Floats{2, 2, 12}));
  expect_contains(
      error_of([&] { OneCall(scatter).with("value", 2.0).with("reduce", "max").one(); }),
      "must be sum, prod, mean, amax or amin");
  EXPECT_EQ(OneCall("aten.index_add.default")
                .with("self", x)
                .with("dim", std::int64_t{-1})
                .with("index", index())
                .with("source", x)
                .with("alpha", std::int64_t{10})
                .one()
                .to_vector<float>(),
            (Floats{21, 2, 43}));
}

TEST(ExportedScatters, OfPartsTakeThemInTheirOwnType) {
  Tensor x = Tensor::from(Floats{1, 2, 3}, {3});
  EXPECT_EQ(OneCall("aten.slice_scatter.default")
                .with("self", x)
                .with("src", Tensor::from(Integers{7, 8}, {2}))
                .with("dim", std::int64_t{0})
                .with("start", std::int64_t{1})
                .one()
                .to_vector<float>(),
            (Floats{1, 7, 8}));
  EXPECT_EQ(OneCall("aten.select_scatter.default")
                .with("self", index())
                .with("src", Tensor::from(Floats{1.5F}, {}))
                .with("dim", std::int64_t{0})
                .with("index", std::int64_t{1})
                .one()
                .to_vector<std::int64_t>(),
            (Integers{2, 1, 2}));
}

TEST(ExportedScatters, CountBins) {
  EXPECT_EQ(OneCall("aten.bincount.default")
                .with("self", index())
                .with("minlength", std::int64_t{4})
                .one()
                .to_vector<std::int64_t>(),
            (Integers{1, 0, 2, 0}));
  EXPECT_EQ(OneCall("aten.histc.default")
                .with("self", index().to(f32))
                .with("bins", std::int64_t{2})
                .with("min", 0.0)
                .with("max", 4.0)
                .one()
                .to_vector<float>(),
            (Floats{1, 2}));
}

TEST(ExportedScatters, GiveTheGradientOfAnEmbedding) {
  OneCall gradient("aten.embedding_dense_backward.default");
  gradient.with("grad_output", Tensor::from(Floats{1, 2, 10, 20, 100, 200}, {3, 2}))
      .with("indices", index())
      .with("num_weights", std::int64_t{3});
  EXPECT_EQ(OneCall(gradient).with("padding_idx", std::int64_t{-1}).one().to_vector<float>(),
            (Floats{10, 20, 0, 0, 101, 202}));
  EXPECT_EQ(OneCall(gradient).with("padding_idx", std::int64_t{2}).one().to_vector<float>(),
            (Floats{10, 20, 0, 0, 0, 0}));
}

TEST(ExportedScatters, RefuseBagsOfAnotherMode) {
  expect_contains(error_of([] {
                    OneCall("aten._embedding_bag_forward_only.default")
                        .with("weight", zeros({3, 2}))
                        .with("indices", index())
                        .with("offsets", zeros({1}, i64))
                        .with("mode", std::int64_t{3})
                        .one();
                  }),
                  "must be 0, 1 or 2");
}

}  // namespace
}  // namespace tilewright::exported_scatters_test
