// Random schedules of texts: which are decoded together, in how many places, in pages that they
// share or in memory of their own, with which prefix read already, with how many guesses at a time.
// With Options::batch_invariant the ids and log-probabilities of a text are those of the text
// alone, to the bit.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>

#include "models/decoder/load_model.h"
#include "models/generate/generate.h"
#include "runtime/base/env.h"
#include "tests/every_device.h"
#include "tests/models/published_models.h"

namespace tilewright::schedules_test {
namespace {

// One model, and what its texts are alone. A generator for each size of a batch, which keeps its
// program.
class Schedules {
 public:
  Schedules(const std::filesystem::path& folder, DType dtype, std::optional<DType> cache_dtype)
      : path_(model_path(folder)),
        model_(load_model(path_, {.dtype = dtype, .cache_dtype = cache_dtype})) {
    if (folder.filename().string().starts_with("peft-")) add_adapters(folder.parent_path());
    for (const auto& example : testing::cases_of(folder))
      prompts_.push_back(example["prompt"].get<std::string>());
    const std::string first = prompts_[0], second = prompts_.back();
    for (int i = 0; i < 3; ++i) prompts_.push_back(prompts_.back() + (i % 2 == 0 ? first : second));
    // Too few for all texts of a schedule.
    pool_ = model_->new_pages(3 * std::min<std::int64_t>(model_->max_positions(), 256));
  }

  void run(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    GenerateOptions options{.max_new_tokens = 12, .logprobs = 1};
    if (below(2) == 0) options.sampling = {.temperature = 0.9, .top_k = 8, .seed = 3};
    options.reuse_prefix = below(2) == 0;
    options.max_batch = 1 + static_cast<std::int64_t>(below(5));
    auto any_adapter = [&] { return adapters_[below(adapters_.size())]; };
    is_paged_ = below(2) == 0;
    TextGenerator& generator = generator_for(options.max_batch);
    if (options.max_batch > 1) {
      std::vector<std::size_t> chosen;
      for (std::size_t i = below(4) + 5; i > 0; --i) chosen.push_back(below(prompts_.size()));
      std::vector<std::string> prompts;
      for (std::size_t i : chosen) {
        prompts.push_back(prompts_[i]);
        options.adapters.push_back(any_adapter());
      }
      const std::vector<Generation> texts = generator.generate_all(prompts, options);
      for (std::size_t i = 0; i < texts.size(); ++i) {
        options.adapter = options.adapters[i];
        expect(texts[i], chosen[i], options);
      }
      return;
    }
    const std::size_t chosen = below(prompts_.size());
    options.drafts.tokens = std::array<std::int64_t, 4>{0, 2, 5, 14}[below(4)];
    options.drafts.longest = 1 + static_cast<std::int64_t>(below(3));
    options.adapter = any_adapter();
    generator.set_draft_model(below(2) == 0 ? model_.get() : nullptr);
    expect(generator.generate(prompts_[chosen], options), chosen, options);
  }

  std::int64_t accepted() const { return accepted_; }

 private:
  static std::filesystem::path model_path(const std::filesystem::path& folder) {
    const auto expected = nlohmann::json::parse(testing::read_file(folder / "expected.json"));
    return expected.contains("base") ? testing::models_root() / expected["base"].get<std::string>()
                                     : testing::model_path(folder);
  }
  void add_adapters(const std::filesystem::path& published) {
    Adapters& bank = model_->adapters({.adapters = 3, .ranks = 96});
    for (const char* name : {"r1", "dora-r8", "r64"}) {
      bank.add(name, published / concat("peft-", name, "-tiny-llama3.2"));
      adapters_.push_back(name);
    }
  }
  TextGenerator& generator_for(std::int64_t places) {
    auto& generator = generators_[{places, is_paged_}];
    if (!generator)
      generator = std::make_unique<TextGenerator>(*model_, load_tokenizer(path_),
                                                  Options{.batch_invariant = true},
                                                  is_paged_ ? pool_ : nullptr);
    return *generator;
  }
  void expect(const Generation& found, std::size_t prompt, const GenerateOptions& options) {
    const bool is_drawn = options.sampling.temperature > 0;
    auto& alone = alone_[{prompt, is_drawn, options.adapter, is_paged_}];
    if (!alone) {
      GenerateOptions plain{.max_new_tokens = options.max_new_tokens,
                            .sampling = options.sampling,
                            .adapter = options.adapter,
                            .logprobs = options.logprobs};
      alone = generator_for(0).generate(prompts_[prompt], plain);
    }
    EXPECT_EQ(found.ids, alone->ids) << "prompt " << prompt;
    EXPECT_EQ(found.logprobs, alone->logprobs)
        << "prompt " << prompt << " " << options.adapter << ", " << options.max_batch
        << " together, " << options.drafts.tokens << " guesses, " << found.reused_rows
        << " rows reused" << (is_paged_ ? ", in pages" : "");
    accepted_ += found.accepted_tokens;
  }

  std::filesystem::path path_;
  std::unique_ptr<LanguageModel> model_;
  std::vector<std::string> prompts_;
  std::shared_ptr<PagePool> pool_;
  bool is_paged_ = false;
  std::map<std::pair<std::int64_t, bool>, std::unique_ptr<TextGenerator>> generators_;
  std::vector<std::string> adapters_ = {""};  // "" for none
  std::map<std::tuple<std::size_t, bool, std::string, bool>, std::optional<Generation>> alone_;
  std::int64_t accepted_ = 0;
};

class SchedulesOf : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Models, SchedulesOf,
                         ::testing::Values("gguf-gemma2-spm-F16", "bnb-nf4-llama", "moe-qwen3moe",
                                           "gguf-qwen2-bpe-Q5_K", "peft-r8-tiny-llama3.2"),
                         [](const auto& info) { return testing::test_name_of(info.param); });

// 60 schedules in all; nightly 1,000 (TILEWRIGHT_TEST_TURNS is the number for each model).
TEST_P(SchedulesOf, AllGiveEachTextTheBitsThatItHasAlone) {
  TILEWRIGHT_ON_THE_HOST_ONLY("one order of sums");
  const std::string name = GetParam();
  const bool is_short = name.starts_with("gguf-gemma2");
  std::optional<DType> cache_dtype;
  if (name.starts_with("gguf-qwen2")) cache_dtype = DType::i8;
  Schedules schedules(testing::models_root() / "published" / name, is_short ? bf16 : f32,
                      cache_dtype);
  const std::optional<std::int64_t> only = env::seed();
  const std::int64_t count = env::test_turns().value_or(12);
  for (std::int64_t seed = only.value_or(1); seed <= only.value_or(count); ++seed) {
    SCOPED_TRACE(::testing::Message()
                 << "repeat: TILEWRIGHT_SEED=" << seed << " models_tests "
                 << "--gtest_filter=*SchedulesOf*" << testing::test_name_of(name));
    schedules.run(static_cast<std::uint64_t>(seed));
    if (HasFailure()) return;
  }
  if (only || count < 100) return;
  EXPECT_GT(schedules.accepted(), 0) << "no guess was right";
}

}  // namespace
}  // namespace tilewright::schedules_test
