// Encoders as they are published, against what sentence-transformers makes of texts (expected.json
// beside them): those of tests/data, or of another folder (tools/published_models.py, which prints
// the distances).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "models/encoder/embedding_model.h"
#include "tests/models/published_models.h"

namespace tilewright::published_encoders_test {
namespace {

using nlohmann::json;
using testing::Ids;

class PublishedEncoder : public ::testing::TestWithParam<std::filesystem::path> {
 protected:
  EmbeddingModel model{GetParam()};
  std::vector<json> cases = testing::cases_of(GetParam());
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PublishedEncoder);
INSTANTIATE_TEST_SUITE_P(Models, PublishedEncoder,
                         ::testing::ValuesIn(testing::published({"enc-"})),
                         [](const auto& info) { return testing::test_name_of(info.param); });

double distance(std::span<const float> found, const json& wanted) {
  double most = wanted.empty() || wanted.size() > found.size() ? 1 : 0;  // nothing to compare
  for (std::size_t i = 0; i < wanted.size(); ++i)
    most = std::max(most, std::abs(wanted[i].get<double>() - found[i]));
  return most;
}

TEST_P(PublishedEncoder, CutsTextsAsItsTokenizerDoes) {
  for (const json& example : cases)
    EXPECT_EQ(model.encode(example["text"]), example["ids"].get<Ids>()) << example["text"];
}

TEST_P(PublishedEncoder, GivesTheStatesOfTransformers) {
  auto states_of = compile([&](const Tensor& ids, const Tensor& positions, const Tensor& texts) {
    return model.encoder().forward(ids, positions, texts);
  });
  for (const json& example : cases) {
    const Ids ids = example["ids"].get<Ids>();
    const Shape shape = {1, std::ssize(ids)};
    Ids positions(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i)
      positions[i] = model.encoder().config().position_offset + static_cast<std::int64_t>(i);
    const std::vector<float> states =
        states_of(Tensor::from(ids, shape), Tensor::from(positions, shape),
                  Tensor::from(Ids(ids.size(), 0), shape))
            .to_vector<float>();
    EXPECT_LE(distance(states, example["first_token_state"]), 1e-4) << example["text"];
  }
}

// Alone, and among others of other lengths, in one call.
TEST_P(PublishedEncoder, GivesTheVectorsOfSentenceTransformers) {
  std::vector<std::string> texts;
  double worst = 0;
  for (const json& example : cases) {
    texts.push_back(example["text"]);
    const std::vector<float> alone = model.embed({texts.back()}).to_vector<float>();
    ASSERT_EQ(alone.size(), example["embedding"].size());
    worst = std::max(worst, distance(alone, example["embedding"]));
  }
  const std::vector<float> together = model.embed(texts).to_vector<float>();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto width = static_cast<std::size_t>(model.width());
    worst = std::max(
        worst, distance(std::span(together).subspan(i * width, width), cases[i]["embedding"]));
  }
  EXPECT_LE(worst, 1e-4);
  testing::report(GetParam(), "distance of logits", worst);
}

TEST(PublishedEncoders, AreThere) {
  EXPECT_FALSE(testing::published({"enc-"}).empty())
      << "no published encoder in " << testing::models_root();
}

}  // namespace
}  // namespace tilewright::published_encoders_test
