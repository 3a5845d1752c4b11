#include "tools/training/long_run.h"

#include <chrono>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "graph/compile/compile.h"
#include "models/training/training_step.h"
#include "models/weights/safetensors.h"
#include "tools/training/character_gpt.h"

namespace tilewright::tools {
namespace {

constexpr std::int64_t steps_of_a_call = 50;

// The numbers of a text's characters in the vocabulary.
std::vector<std::uint8_t> ids_of(const std::filesystem::path& file, const std::string& vocabulary) {
  std::ifstream in(file, std::ios::binary);
  require(in.good(), "[long_run] there is no text ", file.string());
  std::vector<std::uint8_t> ids;
  for (auto c = std::istreambuf_iterator<char>(in); c != std::istreambuf_iterator<char>(); ++c) {
    const std::size_t at = vocabulary.find(*c);
    require(at != std::string::npos, "[long_run] the text has a character that the vocabulary of ",
            vocabulary.size(), " has not");
    ids.push_back(static_cast<std::uint8_t>(at));
  }
  return ids;
}

// [calls, steps of a call, batch, length + 1]: windows of the text.
Tensor windows_at(const Tensor& offsets, const std::vector<std::uint8_t>& ids) {
  constexpr std::int64_t length = CharacterGpt::length + 1;
  std::vector<std::int64_t> all;
  for (std::int64_t offset : offsets.to(i64).to_vector<std::int64_t>()) {
    require(offset >= 0 && offset + length <= std::ssize(ids), "[long_run] a window begins at ",
            offset, " of ", ids.size(), " characters");
    all.insert(all.end(), ids.begin() + offset, ids.begin() + offset + length);
  }
  return Tensor::from(
      all, {offsets.size(0) / steps_of_a_call, steps_of_a_call, offsets.size(1), length});
}

double validated(const CharacterGpt& model, const Tensor& windows) {
  auto loss_of =
      compile([&](const Tensor& x, const Tensor& y) { return cross_entropy(model.forward(x), y); });
  double total = 0;
  for (std::int64_t k = 0; k < windows.size(0); ++k) {
    const Tensor window = windows.select(0, k).to(i64);
    total += loss_of(window.slice(1, 0, CharacterGpt::length).contiguous(),
                     window.slice(1, 1, CharacterGpt::length + 1).contiguous().reshape({-1}))
                 .item<float>();
  }
  return total / static_cast<double>(windows.size(0));
}

double peer_of(const std::filesystem::path& folder, std::int64_t steps) {
  std::ifstream in(folder / "figures.json");
  require(in.good(), "[long_run] there is no ", (folder / "figures.json").string());
  return nlohmann::json::parse(in)["validation"]["f32_long"][std::to_string(steps)].get<double>();
}

}  // namespace

LongRun trained_long(const std::filesystem::path& folder, const std::filesystem::path& text) {
  const Safetensors batches = Safetensors::open(folder / "batches.safetensors");
  const Tensor offsets = batches.tensor("train_offsets");
  LongRun run{.steps = static_cast<int>(offsets.size(0)), .peer = peer_of(folder, offsets.size(0))};
  CharacterGpt model;
  model.load(Weights::of(Safetensors::open(folder / "initial.safetensors")));
  const auto optimizer = character_optimizer(model);
  LrScheduler scheduler(*optimizer, schedules::lambda(character_rate));
  auto loss_of = [&](const Tensor& x, const Tensor& y) {
    return cross_entropy(model.forward(x), y.reshape({-1}));
  };
  const auto step = training_step(model, loss_of, *optimizer,
                                  {.clip = DynamicScalar(1.0), .scheduler = &scheduler});
  auto train = compile([&](const Tensor& x, const Tensor& y) { return step.repeat(x, y); },
                       {.fullgraph = true});
  const Tensor windows = windows_at(offsets, ids_of(text, batches.metadata().at("characters")));
  const auto begin = std::chrono::steady_clock::now();
  for (std::int64_t k = 0; k < windows.size(0); ++k) {
    const Tensor some = windows.select(0, k);
    const Tensor losses = train(some.slice(2, 0, CharacterGpt::length).contiguous(),
                                some.slice(2, 1, CharacterGpt::length + 1).contiguous());
    run.last_loss = losses.select(0, steps_of_a_call - 1).item<float>();
  }
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  run.validation = validated(model, batches.tensor("validation"));
  return run;
}

}  // namespace tilewright::tools
