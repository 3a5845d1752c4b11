// The section compile: what a first call costs, of one layer and of a whole model. Each sample is
// another number of rows, so that nothing of it was compiled before.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "tools/bench/beside.h"
#include "tools/bench/device_clock.h"
#include "tools/bench/peer.h"
#include "tools/bench/sections/models.h"
#include "tools/measure/measure.h"

namespace tilewright::tools {
namespace {

struct CompileCase {
  std::string name;
  std::vector<std::int64_t> rows;  // a sample each
  std::function<std::unique_ptr<LanguageModel>(std::int64_t rows)> make;
  std::function<nlohmann::json(std::int64_t rows)> question;
};

double first_call_s(LanguageModel& model, std::int64_t rows, const BenchSettings& settings) {
  Device device = device_of_tensors(settings);
  Tensor ids = Tensor::from(std::vector<std::int64_t>(static_cast<std::size_t>(rows), 1), {1, rows})
                   .to(device);
  Tensor at = position_of(0, device);
  auto state = model.new_state();
  Compiled step =
      compile([&](const Tensor& i, const Tensor& p) { return model.decode_last(i, p, *state); },
              {.mode = settings.mode, .fullgraph = true, .device = settings.device});
  double start = now_s();
  step(ids, at);
  settings.device.synchronize();
  return now_s() - start;
}

// The question of a step, without its time: the peers' first calls alone.
void ask_peers(const nlohmann::json& open, const BenchSettings& settings,
               std::map<std::string, std::vector<double>>& seconds) {
  for (const auto& peer : settings.peers) {
    nlohmann::json question = open;
    question["do"] = "open";
    question["threads"] = thread_count();
    nlohmann::json answer = peer->ask(question);
    for (const auto& [system, facts] : answer["systems"].items())
      seconds[system].push_back(facts["first_call_s"].get<double>());
    peer->ask({{"do", "close"}});
  }
}

nlohmann::json measure(const CompileCase& c, const BenchSettings& settings) {
  std::vector<double> ours;
  std::map<std::string, std::vector<double>> peers;
  for (std::int64_t rows : c.rows) {
    auto model = c.make(rows);
    ours.push_back(first_call_s(*model, rows, settings));
    if (is_host(settings)) ask_peers(c.question(rows), settings, peers);
  }
  Timing time = timing_of(ours);
  nlohmann::json row = {{"seconds", time.median}, {"least", time.least},       {"p90", time.p90},
                        {"samples", ours.size()}, {"rate", time.median * 1e3}, {"unit", "ms"}};
  for (const auto& [system, samples] : peers) {
    Timing theirs = timing_of(samples);
    row["peers"][system] = {
        {"seconds", theirs.median}, {"least", theirs.least}, {"p90", theirs.p90}};
  }
  // Beside the best of them, whether it compiles or not.
  for (const auto& [system, samples] : peers) {
    double seconds = row["peers"][system]["seconds"];
    if (row.contains("peer") && row["peer_seconds"].get<double>() <= seconds) continue;
    row["peer"] = system;
    row["peer_seconds"] = seconds;
    row["ratio"] = seconds / time.median;
  }
  return row;
}

// Few words and so a small head: the layers are what is compiled.
template <typename Config>
Config with_layers(Config config, std::int64_t layers) {
  config.layers = layers;
  config.vocabulary = std::min<std::int64_t>(config.vocabulary, 4096);
  config.bos = -1;
  config.eos = {};
  return config;
}

CompileCase gpt2_case(const DecoderConfig& c, std::vector<std::int64_t> rows,
                      const BenchSettings& settings) {
  DType dtype = is_host(settings) ? f32 : bf16;
  return {fmt::format("gpt2, {} layer{}", c.layers, c.layers == 1 ? "" : "s"), std::move(rows),
          [=](std::int64_t n) {
            auto model =
                std::make_unique<Decoder>(c, ModelOptions{.max_positions = n, .dtype = dtype});
            fill_parameters(*model, dtype, settings);
            return model;
          },
          [=](std::int64_t n) { return gpt2_question(c, 1, n); }};
}

CompileCase llama_case(const DecoderConfig& c, std::vector<std::int64_t> rows,
                       const BenchSettings& settings) {
  return {
      fmt::format("llama3_2_1b, {} layer{}", c.layers, c.layers == 1 ? "" : "s"), std::move(rows),
      [=](std::int64_t n) {
        auto model = std::make_unique<Decoder>(c, ModelOptions{.max_positions = n, .dtype = bf16});
        fill_parameters(*model, bf16, settings);
        return model;
      },
      [=](std::int64_t n) {
        return llama_question(c, n, {0, n, {}});
      }};
}

}  // namespace

void bench_compile(BenchLog& log) {
  const BenchSettings& settings = log.settings();
  ::setenv("TILEWRIGHT_CACHE_DIR", "off", 1);  // code of earlier processes would not be compiled
  std::vector<CompileCase> cases;
  if (settings.tiny) {
    cases.push_back(gpt2_case(with_layers(decoder_config("gpt2_tiny"), 1), {8}, settings));
    cases.push_back(llama_case(with_layers(decoder_config("tiny"), 1), {8}, settings));
  } else {
    cases.push_back(gpt2_case(with_layers(decoder_config("gpt2"), 1), {96, 128, 160}, settings));
    cases.push_back(gpt2_case(with_layers(decoder_config("gpt2"), 12), {112}, settings));
    cases.push_back(
        llama_case(with_layers(decoder_config("llama3_2_1b"), 1), {96, 128, 160}, settings));
  }
  for (const CompileCase& c : cases) log.run(c.name, [&] { return measure(c, settings); });
}

}  // namespace tilewright::tools
