// Several texts at once: the same as each alone, whatever the lengths, the places and the order in
// which they end; samples, beams, and the rules that end a text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stop_token>

#include "models/decoder/decoder.h"
#include "models/generate/generate.h"
#include "models/generate/log_probabilities.h"
#include "tests/errors.h"
#include "tests/every_device.h"
#include "tests/models/letter_tokenizer.h"

namespace tilewright::generate_all_test {
namespace {

using ::testing::HasSubstr;
using testing::letters;
using Ids = std::vector<std::int64_t>;

struct Fixture {
  explicit Fixture(std::string_view name = "tiny")
      : model(random_decoder(decoder_config(name), 3)), generator(*model, tokenizer) {}
  std::unique_ptr<Decoder> model;
  Tokenizer tokenizer = Tokenizer::parse(letters(), "letters");
  TextGenerator generator;
};

void expect_equal(const Generation& found, const Generation& wanted) {
  EXPECT_EQ(found.ids, wanted.ids);
  EXPECT_EQ(found.text, wanted.text);
  EXPECT_EQ(found.new_text, wanted.new_text);
  EXPECT_EQ(found.finish, wanted.finish);
  EXPECT_EQ(found.decode_steps, wanted.decode_steps);
}

TEST(GenerateAll, GivesEachPromptWhatItGetsAlone) {
  const bool is_slow = default_device().is_emulated();
  for (const char* name : {"tiny", "gpt2_tiny"}) {
    if (is_slow && std::string_view(name) != "tiny") continue;
    Fixture f(name);
    const std::vector<std::string> prompts =
        is_slow ? std::vector<std::string>{"ab", "HelloWorld"}
                : std::vector<std::string>{"ab", "HelloWorldHelloWorldHello", "c",
                                           "TheQuickBrownFox", "zyxwv"};
    GenerateOptions options{.max_new_tokens = is_slow ? 3 : 20, .max_batch = 3};
    for (double temperature : {0.0, 1.5}) {
      options.sampling = {.temperature = temperature, .top_k = 20, .seed = 7};
      const auto texts = f.generator.generate_all(prompts, options);
      ASSERT_EQ(texts.size(), prompts.size());
      for (std::size_t i = 0; i < prompts.size(); ++i) {
        SCOPED_TRACE(prompts[i]);
        expect_equal(texts[i], f.generator.generate(prompts[i], options));
      }
      if (is_slow) break;
    }
  }
}

TEST(GenerateAll, SamplesDifferAndTheFirstIsThatOfOneSample) {
  Fixture f;
  const GenerateOptions one{.max_new_tokens = 12, .sampling = {.temperature = 1.5, .seed = 3}};
  GenerateOptions several = one;
  several.n = 4;
  several.max_batch = 2;
  const auto texts = f.generator.generate_all({"abc", "xy"}, several);
  ASSERT_EQ(texts.size(), 8U);
  expect_equal(texts[0], f.generator.generate("abc", one));
  expect_equal(texts[4], f.generator.generate("xy", one));
  EXPECT_NE(texts[1].ids, texts[0].ids);
  EXPECT_NE(texts[2].ids, texts[1].ids);
  EXPECT_THAT(error_of([&] { f.generator.generate("abc", several); }),
              HasSubstr("[generate] n is 4; generate gives one text, generate_all gives more"));
}

TEST(GenerateAll, TellsOfEachTokenAndStopsWhenAskedTo) {
  Fixture f;
  std::stop_source stop;
  std::vector<std::vector<TokenId>> seen(2);
  GenerateOptions options{.max_new_tokens = 20, .logprobs = 2};
  options.on_token = [&](const NewToken& token) {
    seen.at(token.text).push_back(token.id);
    ASSERT_NE(token.logprob, nullptr);
    EXPECT_EQ(token.logprob->id, token.id);
    if (seen[0].size() + seen[1].size() == 7) stop.request_stop();
  };
  options.cancel = stop.get_token();
  const auto texts = f.generator.generate_all({"abc", "HelloWorld"}, options);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(texts[i].finish, Finish::cancelled);
    EXPECT_TRUE(std::ranges::equal(texts[i].new_ids(), seen[i]));
  }
  EXPECT_LE(seen[0].size() + seen[1].size(), 8U);
  EXPECT_EQ(f.generator.generate("abc", options).finish, Finish::cancelled) << "before it began";
}

struct Flag {
  bool is_set = false;
  bool stop_requested() const { return is_set; }
};

TEST(GenerateAll, AsksAnObjectThatOthersChange) {
  Fixture f;
  Flag flag;
  GenerateOptions options{.max_new_tokens = 20, .cancel = std::ref(flag)};
  options.on_token = [&](const NewToken&) { flag.is_set = true; };
  EXPECT_EQ(f.generator.generate("abc", options).new_ids().size(), 1U);
  GenerateOptions copied{.max_new_tokens = 2, .cancel = Flag{}};
  EXPECT_EQ(f.generator.generate("abc", copied).finish, Finish::length);
}

TEST(GenerateAll, LogprobsAreThoseOfTheModelAndFirstLogitsAreKept) {
  Fixture f;
  GenerateOptions options{.max_new_tokens = 5, .logprobs = 3, .first_logits = true};
  const Generation text = f.generator.generate("abc", options);
  ASSERT_EQ(text.logprobs.size(), text.new_ids().size());
  ASSERT_EQ(std::ssize(text.first_logits), f.tokenizer.size());
  for (std::size_t i = 0; i < text.logprobs.size(); ++i) {
    const TokenLogprob& token = text.logprobs[i];
    EXPECT_EQ(token.id, text.new_ids()[i]);
    ASSERT_EQ(token.top.size(), 3U);
    EXPECT_EQ(token.top[0].id, token.id) << "the greedy one is the likeliest";
    EXPECT_EQ(token.top[0].logprob, token.logprob);
    EXPECT_GE(token.top[0].logprob, token.top[1].logprob);
  }
  double total = 0;
  for (TokenId id = 0; id < f.tokenizer.size(); ++id)
    total += std::exp(log_probability(text.first_logits, id, 0).logprob);
  EXPECT_NEAR(total, 1, 1e-9);
  EXPECT_EQ(log_probability(text.first_logits, text.logprobs[0].id, 3), text.logprobs[0]);
  EXPECT_THAT(error_of([&] { log_probability(text.first_logits, 55, 0); }),
              HasSubstr("[log_probability] token 55 of 55"));
}

TEST(GenerateAll, EndsBeforeAStopString) {
  Fixture f;
  const GenerateOptions free{.max_new_tokens = 30, .sampling = {.temperature = 2, .seed = 5}};
  const Generation whole = f.generator.generate("a", free);
  ASSERT_GT(whole.new_text.size(), 12U);
  GenerateOptions options = free;
  options.stop = {"0", whole.new_text.substr(6, 3)};
  std::string streamed;
  options.on_text = [&](std::string_view text) { streamed += text; };
  const Generation cut = f.generator.generate("a", options);
  const std::string wanted = whole.new_text.substr(0, whole.new_text.find(options.stop[1]));
  EXPECT_EQ(cut.new_text, wanted);
  EXPECT_EQ(streamed, wanted);
  EXPECT_EQ(cut.finish, Finish::stop);
  EXPECT_TRUE(std::ranges::equal(cut.ids, std::span(whole.ids).first(cut.ids.size())));
  options.stop = {"abc", ""};
  EXPECT_THAT(error_of([&] { f.generator.generate("a", options); }),
              HasSubstr("[generate] a stop string is empty"));
}

TEST(StopStrings, HoldBackWhatMayBeginOne) {
  StopStrings strings({"end", "stop"});
  EXPECT_EQ(strings.push("we"), "w");
  EXPECT_EQ(strings.push("nt st"), "ent ");
  EXPECT_EQ(strings.push("ep e"), "step ");
  EXPECT_EQ(strings.push("nd more"), "");
  EXPECT_TRUE(strings.has_stopped());
  EXPECT_EQ(strings.push("end"), "");
  EXPECT_EQ(strings.finish(), "");
  StopStrings open({"aab"});
  EXPECT_EQ(open.push("aaa"), "a");
  EXPECT_EQ(open.finish(), "aa");
}

TEST(GenerateAll, AMaskLeavesItsTokensAlone) {
  Fixture f;
  const TokenId a = *f.tokenizer.find("A"), b = *f.tokenizer.find("B");
  GenerateOptions options{.max_new_tokens = 8};
  options.mask = [&](std::span<const TokenId> new_ids, AllowedTokens& allowed) {
    std::ranges::fill(allowed, 0);
    allowed[static_cast<std::size_t>(new_ids.size() % 2 == 0 ? a : b)] = 1;
  };
  EXPECT_EQ(f.generator.generate("x", options).new_text, "ABABABAB");
  options.mask = [](std::span<const TokenId>, AllowedTokens& allowed) {
    std::ranges::fill(allowed, 0);
  };
  EXPECT_THAT(error_of([&] { f.generator.generate("x", options); }),
              HasSubstr("[sample] no token is allowed after those so far"));
  EXPECT_THAT(error_of([&] {
                Sampler({}).choose(std::vector<float>{1, 2}, std::vector<std::uint8_t>{1});
              }),
              HasSubstr("[sample] a mask of 1 tokens; there are 2"));
}

TEST(GenerateAll, NoStopTokenComesBeforeTheLeastNumber) {
  Fixture f;
  GenerateOptions options{.max_new_tokens = 10};
  const Generation free = f.generator.generate("abc", options);
  options.stop_tokens = {free.new_ids()[2]};
  const auto first = std::ranges::find(free.new_ids(), free.new_ids()[2]) - free.new_ids().begin();
  EXPECT_EQ(std::ssize(f.generator.generate("abc", options).new_ids()), first);
  options.min_new_tokens = 6;
  EXPECT_GE(f.generator.generate("abc", options).new_ids().size(), 6U);
}

// As many beams as there are tokens see every text of two tokens, whose log-probabilities are
// computed here one by one.
TEST(GenerateAll, BeamsOfTheWholeTreeFindTheLikeliestTexts) {
  TILEWRIGHT_ON_THE_HOST_ONLY("the speed for as many beams");
  Fixture f;
  const std::int64_t tokens = f.tokenizer.size();
  GenerateOptions options{.max_new_tokens = 2, .n = 5, .num_beams = tokens, .length_penalty = 0};
  const auto found = f.generator.generate_all({"abc"}, options);
  ASSERT_EQ(found.size(), 5U);
  std::vector<std::pair<double, std::vector<TokenId>>> all;
  const GenerateOptions one{.max_new_tokens = 1, .first_logits = true};
  const auto prompt = f.generator.generate("abc", one);
  const std::vector<std::int64_t> stops = f.model->stop_ids();
  auto is_stop = [&](TokenId id) { return std::ranges::find(stops, id) != stops.end(); };
  auto state = f.model->new_state();
  for (TokenId first = 0; first < tokens; ++first) {
    const double begun = log_probability(prompt.first_logits, first, 0).logprob;
    if (is_stop(first)) {
      all.push_back({begun, {}});
      continue;
    }
    Ids ids(prompt.prompt_ids.begin(), prompt.prompt_ids.end());
    ids.push_back(first);
    auto logits = f.model
                      ->decode_last(Tensor::from(ids, {1, std::ssize(ids)}),
                                    Tensor::from<std::int64_t>({0}, {1}), *state)
                      .to_vector<float>();
    logits.resize(static_cast<std::size_t>(tokens));
    for (TokenId second = 0; second < tokens; ++second) {
      const double score = begun + log_probability(logits, second, 0).logprob;
      if (is_stop(second))
        all.push_back({score, {first}});
      else
        all.push_back({score, {first, second}});
    }
  }
  std::ranges::sort(all, [](const auto& x, const auto& y) { return x.first > y.first; });
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i].score, all[i].first, 1e-5);
    EXPECT_TRUE(std::ranges::equal(found[i].new_ids(), all[i].second)) << i;
  }
}

TEST(GenerateAll, PrefixesAreNotReadAgainAndTheTextIsTheSame) {
  Fixture f;
  const std::string common(40, 'q');
  GenerateOptions options{.max_new_tokens = 6};
  const Generation fresh = f.generator.generate(common + "abc", options);
  EXPECT_EQ(fresh.reused_rows, 0);
  options.reuse_prefix = true;
  f.generator.generate(common + "xyzw", options);
  const Generation again = f.generator.generate(common + "abc", options);
  EXPECT_EQ(again.reused_rows, 41);
  expect_equal(again, fresh);
  EXPECT_EQ(f.generator.generate(common + "abc", options).reused_rows, 43)
      << "all but the last piece";
  EXPECT_EQ(f.generator.generate("qqq", options).reused_rows, 0) << "cut in other pieces";
}

TEST(Drafts, AreWhatFollowedTheLastTokensBefore) {
  const std::vector<TokenId> text = {1, 2, 3, 9, 2, 3, 4, 2, 3};
  const DraftOptions options{.tokens = 2};
  EXPECT_EQ(looked_up(text, options), (std::vector<TokenId>{4, 2}));
  EXPECT_EQ(looked_up(std::span(text).first(6), options), (std::vector<TokenId>{9, 2}));
  EXPECT_EQ(looked_up(std::span(text).first(7), options), (std::vector<TokenId>{}));
  EXPECT_EQ(looked_up(std::span(text).first(6), {.tokens = 9, .longest = 1}),
            (std::vector<TokenId>{9, 2, 3}));
  EXPECT_EQ(looked_up(std::span(text).first(1), options), (std::vector<TokenId>{}));
}

// Sums of several rows may be made in another order than those of one.
void expect_near(const std::vector<TokenLogprob>& a, const std::vector<TokenLogprob>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].id, b[i].id);
    EXPECT_NEAR(a[i].logprob, b[i].logprob, 1e-4);
  }
}

// A text whose choices are drawn among few letters repeats itself.
TEST(Drafts, GiveTheTextThatIsWrittenWithoutThem) {
  TILEWRIGHT_ON_THE_HOST_ONLY("the speed for as many steps");
  Fixture f;
  for (double temperature : {0.0, 0.7}) {
    GenerateOptions options{.max_new_tokens = 58,
                            .sampling = {.temperature = temperature, .top_k = 3, .seed = 4},
                            .logprobs = 1};
    const Generation plain = f.generator.generate("abcab", options);
    EXPECT_EQ(plain.drafted_tokens, 0);
    for (std::int64_t tokens : {1, 4, 14}) {
      options.drafts.tokens = tokens;
      const Generation drafted = f.generator.generate("abcab", options);
      expect_equal(drafted, plain);
      expect_near(drafted.logprobs, plain.logprobs);
      EXPECT_GT(drafted.drafted_tokens, 0);
      EXPECT_GE(drafted.drafted_tokens, drafted.accepted_tokens);
    }
  }
}

TEST(Drafts, AreCheckedOnEveryDeviceAndUpToAStop) {
  Fixture f;
  std::stop_source stop;
  std::int64_t tokens = 0;
  GenerateOptions options{.max_new_tokens = 40, .drafts = {.tokens = 3}};
  options.on_token = [&](const NewToken&) {
    if (++tokens == 5) stop.request_stop();
  };
  options.cancel = stop.get_token();
  const Generation text = f.generator.generate("abababab", options);
  EXPECT_EQ(text.finish, Finish::cancelled);
  EXPECT_EQ(text.new_ids().size(), 5U);
}

TEST(Drafts, OfAModelAreCheckedLikeThoseOfALookUp) {
  TILEWRIGHT_ON_THE_HOST_ONLY("the speed for as many steps");
  Fixture f;
  const auto other = random_decoder(decoder_config("tiny"), 4, {.max_positions = 40});
  for (double temperature : {0.0, 0.7}) {
    GenerateOptions options{.max_new_tokens = 50,
                            .sampling = {.temperature = temperature, .top_k = 3, .seed = 4},
                            .logprobs = 1};
    f.generator.set_draft_model(nullptr);
    const Generation plain = f.generator.generate("abcab", options);
    options.drafts.tokens = 3;
    for (const LanguageModel* model : {static_cast<const LanguageModel*>(f.model.get()),
                                       static_cast<const LanguageModel*>(other.get())}) {
      f.generator.set_draft_model(model);
      const Generation drafted = f.generator.generate("abcab", options);
      expect_equal(drafted, plain);
      expect_near(drafted.logprobs, plain.logprobs);
      const bool guesses_all = model == f.model.get() && temperature == 0;
      EXPECT_GE(drafted.accepted_tokens, guesses_all ? drafted.drafted_tokens - 3 : 0);
      EXPECT_GT(drafted.drafted_tokens, 0);
    }
  }
  DecoderConfig config = decoder_config("tiny");
  config.vocabulary = 40;
  const auto small = random_decoder(config, 4);
  EXPECT_THAT(error_of([&] { f.generator.set_draft_model(small.get()); }),
              HasSubstr("the draft model knows 40 tokens; the tokenizer has 55"));
}

TEST(GenerateAll, RefusesOptionsThatDoNotFit) {
  Fixture f;
  auto error = [&](const GenerateOptions& options) {
    return error_of([&] { f.generator.generate_all({"a"}, options); });
  };
  EXPECT_THAT(error({.max_new_tokens = 4, .min_new_tokens = 5}),
              HasSubstr("min_new_tokens is 5; from 0 to max_new_tokens, 4, is allowed"));
  EXPECT_THAT(error({.n = 0}), HasSubstr("n is 0 and max_batch 8; both must be at least 1"));
  EXPECT_THAT(error({.logprobs = -1}), HasSubstr("logprobs is -1"));
  EXPECT_THAT(error({.num_beams = 0}), HasSubstr("num_beams is 0"));
  EXPECT_THAT(error({.n = 3, .num_beams = 2}), HasSubstr("a search with 2 beams finds as many"));
  EXPECT_THAT(error({.sampling = {.temperature = 1}, .num_beams = 2}),
              HasSubstr("together with options of single tokens"));
  EXPECT_THAT(error({.steps_a_round = 4}), HasSubstr("decoded together, which is step by step"));
  EXPECT_THAT(error({.drafts = {.tokens = 15}}),
              HasSubstr("drafts are 15 tokens that followed 1 to 3 others; up to 14"));
  EXPECT_THAT(error({.steps_a_round = 4, .drafts = {.tokens = 4}}),
              HasSubstr("steps_a_round is 4 together with drafts"));
  EXPECT_THAT(
      error({.num_beams = 2, .drafts = {.tokens = 4}}),
      HasSubstr("knows no sampling, penalties, masks, log-probabilities, stop strings, drafts"));
  EXPECT_THAT(error({.drafts = {.tokens = 4}}), HasSubstr("drafts are given for several texts"));
  EXPECT_THAT(error({.on_text = [](std::string_view) {}}), HasSubstr("on_token tells them apart"));
  EXPECT_THAT(error_of([&] {
                f.generator.generate_all({"a", std::string(80, 'a')}, {});
              }),
              HasSubstr("the prompt has 81 tokens"));
  EXPECT_TRUE(f.generator.generate_all({}, {}).empty());
}

TEST(DecodingState, CopiesTextsOfItsKind) {
  const auto model = random_decoder(decoder_config("tiny"), 3),
             other = random_decoder(decoder_config("gpt2_tiny"), 3);
  auto state = model->new_state(2), source = model->new_state(), foreign = other->new_state();
  EXPECT_THAT(error_of([&] { state->copy_text(2, *source, 0, 1); }),
              HasSubstr("[copy_text] text 0 of 1 to text 2 of 2; there are none such"));
  EXPECT_THAT(error_of([&] { state->copy_text(0, *source, 0, 65); }),
              HasSubstr("65 rows from 64 positions to 64; both must have as many"));
  EXPECT_THAT(error_of([&] { state->copy_text(0, *foreign, 0, 1); }),
              HasSubstr("the states are of different models or devices"));
  EXPECT_THAT(error_of([&] { state->expect(std::vector<std::int64_t>{1}); }),
              HasSubstr("[expect] 1 lengths of texts; the state has 2 texts"));
}

}  // namespace
}  // namespace tilewright::generate_all_test
