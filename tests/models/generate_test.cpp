#include "models/generate/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "models/decoder/decoder.h"
#include "tests/errors.h"
#include "tests/models/folders.h"
#include "tests/models/letter_tokenizer.h"

namespace tilewright::generate_test {
namespace {

using ::testing::HasSubstr;

using testing::letters;

struct Fixture {
  std::unique_ptr<Decoder> model = random_decoder(decoder_config("tiny"), 3);
  Tokenizer tokenizer = Tokenizer::parse(letters(), "letters");
  TextGenerator generator{*model, tokenizer};
};

TEST(Generate, StopsAtMaxTokensBesidesThePrompt) {
  Fixture f;
  Generation result = f.generator.generate("abc", {.max_new_tokens = 16});
  EXPECT_EQ(result.prompt_ids.size(), 4U);
  EXPECT_EQ(result.ids.size(), 20U);
  EXPECT_EQ(result.finish, Finish::length);
  EXPECT_TRUE(result.text.starts_with("abc"));
  EXPECT_GT(result.peak_memory_bytes, 0);
  EXPECT_EQ(f.generator.generate("abc", {.max_new_tokens = 1}).ids.size(), 5U);
}

TEST(Generate, StopsAtTheModelsLastPosition) {
  Fixture f;
  for (std::int64_t steps : {1, 8}) {
    GenerateOptions options{.steps_a_round = steps};  // 256 tokens of a model of 64 positions
    Generation result = f.generator.generate(std::string(60, 'a'), options);
    EXPECT_EQ(result.ids.size(), 64U);
    EXPECT_EQ(result.finish, Finish::length);
    options.max_new_tokens = std::numeric_limits<std::int64_t>::max();
    EXPECT_EQ(f.generator.generate(std::string(60, 'a'), options).ids, result.ids);
  }
}

// Once all sizes are compiled, a call that would compile is an Error.
TEST(Generate, WarmsUpForConversationsOfALength) {
  const bool is_slow = default_device().is_emulated();  // a second for a few tokens
  const std::int64_t longest = is_slow ? 5 : 40;
  for (Mode mode : {Mode::default_, Mode::reduce_overhead}) {
    auto model = random_decoder(decoder_config("gpt2_tiny"), 3);
    TextGenerator generator(*model, Tokenizer::parse(letters(), "letters"), {.mode = mode});
    EXPECT_THAT(error_of([&] { generator.warm_up(65); }),
                HasSubstr("[warm_up] 65 tokens; from 1 to the model's 64 positions are allowed"));
    EXPECT_THAT(error_of([&] { generator.warm_up(0); }), HasSubstr("[warm_up] 0 tokens"));
    EXPECT_GT(generator.warm_up(longest), 0);
    GenerateOptions rounds{.max_new_tokens = 5, .steps_a_round = 4};
    EXPECT_GT(generator.warm_up(longest, rounds), 0);
    EXPECT_EQ(generator.warm_up(longest, rounds), 0);
    const std::size_t plans = generator.compiled().report().size();
    set_stance(Stance::fail_on_recompile);
    for (std::size_t length : {1, 20, 3, 37}) {
      if (is_slow && length > 3) continue;
      GenerateOptions options{.max_new_tokens = 3, .steps_a_round = 1};
      EXPECT_EQ(generator.generate(std::string(length, 'a'), options).compile_s, 0);
      EXPECT_EQ(generator.generate(std::string(length, 'b'), rounds).compile_s, 0);
    }
    set_stance(Stance::compile);
    EXPECT_EQ(generator.compiled().report().size(), plans);
  }
}

TEST(Generate, APromptKeepsToNoLengthOfTheTokenizersFile) {
  auto model = random_decoder(decoder_config("tiny"), 3);
  std::string lengths =
      R"({"truncation":{"max_length":3,"strategy":"LongestFirst","stride":0,"direction":"Right"},
          "padding":{"strategy":{"Fixed":8},"direction":"Right","pad_id":0},)";
  Tokenizer tokenizer = Tokenizer::parse(lengths + letters().substr(1), "letters");
  ASSERT_EQ(tokenizer.encode("abcd").size(), 8U);
  Generation result = TextGenerator(*model, tokenizer).generate("abcd", {.max_new_tokens = 4});
  EXPECT_EQ(result.prompt_ids, Tokenizer::parse(letters(), "letters").encode("abcd"));
}

TEST(Generate, ThePiecesOfTheStreamAreTheTextAfterThePrompt) {
  Fixture f;
  std::string streamed;
  Generation result =
      f.generator.generate("Hello", {.max_new_tokens = 40,
                                     .sampling = {.temperature = 1.5, .seed = 4},
                                     .on_text = [&](std::string_view text) { streamed += text; }});
  EXPECT_EQ("Hello" + streamed, result.text);
}

TEST(Generate, StopsBeforeAStopToken) {
  Fixture f;
  SamplingOptions sampling{.temperature = 2, .seed = 5};
  Generation free = f.generator.generate("a", {.max_new_tokens = 60, .sampling = sampling});
  ASSERT_GT(free.ids.size(), 4U);
  TokenId stop = free.ids[4];
  auto first = std::find(free.ids.begin() + 2, free.ids.end(), stop) - free.ids.begin();
  Generation cut = f.generator.generate(
      "a", {.max_new_tokens = 60, .sampling = sampling, .stop_tokens = {stop}});
  EXPECT_EQ(cut.finish, Finish::stop);
  EXPECT_EQ(cut.ids, std::vector<TokenId>(free.ids.begin(), free.ids.begin() + first));
}

TEST(Generate, ASecondGenerationDoesNotRememberTheFirst) {
  Fixture f;
  SamplingOptions sampling{.temperature = 1, .seed = 6};
  Generation first = f.generator.generate("abcdefgh", {.max_new_tokens = 40, .sampling = sampling});
  f.generator.generate("ZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZ", {.max_new_tokens = 60});
  Generation again = f.generator.generate("abcdefgh", {.max_new_tokens = 40, .sampling = sampling});
  EXPECT_EQ(first.ids, again.ids);
  EXPECT_EQ(again.compile_s, 0);
}

// A prompt in pieces of 16 and 1 must give what the same prompt gives row by row.
TEST(Generate, TheSizeOfThePiecesDoesNotMatter) {
  Fixture f;
  std::string prompt = "TheQuickBrownFoxJumpsOverTheLazyDog";
  Generation result = f.generator.generate(prompt, {.max_new_tokens = 50});
  auto state = f.model->new_state();
  std::vector<TokenId> ids = result.prompt_ids;
  Tensor logits;
  for (std::size_t i = 0; i < result.ids.size(); ++i) {
    if (i == ids.size()) {
      auto values = logits.to_vector<float>();
      values.resize(static_cast<std::size_t>(f.tokenizer.size()));
      ids.push_back(Sampler({}).choose(values));
    }
    logits = f.model->decode_last(Tensor::from<std::int64_t>({ids[i]}, {1, 1}),
                                  Tensor::from<std::int64_t>({static_cast<std::int64_t>(i)}, {1}),
                                  *state);
  }
  EXPECT_EQ(result.ids, ids);
}

// The same ids and the same text however many steps there are in a round.
TEST(Generate, SeveralStepsARoundGiveWhatOneGives) {
  Fixture f;
  for (std::int64_t max_tokens : {5, 6, 7, 20, 64}) {
    if (default_device().is_emulated() && max_tokens > 7) continue;  // a second for a few tokens
    Generation one =
        f.generator.generate("abc", {.max_new_tokens = max_tokens, .steps_a_round = 1});
    for (std::int64_t steps : {2, 8}) {
      std::string streamed;
      Generation many = f.generator.generate(
          "abc", {.max_new_tokens = max_tokens,
                  .steps_a_round = steps,
                  .on_text = [&](std::string_view text) { streamed += text; }});
      EXPECT_EQ(many.ids, one.ids);
      EXPECT_EQ(many.finish, one.finish);
      EXPECT_EQ(many.decode_steps, one.decode_steps);
      EXPECT_EQ("abc" + streamed, one.text);
    }
    if (one.ids.size() < 12) continue;
    // A stop within a round, and another one in the next generation.
    for (std::size_t at : {9, 11}) {
      GenerateOptions options{.max_new_tokens = max_tokens, .steps_a_round = 8};
      options.stop_tokens = {one.ids[at]};
      Generation cut = f.generator.generate("abc", options);
      options.steps_a_round = 1;
      EXPECT_EQ(cut.ids, f.generator.generate("abc", options).ids);
      EXPECT_EQ(cut.finish, Finish::stop);
    }
  }
}

TEST(Generate, SeveralStepsARoundAreGreedy) {
  Fixture f;
  EXPECT_THAT(error_of([&] {
                f.generator.generate(
                    "a", {.max_new_tokens = 9, .sampling = {.temperature = 1}, .steps_a_round = 4});
              }),
              HasSubstr("steps_a_round is 4 with a temperature of 1; several steps need"));
  EXPECT_THAT(
      error_of([&] { f.generator.generate("a", {.max_new_tokens = 9, .steps_a_round = 65}); }),
      HasSubstr("steps_a_round is 65"));
}

TEST(Generate, RefusesLimitsAndPromptsThatDoNotFit) {
  Fixture f;
  EXPECT_THAT(error_of([&] { f.generator.generate("a", {.max_new_tokens = 0}); }),
              HasSubstr("[generate] max_new_tokens is 0; at least 1 new token is allowed"));
  EXPECT_THAT(error_of([&] { f.generator.generate(std::string(63, 'a')); }),
              HasSubstr("[generate] the prompt has 64 tokens; the model has 64 positions, of which "
                        "a new token needs one"));
  EXPECT_THAT(
      error_of([&] { f.generator.generate("a", {.max_new_tokens = 9, .sampling = {.top_p = 2}}); }),
      HasSubstr("top_p is 2"));
}

TEST(Generate, WritesWithGpt2Too) {
  auto model = random_decoder(decoder_config("gpt2_tiny"), 3);
  TextGenerator generator(*model, Tokenizer::parse(letters(), "letters"));
  Generation by_one = generator.generate("abc", {.max_new_tokens = 12, .steps_a_round = 1});
  Generation by_four = generator.generate("abc", {.max_new_tokens = 12, .steps_a_round = 4});
  EXPECT_EQ(by_one.ids, by_four.ids);
  EXPECT_GT(by_one.ids.size(), by_one.prompt_ids.size());
}

TEST(Generate, RefusesAModelThatDoesNotFit) {
  Tokenizer tokenizer = Tokenizer::parse(letters(), "letters");
  DecoderConfig config = decoder_config("tiny");
  config.vocabulary = 20;
  auto small = random_decoder(config, 1);
  EXPECT_THAT(error_of([&] { TextGenerator(*small, tokenizer); }),
              HasSubstr("the tokenizer has 55 tokens; the model knows 20"));
}

}  // namespace
}  // namespace tilewright::generate_test
