// A small trained Llama gives the logits and writes the stories of its reference, in several modes
// and with quantised weights.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "graph/compile/compile.h"
#include "models/decoder/decoder.h"
#include "models/generate/generate.h"
#include "tests/errors.h"
#include "tests/models/folders.h"
#include "tests/models/token_ids.h"
#include "tests/tensors.h"

namespace tilewright::trained_llama_test {
namespace {

using nlohmann::json;
using testing::ids_of;

struct Way {
  const char* name;
  Options options;
};
const Way ways[] = {
    {"eager", {.backend = Backend::eager}},
    {"aot_eager", {.backend = Backend::aot_eager}},
    {"default", {}},
    {"reduce_overhead", {.mode = Mode::reduce_overhead}},
    {"max_autotune", {.mode = Mode::max_autotune, .tune_seconds = 1}},
};
class TrainedLlama : public ::testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(Modes, TrainedLlama, ::testing::ValuesIn(ways),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(TrainedLlama, GivesTheReferenceLogits) {
  TILEWRIGHT_TRAINED_MODEL(folder, "stories260K");
  auto model = load_decoder(*folder);
  auto forward = compile(*model, GetParam().options);
  json expected = json::parse(testing::read_file(*folder / "expected.json"));
  for (const json& example : expected["cases"]) {
    auto ids = example["ids"].get<std::vector<std::int64_t>>();
    const json& rows = example["first_logits"];
    ids.resize(rows.size());
    auto logits = forward(ids_of(ids)).to_vector<float>();
    double worst = 0;
    for (std::size_t row = 0; row < rows.size(); ++row)
      for (std::size_t i = 0; i < rows[row].size(); ++i)
        worst = std::max(worst,
                         std::abs(rows[row][i].get<double>() - logits[row * rows[row].size() + i]));
    EXPECT_LE(worst, 1e-4) << example["prompt"];
  }
}

// As much as an emulated GPU has time for: a token takes it a second.
TEST_P(TrainedLlama, BeginsTwoOfTheReferenceStories) {
  TILEWRIGHT_TRAINED_MODEL(folder, "stories260K");
  constexpr std::size_t begun = 64;  // ids
  auto model = load_decoder(*folder);
  const Tokenizer tokenizer = Tokenizer::open(*folder / "tokenizer.json");
  TextGenerator generator(*model, tokenizer, GetParam().options);
  json expected = json::parse(testing::read_file(*folder / "expected.json"));
  for (std::size_t i = 0; i < 2; ++i) {
    const json& example = expected["cases"][i];
    auto ids = example["ids"].get<std::vector<TokenId>>();
    ids.resize(std::min(begun, ids.size()));
    auto prompt = example["prompt"].get<std::string>();
    const std::int64_t new_tokens = std::ssize(ids) - std::ssize(tokenizer.encode(prompt));
    Generation result = generator.generate(prompt, {.max_new_tokens = new_tokens});
    EXPECT_EQ(result.ids, ids) << example["prompt"];
  }
}

// How surprised a model is by the reference stories, a token: they are the trained one's own.
double surprise_at(const json& cases, const std::filesystem::path& folder,
                   const std::optional<QuantizeOptions>& weights) {
  auto model = load_decoder(folder);
  if (weights) model->quantize(*weights);
  auto forward = compile(*model);
  double total = 0;
  std::size_t count = 0;
  for (const json& example : cases) {
    auto ids = example["ids"].get<std::vector<std::int64_t>>();
    auto odds = log_softmax(forward(ids_of(ids)), -1).to_vector<float>();
    const std::size_t vocabulary = odds.size() / ids.size();
    for (std::size_t i = 1; i < ids.size(); ++i, ++count)
      total -= odds[(i - 1) * vocabulary + static_cast<std::size_t>(ids[i])];
  }
  return total / static_cast<double>(count);
}

TEST(QuantizedLlama, IsHardlyMoreSurprisedWhenItMultipliesIntegers) {
  TILEWRIGHT_TRAINED_MODEL(folder, "stories260K");
  json expected = json::parse(testing::read_file(*folder / "expected.json"));
  double exact = surprise_at(expected["cases"], *folder, std::nullopt);
  for (std::int64_t group : {0, 4}) {
    QuantizeOptions options{.group_size = group};
    double floating = surprise_at(expected["cases"], *folder, options);
    options.activations = Activations::int8;
    double integers = surprise_at(expected["cases"], *folder, options);

    EXPECT_LT(std::abs(integers - floating), 0.01) << exact << ", " << floating;
    EXPECT_NE(integers, floating);
  }
}

TEST_P(TrainedLlama, WritesTheReferenceStories) {
  TILEWRIGHT_TRAINED_MODEL(folder, "stories260K");
  auto model = load_decoder(*folder);
  const Tokenizer tokenizer = Tokenizer::open(*folder / "tokenizer.json");
  TextGenerator generator(*model, tokenizer, GetParam().options);
  json expected = json::parse(testing::read_file(*folder / "expected.json"));
  for (const json& example : expected["cases"]) {
    auto prompt = example["prompt"].get<std::string>();
    // The reference counts the prompt.
    const std::int64_t new_tokens =
        example["max_tokens"].get<std::int64_t>() - std::ssize(tokenizer.encode(prompt));
    Generation result = generator.generate(prompt, {.max_new_tokens = new_tokens});
    EXPECT_EQ(result.ids, example["ids"].get<std::vector<TokenId>>()) << prompt;
    EXPECT_TRUE(result.text.starts_with(prompt)) << result.text;
  }
}

}  // namespace
}  // namespace tilewright::trained_llama_test
