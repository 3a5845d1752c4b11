// Boxes that overlap better ones, by hand.
#include "graph/functions/detection/nms.h"

#include <gtest/gtest.h>

#include <cmath>

#include "graph/compile/compile.h"
#include "tests/errors.h"

namespace tilewright::nms_test {
namespace {

using Floats = std::vector<float>;
using Integers = std::vector<std::int64_t>;

// The second covers 9/11 of the first, the third neither, the last has no area.
Tensor boxes(DType dtype = f32) {
  return Tensor::from(Floats{0, 0, 10, 10, 0, 1, 10, 11, 20, 20, 30, 30, 5, 5, 5, 5}, {4, 4})
      .to(dtype);
}
Tensor scores(DType dtype = f32) {
  return Tensor::from(Floats{0.5F, 0.9F, 0.7F, 0.1F}, {4}).to(dtype);
}

TEST(Nms, LeavesOutWhatOverlapsABetterOne) {
  for (DType dtype : {f32, f64, f16}) {
    EXPECT_EQ(nms(boxes(dtype), scores(dtype), 0.5).to_vector<std::int64_t>(), (Integers{1, 2, 3}));
    EXPECT_EQ(nms(boxes(dtype), scores(dtype), 0.85).to_vector<std::int64_t>(),
              (Integers{1, 2, 0, 3}));
  }
  auto compiled = compile([](const Tensor& b, const Tensor& s) { return nms(b, s, 0.5); });
  EXPECT_EQ(compiled(boxes(), scores()).to_vector<std::int64_t>(), (Integers{1, 2, 3}));
  EXPECT_EQ(nms(zeros({0, 4}), zeros({0}), 0.5).shape(), Shape{0});
}

TEST(Nms, ScoresThatAreNoNumbersComeFirst) {
  const Tensor none = Tensor::from(Floats{0.5F, 0.9F, std::nanf(""), 0.1F}, {4});
  EXPECT_EQ(nms(boxes(), none, 0.5).to_vector<std::int64_t>(), (Integers{2, 1, 3}));
}

TEST(Nms, IsOfEachClassInOnnx) {
  const Tensor all = boxes().unsqueeze(0);
  const Tensor both =
      Tensor::from(Floats{0.5F, 0.9F, 0.7F, 0.1F, 0.9F, 0.5F, 0.2F, 0.8F}, {1, 2, 4});
  EXPECT_EQ(non_max_suppression(all, both,
                                {.most_of_class = 2, .iou_threshold = 0.5, .score_threshold = 0.3})
                .to_vector<std::int64_t>(),
            (Integers{0, 0, 1, 0, 0, 2, 0, 1, 0, 0, 1, 3}));
  // Corners in any order, or a centre with a width and a height.
  const Tensor turned = Tensor::from(Floats{10, 10, 0, 0, 0, 11, 10, 1}, {1, 2, 4}),
               centred = Tensor::from(Floats{5, 5, 10, 10, 6, 5, 10, 10}, {1, 2, 4}),
               two = Tensor::from(Floats{0.5F, 0.9F}, {1, 1, 2});
  EXPECT_EQ(non_max_suppression(turned, two, {.most_of_class = 9, .iou_threshold = 0.5})
                .to_vector<std::int64_t>(),
            (Integers{0, 0, 1}));
  EXPECT_EQ(non_max_suppression(centred, two,
                                {.most_of_class = 9, .iou_threshold = 0.5, .has_centre = true})
                .to_vector<std::int64_t>(),
            (Integers{0, 0, 1}));
  EXPECT_EQ(non_max_suppression(turned, two, {}).shape(), (Shape{0, 3}));
}

TEST(Nms, RefusesOtherShapes) {
  expect_contains(error_of([] { nms(zeros({2, 3}), zeros({2}), 0.5); }), "[nms] boxes f32 [2x3]");
  expect_contains(error_of([] {
                    non_max_suppression(zeros({1, 2, 4}), zeros({1, 1, 3}), {});
                  }),
                  "[non_max_suppression] boxes [1x2x4] with scores [1x1x3]");
}

}  // namespace
}  // namespace tilewright::nms_test
