// Images as inputs of networks, at once and compiled. Values are those of PyTorch 2.15's
// interpolate, with which torchvision resizes.
#include "graph/functions/resampling/images.h"

#include <gtest/gtest.h>

#include "tests/errors.h"
#include "tests/graph/at_once_and_compiled.h"

namespace tilewright::images_test {
namespace {

using namespace testing_loops;

// torch.arange(96.).reshape(1, 2, 6, 8) % 17
Tensor image() {
  Floats elements(96);
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<float>(i % 17);
  return Tensor::from(elements, {1, 2, 6, 8});
}

TEST(Images, AreResizedWithoutAliases) {
  auto resized = [](const Tensors& t) { return Tensors{resize_image(t[0], {3, 5})}; };
  expect_near(resized, {image()}, {1, 2, 3, 5},
              {5.12986994F, 5.21164036F, 6.78571463F, 8.35978889F, 9.87662411F, 9.30113602F,
               5.47685194F, 6.5F,        8.07407475F, 9.59090996F, 10.409091F,  6.52910042F,
               6.21428585F, 7.78836012F, 9.30519581F, 10.409091F,  10.5767202F, 5.3035717F,
               5.35978842F, 6.87662411F, 8.90909100F, 10.4259262F, 8.72395802F, 5.46759224F,
               6.59090948F, 7.40909100F, 8.92592621F, 10.1964293F, 6.13756657F, 6.30519581F});
  Tensor sharp = resize_image(image(), {3, 5}, {.mode = InterpolateMode::bicubic});
  EXPECT_NEAR(sharp.flatten()[0].item<float>(), 4.72064209F, 1e-5);
  EXPECT_NEAR(sharp.flatten()[5].item<float>(), 9.68706512F, 1e-5);
  // Without a batch, of bytes.
  Tensor bytes = resize_image((image()[0] * 15).to(u8), {3, 4});
  EXPECT_EQ(bytes.shape(), (Shape{2, 3, 4}));
  EXPECT_EQ(bytes.to(i64).to_vector<std::int64_t>(),
            (Integers{76,  87,  117, 143, 124, 87,  113, 139, 145, 92,  109, 135,
                      161, 129, 77,  98,  139, 154, 96,  94,  116, 143, 118, 90}));
}

// As torchvision counts: int(size * longer / shorter), and the same for `most`.
TEST(Images, KeepTheirProportionsForOneSize) {
  EXPECT_EQ(resize_image(ones({3, 6, 8}), {4}).shape(), (Shape{3, 4, 5}));
  EXPECT_EQ(resize_image(ones({3, 8, 6}), {4}).shape(), (Shape{3, 5, 4}));
  EXPECT_EQ(resize_image(ones({3, 6, 18}), {4}, {.most = 10}).shape(), (Shape{3, 3, 10}));
}

TEST(Images, AreNormalisedByChannel) {
  auto normal = [](const Tensors& t) {
    return Tensors{normalize_image(t[0] / 17.0, {0.5, 0.25}, {0.2, 0.4})
                       .flatten()
                       .index_select(0, Tensor::from<std::int64_t>({0, 5, 50, 95}))};
  };
  expect_near(normal, {image()}, {4}, {-2.5F, -1.02941167F, 1.72794116F, 0.845588267F});
  EXPECT_EQ(normalize_image(image().to(f16), {0, 0}, {1, 1}).dtype(), f16);
}

TEST(Images, AreFittedIntoAFrame) {
  auto framed = [](const Tensors& t) {
    return Tensors{letterbox(t[0], {6, 5}).image.select(0, 0).select(0, 0)};
  };
  const Floats row(5, 114.F);
  Floats wanted = row;
  wanted.insert(wanted.end(),
                {2.3F, 3.9F,   5.5F,  7.1F,  8.7F,   10.475F, 3.15F,  4.75F, 6.35F, 7.95F,
                 9.3F, 7.075F, 8.25F, 9.85F, 11.45F, 8.55F,   6.325F, 7.5F,  9.1F,  10.7F});
  wanted.insert(wanted.end(), row.begin(), row.end());
  expect_near(framed, {image()}, {6, 5}, wanted);
  const Letterbox box = letterbox(image(), {6, 5});
  EXPECT_EQ(box.scale, 0.625);
  EXPECT_EQ(box.left, 0);
  EXPECT_EQ(box.top, 1);
  EXPECT_EQ(letterbox(image().to(u8), {6, 8}).image.dtype(), u8);
}

TEST(Images, MisuseIsRefused) {
  expect_contains(error_of([] {
                    resize_image(ones({6, 8}), {3});
                  }),
                  "[resize_image] the image is 6x8");
  expect_contains(error_of([] { resize_image(image(), {3, 3, 3}); }), "the size is 3x3x3");
  expect_contains(error_of([] { resize_image(image(), {3}, {.most = 3}); }),
                  "it must be the smaller");
  expect_contains(error_of([] {
                    normalize_image(image().to(u8), {0, 0}, {1, 1});
                  }),
                  "the image is u8");
  expect_contains(error_of([] {
                    normalize_image(image(), {0}, {1, 1});
                  }),
                  "there are 1 numbers for 2");
  expect_contains(error_of([] { normalize_image(image(), {0, 0}, {1, 0}); }), "a deviation is 0");
  expect_contains(error_of([] { letterbox(image(), {3}); }), "[letterbox] the size is 3");
}

}  // namespace
}  // namespace tilewright::images_test
