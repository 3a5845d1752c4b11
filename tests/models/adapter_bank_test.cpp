// Adapters of a bank: each text of a batch has its own, with the bits that it gets alone, and no
// change of the bank or of a choice compiles anything.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <thread>

#include "dsl/launch/compile.h"
#include "graph/compile/compile.h"
#include "models/adapters/lora.h"
#include "models/decoder/decoder.h"
#include "models/generate/generate.h"
#include "models/weights/safetensors.h"
#include "tests/errors.h"
#include "tests/every_device.h"
#include "tests/models/letter_tokenizer.h"
#include "tests/models/published_models.h"
#include "tests/tensors.h"

namespace tilewright::adapter_bank_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::letters;

// Folders of PEFT with random updates for the model "tiny".
class Folders {
 public:
  // Updates of these layers of each block, with a vector of lengths each if `dora`.
  std::filesystem::path write(const std::string& name, std::int64_t rank, const Module& model,
                              const std::vector<std::string>& layers, bool dora = false) {
    const std::filesystem::path folder = scratch_.path() / name;
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "adapter_config.json")
        << R"({"peft_type": "LORA", "r": )" << rank << R"(, "lora_alpha": )" << 2 * rank << "}";
    std::map<std::string, Tensor> tensors;
    collect(model, layers, rank, dora, tensors);
    save_safetensors(folder / "adapter_model.safetensors", tensors);
    return folder;
  }
  std::filesystem::path path() const { return scratch_.path(); }

 private:
  Tensor drawn(const Shape& shape, float size) {
    std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
    for (float& value : values)
      value = size * (static_cast<float>(random_() % 2001) / 1000.0F - 1.0F);
    return Tensor::from(values, shape);
  }
  void collect(const Module& module, const std::vector<std::string>& layers, std::int64_t rank,
               bool dora, std::map<std::string, Tensor>& tensors) {
    const std::string last = module.path().substr(module.path().rfind('.') + 1);
    if (const auto* layer = dynamic_cast<const Linear*>(&module);
        layer != nullptr && std::ranges::find(layers, last) != layers.end()) {
      const std::string stem = "base_model.model." + module.path();
      tensors[stem + ".lora_A.weight"] = drawn({rank, layer->in()}, 0.5F);
      tensors[stem + ".lora_B.weight"] = drawn({layer->out(), rank}, 0.5F);
      if (dora) tensors[stem + ".lora_magnitude_vector"] = drawn({layer->out()}, 2.0F);
    }
    for (const Module* part : module.parts()) collect(*part, layers, rank, dora, tensors);
  }
  testing::ScratchFolder scratch_;
  std::mt19937_64 random_{7};
};

const std::vector<std::string> attention = {"q_proj", "v_proj"},
                               everywhere = {"q_proj",    "k_proj",  "v_proj",   "o_proj",
                                             "gate_proj", "up_proj", "down_proj"};

struct Fixture {
  explicit Fixture(const AdapterBankOptions& options = {.adapters = 8, .ranks = 300})
      : model(random_decoder(decoder_config("tiny"), 3)), bank(model->adapters(options)) {}
  void add(const std::string& name, std::int64_t rank, const std::vector<std::string>& layers,
           bool dora = false) {
    bank.add(name, folders.write(name, rank, *model, layers, dora));
  }
  Folders folders;
  std::unique_ptr<Decoder> model;
  Adapters& bank;
  Tokenizer tokenizer = Tokenizer::parse(letters(), "letters");
};

// One step of each text, at position 0 and 1, as a compiled function.
class Steps {
 public:
  Steps(const LanguageModel& model, std::int64_t texts)
      : state(model.new_state(texts)),
        step_(compile([&model, this](const Tensor& ids, const Tensor& at) {
          return model.decode_last(ids, at, *state);
        })) {}
  // The logits of each text after its two tokens.
  std::vector<std::vector<float>> run(const std::vector<std::int64_t>& first,
                                      const std::vector<std::int64_t>& second) {
    Tensor logits;
    for (std::int64_t at : {0, 1}) {
      const auto& ids = at == 0 ? first : second;
      const auto texts = std::ssize(ids);
      logits = step_(Tensor::from(ids, {texts, 1}),
                     Tensor::from(std::vector<std::int64_t>(ids.size(), at), {texts}));
    }
    const std::vector<float> all = logits.to_vector<float>();
    const std::size_t width = all.size() / first.size();
    std::vector<std::vector<float>> rows;
    for (std::size_t i = 0; i < first.size(); ++i)
      rows.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(i * width),
                        all.begin() + static_cast<std::ptrdiff_t>((i + 1) * width));
    return rows;
  }
  std::unique_ptr<DecodingState> state;

 private:
  Compiled step_;
};

class PublishedInBank : public ::testing::TestWithParam<std::filesystem::path> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PublishedInBank);
INSTANTIATE_TEST_SUITE_P(Adapters, PublishedInBank,
                         ::testing::ValuesIn(testing::published_adapters()), [](const auto& info) {
                           return testing::test_name_of(info.param) + "__bank";
                         });

TEST_P(PublishedInBank, GivesTheLogitsAndTheIdsOfPeft) {
  const auto expected = nlohmann::json::parse(testing::read_file(GetParam() / "expected.json"));
  auto model = load_model(testing::models_root() / expected.at("base").get<std::string>());
  Adapters& bank = model->adapters({.adapters = 1, .ranks = 258});
  const std::string problem = error_of([&] { bank.add("own", GetParam()); });
  const auto settings =
      nlohmann::json::parse(testing::read_file(GetParam() / "adapter_config.json"));
  if (settings.contains("modules_to_save") && !settings["modules_to_save"].is_null()) {
    EXPECT_THAT(problem, HasSubstr("load_adapter makes other changes for all texts"));
    return;
  }
  ASSERT_EQ(problem, "no error");
  testing::GreedyReader text(std::move(model), {.fullgraph = true});
  text.state().adapters()->choose(0, "own");
  testing::expect_cases(text, GetParam());
}

TEST(AdapterBank, GivesWhatAnAdapterBesideTheWeightsGives) {
  Fixture f;
  f.add("one", 1, attention);
  f.add("many", 37, everywhere);
  f.add("dora", 21, everywhere, true);
  Steps steps(*f.model, 4);
  const std::vector<std::string> names = {"one", "many", "", "dora"};
  for (std::size_t i = 0; i < names.size(); ++i)
    steps.state->adapters()->choose(static_cast<std::int64_t>(i), names[i]);
  const auto found = steps.run({5, 6, 7, 8}, {9, 10, 11, 12});
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (default_device().is_emulated() && names[i] != "dora") continue;
    auto other = random_decoder(decoder_config("tiny"), 3);
    if (!names[i].empty()) load_adapter(*other, f.folders.path() / names[i]);
    Steps alone(*other, 4);
    const auto wanted = alone.run({5, 6, 7, 8}, {9, 10, 11, 12})[i];
    for (std::size_t k = 0; k < wanted.size(); ++k)
      ASSERT_NEAR(found[i][k], wanted[k], 1e-4) << names[i] << ", logit " << k;
  }
}

TEST(AdapterBank, GivesATextTheSameBitsWhateverIsBesideIt) {
  Fixture f;
  f.add("one", 1, attention);
  f.add("many", 40, everywhere);
  f.add("dora", 5, everywhere, true);
  f.bank.stack("both", {{"one", 0.5}, {"many", 2.0}});
  const std::vector<std::string> names = {"", "one", "many", "dora", "both"};
  Steps steps(*f.model, 3);
  TextAdapters& texts = *steps.state->adapters();
  std::map<std::string, std::vector<float>> alone;  // in place 0, beside texts without adapters
  for (const std::string& name : names) {
    texts.choose(0, name);
    alone[name] = steps.run({5, 6, 7}, {8, 9, 10})[0];
  }
  EXPECT_NE(alone["one"], alone[""]);
  EXPECT_NE(alone["many"], alone["both"]);
  for (std::size_t i = 0; i < names.size(); ++i) {
    for (std::int64_t text = 0; text < 3; ++text)
      texts.choose(text, names[(i + static_cast<std::size_t>(text)) % names.size()]);
    EXPECT_EQ(steps.run({5, 9, 4}, {8, 3, 11})[0], alone[names[i]]) << names[i];
  }
  // A model without a bank: the same bits on the host. A GPU's products may be split otherwise.
  auto other = random_decoder(decoder_config("tiny"), 3);
  Steps without(*other, 3);
  const std::vector<float> plain = without.run({5, 6, 7}, {8, 9, 10})[0];
  if (!default_device().is_emulated()) {
    EXPECT_EQ(plain, alone[""]);
  }
  EXPECT_LT(relative_difference(plain, alone[""]), 1e-5);
}

TEST(AdapterBank, ChangesInTheMiddleOfAGenerationCompileNothing) {
  Fixture f;
  f.add("one", 1, attention);
  f.add("some", 18, everywhere);
  f.add("spare", 3, attention);
  Steps steps(*f.model, 3);
  TextAdapters& texts = *steps.state->adapters();
  auto run = [&] { return steps.run({5, 6, 7}, {8, 9, 10}); };
  std::map<std::string, std::vector<float>> wanted;
  for (const char* name : {"", "one", "some", "spare"}) {
    texts.choose(0, name);
    wanted[name] = run()[0];
  }
  std::mt19937_64 random(11);
  auto one_of = [&](const std::vector<std::string>& all) { return all[random() % all.size()]; };
  const auto before = dsl::compile_statistics();
  const int changes = default_device().is_emulated() ? 20 : 1000;
  for (int change = 0; change < changes; ++change) {
    std::vector<std::string> names = {"", "one", "some"};
    const bool has_spare = std::ranges::count(f.bank.names(), "spare") != 0;
    if (has_spare) names.emplace_back("spare");
    switch (random() % 5) {
      case 0:
        has_spare ? f.bank.remove("spare") : f.bank.add("spare", f.folders.path() / "spare");
        break;
      case 1: f.bank.swap(one_of(names), "one"); break;
      case 2:
        f.bank.stack("sum", {{"one", 1.0}, {"some", 0.5}});
        f.bank.remove("sum");
        break;
      case 3: f.bank.replace("some", f.folders.path() / "some"); break;
      default: texts.choose(static_cast<std::int64_t>(random() % 3), one_of(names));
    }
    if (change % 10 != 0) continue;
    const std::string name = one_of({"", "one", "some"});
    texts.choose(0, name);
    ASSERT_EQ(run()[0], wanted[name]) << "after change " << change << ", " << name;
  }
  const auto after = dsl::compile_statistics();
  EXPECT_EQ(after.compiled + after.loaded, before.compiled + before.loaded);
}

TEST(AdapterBank, TextsOfAGenerationHaveTheirAdapters) {
  Fixture f;
  f.add("one", 4, attention);
  f.add("many", 20, everywhere);
  TextGenerator generator(*f.model, f.tokenizer);
  const std::vector<std::string> prompts = {"HelloWorldHelloWorld", "HelloWorldHelloWorld", "abc",
                                            "HelloWorldHelloWorld"};
  const std::vector<std::string> names = {"one", "", "many", "many"};
  GenerateOptions options{.max_new_tokens = 6, .max_batch = 2};
  options.adapters = names;
  options.reuse_prefix = true;  // of the same words, but with another adapter
  const auto texts = generator.generate_all(prompts, options);
  EXPECT_NE(texts[0].ids, texts[1].ids);
  EXPECT_NE(texts[3].ids, texts[1].ids);
  options.adapters.clear();
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    options.adapter = names[i];
    EXPECT_EQ(generator.generate(prompts[i], options).ids, texts[i].ids) << i;
  }
  options.num_beams = 2;
  options.adapter = "many";
  const auto beams = generator.generate_all({"abc"}, options);
  options.adapter = "";
  EXPECT_NE(generator.generate_all({"abc"}, options)[0].score, beams[0].score);
}

TEST(AdapterBank, AnAdapterThatIsRemovedOrSwappedActsFromTheNextStepOn) {
  Fixture f;
  f.add("one", 20, everywhere);
  f.add("two", 7, everywhere);
  TextGenerator generator(*f.model, f.tokenizer);
  GenerateOptions options{.max_new_tokens = 8};
  options.adapter = "one";
  const Generation whole = generator.generate("abc", options);
  int tokens = 0;
  options.on_token = [&](const NewToken&) {
    if (++tokens == 3) f.bank.swap("one", "two");
    if (tokens == 5) f.bank.remove("two");
  };
  const Generation changed = generator.generate("abc", options);
  EXPECT_TRUE(std::ranges::equal(whole.new_ids().first(3), changed.new_ids().first(3)));
  EXPECT_NE(whole.ids, changed.ids);
  EXPECT_THAT(f.bank.names(), ElementsAre("one"));
}

TEST(AdapterBank, APromptThatWaitsFollowsWhatBecomesOfItsAdapter) {
  Fixture f;
  f.add("one", 20, everywhere);
  f.add("two", 7, everywhere);
  TextGenerator generator(*f.model, f.tokenizer);
  GenerateOptions options{.max_new_tokens = 4, .max_batch = 1};
  const auto texts = generator.generate_all({"abc", "abc"}, options);
  options.adapters = {"one", "two"};
  int tokens = 0;
  options.on_token = [&](const NewToken&) {
    if (++tokens == 2) f.bank.remove("two");
  };
  const auto changed = generator.generate_all({"abc", "abc"}, options);
  EXPECT_NE(changed[0].ids, texts[0].ids);
  EXPECT_EQ(changed[1].ids, texts[1].ids) << "without its adapter";
  EXPECT_THAT(error_of([&] {
                generator.generate_all({"a", "b"}, options);
              }),
              HasSubstr("there is no adapter \"two\""));
}

TEST(AdapterBank, ChangesWaitForStepsOfOtherThreads) {
  Fixture f;
  f.add("one", 4, attention);
  f.add("many", 20, everywhere);
  GenerateOptions options{.max_new_tokens = 10};
  options.adapter = "many";
  TextGenerator first(*f.model, f.tokenizer), second(*f.model, f.tokenizer);
  const Generation wanted = first.generate("abc", options);
  second.generate("abc", options);
  std::vector<std::vector<TokenId>> found(2);
  const int rounds = default_device().is_emulated() ? 1 : 20;
  auto generate = [&](TextGenerator& generator, std::size_t i) {
    for (int round = 0; round < rounds; ++round) {
      found[i] = generator.generate("abc", options).ids;
      if (found[i] != wanted.ids) return;
    }
  };
  std::thread a(generate, std::ref(first), 0), b(generate, std::ref(second), 1);
  for (int round = 0; round < rounds; ++round) {
    f.bank.add("other", f.folders.path() / "one");
    f.bank.remove("other");
  }
  a.join();
  b.join();
  EXPECT_EQ(found[0], wanted.ids);
  EXPECT_EQ(found[1], wanted.ids);
}

TEST(AdapterBank, TakesAsManyRanksAsThereAreAndGrows) {
  Fixture f({.adapters = 3, .ranks = 24, .layers = attention});
  f.add("a", 8, attention);
  f.add("b", 8, attention);
  EXPECT_EQ(f.bank.free_ranks(), 8);
  const auto wide = f.folders.write("wide", 16, *f.model, attention);
  EXPECT_THAT(error_of([&] { f.bank.add("wide", wide); }),
              HasSubstr("adapter \"wide\" needs 16 ranks in \""));
  EXPECT_THAT(f.bank.names(), ElementsAre("a", "b"));
  f.add("c", 8, attention);
  f.bank.remove("b");
  const auto fourth = f.folders.write("d", 8, *f.model, attention);
  f.bank.add("d", fourth);
  EXPECT_THAT(error_of([&] { f.bank.add("e", fourth); }),
              HasSubstr("[adapters] the bank is full: it has 3 adapters and stacks"));
  Steps steps(*f.model, 1);
  steps.state->adapters()->choose(0, "d");
  const auto before = steps.run({5}, {6});
  f.bank.grow(64);
  EXPECT_EQ(f.bank.free_ranks(), 40);
  EXPECT_EQ(steps.run({5}, {6}), before);
  f.bank.replace("c", wide);
  EXPECT_EQ(f.bank.free_ranks(), 32);
  EXPECT_GT(f.bank.bytes_held(), 0);
  EXPECT_THAT(error_of([&] { f.bank.grow(64); }),
              HasSubstr("to grow to 64 ranks; there are 64 already"));
}

TEST(AdapterBank, RefusesNamesThatAreNotThereOrNotNew) {
  Fixture f;
  f.add("one", 1, attention);
  f.bank.stack("sum", {{"one", 0.5}});
  const auto folder = f.folders.path() / "one";
  const std::pair<std::function<void()>, const char*> refused[] = {
      {[&] { f.bank.add("one", folder); }, "there is an adapter \"one\" already; remove it first"},
      {[&] { f.bank.add("", folder); }, "the name of an adapter is empty"},
      {[&] { f.bank.remove("two"); }, "there is no adapter \"two\"; there are: one, sum"},
      {[&] { f.bank.swap("one", "two"); }, "there is no adapter \"two\""},
      {[&] { f.bank.remove("one"); }, "\"one\" is a part of the stack \"sum\"; remove that first"},
      {[&] { f.bank.replace("one", folder); }, "\"one\" is a part of the stack \"sum\""},
      {[&] { f.bank.replace("sum", folder); }, "\"sum\" is a stack, which cannot be replaced"},
      {[&] {
         f.bank.stack("more", {{"sum", 1.0}});
       },
       "cannot be the part of another"},
      {[&] { f.bank.stack("more", {}); }, "\"more\" has no parts"},
      {[&] { f.model->new_state()->adapters()->choose(1, "one"); }, "text 1 of 1"}};
  for (const auto& [call, message] : refused) EXPECT_THAT(error_of(call), HasSubstr(message));
  TextGenerator generator(*f.model, f.tokenizer);
  GenerateOptions options{.max_new_tokens = 1};
  options.adapter = "two";
  EXPECT_THAT(error_of([&] { generator.generate("abc", options); }),
              HasSubstr("there is no adapter \"two\""));
  options.adapters = {"one"};
  EXPECT_THAT(error_of([&] { generator.generate("abc", options); }),
              HasSubstr("adapters are given for 1 prompts; generate has one"));
  options.adapter = "";
  EXPECT_THAT(error_of([&] {
                generator.generate_all({"abc", "d"}, options);
              }),
              HasSubstr("1 adapters are given for 2 prompts; as many are needed"));
  auto plain = random_decoder(decoder_config("tiny"), 3);
  TextGenerator without(*plain, f.tokenizer);
  EXPECT_THAT(error_of([&] { without.generate_all({"abc"}, options); }),
              HasSubstr("is asked for of a model without a bank of adapters"));
}

TEST(AdapterBank, RefusesFoldersThatDoNotFit) {
  Fixture f({.adapters = 8, .ranks = 2000, .layers = attention});
  EXPECT_THAT(error_of([&] { f.add("other layers", 2, everywhere); }),
              HasSubstr("is none of the bank's layers"));
  EXPECT_THAT(error_of([&] { f.add("too wide", 1100, attention); }),
              HasSubstr("has rank 1100 in \""));
  auto other = random_decoder(decoder_config("gpt2_tiny"), 3);
  EXPECT_THAT(error_of([&] { f.bank.add("gpt2", f.folders.write("gpt2", 2, *other, {"c_attn"})); }),
              HasSubstr("the model has no linear layer of that name"));
  EXPECT_THAT(error_of([&] { f.bank.add("none", f.folders.path() / "none"); }),
              HasSubstr("[load_adapter]"));
  const auto whole = f.folders.write("whole", 1, *f.model, attention);
  save_safetensors(whole / "adapter_model.safetensors",
                   {{"base_model.model.model.norm.weight", Tensor::from<float>({1}, {1})}});
  EXPECT_THAT(error_of([&] { f.bank.add("whole", whole); }),
              HasSubstr("load_adapter makes other changes for all texts"));
  EXPECT_THAT(f.bank.names(), ElementsAre());
  for (std::int64_t i = 0; i < 3; ++i) f.add(concat("wide", i), 400, attention);
  EXPECT_THAT(error_of([&] {
                f.bank.stack("all", {{"wide0", 1.0}, {"wide1", 1.0}, {"wide2", 1.0}});
              }),
              HasSubstr("the stack \"all\" has 75 blocks of 16 ranks"));
  auto model = random_decoder(decoder_config("tiny"), 3);
  EXPECT_THAT(error_of([&] { model->adapters({.adapters = 0}); }), HasSubstr("a bank for 0"));
  EXPECT_THAT(error_of([&] { model->adapters({.layers = {"c_attn"}}); }),
              HasSubstr("the model has no linear layer named c_attn"));
  EXPECT_THAT(error_of([&] { Adapters second(*f.model, {.layers = attention}); }),
              HasSubstr("belongs to a bank already; a model has one"));
}

}  // namespace
}  // namespace tilewright::adapter_bank_test
