// Quantised models in memory: weights of linear layers stay packed, the report says so, and
// adapters lie beside them or make them dense.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "models/decoder/load_model.h"
#include "models/decoder/model_weights.h"
#include "models/layers/layers.h"
#include "tests/errors.h"
#include "tests/models/published_models.h"

namespace tilewright::packed_models_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::filesystem::path published(std::string_view name) {
  return testing::models_root() / "published" / name;
}

std::vector<std::string> notes_of(const std::filesystem::path& path) {
  std::vector<std::string> notes;
  load_model(path, {.note = [&](const std::string& line) { notes.push_back(line); }});
  return notes;
}

TEST(PackedModels, SayWhichFormatsStayPacked) {
  EXPECT_THAT(notes_of(published("bnb-nf4-llama")), ElementsAre("nf4: 7 weights stay packed"));
  EXPECT_THAT(notes_of(published("gptq-asym-actorder-llama")),
              ElementsAre("gptq: 7 weights stay packed"));
  EXPECT_THAT(notes_of(published("awq-gemm-llama")), ElementsAre("awq: 7 weights stay packed"));
  EXPECT_THAT(notes_of(testing::model_path(published("gguf-llama-spm-Q4_K"))),
              ElementsAre("q4_k: 7 weights stay packed",
                          "q4_k: 1 weights are expanded to f32, model.embed_tokens.weight"));
  EXPECT_THAT(notes_of(published("fp8-block128-partial-qwen3")),
              Contains(HasSubstr("weights are expanded to f32")));
  EXPECT_THAT(notes_of(testing::models_root() / "tiny-qwen3"), ElementsAre());
}

TEST(PackedModels, HaveNoParametersForPackedWeights) {
  auto model = load_model(published("bnb-nf4-llama"));
  for (const NamedParameter& parameter : model->named_parameters())
    EXPECT_EQ(parameter.name.find("_proj"), std::string::npos) << parameter.name;
  auto* layer = dynamic_cast<Linear*>(model->find("model.layers.0.mlp.down_proj"));
  ASSERT_NE(layer, nullptr);
  const auto wanted = model_weights(published("bnb-nf4-llama"))
                          .tensor("model.layers.0.mlp.down_proj.weight")
                          .to_vector<float>();
  EXPECT_EQ(layer->dense_weight().to_vector<float>(), wanted);
  EXPECT_EQ(model->find("model.layers.0.mlp.none"), nullptr);
}

TEST(PackedModels, TakeUpdatesBesideAPackedWeightOrToIt) {
  const std::string path = "model.layers.0.mlp.down_proj";
  auto beside = load_model(published("gptq-asym-actorder-llama"));
  auto merged = load_model(published("gptq-asym-actorder-llama"));
  auto layer_of = [&](LanguageModel& model) -> Linear& {
    return dynamic_cast<Linear&>(*model.find(path));
  };
  const std::int64_t in = layer_of(*beside).in(), out = layer_of(*beside).out();
  std::vector<float> a(static_cast<std::size_t>(in)), b(static_cast<std::size_t>(out));
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7) / 8;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 5) / 4;
  const LowRankUpdate update{Tensor::from(a, {1, in}), Tensor::from(b, {out, 1}), {}};
  layer_of(*beside).add_update(update);
  layer_of(*merged).merge_update(update);
  const Tensor x = Tensor::from(a, {1, in});
  const auto one = layer_of(*beside)(x).to_vector<float>();
  const auto other = layer_of(*merged)(x).to_vector<float>();
  const auto plain =
      layer_of(*load_model(published("gptq-asym-actorder-llama")))(x).to_vector<float>();
  double change = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_NEAR(one[i], other[i], 1e-4) << i;
    change = std::max(change, static_cast<double>(std::abs(one[i] - plain[i])));
  }
  EXPECT_GT(change, 1);
  EXPECT_THAT(error_of([&] { beside->quantize({}); }), HasSubstr("are quantised already"));
}

}  // namespace
}  // namespace tilewright::packed_models_test
