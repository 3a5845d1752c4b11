// Options::batch_invariant: the same bits whatever is decoded beside a text. Logits of a step in a
// batch are those of the same step alone, and so are ids and log-probabilities of whole texts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "graph/compile/compile.h"
#include "models/decoder/decoder.h"
#include "models/generate/decoding_batch.h"
#include "models/generate/generate.h"
#include "models/generate/prompt_reader.h"
#include "tests/errors.h"
#include "tests/every_device.h"
#include "tests/models/letter_tokenizer.h"
#include "tests/models/published_models.h"

namespace tilewright::invariance_test {
namespace {

const Options invariant{.batch_invariant = true};

// Logits of some steps of each text, which begins at a place of its own.
class Texts {
 public:
  Texts(const LanguageModel& model, std::int64_t count, std::uint64_t seed)
      : model_(model), reader_(model, model.vocabulary(), invariant) {
    std::mt19937_64 random(seed);
    auto below = [&](std::int64_t n) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
    };
    for (std::int64_t i = 0; i < count; ++i) {
      prompts_.emplace_back();
      for (std::int64_t rows = 1 + below(20); rows > 0; --rows)
        prompts_.back().push_back(static_cast<TokenId>(below(model.vocabulary())));
      for (auto& id : next_.emplace_back()) id = static_cast<TokenId>(below(model.vocabulary()));
    }
  }

  using Logits = std::vector<std::vector<float>>;
  // By text, the logits of all steps, in a batch of `size` of which these texts take places.
  Logits together(std::int64_t first, std::int64_t size) {
    DecodingBatch batch(model_, size, invariant);
    for (std::int64_t place = 0; place < size; ++place) {
      const auto& prompt = prompts_[static_cast<std::size_t>(first + place)];
      reader_.read(prompt, false);
      batch.put(place, reader_.state(), std::ssize(prompt));
    }
    Logits logits(static_cast<std::size_t>(size));
    for (std::size_t step = 0; step < steps; ++step) {
      for (std::int64_t place = 0; place < size; ++place) {
        const auto text = static_cast<std::size_t>(first + place);
        batch.set(place, next_[text][step],
                  std::ssize(prompts_[text]) + static_cast<std::int64_t>(step));
      }
      batch.run();
      for (std::int64_t place = 0; place < size; ++place) {
        const auto row = batch.logits(place, model_.vocabulary());
        auto& all = logits[static_cast<std::size_t>(place)];
        all.insert(all.end(), row.begin(), row.end());
      }
    }
    return logits;
  }

 private:
  static constexpr std::size_t steps = 2;
  const LanguageModel& model_;
  PromptReader reader_;
  std::vector<std::vector<TokenId>> prompts_;
  std::vector<std::array<TokenId, steps>> next_;
};

// How many logits have other bits in a batch of `size` than alone.
std::int64_t differing(const LanguageModel& model, std::int64_t size) {
  Texts texts(model, size, 5);
  const Texts::Logits together = texts.together(0, size);
  std::int64_t count = 0;
  for (std::int64_t text = 0; text < size; ++text) {
    const std::vector<float> alone = texts.together(text, 1)[0];
    const auto& found = together[static_cast<std::size_t>(text)];
    for (std::size_t i = 0; i < alone.size(); ++i)
      count += std::memcmp(&alone[i], &found[i], sizeof(float)) != 0 ? 1 : 0;
  }
  return count;
}

// How many logits of rows that are read in one call have other bits than of rows one by one.
std::int64_t differing_rows(const LanguageModel& model, std::size_t rows) {
  const std::vector<TokenId> prompt = {3, 1, 4, 1, 5, 9, 2, 6},
                             next = {5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4, 6, 2, 6};
  PromptReader reader(model, model.vocabulary(), invariant);
  reader.read(prompt, false);
  std::vector<std::vector<float>> alone;
  for (std::size_t i = 0; i < rows; ++i) {
    const auto logits = reader.append(next[i], std::ssize(prompt) + static_cast<std::int64_t>(i));
    alone.emplace_back(logits.begin(), logits.end());
  }
  reader.read(prompt, false);
  const auto together = reader.append_all(std::span(next).first(rows), std::ssize(prompt));
  std::int64_t count = 0;
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < alone[i].size(); ++j)
      count += std::memcmp(&alone[i][j], &together[i][j], sizeof(float)) != 0 ? 1 : 0;
  return count;
}

class InvarianceOfSizes : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Models, InvarianceOfSizes,
                         ::testing::Values("tiny", "gpt2_tiny", "stories15m"));

TEST_P(InvarianceOfSizes, AStepInABatchHasTheBitsOfTheStepAlone) {
  TILEWRIGHT_ON_THE_HOST_ONLY("one order of sums");
  // The last one keeps keys and values in 8 bits.
  for (const auto& [dtype, cache] : {std::pair<DType, std::optional<DType>>{f32, std::nullopt},
                                     {bf16, std::nullopt},
                                     {bf16, DType::i8}}) {
    const auto model = random_decoder(decoder_config(GetParam()), 3,
                                      {.max_positions = 40, .dtype = dtype, .cache_dtype = cache});
    for (std::int64_t size : {2, 3, 5, 16})
      EXPECT_EQ(differing(*model, size), 0) << dtype << ", " << size << " texts";
    for (std::int64_t rows : {2, 3, 15})
      EXPECT_EQ(differing_rows(*model, static_cast<std::size_t>(rows)), 0)
          << dtype << ", " << rows << " rows";
  }
}

TEST(Invariance, IsOfUpToSixteenTexts) {
  const auto model = random_decoder(decoder_config("tiny"), 3);
  TextGenerator generator(*model, Tokenizer::parse(testing::letters(), "letters"), invariant);
  EXPECT_THAT(
      error_of([&] {
        generator.generate_all({"a", "b"}, {.max_batch = 17});
      }),
      ::testing::HasSubstr("max_batch is 17 with Options::batch_invariant, which holds for up "
                           "to 16 texts together"));
}

// A folder, and the type of its parameters and rows.
struct Published {
  std::filesystem::path folder;
  DType dtype;
};
void PrintTo(const Published& p, std::ostream* out) {
  *out << p.folder.filename().string() << ", " << p.dtype;
}

// Other formats: tests/graph/quant/packed_weight_test.cpp.
std::vector<Published> published_models() {
  std::vector<Published> all;
  for (const auto& folder :
       testing::published({"gguf-gemma2-spm-F16", "gguf-llama-spm-Q4_K", "gguf-qwen2-bpe-BF16",
                           "bnb-nf4-llama", "moe-mixtral", "mxfp4-"}))
    for (DType dtype : {f32, bf16}) all.push_back({folder, dtype});
  return all;
}

class InvarianceOf : public ::testing::TestWithParam<Published> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(InvarianceOf);
INSTANTIATE_TEST_SUITE_P(Models, InvarianceOf, ::testing::ValuesIn(published_models()),
                         [](const auto& info) {
                           return testing::test_name_of(info.param.folder) +
                                  (info.param.dtype == f32 ? "_f32" : "_bf16");
                         });

// Ids and log-probabilities: in a ragged batch, with guesses, and with a prefix that is read
// already.
TEST_P(InvarianceOf, TextsHaveTheBitsOfEachAlone) {
  TILEWRIGHT_ON_THE_HOST_ONLY("one order of sums");
  const auto& [folder, dtype] = GetParam();
  const auto model = load_model(testing::model_path(folder), {.dtype = dtype});
  TextGenerator generator(*model, load_tokenizer(testing::tokenizer_path(folder)), invariant);
  std::vector<std::string> prompts;
  for (const auto& example : testing::cases_of(folder))
    prompts.push_back(example["prompt"].get<std::string>());
  prompts.push_back(prompts[0] + prompts[0]);
  prompts.push_back(prompts[0] + prompts.back());
  GenerateOptions options{.max_new_tokens = 10, .max_batch = 3, .logprobs = 2};
  const std::vector<Generation> together = generator.generate_all(prompts, options);
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    options.drafts = {};
    const Generation alone = generator.generate(prompts[i], options);
    EXPECT_EQ(together[i].ids, alone.ids) << i;
    EXPECT_EQ(together[i].logprobs, alone.logprobs) << i;
    options.reuse_prefix = !options.reuse_prefix;
    options.drafts.tokens = 4;
    const Generation drafted = generator.generate(prompts[i], options);
    EXPECT_EQ(drafted.ids, alone.ids) << i;
    EXPECT_EQ(drafted.logprobs, alone.logprobs) << i;
  }
}

}  // namespace
}  // namespace tilewright::invariance_test
