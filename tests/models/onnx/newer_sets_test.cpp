// The meaning of operators of the sets 23 and 24 beyond the node tests of the onnx package.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/compile/compile.h"
#include "models/onnx/onnx_module.h"
#include "tests/models/onnx/files.h"
#include "tests/scratch_folder.h"
#include "tests/tensors.h"

namespace tilewright::newer_sets_test {
namespace {

using namespace testing::onnx;
using ::testing::ElementsAre;
using ::testing::FloatNear;

constexpr int is_f32 = 1, is_i64 = 7, is_u8 = 2, is_f16 = 10;

struct Input {
  std::string name;
  std::vector<std::string> sizes;
  Tensor tensor;
  int dtype = is_f32;
};
// The first result of a node with these inputs, at once and compiled, which must agree.
Tensor result_of(const std::string& op, const std::vector<Input>& inputs,
                 const std::string& attributes = "", std::int64_t set = 24) {
  GraphParts parts;
  std::vector<std::string> names;
  std::vector<Tensor> tensors;
  for (const Input& input : inputs) {
    names.push_back(input.name);
    if (input.name.empty()) continue;
    parts.inputs.push_back(value(input.name, input.sizes, input.dtype));
    tensors.push_back(input.tensor);
  }
  parts.nodes = {node(op, names, {"y"}, attributes)};
  parts.outputs = {bytes(1, "y")};
  ScratchFolder folder;
  const auto module = load_onnx(folder.write("model.onnx", model(graph_of(parts), set)));
  const Tensor y = module->forward(tensors)[0];
  auto fast = compile(*module, {.device = Device::cpu()});
  const Tensor again = fast(tensors)[0];
  EXPECT_EQ(again.dtype(), y.dtype());
  EXPECT_LE(relative_difference(again.to(f32).to_vector<float>(), y.to(f32).to_vector<float>()),
            2e-6);
  return y;
}

// Two queries behind two former keys, of three new ones: neither the first nor the last places.
TEST(OnnxNewerSets, AttentionIsCausalBehindFormerKeys) {
  const Tensor q = sin(ramp({1, 4, 2, 8})), k = cos(ramp({1, 2, 3, 8})),
               v = sin(ramp({1, 2, 3, 8}) * 3), past_k = cos(ramp({1, 2, 2, 8}) * 2),
               past_v = sin(ramp({1, 2, 2, 8}) * 5);
  const Tensor y = result_of("Attention",
                             {{"q", {"1", "4", "2", "8"}, q},
                              {"k", {"1", "2", "3", "8"}, k},
                              {"v", {"1", "2", "3", "8"}, v},
                              {"", {}, {}},
                              {"past_k", {"1", "2", "2", "8"}, past_k},
                              {"past_v", {"1", "2", "2", "8"}, past_v}},
                             attribute("is_causal", 1), 23);
  const Tensor seen = arange(0, 5).reshape({1, 5}) <= arange(2, 4).reshape({2, 1});
  const Tensor wanted =
      scaled_dot_product_attention(q, cat({past_k, k}, 2), cat({past_v, v}, 2), {.mask = seen});
  EXPECT_LE(relative_difference(y.to_vector<float>(), wanted.to_vector<float>()), 2e-6);
}

TEST(OnnxNewerSets, AttentionTakesASoftmaxInDoubles) {
  const Tensor x = sin(ramp({1, 2, 3, 4}));
  const std::vector<Input> inputs = {{"q", {"1", "2", "3", "4"}, x},
                                     {"k", {"1", "2", "3", "4"}, x},
                                     {"v", {"1", "2", "3", "4"}, x}};
  const Tensor y = result_of("Attention", inputs, attribute("softmax_precision", 11));
  EXPECT_EQ(y.dtype(), f32);
  EXPECT_LE(relative_difference(y.to_vector<float>(),
                                scaled_dot_product_attention(x, x, x).to_vector<float>()),
            2e-6);
}

TEST(OnnxNewerSets, NormsBySquaresHaveTheTypeOfTheirWeight) {
  const Tensor y = result_of(
      "RMSNormalization", {{"x", {"1", "2"}, Tensor::from<float>({3, 4}, {1, 2}).to(f16), is_f16},
                           {"w", {"2"}, Tensor::from<float>({1, 2}, {2})}});
  EXPECT_EQ(y.dtype(), f32);
  // 3 and 4 by the square root of 12.5, the latter twice.
  EXPECT_THAT(y.to_vector<float>(),
              ElementsAre(FloatNear(0.848528F, 5e-4F), FloatNear(2.262742F, 2e-3F)));
}

TEST(OnnxNewerSets, QuantisesInThePrecisionThatIsAskedFor) {
  const std::vector<Input> inputs = {{"x", {"1"}, Tensor::from<float>({2.5003F}, {1})},
                                     {"scale", {}, ones({})}};
  EXPECT_THAT(result_of("QuantizeLinear", inputs).to(i64).to_vector<std::int64_t>(),
              ElementsAre(3));
  // 2.5 in 16 bits, from where halves go to even.
  EXPECT_THAT(result_of("QuantizeLinear", inputs, attribute("precision", is_f16))
                  .to(i64)
                  .to_vector<std::int64_t>(),
              ElementsAre(2));
}

TEST(OnnxNewerSets, DequantisesToTheTypeThatIsAskedFor) {
  const Tensor y = result_of("DequantizeLinear",
                             {{"x", {"2"}, Tensor::from<std::uint8_t>({3, 200}, {2}), is_u8},
                              {"scale", {}, full({}, 0.5, f32)}},
                             attribute("output_dtype", is_f16));
  EXPECT_EQ(y.dtype(), f16);
  EXPECT_THAT(y.to(f32).to_vector<float>(), ElementsAre(1.5F, 100.F));
}

TEST(OnnxNewerSets, WritesToCachesAtPlacesOfTheirOwn) {
  const Tensor cache = Tensor::from<float>({1, 2, 3, 4, 5, 6, 7, 8}, {2, 4, 1});
  auto written = [&](std::int64_t steps, const Tensor& update, const Tensor& places,
                     const std::string& attributes) {
    std::vector<Input> inputs = {{"cache", {"2", "4", "1"}, cache},
                                 {"update", {"2", std::to_string(steps), "1"}, update}};
    if (places.defined()) inputs.push_back({"places", {"2"}, places, is_i64});
    return result_of("TensorScatter", inputs, attributes).to_vector<float>();
  };
  const Tensor two = Tensor::from<float>({-1, -2, -3, -4}, {2, 2, 1}),
               one = Tensor::from<float>({-1, -2}, {2, 1, 1});
  const Tensor places = Tensor::from<std::int64_t>({3, 1}, {2});
  EXPECT_THAT(written(2, two, places, text("mode", "circular")),
              ElementsAre(-2, 2, 3, -1, 5, -3, -4, 8));
  EXPECT_THAT(written(1, one, places, ""), ElementsAre(1, 2, 3, -1, 5, -2, 7, 8));
  EXPECT_THAT(written(2, two, {}, attribute("axis", 1)), ElementsAre(-1, -2, 3, 4, -3, -4, 7, 8));
}

}  // namespace
}  // namespace tilewright::newer_sets_test
