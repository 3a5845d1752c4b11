// Compares optimizers, clipping and schedules with PyTorch's numbers in folders, and prints a
// table.
//
//   training_cases OPTIMIZERS [SCHEDULES]
//
// OPTIMIZERS is a folder of tools/optimizer_cases.py; SCHEDULES one with a schedules.json of
// tools/schedule_cases.py, the same if it is not given. The exit status is 1 if a row is wrong.
#include <fmt/format.h>

#include <exception>
#include <filesystem>

#include "tools/training/clip_cases.h"
#include "tools/training/optimizer_paths.h"
#include "tools/training/schedule_rates.h"

namespace tilewright::tools {
namespace {

namespace fs = std::filesystem;

int print_paths(const PathReference& reference) {
  int wrong = 0;
  fmt::print("{:28} {:>5} {:>5} {:>9} {:>9} {:>9} {:>9} {:>9} {:>5}\n", "path", "", "steps",
             "distance", "losses", "resumed", "allowed", "state 37", "plans");
  for (const std::string& name : reference.names())
    for (const DType dtype : {f64, f32}) {
      const PathComparison c = compared_path(reference, name, dtype);
      if (!c.is_supported) {
        fmt::print("{:28} not supported\n", name);
        break;
      }
      wrong += !c.is_right();
      fmt::print("{:28} {:>5} {:5} {:9.1e} {:9.1e} {:9.1e} {:9.1e} {:9.1e} {:5}{}\n", name,
                 dtype == f64 ? "f64" : "f32", c.steps, c.parameters, c.losses, c.resumed,
                 c.allowed, c.state, c.plans, c.is_right() ? "" : "  WRONG");
    }
  return wrong;
}

int print_clipping(const fs::path& folder) {
  int wrong = 0;
  fmt::print("\n{:28} {:>9}\n", "clipping", "distance");
  for (const auto& entry : read_json(folder / "clip.json")) {
    const double distance = compared_clipping(entry);
    const bool is_right = distance <= 1e-12;
    wrong += !is_right;
    const auto& order = entry.at("order");
    fmt::print("{:28} {:9.1e}{}\n",
               entry.at("name").get<std::string>() + " " + entry.at("kind").get<std::string>() +
                   (order.is_null() ? "" : " " + order.dump()),
               distance, is_right ? "" : "  WRONG");
  }
  return wrong;
}

int print_schedules(const fs::path& folder) {
  int wrong = 0;
  fmt::print("\n{:28} {:>9} {:>9} {:>5}\n", "schedule", "rates", "momentum", "plans");
  const auto all = read_json(folder / "schedules.json");
  for (const auto& [name, entry] : all.items()) {
    const RateComparison c = compared_rates(entry);
    wrong += !c.is_right();
    fmt::print("{:28} {:9.1e} {:9.1e} {:5}{}\n", name, c.rates, c.momentum, c.plans,
               c.is_right() ? "" : "  WRONG");
  }
  return wrong;
}

int run(int count, char** words) {
  if (count < 2 || count > 3) {
    fmt::print(stderr, "usage: training_cases OPTIMIZERS [SCHEDULES]\n");
    return 2;
  }
  const fs::path optimizers = words[1], schedules = words[count - 1];
  int wrong = print_paths(PathReference(optimizers));
  wrong += print_clipping(optimizers);
  wrong += print_schedules(schedules);
  fmt::print("\n{} wrong\n", wrong);
  return wrong > 0 ? 1 : 0;
}

}  // namespace
}  // namespace tilewright::tools

int main(int count, char** words) {
  try {
    return tilewright::tools::run(count, words);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
