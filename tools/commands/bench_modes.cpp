// `tilewright bench modes`: whether what max-autotune chooses holds where it runs. Whole steps of
// several models in reduce-overhead and in max-autotune, timed in turns in processes of their own:
// the first of them searches, the others find what it stored, as a user's do.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "models/decoder/load_model.h"
#include "models/generate/generate.h"
#include "runtime/base/error.h"
#include "runtime/cpu/parallel.h"
#include "tools/bench/sections/models.h"
#include "tools/console/command.h"
#include "tools/console/table.h"
#include "tools/measure/cold_process.h"
#include "tools/measure/measure.h"
#include "tools/programs/trained_model.h"
#include "tools/programs/tutorial_model.h"

namespace tilewright::tools {
namespace {

struct BenchModesArguments {
  int rounds = 15, processes = 5;
  std::vector<std::string> cases;
  std::string cold;  // the case to time in this process
  bool json = false, reversed = false;
  RunOptions run;
};

constexpr std::array modes = {Mode::reduce_overhead, Mode::max_autotune};

// The work that is timed in one mode, and how many tokens, or calls, that is.
struct TimedWork {
  std::function<void()> run;
  double work = 1;
};
using MakeTimedWork = std::function<TimedWork(Options)>;

MakeTimedWork tutorial_step() {
  auto model = std::make_shared<TutorialModel>(64);
  Tensor x = tutorial_input();
  return [=](Options options) {
    Compiled fast = compile(*model, options);
    return TimedWork{[=] { fast(x); }};
  };
}

// A text of 400 tokens by the trained model.
MakeTimedWork stories_step() {
  std::filesystem::path folder = trained_model("bench modes");
  std::shared_ptr<LanguageModel> model = load_model(folder);
  return [=](Options options) {
    auto generator = std::make_shared<TextGenerator>(
        *model, Tokenizer::open(folder / "tokenizer.json"), options);
    GenerateOptions wanted{.max_new_tokens = 400};
    return TimedWork{[=] { generator->generate("Once upon a time", wanted); }, 400};
  };
}

MakeTimedWork gpt2_step(BenchSettings settings) {
  DecoderConfig config = decoder_config("gpt2");
  auto model = std::make_shared<Decoder>(config, ModelOptions{.max_positions = 128});
  fill_parameters(*model, f32, settings);
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < 128; ++i) numbers.push_back(i * 7919 % config.vocabulary);
  Tensor ids = Tensor::from(numbers, {1, 128});
  return [=](Options options) {
    options.freezing = true;
    Compiled forward = compile(*model, options);
    return TimedWork{[=] { forward(ids); }, 128};
  };
}

MakeTimedWork llama_step(BenchSettings settings) {
  std::shared_ptr<Decoder> model = model_on_device("llama3_2_1b", {"", std::nullopt}, settings);
  Tensor ids = ids_of(1, model->config(), Device::cpu());
  Tensor at = position_of(step_sizes(settings).context, Device::cpu());
  return [=](Options options) {
    options.freezing = true;
    std::shared_ptr<DecodingState> state = model->new_state();
    Compiled step =
        compile([=](const Tensor& i, const Tensor& p) { return model->decode_last(i, p, *state); },
                options);
    return TimedWork{[=] { step(ids, at); }};
  };
}

struct Case {
  const char *name, *what;
  MakeTimedWork (*make)(BenchSettings settings);
};
constexpr Case cases[] = {
    {"stories260K", "400 tokens of the trained model, greedily",
     [](BenchSettings) { return stories_step(); }},
    {"tutorial", "64 equal layers", [](BenchSettings) { return tutorial_step(); }},
    {"gpt2", "all rows of 1x128, f32, random weights", gpt2_step},
    {"llama3_2_1b", "a decode step, context 1024, bf16, random weights", llama_step},
};

const Case& case_named(const std::string& name) {
  std::string known;
  for (const Case& one : cases) {
    if (name == one.name) return one;
    known += (known.empty() ? "" : ", ") + std::string(one.name);
  }
  throw Misuse(concat("[bench modes] \"", name, "\" is not a case; known are ", known));
}

// Both modes in this process, in turns.
void time_here(const BenchModesArguments& a) {
  BenchSettings settings{.device = Device::cpu()};
  Options options = a.run.compile_options();
  MakeTimedWork make = case_named(a.cold).make(settings);
  std::array<std::optional<TimedWork>, modes.size()> steps;
  for (std::size_t i = 0; i < modes.size(); ++i) {
    std::size_t mode = a.reversed ? modes.size() - 1 - i : i;
    options.mode = modes[mode];
    steps[mode] = make(options);
    steps[mode]->run();
  }
  std::vector<std::function<void()>> actions = {steps[0]->run, steps[1]->run};
  std::vector<double> seconds = interleaved_medians(actions, a.rounds);
  nlohmann::json result = {{"work", steps[0]->work}, {"threads", thread_count()}};
  for (std::size_t i = 0; i < modes.size(); ++i)
    result["seconds"][std::string(name_of(modes[i]))] = seconds[i];
  fmt::print("{}\n", result.dump());
}

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// The first process pays for the search and is not counted.
nlohmann::json time_case(const Case& one, const BenchModesArguments& a) {
  std::vector<std::string> command = {"bench",  "modes",    "--cold",
                                      one.name, "--rounds", std::to_string(a.rounds)};
  if (a.run.threads > 0) {
    command.emplace_back("--threads");
    command.push_back(std::to_string(a.run.threads));
  }
  std::vector<double> untuned, tuned, ratios;
  nlohmann::json row = {{"case", one.name}, {"what", one.what}};
  for (int i = 0; i <= a.processes; ++i) {
    std::vector<std::string> own = command;
    if (i % 2 == 1) own.emplace_back("--reversed");
    nlohmann::json run = run_cold(own, Kept::as_here);
    if (i == 0) continue;
    untuned.push_back(run["seconds"]["reduce-overhead"]);
    tuned.push_back(run["seconds"]["max-autotune"]);
    ratios.push_back(untuned.back() / tuned.back());
    row["threads"] = run["threads"];
    row["work"] = run["work"];
  }
  row["reduce_overhead_s"] = median_of(untuned);
  row["max_autotune_s"] = median_of(tuned);
  row["ratio"] = median_of(ratios);
  row["ratios"] = ratios;
  return row;
}

void bench_modes(const BenchModesArguments& a) {
  if (!a.cold.empty()) return time_here(a);
  require_use(a.processes >= 1, "[bench modes] --processes is ", a.processes, "; 1 at least");
  std::vector<std::string> names = a.cases;
  if (names.empty())
    for (const Case& one : cases) names.emplace_back(one.name);
  for (const std::string& name : names) case_named(name);
  nlohmann::json report = {{"bench", "modes"},
                           {"command", "tilewright bench modes --json"},
                           {"device", cpu_model()},
                           {"date", date_today()},
                           {"rounds", a.rounds},
                           {"processes", a.processes},
                           {"results", nlohmann::json::array()}};
  Table table({"model", "reduce-overhead", "max-autotune", "speed-up"});
  for (const std::string& name : names) {
    nlohmann::json row = time_case(case_named(name), a);
    table.add({name, duration_text(row["reduce_overhead_s"]), duration_text(row["max_autotune_s"]),
               ratio_text(row["ratio"])});
    report["results"].push_back(std::move(row));
  }
  if (a.json)
    fmt::print("{}\n", report.dump(2));
  else
    fmt::print("{}", table.text());
}

}  // namespace

void add_bench_modes(CLI::App& command) {
  auto a = std::make_shared<BenchModesArguments>();
  command.add_option("CASES", a->cases, "stories260K, tutorial, gpt2, llama3_2_1b; none: all");
  command.add_option("--rounds", a->rounds, "in turns within a process; medians are taken")
      ->capture_default_str();
  command.add_option("--processes", a->processes, "that are counted; medians are shown")
      ->capture_default_str();
  command.add_option("--cold", a->cold, "time one case in this process and print it as JSON");
  command.add_flag("--reversed", a->reversed, "of --cold: compile max-autotune first");
  command.add_flag("--json", a->json, "print JSON");
  a->run.add_to(command);
  command.callback([a] { bench_modes(*a); });
}

}  // namespace tilewright::tools
