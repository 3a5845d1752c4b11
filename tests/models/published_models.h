// Small models in published forms for tests: which there are, and a reader of greedy texts.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "graph/compile/compile.h"
#include "models/decoder/language_model.h"
#include "models/decoder/load_model.h"
#include "tests/models/folders.h"

namespace tilewright::testing {

using Ids = std::vector<std::int64_t>;

// The cases of expected.json: at least one.
inline std::vector<nlohmann::json> cases_of(const std::filesystem::path& folder) {
  const nlohmann::json expected = nlohmann::json::parse(read_file(folder / "expected.json"));
  std::vector<nlohmann::json> cases(expected.at("cases").begin(), expected.at("cases").end());
  require(!cases.empty(), "[test] ", folder.string(), " has no cases; one is needed");
  return cases;
}

// The path that `load_model` takes: the folder, or the GGUF file in it.
inline std::filesystem::path model_path(const std::filesystem::path& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".gguf") return entry.path();
  return folder;
}

// The folders below models/published whose names begin with one of these.
inline std::vector<std::filesystem::path> published(std::initializer_list<std::string_view> kinds) {
  std::vector<std::filesystem::path> found;
  std::error_code ignored;
  for (const auto& entry :
       std::filesystem::directory_iterator(models_root() / "published", ignored)) {
    const std::string name = entry.path().filename().string();
    const bool is_wanted =
        std::ranges::any_of(kinds, [&](std::string_view kind) { return name.starts_with(kind); });
    if (is_wanted && std::filesystem::exists(entry.path() / "expected.json"))
      found.push_back(entry.path());
  }
  std::ranges::sort(found);
  return found;
}
inline std::vector<std::filesystem::path> published_models() {
  return published({"awq-", "bnb-", "ct-", "fp8-", "gguf-", "gptq-", "moe-", "mxfp4-"});
}
inline std::vector<std::filesystem::path> published_adapters() { return published({"peft-"}); }

inline std::string test_name_of(const std::filesystem::path& folder) {
  std::string name = folder.filename().string();
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}

inline std::filesystem::path tokenizer_path(const std::filesystem::path& folder) {
  return model_path(folder);
}
inline std::unique_ptr<LanguageModel> load_published(const std::filesystem::path& folder) {
  return load_model(model_path(folder));
}

// A line that tools/published_models.py reads.
inline void report(const std::filesystem::path& folder, std::string_view what, double value) {
  std::printf("published: %s: %.*s: %.3g\n", folder.filename().string().c_str(),
              static_cast<int>(what.size()), what.data(), value);
}

// A prompt at once and then token by token.
class GreedyReader {
 public:
  GreedyReader(std::unique_ptr<LanguageModel> model, const Options& options)
      : model_(std::move(model)),
        state_(model_->new_state()),
        step_(compile([this](const Tensor& ids,
                             const Tensor& at) { return model_->decode_last(ids, at, *state_); },
                      options)) {}

  std::vector<float> read(const Ids& prompt) {
    ids_ = prompt;
    return run(0);
  }
  DecodingState& state() { return *state_; }
  std::vector<float> append(std::int64_t id) {
    ids_.push_back(id);
    return run(std::ssize(ids_) - 1);
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

struct Comparison {
  double distance = 0;  // of the logits after the prompt
  Ids ids;              // greedy
};
inline Comparison compare(GreedyReader& text, const nlohmann::json& example) {
  auto best = [](const std::vector<float>& logits) {
    return std::int64_t{std::ranges::max_element(logits) - logits.begin()};
  };
  Comparison result;
  const std::vector<float> logits = text.read(example["prompt_ids"].get<Ids>());
  const nlohmann::json& first = example.at("last_logits_of_prompt");
  require(!first.empty() && !example.at("ids").empty(), "[test] a case compares nothing");
  for (std::size_t i = 0; i < first.size(); ++i)
    result.distance = std::max(result.distance, std::abs(first[i].get<double>() - logits.at(i)));
  result.ids = {best(logits)};
  while (result.ids.size() < example["ids"].size())
    result.ids.push_back(best(text.append(result.ids.back())));
  return result;
}

// The reader gives the logits and the ids that stand beside the model, for all of its prompts.
inline void expect_cases(GreedyReader& text, const std::filesystem::path& folder) {
  double worst = 0;
  for (const nlohmann::json& example : cases_of(folder)) {
    const Comparison found = compare(text, example);
    EXPECT_LE(found.distance, 1e-4) << example["prompt"];
    EXPECT_EQ(found.ids, example["ids"].get<Ids>())
        << example["prompt"] << ", smallest lead " << example["smallest_lead"];
    worst = std::max(worst, found.distance);
  }
  report(folder, "distance of logits", worst);
}

}  // namespace tilewright::testing
