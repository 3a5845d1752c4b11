// Trains small models and prints how far their losses are from PyTorch's.
//
//   training_runs FOLDER [STEPS] [DTYPES] [MODEL..]
//
// FOLDER has `digits` and `nanogpt` with weights, batches and losses; models are mlp, cnn and gpt.
// DTYPES are f32, f64, bf16 and f16 (within autocast; losses in f16 are scaled), or all.
#include <fmt/format.h>

#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "tools/training/model_runs.h"

int main(int count, char** words) {
  using namespace tilewright;
  std::vector<std::string> arguments(words + 1, words + count);
  if (arguments.empty()) {
    fmt::print(stderr, "usage: training_runs FOLDER [STEPS] [DTYPES] [MODEL..]\n");
    return 2;
  }
  try {
    const int steps = arguments.size() > 1 ? std::stoi(arguments[1]) : 300;
    std::vector<std::string> models = {"mlp", "cnn", "gpt"};
    std::string only;
    if (arguments.size() > 2 && arguments[2] != "all") only = arguments[2];
    if (arguments.size() > 3) models.assign(arguments.begin() + 3, arguments.end());
    const std::pair<std::string, tools::RunDtypes> all_dtypes[] = {
        {"f32", {}}, {"f64", {f64}}, {"bf16", {f32, bf16}}, {"f16", {f32, f16}}};
    int wrong = 0;
    fmt::print("{:6} {:>5} {:>5} {:>9} {:>9} {:>9} {:>9} {:>11} {:>7} {:>5}\n", "model", "",
               "steps", "losses", "peer", "allowed", "norms", "last loss", "ms/step", "plans");
    for (const std::string& model : models)
      for (const auto& [name, dtypes] : all_dtypes) {
        if (!only.empty() && only != name) continue;
        const auto run = tools::trained_beside_pytorch(arguments[0], model, dtypes, steps);
        wrong += !run.is_right();
        fmt::print("{:6} {:>5} {:5} {:9.1e} {:9.1e} {:9.1e} {:9.1e} {:11.8f} {:7.1f} {:5}{}\n",
                   run.name, name, run.steps, run.losses, run.peer, run.allowed, run.norms,
                   run.last_loss, run.seconds * 1e3, run.plans, run.is_right() ? "" : "  WRONG");
      }
    return wrong > 0 ? 1 : 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
