// Operators of programs that were exported without run_decompositions(), which the corpus has not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "graph/functions/convolving/convolution.h"
#include "graph/functions/resampling/sampled_windows.h"
#include "tests/errors.h"
#include "tests/models/exported_call.h"

namespace tilewright::exported_composites_test {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using testing::integers;
using testing::OneCall;
using ::testing::Pointwise;

Tensor sequence(const Shape& shape, double factor = 0.1) {
  return arange(0, element_count(shape), 1, f32).reshape(shape) * factor;
}
void expect_equal(const Tensor& got, const Tensor& expected) {
  ASSERT_EQ(got.shape(), expected.shape());
  EXPECT_THAT(got.to_vector<float>(), Pointwise(FloatNear(1e-5F), expected.to_vector<float>()));
}

TEST(ExportedComposites, MultiplyAndAttend) {
  Tensor x = sequence({2, 3}), w = sequence({4, 3}), b = sequence({4});
  expect_equal(
      OneCall("aten.linear.default").with("input", x).with("weight", w).with("bias", b).one(),
      matmul(x, w.transpose(0, 1)) + b);
  Tensor q = sequence({1, 2, 3, 4}), k = sequence({1, 2, 3, 4}, -0.05),
         v = sequence({1, 2, 3, 4}, 1);
  auto attention = [&] {
    return OneCall("aten.scaled_dot_product_attention.default")
        .with("query", q)
        .with("key", k)
        .with("value", v);
  };
  Tensor scores = matmul(q, k.transpose(2, 3)) * 0.5;
  expect_equal(attention().one(), matmul(softmax(scores, -1), v));
  Tensor added = sequence({3, 3}, -1);
  expect_equal(attention().with("attn_mask", added).one(), matmul(softmax(scores + added, -1), v));
  Tensor lower = arange(0, 3).reshape({3, 1}) >= arange(0, 3);
  expect_equal(attention().with("attn_mask", lower).one(),
               attention().with("is_causal", true).one());
  EXPECT_THAT(error_of([&] { attention().with("dropout_p", 0.5).one(); }), HasSubstr("is not 0"));
  EXPECT_THAT(error_of([&] { attention().with("attn_mask", lower).with("is_causal", true).one(); }),
              HasSubstr("\"is_causal\" is true, with a mask"));
}

TEST(ExportedComposites, Normalise) {
  Tensor x = sequence({2, 4, 3}), w = sequence({4}, 1), b = sequence({4}, -1);
  Tensor last = sequence({3}, 1);
  expect_equal(OneCall("aten.layer_norm.default")
                   .with("input", x)
                   .with("normalized_shape", integers({3}))
                   .with("weight", last)
                   .one(),
               layer_norm(x, last));
  expect_equal(OneCall("aten.rms_norm.default")
                   .with("input", x)
                   .with("normalized_shape", integers({3}))
                   .with("eps", 1e-5)
                   .one(),
               rms_norm(x, {}, 1e-5));
  Tensor grouped =
      OneCall("aten.group_norm.default").with("input", x).with("num_groups", std::int64_t{4}).one();
  expect_equal(grouped, layer_norm(x));
  Tensor y = OneCall("aten.batch_norm.default")
                 .with("input", x)
                 .with("weight", w)
                 .with("bias", b)
                 .with("running_mean", zeros({4}))
                 .with("running_var", ones({4}))
                 .with("training", false)
                 .with("eps", 0.0)
                 .one();
  expect_equal(y, x * w.reshape({4, 1}) + b.reshape({4, 1}));
  // In training by what the batch itself has, which is kept.
  Tensor mean = zeros({4}).clone(), variance = ones({4}).clone();
  OneCall("aten.batch_norm.default")
      .with("input", x)
      .with("running_mean", mean)
      .with("running_var", variance)
      .with("training", true)
      .with("momentum", 1.0)
      .one();
  expect_equal(mean, tilewright::mean(x, {0, 2}));
}

TEST(ExportedComposites, ArrangeAndPass) {
  Tensor x = sequence({2, 5});
  EXPECT_EQ(OneCall("aten.flatten.using_ints").with("self", x).one().shape(), (Shape{10}));
  EXPECT_THAT(
      error_of([&] {
        OneCall("aten.flatten.using_ints").with("self", x).with("start_dim", std::int64_t{5}).one();
      }),
      HasSubstr("[flatten] axis 5 is outside a tensor of shape 2x5"));
  std::vector<Tensor> parts = OneCall("aten.split.Tensor")
                                  .with("self", x)
                                  .with("split_size", std::int64_t{2})
                                  .with("dim", std::int64_t{1})
                                  .all();
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[2].shape(), (Shape{2, 1}));
  parts = OneCall("aten.chunk.default")
              .with("self", x)
              .with("chunks", std::int64_t{2})
              .with("dim", std::int64_t{-1})
              .all();
  EXPECT_EQ(parts[0].shape(), (Shape{2, 3}));
  EXPECT_THAT(
      error_of([&] {
        OneCall("aten.split.Tensor").with("self", x).with("split_size", std::int64_t{0}).all();
      }),
      HasSubstr("[split] parts of 0 elements"));
  EXPECT_THAT(error_of([&] {
                OneCall("aten.chunk.default").with("self", x).with("chunks", std::int64_t{0}).all();
              }),
              HasSubstr("[chunk] 0 parts"));
  Tensor both = OneCall("aten.stack.default")
                    .with_list("tensors", {x, x})
                    .with("dim", std::int64_t{-1})
                    .one();
  EXPECT_EQ(both.shape(), (Shape{2, 5, 2}));
  expect_equal(
      OneCall("aten.dropout.default").with("input", x).with("p", 0.5).with("train", false).one(),
      x);
  EXPECT_EQ(OneCall("aten.to.dtype").with("self", x).with("dtype", f64).one().dtype(), f64);
}

TEST(ExportedComposites, ApplyFunctionsOfElements) {
  Tensor x = Tensor::from(std::vector<float>{-4, -1, 0, 2}, {4});
  EXPECT_THAT(OneCall("aten.hardswish.default").with("self", x).one().to_vector<float>(),
              Pointwise(FloatNear(1e-6F), std::vector<float>{0, -1.F / 3, 0, 5.F / 3}));
  EXPECT_THAT(OneCall("aten.softplus.default").with("self", x).one().to_vector<float>()[2],
              FloatNear(std::log(2.F), 1e-6F));
  Tensor filled = OneCall("aten.masked_fill.Scalar")
                      .with("self", x)
                      .with("mask", x < 0)
                      .with("value", std::int64_t{9})
                      .one();
  EXPECT_THAT(filled.to_vector<float>(), ElementsAre(9, 9, 0, 2));
  expect_equal(OneCall("aten.softmax.int").with("self", x).with("dim", std::int64_t{0}).one(),
               softmax(x, 0));
}

// As PyTorch cuts a number where the functions of this library refuse it.
TEST(ExportedComposites, FillWithWhatADtypeMakesOfANumber) {
  auto filled = [](double value, DType dtype) {
    return OneCall("aten.full.default")
        .with("size", integers({1}))
        .with("fill_value", value)
        .with("dtype", dtype);
  };
  EXPECT_EQ(filled(2.9, i64).one().item<std::int64_t>(), 2);
  EXPECT_EQ(filled(-2.9, i32).one().item<std::int32_t>(), -2);
  EXPECT_EQ(filled(0.5, DType::boolean).one().item<bool>(), true);
  for (double far : {1e19, HUGE_VAL})
    EXPECT_THAT(error_of([&] { filled(far, i64).one(); }), HasSubstr("does not fit i64"));
}

// Other names and forms of what there is, each against that.
TEST(ExportedComposites, HaveOtherForms) {
  Tensor x = arange(0, 24).to(f32).reshape({1, 2, 3, 4}) - 9.0,
         row = Tensor::from(std::vector<float>{-2, -1, 3}, {3});
  auto pads = [&](const std::string& name, const std::string& mode) {
    expect_equal(
        OneCall("aten." + name).with("self", x).with("padding", integers({1, 2, 1, 0})).one(),
        OneCall("aten.pad.default")
            .with("self", x)
            .with("pad", integers({1, 2, 1, 0}))
            .with("mode", mode)
            .one());
  };
  pads("reflection_pad2d.default", "reflect");
  pads("replication_pad2d.default", "replicate");
  auto sequences = [&](bool batch_first, const std::string& side) {
    return OneCall("aten.pad_sequence.default")
        .with_list("sequences", {row, full({1}, 4.0)})
        .with("batch_first", batch_first)
        .with("padding_value", -9.0)
        .with("padding_side", side);
  };
  EXPECT_THAT(sequences(true, "left").one().to_vector<float>(), ElementsAre(-2, -1, 3, -9, -9, 4));
  EXPECT_THAT(sequences(false, "right").one().to_vector<float>(),
              ElementsAre(-2, 4, -1, -9, 3, -9));
  expect_contains(error_of([&] { sequences(true, "both").one(); }), "neither right nor left");
  Tensor weight = ones({3, 2, 2, 2});
  expect_equal(OneCall("aten._convolution.default")
                   .with("input", x)
                   .with("weight", weight)
                   .with("bias", std::monostate())
                   .with("transposed", false)
                   .with("benchmark", false)
                   .with("allow_tf32", true)
                   .one(),
               conv2d(x, weight));
  EXPECT_THAT(OneCall("aten._prelu_kernel.default")
                  .with("self", row)
                  .with("weight", full({3}, 0.5))
                  .one()
                  .to_vector<float>(),
              ElementsAre(-1, -0.5, 3));
  expect_equal(
      std::get<Tensor>(OneCall("aten.log_sigmoid_forward.default").with("self", row).results(1)[0]),
      OneCall("aten.log_sigmoid.default").with("self", row).one());
  Tensor square = Tensor::from(std::vector<float>{1, 2, 3, 4}, {2, 2});
  Tensor wide = OneCall("aten.mm.dtype")
                    .with("self", square.to(bf16))
                    .with("mat2", square.to(bf16))
                    .with("out_dtype", f32)
                    .one();
  EXPECT_EQ(wide.dtype(), f32);
  EXPECT_THAT(wide.to_vector<float>(), ElementsAre(7, 10, 15, 22));
  auto with_number = [&](const std::string& name, std::int64_t number) {
    return OneCall("aten." + name)
        .with("self", number)
        .with("other", square.to(i64))
        .one()
        .to_vector<std::int64_t>();
  };
  OneCall noisy("aten.rrelu_with_noise_functional.default");
  noisy.with("self", row).with("noise", ones({3})).with("training", false);
  EXPECT_THAT(noisy.with("lower", 0.125).with("upper", 0.375).all()[0].to_vector<float>(),
              ElementsAre(-0.5, -0.25, 3));
  expect_equal(OneCall("aten._cdist_forward.default")
                   .with("x1", square)
                   .with("x2", square - 1.0)
                   .with("p", 1.0)
                   .with("compute_mode", std::monostate())
                   .one(),
               Tensor::from(std::vector<float>{2, 2, 6, 2}, {2, 2}));
  EXPECT_THAT(with_number("bitwise_and.Scalar_Tensor", 5), ElementsAre(1, 0, 1, 4));
  EXPECT_THAT(with_number("bitwise_left_shift.Scalar_Tensor", 1), ElementsAre(2, 4, 8, 16));
  EXPECT_THAT(with_number("remainder.Scalar_Tensor", 7), ElementsAre(0, 1, 1, 3));
}

TEST(ExportedComposites, SampleAndReduceParts) {
  Tensor x = arange(0, 32).to(f32).reshape({1, 2, 4, 4}),
         box = Tensor::from(std::vector<float>{0, 0, 0, 3, 3}, {1, 5});
  expect_equal(OneCall("torchvision.roi_align.default")
                   .with("input", x)
                   .with("rois", box)
                   .with("spatial_scale", 0.5)
                   .with("pooled_height", std::int64_t{2})
                   .with("pooled_width", std::int64_t{1})
                   .with("sampling_ratio", std::int64_t{3})
                   .with("aligned", true)
                   .one(),
               roi_align(x, box, {.size = {2, 1}, .scale = 0.5, .samples = 3, .aligned = true}));
  OneCall pool("torchvision.roi_pool.default");
  pool.with("input", x).with("rois", box).with("spatial_scale", 0.5);
  pool.with("pooled_height", std::int64_t{2}).with("pooled_width", std::int64_t{1});
  expect_equal(std::get<Tensor>(pool.results(1)[0]), roi_pool(x, box, {{2, 1}, 0.5}));
  expect_contains(error_of([&] { pool.results(2); }), "numbers of greatest elements, result 1");
  Tensor weight = ones({1, 2, 3, 3}), offset = full({1, 18, 2, 4}, 0.5);
  OneCall call("torchvision.deform_conv2d.default");
  call.with("input", x).with("weight", weight).with("offset", offset).with("use_mask", false);
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, std::int64_t>>{{"stride_h", 1},
                                                         {"stride_w", 1},
                                                         {"pad_h", 1},
                                                         {"pad_w", 1},
                                                         {"dilation_h", 2},
                                                         {"dilation_w", 1}})
    call.with(name, value);
  expect_equal(call.one(),
               deform_conv2d(x, offset, weight, {}, {}, {.padding = {1, 1}, .dilation = {2, 1}}));
  auto segments = [&](const std::string& name, std::vector<std::int64_t> numbers) {
    const Shape shape = {static_cast<std::int64_t>(numbers.size())};
    return OneCall("aten.segment_reduce.default")
        .with("data", arange(1, 6).to(f32))
        .with("reduce", std::string("max"))
        .with("initial", 0.0)
        .with(name, Tensor::from(numbers, shape))
        .one()
        .to_vector<float>();
  };
  EXPECT_THAT(segments("lengths", {2, 0, 3}), ElementsAre(2, 0, 5));
  EXPECT_THAT(segments("offsets", {0, 2, 2, 5}), ElementsAre(2, 0, 5));
}

// As run_decompositions() writes what torch.linalg does.
TEST(ExportedComposites, ComputeOfMatricesWhatDecomposingLeaves) {
  const Tensor a = Tensor::from(std::vector<float>{2, 1, 4, 5}, {2, 2});
  auto numbers = [](const Tensor& x) { return x.to(f32).to_vector<float>(); };
  auto near = [](const std::vector<float>& wanted) { return Pointwise(FloatNear(1e-5F), wanted); };
  OneCall of_det("aten._linalg_det.default"), of_log("aten._linalg_slogdet.default");
  const exported::Results det = of_det.with("A", a).results(1),
                          log = of_log.with("A", a).results(2);
  EXPECT_THAT(numbers(std::get<Tensor>(det[0])), near({6}));
  EXPECT_THAT(numbers(std::get<Tensor>(log[0])), near({1}));
  EXPECT_THAT(numbers(std::get<Tensor>(log[1])), near({std::log(6.F)}));
  expect_contains(error_of([&] { of_det.results(2); }), "\"A\" is factored, and result 1 is read");
  const Tensor b = Tensor::from(std::vector<float>{1, 2}, {2, 1});
  std::vector<Tensor> found =
      OneCall("aten._linalg_solve_ex.default").with("A", a).with("B", b).all();
  EXPECT_THAT(numbers(found[0]), near({0.5F, 0}));
  EXPECT_THAT(numbers(found[1]), near({4, 5, 0.5F, -1.5F}));
  EXPECT_THAT(numbers(found[2]), near({2, 2}));
  EXPECT_EQ(found[3].dtype(), i32);
  EXPECT_THAT(numbers(found[3]), near({0}));
  found = OneCall("aten._linalg_eigh.default")
              .with("A", Tensor::from(std::vector<float>{2, 1, 1, 2}, {2, 2}))
              .with("UPLO", std::string("L"))
              .with("compute_v", true)
              .all();
  EXPECT_THAT(numbers(found[0]), near({1, 3}));
}

// The signs of vectors are not PyTorch's; what is orthonormal is, also beside values of 0.
TEST(ExportedComposites, FindSingularVectors) {
  const Tensor tall = Tensor::from(std::vector<float>{3, 0, 4, 5, 0, 0}, {3, 2}),
               flat = Tensor::from(std::vector<float>{1, 2, 3, 2, 4, 6}, {2, 3});
  auto identity = [](std::int64_t n) {
    return (arange(0, n).unsqueeze(1) == arange(0, n)).to(f32);
  };
  auto turned = [](const Tensor& x) { return x.transpose(0, 1); };
  for (const Tensor& x : {tall, turned(tall), flat, turned(flat), zeros({2, 3})})
    for (bool is_full : {false, true}) {
      const std::vector<Tensor> svd =
          OneCall("aten._linalg_svd.default").with("A", x).with("full_matrices", is_full).all();
      const std::vector<Tensor> columns =
          OneCall("aten.svd.default").with("self", x).with("some", !is_full).all();
      expect_equal(turned(columns[2]), svd[2]);
      const std::int64_t rows = x.size(0), width = x.size(1);
      EXPECT_EQ(svd[0].shape(), (Shape{rows, is_full ? rows : 2}));
      EXPECT_EQ(svd[2].shape(), (Shape{is_full ? width : 2, width}));
      expect_equal(matmul(turned(svd[0]), svd[0]), identity(svd[0].size(1)));
      expect_equal(matmul(svd[2], turned(svd[2])), identity(svd[2].size(0)));
      expect_equal(matmul(svd[0].slice(1, 0, 2) * svd[1], svd[2].slice(0, 0, 2)), x);
    }
  OneCall values("aten.linalg_svd.default");
  expect_equal(values.with("A", tall).with("compute_uv", false).all()[1],
               Tensor::from(std::vector<float>{6.7082039F, 2.2360680F}, {2}));
  EXPECT_EQ(OneCall("aten.linalg_svd.default").with("A", tall).all()[0].shape(), (Shape{3, 3}));
  expect_contains(error_of([&] {
                    OneCall("aten.svd.default").with("self", tall).with("compute_uv", false).all();
                  }),
                  "\"compute_uv\" is false");
}

TEST(ExportedComposites, PassOverWhatChecksMatrices) {
  auto effect = [](const std::string& of) {
    return OneCall("higher_order.with_effects")
        .with("0", std::monostate())
        .with("1", of)
        .with("2", zeros({1}, i32))
        .with("3", std::string("torch.linalg.solve"))
        .with("is_matrix", true);
  };
  EXPECT_EQ(effect("torch.ops.aten._linalg_check_errors.default").results(1).size(), 1U);
  expect_contains(error_of([&] { effect("torch.ops.aten._print.default").results(1); }),
                  "\"1\" is torch.ops.aten._print.default; of effects");
  EXPECT_TRUE(OneCall("aten._linalg_check_errors.default")
                  .with("info", zeros({1}, i32))
                  .with("api_name", std::string("torch.linalg.solve"))
                  .with("is_matrix", true)
                  .results(0)
                  .empty());
}

// Boxes that overlap by more than a third, by less, and not; and a score that is no number.
TEST(ExportedComposites, KeepTheBestOfBoxesThatOverlap) {
  const Tensor boxes = Tensor::from(
      std::vector<float>{0, 0, 2, 2, 0, 0, 2, 1.9F, 5, 5, 6, 6, 0.5, 0.5, 2.5, 2.5, 5, 5, 6, 6},
      {5, 4});
  auto kept = [&](DType dtype, float fourth, double most) {
    return OneCall("torchvision.nms.default")
        .with("dets", boxes.to(dtype))
        .with("scores", Tensor::from(std::vector<float>{0.3F, 0.9F, 0.2F, fourth, 0.2F}, {5}))
        .with("iou_threshold", most)
        .one()
        .to_vector<std::int64_t>();
  };
  for (DType dtype : {f32, f64}) {
    EXPECT_THAT(kept(dtype, 0.8F, 0.3), ElementsAre(1, 2));
    EXPECT_THAT(kept(dtype, NAN, 0.5), ElementsAre(3, 1, 2));
    EXPECT_THAT(kept(dtype, 0.8F, 1), ElementsAre(1, 3, 0, 2, 4));
  }
  expect_contains(error_of([&] {
                    OneCall("torchvision.nms.default")
                        .with("dets", boxes)
                        .with("scores", zeros({4}))
                        .with("iou_threshold", 0.5)
                        .one();
                  }),
                  "[nms] boxes f32 [5x4] with scores f32 [4]");
}

TEST(ExportedComposites, NarrowFromAStartThatIsData) {
  Tensor x = arange(0, 10).to(f32).reshape({2, 5});
  auto from = [&](std::int64_t start, std::int64_t length) {
    return OneCall("aten.narrow.Tensor")
        .with("self", x)
        .with("dim", std::int64_t{-1})
        .with("start", full({}, start, i64))
        .with("length", length);
  };
  EXPECT_THAT(from(1, 2).one().to_vector<float>(), ElementsAre(1, 2, 6, 7));
  EXPECT_THAT(from(-2, 2).one().to_vector<float>(), ElementsAre(3, 4, 8, 9));
  EXPECT_THAT(error_of([&] { from(0, 6).one(); }), HasSubstr("the axis has 5 elements"));
  EXPECT_THAT(error_of([&] { from(4, 2).one(); }), HasSubstr("index"));
}

// As programs have them that were exported on a GPU.
TEST(ExportedComposites, AttendAsDevicesDo) {
  Tensor q = arange(0, 2 * 3 * 4).to(f32).reshape({1, 2, 3, 4}) / 20.0, k = q * 0.5 + 0.1,
         v = q - 0.3;
  Tensor causal = scaled_dot_product_attention(q, k, v, {.causal = true});
  auto call = [&](const std::string& kind) {
    return OneCall(concat("aten._scaled_dot_product_", kind, ".default"))
        .with("query", q)
        .with("key", k)
        .with("value", v)
        .with("is_causal", true);
  };
  auto value = [](const OneCall& attention) {
    return std::get<Tensor>(attention.results(1).front()).to_vector<float>();
  };
  const auto wanted = causal.to_vector<float>();
  EXPECT_THAT(value(call("flash_attention")), Pointwise(FloatNear(1e-6F), wanted));
  EXPECT_THAT(value(call("cudnn_attention").with("compute_log_sumexp", false)),
              Pointwise(FloatNear(1e-6F), wanted));
  Tensor bias = arange(0, 9).to(f32).reshape({1, 1, 3, 3}) * 0.1;
  Tensor biased = matmul(softmax(matmul(q, k.transpose(-2, -1)) * 0.5 + bias, -1), v);
  EXPECT_THAT(value(OneCall("aten._scaled_dot_product_efficient_attention.default")
                        .with("query", q)
                        .with("key", k)
                        .with("value", v)
                        .with("attn_bias", bias)
                        .with("compute_log_sumexp", false)),
              Pointwise(FloatNear(1e-5F), biased.to_vector<float>()));
}

TEST(ExportedComposites, GivePowersFromTheHighestOn) {
  OneCall powers("aten.vander.default");
  powers.with("x", Tensor::from<float>({1, 2, 3}, {3}));
  EXPECT_EQ(powers.one().to_vector<float>(), (std::vector<float>{1, 1, 1, 4, 2, 1, 9, 3, 1}));
  powers.with("N", std::int64_t{2}).with("increasing", true);
  EXPECT_EQ(powers.one().to_vector<float>(), (std::vector<float>{1, 1, 1, 2, 1, 3}));
}

TEST(ExportedComposites, DrawFromOtherDistributions) {
  Tensor x = zeros({20000});
  auto drawn = [&](const std::string& name, const char* of, double number) {
    return OneCall(concat("aten.", name, ".default")).with("self", x).with(of, number).one();
  };
  auto mean_of = [](const Tensor& t) { return mean(t).item<float>(); };
  Tensor exponential = drawn("exponential", "lambd", 4);
  EXPECT_NEAR(mean_of(exponential), 0.25, 0.01);
  EXPECT_GE(amin(exponential).item<float>(), 0);
  Tensor geometric = drawn("geometric", "p", 0.25);
  EXPECT_NEAR(mean_of(geometric), 4, 0.15);
  EXPECT_EQ(amin(geometric).item<float>(), 1);
  EXPECT_NEAR(mean_of((drawn("cauchy", "median", 3) < 3.0).to(f32)), 0.5, 0.02);
  EXPECT_NEAR(mean_of(log(drawn("log_normal", "mean", -1))), -1, 0.1);
  EXPECT_THAT(error_of([&] { drawn("exponential", "lambd", 0); }), HasSubstr("must be positive"));
  EXPECT_THAT(error_of([&] { drawn("geometric", "p", 1); }), HasSubstr("between 0 and 1"));
}

// torch.ops.aten.unique_dim of PyTorch 2.15 gives inverse and counts, whatever is asked for.
TEST(ExportedComposites, UniqueSlicesComeWithPlacesAndCounts) {
  const Tensor x =
      Tensor::from(std::vector<std::int64_t>{1, 2, 0, 1, 0, 3, 1, 2, 0, 0, 5, 1}, {4, 3});
  const std::vector<Tensor> all =
      OneCall("aten.unique_dim.default").with("self", x).with("dim", std::int64_t{0}).all();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_THAT(all[0].to_vector<std::int64_t>(), ElementsAre(0, 5, 1, 1, 0, 3, 1, 2, 0));
  EXPECT_THAT(all[1].to_vector<std::int64_t>(), ElementsAre(2, 1, 2, 0));
  EXPECT_THAT(all[2].to_vector<std::int64_t>(), ElementsAre(1, 1, 2));
}

}  // namespace
}  // namespace tilewright::exported_composites_test
