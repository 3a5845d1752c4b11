// `tilewright bench clients`: a server whose threads each have a conversation over one model,
// measured by the threads that a launch may take.
//
// The time of the processors says what a server that is busy can do, also on a machine that other
// programs use at the same time; the rate on the clock depends on these.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <filesystem>
#include <thread>

#include "models/decoder/load_model.h"
#include "models/generate/generate.h"
#include "runtime/cpu/parallel.h"
#include "tools/bench/device_clock.h"
#include "tools/console/command.h"
#include "tools/console/table.h"
#include "tools/measure/measure.h"
#include "tools/programs/trained_model.h"

namespace tilewright::tools {
namespace {

struct BenchClientsArguments {
  int rounds = 3;
  double seconds = 0.5;  // of each measurement
  std::string model;     // folder; "": the one that comes with the command
  bool json = false;
  RunOptions run;
};

constexpr std::array client_counts = {1, 2, 4, 8};

double processor_s() {
  std::timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

struct Rate {
  double tokens_per_s, processor_s_a_token;
};

// Generators of one model, each of which a thread of its own asks for texts.
class Clients {
 public:
  Clients(const LanguageModel& model, const Tokenizer& tokenizer, const Options& options,
          int count) {
    for (int i = 0; i < count; ++i) {
      generators_.push_back(std::make_unique<TextGenerator>(model, tokenizer, options));
      generators_.back()->generate(prompt, {.max_new_tokens = tokens});
    }
  }

  Rate measure(double seconds) {
    std::atomic<std::int64_t> written = 0;
    const double begin = now_s(), processor_begin = processor_s();
    std::vector<std::thread> threads;
    for (auto& generator : generators_)
      threads.emplace_back([&, begin] {
        while (now_s() < begin + seconds)
          written += generator->generate(prompt, {.max_new_tokens = tokens}).decode_steps;
      });
    for (std::thread& thread : threads) thread.join();
    const auto all = static_cast<double>(written.load());
    return {all / (now_s() - begin), (processor_s() - processor_begin) / all};
  }

 private:
  static constexpr const char* prompt = "Once upon a time";
  static constexpr std::int64_t tokens = 200;
  std::vector<std::unique_ptr<TextGenerator>> generators_;
};

void bench_clients(const BenchClientsArguments& a) {
  Options options = a.run.compile_options();
  const std::filesystem::path folder =
      a.model.empty() ? trained_model("bench clients") : std::filesystem::path(a.model);
  const auto model = load_model(folder);
  const Tokenizer tokenizer = Tokenizer::open(folder / "tokenizer.json");
  nlohmann::json report = {{"bench", "clients"},
                           {"command", "tilewright bench clients --json"},
                           {"device", cpu_model()},
                           {"date", date_today()},
                           {"mode", name_of(options.mode)},
                           {"model", folder.filename().string()},
                           {"rows", nlohmann::json::array()}};
  Table table({"clients", "threads a launch", "tokens/s", "processor time a token"});
  for (int count : client_counts) {
    std::array threads = {thread_count(), 1};
    std::array<std::optional<Clients>, 2> ways;
    std::array<std::vector<double>, 2> rates, times;
    for (std::size_t way = 0; way < ways.size(); ++way) {
      options.threads = threads[way];
      ways[way].emplace(*model, tokenizer, options, count);
    }
    for (int round = 0; round < a.rounds; ++round)
      for (std::size_t way = 0; way < ways.size(); ++way) {
        const Rate rate = ways[way]->measure(a.seconds);
        rates[way].push_back(rate.tokens_per_s);
        times[way].push_back(rate.processor_s_a_token);
      }
    for (std::size_t way = 0; way < ways.size(); ++way) {
      const double rate = timing_of(rates[way]).median, time = timing_of(times[way]).median;
      report["rows"].push_back({{"clients", count},
                                {"threads", threads[way]},
                                {"tokens_per_s", rate},
                                {"processor_s_a_token", time}});
      table.add({std::to_string(count), std::to_string(threads[way]), fmt::format("{:.0f}", rate),
                 duration_text(time)});
    }
  }
  fmt::print("{}\n", a.json ? report.dump(2) : table.text());
}

}  // namespace

void add_bench_clients(CLI::App& command) {
  auto a = std::make_shared<BenchClientsArguments>();
  command.add_option("--rounds", a->rounds, "in turns; medians are shown")
      ->check(above_zero())
      ->capture_default_str();
  command.add_option("--seconds", a->seconds, "that each measurement takes")
      ->check(above_zero())
      ->capture_default_str();
  command.add_option("--model", a->model,
                     "folder of a model; not given: the one that comes with the command");
  command.add_flag("--json", a->json, "print JSON");
  a->run.add_to(command);
  command.callback([a] { bench_clients(*a); });
}

}  // namespace tilewright::tools
