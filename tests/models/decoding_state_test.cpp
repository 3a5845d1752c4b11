// Conversations over one model: each with its state, on threads of their own.
#include "models/decoder/decoding_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <thread>

#include "models/decoder/decoder.h"
#include "models/decoder/load_model.h"
#include "models/generate/generate.h"
#include "runtime/base/env.h"
#include "runtime/buffer.h"
#include "tests/errors.h"
#include "tests/models/folders.h"
#include "tests/models/token_ids.h"

namespace tilewright::decoding_state_test {
namespace {

using testing::at;
using ::testing::HasSubstr;
using testing::ids_of;

// Prompts of several lengths, whose pieces are of other sizes; for an emulator, which takes a
// second for a few tokens, short ones.
std::string prompt_of(std::size_t thread, std::size_t turn) {
  if (default_device().is_emulated()) return thread % 2 == 0 ? "Once" : "The dog";
  const char* const begins[] = {"Lily and Tom went to the park.", "The dog was very sad because",
                                "Once upon a time", "Ben saw a big red ball in the tree and"};
  const char* const ends[] = {"", " She", " They", " One day, the", " He said, \"I"};
  return concat(begins[(thread + turn) % 4], ends[(thread * 3 + turn) % 5]);
}

class Conversations : public ::testing::TestWithParam<Mode> {};
INSTANTIATE_TEST_SUITE_P(Modes, Conversations,
                         ::testing::Values(Mode::default_, Mode::reduce_overhead,
                                           Mode::max_autotune),
                         [](const auto& info) {
                           std::string name(name_of(info.param));
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

// The fault that this guards against: generators that shared the caches of the model wrote texts
// that were a mixture of both.
TEST_P(Conversations, OfEightThreadsAreThoseOfOne) {
  TILEWRIGHT_TRAINED_MODEL(folder, "stories260K");
  const bool is_slow = default_device().is_emulated();
  const std::size_t threads = is_slow ? 2 : 8;
  const auto turns =
      static_cast<std::size_t>(env::test_turns().value_or(is_slow ? 1 : 8));  // nightly 500
  const GenerateOptions wanted{.max_new_tokens = is_slow ? 3 : 24};
  const auto model = load_model(*folder);
  const Tokenizer tokenizer = Tokenizer::open(*folder / "tokenizer.json");
  const Options options{.mode = GetParam(), .tune_seconds = 0.05};
  std::vector<std::vector<std::string>> expected(threads), actual(threads);
  TextGenerator alone(*model, tokenizer, options);
  for (std::size_t thread = 0; thread < threads; ++thread)
    for (std::size_t turn = 0; turn < turns; ++turn)
      expected[thread].push_back(alone.generate(prompt_of(thread, turn), wanted).text);
  std::vector<std::thread> clients;
  for (std::size_t thread = 0; thread < threads; ++thread)
    clients.emplace_back([&, thread] {
      TextGenerator own(*model, tokenizer, options);
      for (std::size_t turn = 0; turn < turns; ++turn)
        actual[thread].push_back(own.generate(prompt_of(thread, turn), wanted).text);
    });
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(actual, expected);
}

TEST(Conversations, OfOneModelShareKernelsAndCostTheirCachesAlone) {
  TILEWRIGHT_TRAINED_MODEL(folder, "stories260K");
  const auto model = load_model(*folder);
  const Tokenizer tokenizer = Tokenizer::open(*folder / "tokenizer.json");
  auto keys = [](const TextGenerator& generator) {
    std::vector<std::string> found;
    for (const PlanReport& plan : generator.compiled().report())
      for (const RegionReport& region : plan.regions) found.push_back(region.key);
    return found;
  };
  const Options options{.mode = Mode::reduce_overhead, .freezing = true};
  TextGenerator first(*model, tokenizer, options);
  first.generate("The dog", {.max_new_tokens = 2});
  const std::int64_t before = pool_statistics().live_bytes;
  TextGenerator second(*model, tokenizer, options);
  second.generate("The dog", {.max_new_tokens = 2});
  const std::int64_t more = pool_statistics().live_bytes - before;
  EXPECT_EQ(keys(second), keys(first));
  if (default_device() != Device::cpu()) return;  // the host has copies there
  const std::int64_t cache = model->new_state()->size_bytes();
  EXPECT_GE(more, cache);
  EXPECT_LT(more, cache + cache / 10) << "the rest are the values within a call";
}

TEST(DecodingState, BelongsToTheTextsAndNotToTheModel) {
  const auto model = random_decoder(decoder_config("tiny"), 3);
  auto one = model->new_state(), pair = model->new_state(2);
  EXPECT_EQ(pair->batch(), 2);
  EXPECT_EQ(pair->max_positions(), model->max_positions());
  EXPECT_EQ(pair->size_bytes(), 2 * one->size_bytes());
  const std::vector<std::int64_t> text = {1, 17, 5, 60}, other = {9, 2, 33, 4};
  const auto whole = model->forward(ids_of(text)).to_vector<float>();
  const auto whole_other = model->forward(ids_of(other)).to_vector<float>();
  for (std::size_t i = 0; i < text.size(); ++i) {  // in turns
    const auto position = static_cast<std::int64_t>(i);
    auto alone = model->decode_last(ids_of({text[i]}), at(position), *one).to_vector<float>();
    auto both =
        model->decode_last(ids_of({other[i], text[i]}, 2), at(position), *pair).to_vector<float>();
    for (std::size_t j = 0; j < alone.size(); ++j) {
      ASSERT_NEAR(alone[j], whole[i * alone.size() + j], 1e-4);
      ASSERT_NEAR(both[j], whole_other[i * alone.size() + j], 1e-4);
      ASSERT_NEAR(both[alone.size() + j], whole[i * alone.size() + j], 1e-4);
    }
  }
}

TEST(DecodingState, KeepsKeysAndValuesInEightBits) {
  const DecoderConfig config = decoder_config("tiny");
  const auto plain = random_decoder(config, 3);
  const std::vector<std::int64_t> text = {1, 17, 5, 60, 33, 8};
  const auto expected = plain->forward(ids_of(text)).to_vector<float>();
  const std::int64_t rows = plain->new_state()->size_bytes() / (4 * config.head_size);
  for (DType dtype : {DType::i8, DType::f8e4m3, DType::f8e5m2}) {
    const auto model = random_decoder(config, 3, {.cache_dtype = dtype});
    EXPECT_EQ(model->cache_dtype(), dtype);
    auto state = model->new_state(), pieces = model->new_state(), pair = model->new_state(2);
    EXPECT_EQ(state->size_bytes(), rows * (config.head_size + 4)) << "codes, and a scale for each";
    const auto whole = model->decode(ids_of(text), at(0), *state).to_vector<float>();
    const double most = dtype == DType::i8 ? 0.01 : 0.1;
    for (std::size_t i = 0; i < whole.size(); ++i) ASSERT_NEAR(whole[i], expected[i], most);
    // Rows see each other as the cache has them: it does not matter how a text is divided.
    const std::vector<std::int64_t> first(text.begin(), text.begin() + 4);
    model->decode(ids_of(first), at(0), *pieces);
    pair->copy_text(1, *pieces, 0, 4);
    const auto rest = model->decode(ids_of({33, 8}), at(4), *pieces).to_vector<float>();
    const auto both = model->decode(ids_of({33, 8, 33, 8}, 2), at(4), *pair).to_vector<float>();
    for (std::size_t i = 0; i < rest.size(); ++i) {
      ASSERT_NEAR(rest[i], whole[whole.size() - rest.size() + i], 1e-4);
      ASSERT_NEAR(both[rest.size() + i], rest[i], 1e-4);
    }
  }
  EXPECT_THAT(error_of([&] { random_decoder(config, 3, {.cache_dtype = f16}); }),
              HasSubstr("[llama] a cache of f16 (ModelOptions::cache_dtype); it may be i8, f8e4m3, "
                        "f8e5m2 or another float of 8 bits"));
}

// The error of a call on another thread.
template <typename F>
std::string error_elsewhere(F call) {
  return std::async(std::launch::async, [&] { return error_of(call); }).get();
}

TEST(DecodingState, IsOneThreadsAtATime) {
  const auto model = random_decoder(decoder_config("tiny"), 3);
  auto state = model->new_state(), free = model->new_state();
  auto decode = [&](DecodingState& s) { model->decode_last(ids_of({3}), at(0), s); };
  {
    DecodingState::Use use(*state, "test");
    decode(*state);  // on the thread that has it
    EXPECT_THAT(error_elsewhere([&] { decode(*state); }),
                HasSubstr("[llama] another thread is using this state; a conversation needs one of "
                          "its own (LanguageModel::new_state)"));
    EXPECT_EQ(error_elsewhere([&] { decode(*free); }), "no error");
  }
  EXPECT_EQ(error_elsewhere([&] { decode(*state); }), "no error");
}

TEST(DecodingState, IsRefusedByAModelWithOtherLayers) {
  DecoderConfig config = decoder_config("tiny");
  auto state = random_decoder(config, 3)->new_state();
  config.layers += 1;
  const auto deeper = random_decoder(config, 3);
  EXPECT_THAT(error_of([&] { deeper->decode(ids_of({3}), at(0), *state); }),
              HasSubstr(concat("a state of ", config.layers - 1, " layers; this model has ",
                               config.layers)));
}

TEST(Conversations, OfOneGeneratorAreNotHeldAtOnce) {
  TILEWRIGHT_TRAINED_MODEL(folder, "stories260K");
  const auto model = load_model(*folder);
  TextGenerator generator(*model, Tokenizer::open(*folder / "tokenizer.json"));
  const std::string prompt = "Once";
  GenerateOptions options{.max_new_tokens = 4};
  const std::string text = generator.generate(prompt, options).text;
  std::string here, elsewhere, warming;
  options.on_text = [&](std::string_view) {
    here = error_of([&] { generator.generate("b", {.max_new_tokens = 4}); });
    elsewhere = error_elsewhere([&] { generator.generate("b", {.max_new_tokens = 4}); });
    warming = error_elsewhere([&] { generator.warm_up(8); });
  };
  EXPECT_EQ(generator.generate(prompt, options).text, text);
  EXPECT_THAT(here, HasSubstr("[generate] another generation of this TextGenerator is under way"));
  EXPECT_EQ(elsewhere, here);
  EXPECT_EQ(warming, here);
  options.on_text = {};
  EXPECT_EQ(generator.generate(prompt, options).text, text);
}

}  // namespace
}  // namespace tilewright::decoding_state_test
