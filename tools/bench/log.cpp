#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/base/error.h"
#include "runtime/cuda/driver/error.h"
#include "tools/bench/section.h"
#include "tools/measure/measure.h"

namespace tilewright::tools {
namespace {

constexpr Section sections[] = {
    {"limits", "Copies, reads and fills of the device's memory", bench_limits},
    {"gemm", "Matrix products", bench_gemm},
    {"attention", "Attention, plain and causal", bench_attention},
    {"scores", "Attention with functions of its scores", bench_scores},
    {"experts", "The products of mixtures of experts", bench_experts},
    {"backward", "Gradients of single operations", bench_backward},
    {"convolutions", "Single convolutions of networks that see and hear", bench_convolutions},
    {"rows", "Row kernels (softmax, norms, gelu, cross entropy), 1k to 128k long",
     bench_device_rows},
    {"decode", "Products of one row and of a few, and attention of one row", bench_decode},
    {"prefill", "Linear layers of Llama 3.2 on 128 and 2048 rows", bench_prefill},
    {"models", "Whole decode steps and prompts of Llama, and GPT-2", bench_models},
    {"compile", "First calls of layers and models", bench_compile},
    {"sizes", "Prompts of many lengths through one function", bench_sizes},
    {"new_sizes", "Costs of sizes that were not seen before", bench_new_sizes},
    {"launch", "The host's cost of a launch", bench_launch},
    {"graphs", "The device's cost of a launch in a graph", bench_graphs},
    {"optim", "An AdamW step on the parameters of GPT-2", bench_optim},
    {"training", "Whole steps of training, from digits to GPT-2", bench_training},
    {"saving", "Steps of training that keep a share of the values for gradients", bench_saving},
    {"tune", "Block sizes chosen by the clock against those chosen by rule", bench_tune},
    {"database", "Look-ups and merges of tuning databases with a million rows", bench_database},
    {"profile", "The kernels of a decode step, one by one", bench_profile},
};

}  // namespace

std::span<const Section> bench_sections() { return sections; }

BenchLog::BenchLog(std::string section, BenchSettings settings)
    : section_(std::move(section)), settings_(std::move(settings)), start_(now_s()) {
  if (settings_.append.empty()) return;
  read_former();
  file_.open(settings_.append, std::ios::app);
  require(file_.is_open(), "[bench] cannot write ", settings_.append);
}

void BenchLog::read_former() {
  std::ifstream former(settings_.append);
  for (std::string line; std::getline(former, line);) {
    auto row = nlohmann::json::parse(line, nullptr, false);
    if (row.is_discarded() || row.value("section", "") != section_) continue;
    if (row.value("system", "") != "tilewright" || row.contains("skipped")) continue;
    (row.contains("begins") ? begun_ : done_).insert(row.value("case", ""));
  }
}

void BenchLog::write(const nlohmann::json& line) {
  if (file_.is_open())
    file_ << line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
}

void BenchLog::add(const std::string& name, nlohmann::json row) {
  row["section"] = section_;
  row["case"] = name;
  row["system"] = "tilewright";
  if (!row.contains("ok")) row["ok"] = true;
  all_ok_ = all_ok_ && row["ok"].get<bool>();
  write(row);
  if (!settings_.quiet) {
    fmt::print("{} | {} | {}", section_, name, row["ok"].get<bool>() ? "ok" : "WRONG");
    if (row.contains("seconds")) fmt::print(" | {:.2f} us", row["seconds"].get<double>() * 1e6);
    if (row.contains("rate"))
      fmt::print(" | {:.4g} {}", row["rate"].get<double>(), row["unit"].get<std::string>());
    if (row.contains("of_limit")) fmt::print(" | {:.2f} of limit", row["of_limit"].get<double>());
    if (row.contains("ratio"))
      fmt::print(" | {} {:.2f} us: {:.2f}x", row["peer"].get<std::string>(),
                 row["peer_seconds"].get<double>() * 1e6, row["ratio"].get<double>());
    if (row.contains("note")) fmt::print(" | {}", row["note"].get<std::string>());
    fmt::print("\n");
    std::fflush(stdout);
  }
  rows_.push_back(std::move(row));
}

void BenchLog::run(const std::string& name, const std::function<nlohmann::json()>& measure) {
  cases_.push_back(name);
  auto has = [&](const std::string& word) { return name.find(word) != std::string::npos; };
  if (!settings_.words.empty() && std::ranges::none_of(settings_.words, has)) return;
  ++wanted_;
  if (done_.contains(name)) return;
  if (begun_.contains(name))
    return add(name, {{"ok", false}, {"note", "an earlier process ended in this case"}});
  if (now_s() - start_ > settings_.budget_s)
    return add(name, {{"skipped", true}, {"note", "no time was left"}});
  write({{"section", section_}, {"case", name}, {"system", "tilewright"}, {"begins", true}});
  alarm(settings_.case_limit_s);  // a kernel that does not end is left with the process
  try {
    nlohmann::json row = measure();
    alarm(0);
    add(name, std::move(row));
  } catch (const cuda::ContextLost& error) {
    alarm(0);
    add(name, {{"ok", false}, {"note", error.what()}});
    throw;
  } catch (const std::exception& error) {
    alarm(0);
    add(name, {{"ok", false}, {"note", error.what()}});
  }
}

}  // namespace tilewright::tools
