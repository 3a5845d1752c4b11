// Quantising operators of exported programs: the results of PyTorch 2.15 and torchao 0.18, and
// refused calls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/errors.h"
#include "tests/models/exported_call.h"

namespace tilewright::exported_quantisation_test {
namespace {

using ::testing::HasSubstr;
using testing::integers;
using testing::OneCall;

using Integers = std::vector<std::int64_t>;
using Floats = std::vector<float>;

Tensor x() { return Tensor::from(Floats{-1.5, -0.25, 0.125, 0.75, 2.5, 100, -100, 0}, {2, 4}); }
Tensor scales(const Floats& elements, const Shape& shape) { return Tensor::from(elements, shape); }
Tensor zeros_at(const Integers& elements, const Shape& shape) {
  return Tensor::from(elements, shape);
}
Integers integers_of(const Tensor& tensor) { return tensor.to(i64).to_vector<std::int64_t>(); }

OneCall in_range(const std::string& name, DType dtype, std::int64_t least, std::int64_t most) {
  return OneCall(name).with("quant_min", least).with("quant_max", most).with("dtype", dtype);
}
OneCall by_numbers(const std::string& way, const Tensor& input) {
  return in_range(concat("quantized_decomposed.", way, "_per_tensor.default"), u8, 0, 255)
      .with("input", input)
      .with("scale", 0.25)
      .with("zero_point", std::int64_t{3});
}

TEST(ExportedQuantisation, RoundsToTheScaleOfATensor) {
  Tensor y = by_numbers("quantize", x()).one();
  EXPECT_EQ(y.dtype(), u8);
  EXPECT_EQ(integers_of(y), (Integers{0, 2, 3, 6, 13, 255, 0, 3}));
  Tensor back = by_numbers("dequantize", Tensor::from(Floats{0, 3, 255}, {3}).to(u8)).one();
  EXPECT_EQ(back.to_vector<float>(), (Floats{-0.75, 0, 63}));
}

TEST(ExportedQuantisation, RoundsToTheScalesOfChannelsTokensAndGroups) {
  auto by = [](const std::string& name, const Tensor& scale, const Tensor& zero) {
    return in_range("quantized_decomposed." + name + ".default", i8, -128, 127)
        .with("scales", scale)
        .with("zero_points", zero);
  };
  EXPECT_EQ(integers_of(by("quantize_per_channel", scales({0.25, 0.5}, {2}), zeros_at({0, -7}, {2}))
                            .with("input", x())
                            .with("axis", std::int64_t{0})
                            .one()),
            (Integers{-6, -1, 0, 3, -2, 127, -128, -7}));
  Tensor stored = Tensor::from(Floats{1, 2, 3, 4}, {2, 2}).to(i8);
  EXPECT_EQ(by("dequantize_per_channel", scales({0.25, 0.5}, {2}), zeros_at({0, -7}, {2}))
                .with("input", stored)
                .with("axis", std::int64_t{1})
                .one()
                .to_vector<float>(),
            (Floats{0.25, 4.5, 0.75, 5.5}));
  EXPECT_EQ(integers_of(by("quantize_per_token", scales({0.5, 1}, {2, 1}), zeros_at({0, 1}, {2, 1}))
                            .with("input", x())
                            .one()),
            (Integers{-3, 0, 0, 2, 4, 101, -99, 1}));
  EXPECT_EQ(
      integers_of(in_range("quantized_decomposed.quantize_per_channel_group.default", i8, -8, 7)
                      .with("input", x())
                      .with("scales", scales({0.5, 0.25, 1, 2}, {2, 2}))
                      .with("zero_points", zeros_at({0, 1, 2, 3}, {2, 2}))
                      .with("group_size", std::int64_t{2})
                      .one()),
      (Integers{-3, 0, 2, 4, 4, 7, -8, 3}));
}

TEST(ExportedQuantisation, ChoosesScales) {
  auto choice = [](const std::string& name, DType dtype, std::int64_t least, std::int64_t most) {
    return in_range("quantized_decomposed." + name + ".tensor", dtype, least, most)
        .with("input", x())
        .with("eps", 0.000244140625)
        .all();
  };
  std::vector<Tensor> chosen = choice("choose_qparams", u8, 0, 255);
  EXPECT_EQ(chosen[0].dtype(), f64);
  EXPECT_EQ(chosen[0].to_vector<double>(), std::vector<double>{0.7843137383460999});
  EXPECT_EQ(integers_of(chosen[1]), Integers{128});
  chosen = choice("choose_qparams_symmetric", i8, -127, 127);
  EXPECT_EQ(chosen[0].to_vector<double>(), std::vector<double>{0.787401556968689});
  EXPECT_EQ(integers_of(chosen[1]), Integers{0});
}

OneCall affine(const std::string& name, const char* type) {
  return OneCall("torchao." + name + "_affine.default")
      .with("input", x())
      .with("block_size", integers({1, 2}))
      .with(type, i8);
}

TEST(ExportedQuantisation, HasScalesOfBlocks) {
  std::vector<Tensor> chosen = affine("choose_qparams", "target_dtype")
                                   .with("mapping_type", std::string("ASYMMETRIC"))
                                   .with("eps", 1e-5)
                                   .all();
  EXPECT_EQ(chosen[0].to_vector<float>(), (Floats{0.0058823530562222F, 0.0029411765281111F,
                                                  0.3921568691730499F, 0.3921568691730499F}));
  EXPECT_EQ(integers_of(chosen[1]), (Integers{127, -128, -128, 127}));
  EXPECT_EQ(integers_of(affine("quantize", "output_dtype")
                            .with("scale", scales({0.5, 0.25, 1, 2}, {2, 2}))
                            .with("zero_point", zeros_at({0, 1, 2, 3}, {2, 2}))
                            .with("quant_min", std::int64_t{-8})
                            .with("quant_max", std::int64_t{7})
                            .one()),
            (Integers{-3, 0, 1, 4, 4, 7, -8, 3}));
}

TEST(ExportedQuantisation, IsSeenByTraining) {
  std::vector<Tensor> faked = OneCall("aten.fake_quantize_per_tensor_affine_cachemask.default")
                                  .with("self", x())
                                  .with("scale", 0.25)
                                  .with("zero_point", std::int64_t{3})
                                  .with("quant_min", std::int64_t{0})
                                  .with("quant_max", std::int64_t{15})
                                  .all();
  EXPECT_EQ(faked[0].to_vector<float>(), (Floats{-0.75, -0.25, 0, 0.75, 2.5, 3, -0.75, 0}));
  EXPECT_EQ(integers_of(faked[1]), (Integers{0, 1, 1, 1, 1, 0, 0, 1}));
}

// Scales, zero points and bounds that are tensors, of tokens, groups and blocks, and back.
TEST(ExportedQuantisation, TakesWhatItIsGivenAsTensors) {
  Tensor scale = full({1}, 0.25, f64), zero = zeros_at({3}, {1});
  auto of_tensor = [&](const std::string& name, const Tensor& input) {
    return in_range("quantized_decomposed." + name, u8, 0, 255)
        .with("input", input)
        .with("scale", scale)
        .with("zero_point", zero);
  };
  Tensor stored = of_tensor("quantize_per_tensor.tensor", x()).one();
  EXPECT_EQ(integers_of(stored), (Integers{0, 2, 3, 6, 13, 255, 0, 3}));
  EXPECT_EQ(of_tensor("dequantize_per_tensor.tensor", stored).one().to_vector<float>(),
            (Floats{-0.75, -0.25, 0, 0.75, 2.5, 63, -0.75, 0}));
  EXPECT_EQ(integers_of(OneCall("quantized_decomposed.quantize_per_tensor.tensor2")
                            .with("input", x())
                            .with("scale", scale)
                            .with("zero_point", zero)
                            .with("quant_min", zeros_at({1}, {1}))
                            .with("quant_max", zeros_at({9}, {1}))
                            .with("dtype", u8)
                            .one()),
            (Integers{1, 2, 3, 6, 9, 9, 1, 3}));
  Tensor four = Tensor::from(Floats{1, 2, 3, 4}, {2, 2}).to(i8);
  EXPECT_EQ(in_range("quantized_decomposed.dequantize_per_token.default", i8, -128, 127)
                .with("input", four)
                .with("scales", scales({0.5, 2}, {2, 1}))
                .with("zero_points", zeros_at({1, -1}, {2, 1}))
                .with("output_dtype", f32)
                .one()
                .to_vector<float>(),
            (Floats{0, 0.5, 8, 10}));
  EXPECT_EQ(in_range("quantized_decomposed.dequantize_per_channel_group.default", i8, -8, 7)
                .with("input", Tensor::from(Floats{1, 2, 3, 4}, {1, 4}).to(i8))
                .with("scales", scales({0.5, 2}, {1, 2}))
                .with("zero_points", zeros_at({1, -1}, {1, 2}))
                .with("group_size", std::int64_t{2})
                .one()
                .to_vector<float>(),
            (Floats{0, 0.5, 8, 10}));
  EXPECT_EQ(OneCall("torchao.dequantize_affine.default")
                .with("input", four)
                .with("block_size", integers({1, 2}))
                .with("scale", scales({0.5, 2}, {2, 1}))
                .with("zero_point", zeros_at({1, -1}, {2, 1}))
                .with("input_dtype", i8)
                .one()
                .to_vector<float>(),
            (Floats{0, 0.5, 8, 10}));
  std::vector<Tensor> chosen = OneCall("quantized_decomposed.choose_qparams_per_token.default")
                                   .with("input", x())
                                   .with("dtype", i8)
                                   .all();
  EXPECT_EQ(chosen[0].to_vector<float>(), (Floats{1.5F / 127, 100.F / 127}));
}

TEST(ExportedQuantisation, MultipliesIntegers) {
  Tensor four = Tensor::from(Floats{1, 2, 3, 4}, {2, 2}).to(i8);
  Tensor product = OneCall("aten._int_mm.default").with("self", four).with("mat2", four).one();
  EXPECT_EQ(product.dtype(), i32);
  EXPECT_EQ(integers_of(product), (Integers{7, 10, 15, 22}));
  EXPECT_EQ(OneCall("aten._weight_int8pack_mm.default")
                .with("self", Tensor::from(Floats{1, 2}, {1, 2}))
                .with("mat2", four)
                .with("scales", scales({0.5, 2}, {2}))
                .one()
                .to_vector<float>(),
            (Floats{2.5, 22}));
}

TEST(ExportedQuantisation, IsSeenByTrainingByChannelAndWhereItIsOn) {
  auto fake = [](const std::string& name) {
    return OneCall("aten." + name)
        .with("self", x())
        .with("quant_min", std::int64_t{0})
        .with("quant_max", std::int64_t{15});
  };
  const Floats faked = {-0.75, -0.25, 0, 0.75, 2.5, 3, -0.75, 0}, own = x().to_vector<float>();
  EXPECT_EQ(fake("fake_quantize_per_channel_affine.default")
                .with("scale", scales({0.25, 0.25}, {2}))
                .with("zero_point", zeros_at({3, 3}, {2}))
                .with("axis", std::int64_t{0})
                .one()
                .to_vector<float>(),
            faked);
  for (std::int64_t is_on : {0, 1}) {
    std::vector<Tensor> both =
        fake("_fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default")
            .with("scale", scales({0.25}, {1}))
            .with("zero_point", zeros_at({3}, {1}))
            .with("fake_quant_enabled", zeros_at({is_on}, {1}))
            .all();
    EXPECT_EQ(both[0].to_vector<float>(), is_on == 1 ? faked : own);
    EXPECT_EQ(integers_of(both[1]),
              is_on == 1 ? (Integers{0, 1, 1, 1, 1, 0, 0, 1}) : Integers(8, 1));
  }
}

TEST(ExportedQuantisation, SaysWhatDoesNotFit) {
  auto error = [](const OneCall& call) { return error_of([&] { call.all(); }); };
  EXPECT_THAT(error(by_numbers("quantize", x().to(i64))), HasSubstr("it must be floating"));
  EXPECT_THAT(error(in_range("quantized_decomposed.quantize_per_tensor.default", i8, -128, 255)),
              HasSubstr("\"quant_max\" is 255; i8 has -128 to 127"));
  EXPECT_THAT(error(in_range("quantized_decomposed.quantize_per_tensor.default", u8, 0, 255)
                        .with("input", x())
                        .with("scale", 0.0)
                        .with("zero_point", std::int64_t{3})),
              HasSubstr("other than 0 is wanted"));
  EXPECT_THAT(error(by_numbers("dequantize", x())), HasSubstr("is u8 for an input of f32"));
  EXPECT_THAT(error(OneCall("aten.fake_quantize_per_tensor_affine.default")
                        .with("self", x())
                        .with("scale", 0.25)
                        .with("zero_point", std::int64_t{999})
                        .with("quant_min", std::int64_t{0})
                        .with("quant_max", std::int64_t{15})),
              HasSubstr("is 999; from 0 to 15 is wanted"));
  for (const char* each : {"fake_quantize_per_tensor_affine.default",
                           "fake_quantize_per_tensor_affine_cachemask.default",
                           "fake_quantize_per_tensor_affine.tensor_qparams"}) {
    OneCall call(concat("aten.", each).c_str());
    call.with("self", x()).with("scale", 0.25).with("zero_point", std::int64_t{7});
    EXPECT_THAT(error(call.with("quant_min", std::int64_t{10}).with("quant_max", std::int64_t{5})),
                HasSubstr("\"quant_max\" is 5, less than 10"))
        << each;
  }
  EXPECT_THAT(error(in_range("quantized_decomposed.quantize_per_tensor.default", f32, 0, 1)),
              HasSubstr("must be an integer type"));
  EXPECT_THAT(error(affine("quantize", "output_dtype").with("scale", scales({1, 2, 3}, {3}))),
              HasSubstr("there are 4 blocks"));
  EXPECT_THAT(error(OneCall("torchao.quantize_affine.default")
                        .with("input", x())
                        .with("scale", scales({1}, {1}))
                        .with("block_size", integers({1, 3}))
                        .with("output_dtype", i8)),
              HasSubstr("has 3 along an axis of 4"));
  EXPECT_NE(error(OneCall("torchao.choose_qparams_affine.default")
                      .with("input", zeros({0, 4}))
                      .with("block_size", integers({0, 4}))
                      .with("target_dtype", i8)
                      .with("mapping_type", std::string("SYMMETRIC"))
                      .with("keepdim", true)),
            "no error");
  EXPECT_THAT(
      error(in_range("quantized_decomposed.quantize_per_channel.default", i8, -128, 127)
                .with("input", x())
                .with("scales", scales({1, 2, 3}, {3}))
                .with("axis", std::int64_t{0})),
      HasSubstr("[quantize_per_channel] scales or zero points are [3], for axis 0 of [2x4]"));
}

}  // namespace
}  // namespace tilewright::exported_quantisation_test
