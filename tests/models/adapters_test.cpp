// Adapters of PEFT against what peft says of them (expected.json): those of tests/data, or of
// another folder (tools/published_models.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "models/adapters/lora.h"
#include "models/decoder/decoder_config.h"
#include "models/decoder/load_model.h"
#include "models/layers/layers.h"
#include "models/weights/safetensors.h"
#include "tests/errors.h"
#include "tests/models/published_models.h"

namespace tilewright::adapters_test {
namespace {

using nlohmann::json;
using testing::GreedyReader;
using ::testing::HasSubstr;
using testing::Ids;

using Case = std::tuple<std::filesystem::path, bool>;
class PublishedAdapter : public ::testing::TestWithParam<Case> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PublishedAdapter);
INSTANTIATE_TEST_SUITE_P(Adapters, PublishedAdapter,
                         ::testing::Combine(::testing::ValuesIn(testing::published_adapters()),
                                            ::testing::Bool()),
                         [](const auto& info) {
                           return testing::test_name_of(std::get<0>(info.param)) +
                                  (std::get<1>(info.param) ? "__merged" : "__beside");
                         });

TEST_P(PublishedAdapter, GivesTheLogitsAndTheIdsOfPeft) {
  const auto& [folder, merge] = GetParam();
  const json expected = json::parse(testing::read_file(folder / "expected.json"));
  auto model = load_model(testing::models_root() / expected.at("base").get<std::string>());
  load_adapter(*model, folder, {.merge = merge});
  GreedyReader text(std::move(model), {.fullgraph = true});
  testing::expect_cases(text, folder);
}

TEST(PublishedAdapters, AreThere) {
  EXPECT_FALSE(testing::published_adapters().empty()) << "no adapter in " << testing::models_root();
}

// A folder with these settings and tensors, for a model with one layer "a" of [3, 2].
class Adapter : public ::testing::Test {
 protected:
  struct Model : Module {
    Linear a{2, 3, false};
    Model() { register_module("a", a); }
  };
  std::string error_with(const std::string& settings,
                         const std::map<std::string, Tensor>& tensors) {
    std::ofstream(scratch_.path() / "adapter_config.json") << "{" << settings << "}";
    save_safetensors(scratch_.path() / "adapter_model.safetensors", tensors);
    Model model;
    return error_of([&] { load_adapter(model, scratch_.path()); });
  }
  static Tensor ones(const Shape& shape) {
    return Tensor::from(std::vector<float>(static_cast<std::size_t>(element_count(shape)), 1),
                        shape);
  }
  testing::ScratchFolder scratch_;
  std::string lora_ = R"("peft_type": "LORA", "r": 1, "lora_alpha": 1)";
  std::string a_ = "base_model.model.a.lora_A.weight", b_ = "base_model.model.a.lora_B.weight";
};

TEST_F(Adapter, OfAKindThatIsNotSupportedIsRefused) {
  const std::pair<const char*, const char*> refused[] = {
      {R"("peft_type": "IA3")", "peft_type is \"IA3\"; supported is \"LORA\""},
      {R"("r": 1)", "has no peft_type; LORA is needed"},
      {R"("peft_type": "LORA", "r": 0, "lora_alpha": 1)", "r is 0; from 1 to"},
      {R"("peft_type": "LORA", "r": 1, "lora_alpha": 1, "use_qalora": true)",
       "use_qalora is true; supported is false"},
      {R"("peft_type": "LORA", "r": 1, "lora_alpha": 1, "layer_replication": [[0, 1]])",
       "layer_replication is an array, which this library does not use"},
      {R"("peft_type": "LORA", "r": 1, "lora_alpha": 1, "rank_pattern": {"(": 2})",
       "adapter_config.json: rank_pattern"}};
  for (const auto& [settings, message] : refused)
    EXPECT_THAT(error_with(settings, {}), HasSubstr(message)) << settings;
}

TEST_F(Adapter, WithTensorsThatDoNotFitIsRefused) {
  EXPECT_EQ(error_with(lora_, {{a_, ones({1, 2})}, {b_, ones({3, 1})}}), "no error");
  EXPECT_THAT(error_with(lora_, {{a_, ones({1, 2})}}),
              HasSubstr("there is no tensor \"" + b_ + "\"; the other factor of its update"));
  EXPECT_THAT(error_with(lora_, {{b_, ones({3, 1})}}),
              HasSubstr("\"" + b_ + "\" has no \"" + a_ + "\" beside it; both are needed"));
  EXPECT_THAT(error_with(lora_, {{a_, ones({2, 2})}, {b_, ones({3, 2})}}),
              HasSubstr("\"" + a_ + "\" is f32 2x2; floats [1, 2] are needed"));
  EXPECT_THAT(error_with(lora_, {{"base_model.model.c.lora_A.weight", ones({1, 2})}}),
              HasSubstr("\"c\" is changed by the adapter; the model has no linear layer"));
  EXPECT_THAT(error_with(lora_, {{"base_model.model.c.weight", ones({1})}}),
              HasSubstr("the model has no parameter \"c.weight\""));
  EXPECT_THAT(error_with(lora_, {{"base_model.model.a.weight", ones({1})}}),
              HasSubstr("\"base_model.model.a.weight\" is 1; the model's is 3x2"));
  EXPECT_THAT(error_with(lora_, {{"a.lora_A.weight", ones({1, 2})}}),
              HasSubstr("names that begin with base_model.model. are needed"));
  EXPECT_THAT(error_with(lora_, {{a_, ones({1, 2})},
                                 {b_, ones({3, 1})},
                                 {"base_model.model.a.lora_magnitude_vector", ones({2})}}),
              HasSubstr("lora_magnitude_vector\" is 2; [3] is needed"));
}

}  // namespace
}  // namespace tilewright::adapters_test
