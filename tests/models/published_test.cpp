// Models in the forms in which they are published, quantised folders and GGUF files, against what
// bitsandbytes, compressed-tensors, gguf and transformers say of them (expected.json and
// reference.safetensors beside them): those of tests/data, or of another folder
// (tools/published_models.py, which prints the distances).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "graph/compile/compile.h"
#include "models/decoder/load_model.h"
#include "models/decoder/model_weights.h"
#include "models/generate/generate.h"
#include "models/gguf/gguf_model.h"
#include "models/weights/safetensors.h"
#include "tests/models/published_models.h"

namespace tilewright::published_test {
namespace {

using nlohmann::json;
using testing::GreedyReader;
using testing::Ids;

class PublishedModel : public ::testing::TestWithParam<std::filesystem::path> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PublishedModel);
INSTANTIATE_TEST_SUITE_P(Models, PublishedModel, ::testing::ValuesIn(testing::published_models()),
                         [](const auto& info) { return testing::test_name_of(info.param); });

std::vector<float> as_floats(const Tensor& tensor) { return tensor.to(f32).to_vector<float>(); }

// Those of the reference whose bits differ. Files have the first rows, or the last of blocks of
// fp8, or the first experts.
std::int64_t differing(const std::vector<float>& whole, const std::vector<float>& rows,
                       bool are_last) {
  if (rows.size() > whole.size()) return std::ssize(rows);
  const std::size_t begin = are_last ? whole.size() - rows.size() : 0;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < rows.size(); ++i)
    count += std::memcmp(&whole[begin + i], &rows[i], sizeof(float)) != 0 ? 1 : 0;
  return count;
}

TEST_P(PublishedModel, HasTheWeightsOfTheFormatsOwnReader) {
  const auto& folder = GetParam();
  if (!std::filesystem::exists(folder / "reference.safetensors")) return;
  const std::filesystem::path path = testing::model_path(folder);
  const Safetensors reference = Safetensors::open(folder / "reference.safetensors");
  const bool are_last = folder.filename().string().starts_with("fp8-block");
  std::int64_t wrong = 0;
  ASSERT_FALSE(reference.entries().empty());
  for (const SafetensorsEntry& entry : reference.entries()) {
    const Tensor whole = gguf::is_gguf(path)
                             ? gguf::stored_tensor(*gguf::GgufFile::open(path), entry.name)
                             : model_weights(path).tensor(entry.name);
    ASSERT_EQ(whole.size(-1), entry.shape[-1]) << entry.name;
    ASSERT_GT(element_count(entry.shape), 0) << entry.name;
    const std::int64_t count =
        differing(as_floats(whole), as_floats(reference.tensor(entry.name)), are_last);
    EXPECT_EQ(count, 0) << entry.name;
    wrong += count;
  }
  testing::report(folder, "weights that differ", static_cast<double>(wrong));
}

TEST_P(PublishedModel, CutsPromptsAsItsTokenizerDoes) {
  const auto& folder = GetParam();
  const Tokenizer tokenizer = load_tokenizer(testing::tokenizer_path(folder));
  for (const json& example : testing::cases_of(folder)) {
    const auto prompt = example["prompt"].get<std::string>();
    EXPECT_EQ(tokenizer.encode(prompt), example["prompt_ids"].get<Ids>()) << prompt;
  }
}

TEST_P(PublishedModel, GivesTheLogitsAndTheIdsOfTransformers) {
  const auto& folder = GetParam();
  GreedyReader text(testing::load_published(folder), {.fullgraph = true});
  testing::expect_cases(text, folder);
}

// The greedy ids beside the model, up to the first that ends a text.
Ids ids_to_the_end(const json& example, const LanguageModel& model) {
  Ids ids = example["ids"].get<Ids>();
  const std::vector<std::int64_t> stops = model.stop_ids();
  ids.erase(std::ranges::find_first_of(ids, stops), ids.end());
  return ids;
}

// Five prompts of different lengths at once, more than there are places, so that one takes the
// place of another.
TEST_P(PublishedModel, GivesTheSameIdsInARaggedBatch) {
  const auto& folder = GetParam();
  const auto model = testing::load_published(folder);
  const std::vector<json> cases = testing::cases_of(folder);
  TextGenerator generator(*model, load_tokenizer(testing::tokenizer_path(folder)));
  std::vector<std::string> prompts;
  std::int64_t most = 0;
  for (std::size_t i = 0; i < 5; ++i) {
    const json& example = cases[i % cases.size()];
    prompts.push_back(example["prompt"].get<std::string>());
    most = std::max<std::int64_t>(most, std::ssize(example["ids"]));
  }
  const auto texts = generator.generate_all(prompts, {.max_new_tokens = most, .max_batch = 4});
  ASSERT_EQ(texts.size(), prompts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const json& example = cases[i % cases.size()];
    EXPECT_EQ(texts[i].prompt_ids.size(), example["prompt_ids"].size());
    Ids found(texts[i].new_ids().begin(), texts[i].new_ids().end());
    const Ids wanted = ids_to_the_end(example, *model);
    found.resize(std::min(found.size(), wanted.size()));
    EXPECT_EQ(found, wanted) << prompts[i];
  }
}

TEST(PublishedModels, AreThere) {
  EXPECT_FALSE(testing::published_models().empty())
      << "no published model in " << testing::models_root();
}

}  // namespace
}  // namespace tilewright::published_test
