// Texts whose keys and values lie in pages of a pool: the same logits and tokens as in memory of
// their own, pages that are shared until one of their texts writes, and pools that are too small.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/decoder/decoder.h"
#include "models/generate/generate.h"
#include "models/generate/greedy_steps.h"
#include "tests/errors.h"
#include "tests/every_device.h"
#include "tests/models/letter_tokenizer.h"
#include "tests/models/token_ids.h"

namespace tilewright::paged_state_test {
namespace {

using testing::at;
using ::testing::HasSubstr;
using testing::ids_of;
using testing::letters;

constexpr std::int64_t page = PagePool::page_rows;

std::vector<std::int64_t> text_of(std::int64_t rows, std::int64_t seed) {
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < rows; ++i) ids.push_back((seed + i * 7) % 60 + 1);
  return ids;
}

// A model of more positions than a page has.
DecoderConfig config_of(std::string_view name) {
  DecoderConfig config = decoder_config(name);
  config.max_positions = 4 * page;
  return config;
}

std::vector<float> read(const LanguageModel& model, DecodingState& state,
                        const std::vector<std::int64_t>& ids, std::int64_t from, std::int64_t to) {
  state.prepare(0, from, to - from);
  const std::vector<std::int64_t> part(ids.begin() + from, ids.begin() + to);
  return model.decode_last(ids_of(part), at(from), state).to_vector<float>();
}

void expect_near(const std::vector<float>& found, const std::vector<float>& expected) {
  EXPECT_THAT(found, ::testing::Pointwise(::testing::FloatNear(1e-4F), expected));
}

TEST(PagedState, GivesTheLogitsOfMemoryOfItsOwn) {
  for (std::optional<DType> code : {std::optional<DType>(), std::optional(DType::i8)}) {
    const auto model = random_decoder(config_of("tiny"), 3, {.cache_dtype = code});
    const auto pages = model->new_pages(4 * page);
    EXPECT_EQ(pages->pages(), 4);
    auto paged = model->new_state(1, pages), own = model->new_state();
    EXPECT_EQ(paged->max_positions(), own->max_positions());
    EXPECT_EQ(paged->size_bytes(), 0);
    const auto ids = text_of(page + 40, 5);
    std::int64_t done = 0;
    for (std::int64_t end : {page - 2, page - 1, page + 1, page + 2, page + 40}) {
      const auto expected = read(*model, *own, ids, done, end);
      expect_near(read(*model, *paged, ids, done, end), expected);
      done = end;
    }
    EXPECT_EQ(pages->free_pages(), 2);
    EXPECT_EQ(paged->size_bytes(), own->size_bytes() / 2);
    paged->cut(0, page);
    EXPECT_EQ(pages->free_pages(), 3);
    paged.reset();
    EXPECT_EQ(pages->free_pages(), 4);
  }
}

TEST(PagedState, SharesPagesUntilATextWritesToThem) {
  const auto model = random_decoder(config_of("tiny"), 3);
  const auto pages = model->new_pages(8 * page);
  auto first = model->new_state(1, pages), second = model->new_state(1, pages),
       own = model->new_state();
  const auto shared = text_of(page + 10, 1);
  auto longer = shared, other = shared;
  longer.insert(longer.end(), {4, 9, 2});
  other.insert(other.end(), {7, 7, 30});
  read(*model, *first, shared, 0, page + 10);
  second->copy_text(0, *first, 0, page + 10);
  EXPECT_EQ(pages->free_pages(), 6) << "nothing is copied yet";
  const auto a = read(*model, *first, longer, page + 10, page + 13);
  EXPECT_EQ(pages->free_pages(), 5) << "the page that is written has a copy now";
  const auto b = read(*model, *second, other, page + 10, page + 13);
  EXPECT_EQ(pages->free_pages(), 5) << "the other text has that page alone";
  expect_near(a, read(*model, *own, longer, 0, page + 13));
  expect_near(b, read(*model, *own, other, 0, page + 13));
  // Both go on from the page that they still share.
  expect_near(read(*model, *first, longer, page + 12, page + 13), a);
  second.reset();
  EXPECT_EQ(pages->free_pages(), 6);
}

// Values that a text leaves in a page have no part in the next one's, not even times 0.
TEST(PagedState, KeepsNothingOfAnotherText) {
  const auto model = random_decoder(config_of("tiny"), 3);
  const auto pages = model->new_pages(2 * page);
  const auto ids = text_of(5, 1);
  auto state = model->new_state(1, pages), own = model->new_state();
  state->prepare(0, 0, 1);
  for (std::size_t layer = 0; layer < state->layers(); ++layer) {
    Tensor& values = state->cache(layer).values;
    values.copy_from(full(values.shape(), std::numeric_limits<double>::infinity(), f32));
  }
  state->cut(0, 0);
  expect_near(read(*model, *state, ids, 0, 5), read(*model, *own, ids, 0, 5));
}

TEST(PagedState, HarmsNoTextWhereRowsAreNotPrepared) {
  const auto model = random_decoder(config_of("tiny"), 3);
  const auto pages = model->new_pages(2 * page);
  auto first = model->new_state(1, pages), second = model->new_state(1, pages);
  EXPECT_THAT(error_of([&] { model->decode_last(ids_of({3}), at(0), *first); }),
              HasSubstr("[llama] 1 rows from row 0 on of text 0 have no pages that can be written; "
                        "DecodingState::prepare makes them so before a call"));
  auto step = compile([&](const Tensor& ids, const Tensor& position) {
    return model->decode_last(ids, position, *second);
  });
  for (float logit : step(ids_of({3}), at(0)).to_vector<float>()) EXPECT_TRUE(std::isnan(logit));
  const auto ids = text_of(9, 1);
  read(*model, *first, ids, 0, 8);
  const auto expected = read(*model, *first, ids, 8, 9);
  second->copy_text(0, *first, 0, 4);
  step(ids_of({3}), at(4));  // the page is the first text's
  expect_near(read(*model, *first, ids, 8, 9), expected);
}

TEST(LayerGroups, HaveEquallyManyLayersOfOneWindow) {
  using Layers = std::vector<LayerGroups::Layer>;
  const LayerGroups same = LayerGroups::of({0, 0, 0});
  EXPECT_EQ(same.slots, 3U);
  EXPECT_EQ(same.windows, (std::vector<std::int64_t>{0}));
  EXPECT_EQ(same.layers, (Layers{{0, 0}, {0, 1}, {0, 2}}));
  // Five layers with a window and two without: three groups of two, of which one is half empty.
  const LayerGroups mixed = LayerGroups::of({8, 8, 0, 8, 8, 0, 8});
  EXPECT_EQ(mixed.slots, 2U);
  EXPECT_EQ(mixed.windows, (std::vector<std::int64_t>{8, 0, 8, 8}));
  EXPECT_EQ(mixed.layers, (Layers{{0, 0}, {0, 1}, {1, 0}, {2, 0}, {2, 1}, {1, 1}, {3, 0}}));
}

// A model whose layers have these windows.
std::unique_ptr<Decoder> model_with_windows(const std::vector<std::int64_t>& windows,
                                            std::optional<DType> code = {}) {
  DecoderConfig config = config_of("tiny");
  config.layers = std::ssize(windows);
  for (std::int64_t window : windows) config.layer_attention.push_back({.window = window});
  return random_decoder(config, 3, {.cache_dtype = code});
}

TEST(PagedState, GivesPagesBackThatNoLayerSees) {
  for (const std::vector<std::int64_t>& windows :
       {std::vector<std::int64_t>{20, 20}, std::vector<std::int64_t>{20, 0, 20}}) {
    const auto model = model_with_windows(windows);
    const std::int64_t groups = std::ssize(LayerGroups::of(windows).windows);
    const auto pages = model->new_pages(4 * page);
    EXPECT_EQ(pages->pages(), 4 * groups);
    auto paged = model->new_state(1, pages), own = model->new_state();
    const auto ids = text_of(3 * page + 5, 2);
    std::int64_t done = 0;
    for (std::int64_t end :
         {page - 1, page + 10, page + 30, 3 * page, 3 * page + 1, 3 * page + 5}) {
      expect_near(read(*model, *paged, ids, done, end), read(*model, *own, ids, done, end));
      done = end;
    }
    // The last call began behind page 2, whose last rows its window saw.
    const std::int64_t with_window = groups == 1 ? 1 : 2, without = groups - with_window;
    EXPECT_EQ(pages->pages() - pages->free_pages(), 2 * with_window + 4 * without);
    EXPECT_TRUE(paged->holds(0, 3 * page + 1));
    EXPECT_FALSE(paged->holds(0, page + 30));
    EXPECT_THAT(error_of([&] { paged->prepare(0, page + 30, 1); }),
                HasSubstr("[pages] rows before row 94 of text 0 are gone: a layer's window had "
                          "passed them; read the text from its beginning"));
    auto other = model->new_state(1, pages);
    EXPECT_THAT(error_of([&] { other->copy_text(0, *paged, 0, page + 30); }),
                HasSubstr("a layer's window had passed some of them, whose pages are gone"));
    other->copy_text(0, *paged, 0, 3 * page + 5);
    paged->cut(0, 0);
    auto longer = ids;
    longer.push_back(9);
    expect_near(read(*model, *other, longer, 3 * page + 5, 3 * page + 6),
                read(*model, *own, longer, 3 * page + 5, 3 * page + 6));
    other.reset();
    EXPECT_EQ(pages->free_pages(), pages->pages());
  }
}

TEST(PagedState, RefusesWhatDoesNotFit) {
  const auto model = random_decoder(config_of("tiny"), 3);
  const auto pages = model->new_pages(page + 1);
  EXPECT_EQ(pages->pages(), 2);
  auto state = model->new_state(2, pages), own = model->new_state(2),
       other = model->new_state(2, model->new_pages(page));
  state->prepare(0, 0, page);
  EXPECT_THAT(
      error_of([&] { state->prepare(1, 0, page + 1); }),
      HasSubstr(concat("[pages] text 1 needs 2 more of ", page, " rows for its rows 0 to ", page,
                       "; 1 of 2 are free: end a text, or make the pool larger "
                       "(LanguageModel::new_pages)")));
  state->prepare(1, 0, page);  // nothing was taken
  EXPECT_THAT(error_of([&] { state->prepare(0, 0, 4 * page + 1); }),
              HasSubstr("[prepare] 257 rows of text 0; from 0 to 256 are possible"));
  EXPECT_THAT(error_of([&] { state->prepare(2, 0, 1); }), HasSubstr("[prepare] text 2 of 2"));
  EXPECT_THAT(error_of([&] { state->cut(0, -1); }), HasSubstr("[cut] -1 rows of text 0"));
  EXPECT_THAT(error_of([&] { state->copy_text(0, *own, 0, 1); }),
              HasSubstr("different models or devices, or one has pages"));
  EXPECT_THAT(error_of([&] { state->copy_text(0, *other, 0, 1); }),
              HasSubstr("pages of different pools; they must share one"));
  EXPECT_THAT(error_of([&] { state->copy_text(0, *state, 1, page + 1); }),
              HasSubstr(concat("[copy_text] ", page + 1, " rows of text 1, which has pages for ",
                               page, "; no more than these can be copied")));
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(error_of([&] { state->prepare(0, 10, most); }),
              HasSubstr(concat("[prepare] ", most, " rows of text 0")));
  EXPECT_THAT(error_of([&] {
                model->decode_last(ids_of({1, 2, 1, 2}, 2), at(most), *state);
              }),
              HasSubstr("of text 0 have no pages"));
  EXPECT_THAT(error_of([&] { model->new_state(std::int64_t{1} << 62, pages); }),
              HasSubstr("a table of pages may have 1073741824 numbers"));
  EXPECT_THAT(error_of([&] { model->new_pages(0); }), HasSubstr("[llama] pages for 0 rows"));
  EXPECT_THAT(error_of([&] { model->new_pages(std::int64_t{1} << 60); }),
              HasSubstr("have more than 2^63 bytes"));
  DecoderConfig deeper = config_of("tiny");
  deeper.layers += 1;
  EXPECT_THAT(error_of([&] { random_decoder(deeper, 3)->new_state(1, pages); }),
              HasSubstr("a state in pages of another model or device"));
  const auto small = random_decoder(config_of("tiny"), 3, {.cache_budget_bytes = 1 << 20});
  EXPECT_THAT(error_of([&] { small->new_pages(1 << 20); }), HasSubstr("the budget is 1 MiB"));
}

// A generator whose texts lie in a pool, and one of the same model whose texts have memory of their
// own.
struct Pair {
  explicit Pair(std::int64_t rows, Options options = {}, std::string_view name = "tiny",
                ModelOptions model_options = {})
      : model(random_decoder(config_of(name), 3, model_options)),
        pool(model->new_pages(rows)),
        paged(*model, tokenizer, options, pool),
        own(*model, tokenizer, options) {}
  Tokenizer tokenizer = Tokenizer::parse(letters(), "letters");
  std::unique_ptr<Decoder> model;
  std::shared_ptr<PagePool> pool;
  TextGenerator paged, own;
};

void expect_equal(const std::vector<Generation>& found, const std::vector<Generation>& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].ids, wanted[i].ids) << i;
    EXPECT_EQ(found[i].finish, wanted[i].finish) << i;
  }
}

const std::vector<std::string> prompts = {"abc", std::string(70, 'q') + "Hello", "zy",
                                          std::string(120, 'w'), "TheFox"};

TEST(GenerateInPages, WritesTheTextsThatMemoryOfTheirOwnGives) {
  // Five texts of up to 3 pages, of which the pool has 7: some wait for others.
  Pair f(7 * page);
  if (default_device().is_emulated()) {
    const GenerateOptions few{.max_new_tokens = 3, .n = 2};
    return expect_equal(f.paged.generate_all({"abc", prompts[1]}, few),
                        f.own.generate_all({"abc", prompts[1]}, few));
  }
  GenerateOptions options{.max_new_tokens = 30, .max_batch = 4};
  expect_equal(f.paged.generate_all(prompts, options), f.own.generate_all(prompts, options));
  EXPECT_EQ(f.pool->free_pages(), f.pool->pages());
  options.n = 3;
  options.sampling = {.temperature = 1.2, .seed = 5};
  expect_equal(f.paged.generate_all({prompts[1], prompts[0]}, options),
               f.own.generate_all({prompts[1], prompts[0]}, options));
  for (const std::string& prompt : prompts)
    expect_equal({f.paged.generate(prompt, {.max_new_tokens = 20, .reuse_prefix = true})},
                 {f.own.generate(prompt, {.max_new_tokens = 20, .reuse_prefix = true})});
}

TEST(GenerateInPages, SearchesWithBeamsAndChecksGuesses) {
  Pair f(16 * page);
  if (default_device().is_emulated()) {
    const GenerateOptions few{.max_new_tokens = 2, .num_beams = 2};
    return expect_equal(f.paged.generate_all({"abc"}, few), f.own.generate_all({"abc"}, few));
  }
  const GenerateOptions beams{.max_new_tokens = 12, .n = 2, .num_beams = 4};
  expect_equal(f.paged.generate_all({prompts[1]}, beams), f.own.generate_all({prompts[1]}, beams));
  const GenerateOptions guesses{.max_new_tokens = 40, .drafts = {.tokens = 3}};
  expect_equal({f.paged.generate(prompts[3], guesses)}, {f.own.generate(prompts[3], guesses)});
  const GenerateOptions rounds{.max_new_tokens = 40, .steps_a_round = 4};
  expect_equal({f.paged.generate(prompts[1], rounds)}, {f.own.generate(prompts[1], rounds)});
}

TEST(GenerateInPages, WritesTheSameTextsWhereWindowsPass) {
  TILEWRIGHT_ON_THE_HOST_ONLY("the speed for so many texts");
  const auto model = model_with_windows({20, 0, 20, 20});
  const Tokenizer tokenizer = Tokenizer::parse(letters(), "letters");
  const auto pool = model->new_pages(4 * page);  // 16 pages
  TextGenerator paged(*model, tokenizer, {}, pool), own(*model, tokenizer);
  GenerateOptions options{.max_new_tokens = 60, .max_batch = 3};
  expect_equal(paged.generate_all({prompts[3], prompts[0]}, options),
               own.generate_all({prompts[3], prompts[0]}, options));
  options.n = 2;
  options.sampling = {.temperature = 1.1, .seed = 4};
  expect_equal(paged.generate_all(prompts, options), own.generate_all(prompts, options));
  for (const std::string& prompt : {prompts[3], prompts[3] + "abc", prompts[3], prompts[1]})
    expect_equal({paged.generate(prompt, {.max_new_tokens = 70, .reuse_prefix = true})},
                 {own.generate(prompt, {.max_new_tokens = 70, .reuse_prefix = true})});
  expect_equal({paged.generate(prompts[3], {.max_new_tokens = 70, .drafts = {.tokens = 5}})},
               {own.generate(prompts[3], {.max_new_tokens = 70, .drafts = {.tokens = 5}})});
  // A search does not wait for pages.
  TextGenerator search(*model, tokenizer, {}, model->new_pages(10 * page));
  const GenerateOptions beams{.max_new_tokens = 40, .num_beams = 3};
  expect_equal(search.generate_all({prompts[1]}, beams), own.generate_all({prompts[1]}, beams));
}

TEST(GenerateInPages, GivesPagesBackWhateverEndsACall) {
  TILEWRIGHT_ON_THE_HOST_ONLY("the speed for so many texts");
  Pair f(6 * page);
  GenerateOptions options{.max_new_tokens = 30, .max_batch = 3};
  options.on_token = [](const NewToken& token) { require(token.id == -1, "no more"); };
  EXPECT_THAT(error_of([&] { f.paged.generate_all(prompts, options); }), HasSubstr("no more"));
  EXPECT_EQ(f.pool->free_pages(), 6);
  EXPECT_THAT(error_of([&] { f.paged.generate(prompts[1], options); }), HasSubstr("no more"));
  EXPECT_EQ(f.pool->free_pages(), 6);
  const GenerateOptions beams{.max_new_tokens = 100, .num_beams = 6};
  EXPECT_THAT(error_of([&] { f.paged.generate_all({prompts[1]}, beams); }),
              HasSubstr("more of 64 rows"));
  EXPECT_EQ(f.pool->free_pages(), 6);
  f.paged.warm_up(200, {.max_new_tokens = 3, .drafts = {.tokens = 4}});
  EXPECT_EQ(f.pool->free_pages(), 6);
  f.paged.generate(prompts[1], {.max_new_tokens = 3, .reuse_prefix = true});
  EXPECT_EQ(f.pool->free_pages(), 4) << "of the prompt, for the next call";
  f.paged.generate(prompts[1], {.max_new_tokens = 3});
  EXPECT_EQ(f.pool->free_pages(), 6);
}

// Guesses need no row behind the limit, and places without a text no numbers that are not finite.
TEST(GenerateInPages, TakesThePagesOfTheTextAlone) {
  TILEWRIGHT_ON_THE_HOST_ONLY("the speed for so many texts");
  Pair f(2 * page, {.detect_nan = true, .index_checks = IndexChecks::all});
  const std::string prompt(100, 'w');
  const GenerateOptions guesses{.max_new_tokens = 2 * page - 101, .drafts = {.tokens = 8}};
  expect_equal({f.paged.generate(prompt, guesses)}, {f.own.generate(prompt, guesses)});
  const GenerateOptions options{.max_new_tokens = 20, .max_batch = 3};
  expect_equal(f.paged.generate_all({"ab", "cd", "ef"}, options),
               f.own.generate_all({"ab", "cd", "ef"}, options));
  Pair eager(2 * page, {.backend = Backend::eager});
  const GenerateOptions few{.max_new_tokens = 3, .max_batch = 2};
  expect_equal(eager.paged.generate_all({"ab", "cd"}, few),
               eager.own.generate_all({"ab", "cd"}, few));
}

TEST(GenerateInPages, SaysWhenATextNeverFits) {
  Pair f(2 * page);
  const GenerateOptions options{.max_new_tokens = 30};
  EXPECT_THAT(
      error_of([&] {
        f.paged.generate_all({"ab", prompts[1]}, options);
      }),
      HasSubstr("[generate] a text of up to 106 tokens needs 3 pages of 64 rows; 2 of 2 are "
                "free"));
  EXPECT_THAT(
      error_of([&] { f.paged.generate(prompts[3], options); }),
      HasSubstr("[pages] text 0 needs 1 more of 64 rows for its rows 128 to 128; 0 of 2 are "
                "free"));
  if (default_device().is_emulated()) return;
  expect_equal({f.paged.generate("ab", options)}, {f.own.generate("ab", options)});
}

TEST(GenerateInPages, KeepsCodesAndTheBitsOfEachTextAlone) {
  TILEWRIGHT_ON_THE_HOST_ONLY("one order of sums");
  Pair f(12 * page, {.batch_invariant = true}, "tiny", {.cache_dtype = DType::i8});
  const GenerateOptions options{.max_new_tokens = 20, .max_batch = 4, .logprobs = 1};
  const auto together = f.paged.generate_all(prompts, options);
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const Generation alone = f.paged.generate(prompts[i], options);
    expect_equal({together[i]}, {alone});
    for (std::size_t j = 0; j < alone.logprobs.size(); ++j)
      EXPECT_EQ(together[i].logprobs[j].logprob, alone.logprobs[j].logprob) << i << " " << j;
  }
  expect_equal(together, f.own.generate_all(prompts, options));
}

}  // namespace
}  // namespace tilewright::paged_state_test
