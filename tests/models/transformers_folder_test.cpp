// Folders as transformers writes them, against what it says to prompts (expected.json): those of
// TILEWRIGHT_TEST_MODELS, else of tests/data. To make more of them:
// tools/peers/transformers_folders.py.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "graph/compile/compile.h"
#include "models/decoder/language_model.h"
#include "models/decoder/load_model.h"
#include "tests/models/folders.h"

namespace tilewright::transformers_folder_test {
namespace {

using nlohmann::json;
using Ids = std::vector<std::int64_t>;

struct Way {
  const char* name;
  Options options;
};
const Way ways[] = {
    {"eager", {.backend = Backend::eager}},
    {"aot_eager", {.backend = Backend::aot_eager}},
    {"default", {.fullgraph = true}},
    {"reduce_overhead", {.mode = Mode::reduce_overhead}},
    {"max_autotune", {.mode = Mode::max_autotune, .tune_seconds = 1}},
};

// Folders with what transformers said.
std::vector<std::filesystem::path> folders() {
  std::vector<std::filesystem::path> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(testing::models_root(), ignored)) {
    auto path = entry.path() / "expected.json";
    if (!std::filesystem::exists(path, ignored)) continue;
    json expected = json::parse(testing::read_file(path));
    if (expected.value("made_by", "").starts_with("transformers")) found.push_back(entry.path());
  }
  std::ranges::sort(found);
  return found;
}

std::string name_of(const std::filesystem::path& folder) {
  std::string name = folder.filename().string();
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}

using Case = std::tuple<std::filesystem::path, Way>;
class TransformersFolder : public ::testing::TestWithParam<Case> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TransformersFolder);
INSTANTIATE_TEST_SUITE_P(Models, TransformersFolder,
                         ::testing::Combine(::testing::ValuesIn(folders()),
                                            ::testing::ValuesIn(ways)),
                         [](const auto& info) {
                           return name_of(std::get<0>(info.param)) + "_" +
                                  std::get<1>(info.param).name;
                         });

std::int64_t best_of(const std::vector<float>& logits) {
  return std::max_element(logits.begin(), logits.end()) - logits.begin();
}

// The prompt at once and then token by token.
class GreedyText {
 public:
  GreedyText(const std::filesystem::path& folder, const Options& options)
      : model_(load_model(folder)),
        state_(model_->new_state()),
        step_(compile([this](const Tensor& ids,
                             const Tensor& at) { return model_->decode_last(ids, at, *state_); },
                      options)) {}

  std::vector<float> read(const Ids& prompt) {
    ids_ = prompt;
    return run(0);
  }
  std::vector<float> append(std::int64_t id) {
    std::int64_t rows = std::ssize(ids_);
    ids_.push_back(id);
    return run(rows == model_->reread_beyond() ? 0 : rows);
  }

 private:
  std::vector<float> run(std::int64_t begin) {
    Ids rows(ids_.begin() + begin, ids_.end());
    return step_(Tensor::from(rows, {1, std::ssize(rows)}),
                 Tensor::from<std::int64_t>({begin}, {1}))
        .to_vector<float>();
  }

  std::unique_ptr<LanguageModel> model_;
  std::unique_ptr<DecodingState> state_;
  Compiled step_;
  Ids ids_;
};

TEST_P(TransformersFolder, GivesTheLogitsAndTheIdsOfTransformers) {
  const auto& [folder, way] = GetParam();
  GreedyText text(folder, way.options);
  json expected = json::parse(testing::read_file(folder / "expected.json"));
  for (const json& example : expected["cases"]) {
    std::vector<float> logits = text.read(example["prompt_ids"].get<Ids>());
    const json& first = example["last_logits_of_prompt"];
    double worst = 0;
    for (std::size_t i = 0; i < first.size(); ++i)
      worst = std::max(worst, std::abs(first[i].get<double>() - logits.at(i)));
    EXPECT_LE(worst, 1e-4) << example["prompt_ids"];
    Ids wanted = example["ids"].get<Ids>(), chosen = {best_of(logits)};
    while (chosen.size() < wanted.size()) chosen.push_back(best_of(text.append(chosen.back())));
    EXPECT_EQ(chosen, wanted) << example["prompt_ids"] << ", smallest lead "
                              << example["smallest_lead"];
  }
}

TEST(TransformersFolders, AreThere) {
  EXPECT_FALSE(folders().empty()) << "no folder of transformers in " << testing::models_root();
}

}  // namespace
}  // namespace tilewright::transformers_folder_test
