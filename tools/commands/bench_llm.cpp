// `tilewright bench llm`: what a language model takes to load, to read a prompt, and to write, by
// optimum-benchmark's definitions.
//
//   load      from the first byte to a model that is ready, without compiling
//   prefill   a prompt of so many tokens, up to the logits of its last
//   decode    the new tokens but the first, of all texts of a batch together
//   per token the time of each step, as percentiles
//
// Memory is that of tensors, by what they are for, and the process's own.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "graph/functions/quantized.h"
#include "models/adapters/bank/adapter_bank.h"
#include "models/decoder/cache/page_pool.h"
#include "models/decoder/load_model.h"
#include "models/generate/decoding_batch.h"
#include "models/generate/prompt_reader.h"
#include "models/generate/stopwatch.h"
#include "models/layers/random.h"
#include "models/weights/safetensors.h"
#include "runtime/buffer.h"
#include "runtime/cpu/parallel.h"
#include "runtime/cpu/system_memory.h"
#include "tools/console/command.h"
#include "tools/console/model_dtypes.h"
#include "tools/console/table.h"
#include "tools/measure/measure.h"

namespace tilewright::tools {
namespace {

struct BenchLlmArguments {
  std::string model, weights;
  ModelDTypes dtypes = {.parameters = "bf16", .cache = {}};
  std::vector<std::int64_t> prompts = {512}, batches = {1, 8};
  std::int64_t new_tokens = 32, adapter_rank = 0, cache_rows = 0;
  int rounds = 3;
  bool json = false;
  RunOptions run;
};

// A percentile of sorted numbers, by linear interpolation.
double percentile(const std::vector<double>& sorted, double percent) {
  const double at = percent / 100 * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(at), high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - std::floor(at)) * (sorted[high] - sorted[low]);
}

nlohmann::json as_json(std::vector<double> times) {
  std::ranges::sort(times);
  const double sum = std::accumulate(times.begin(), times.end(), 0.0);
  return {{"count", times.size()},        {"mean", sum / static_cast<double>(times.size())},
          {"p50", percentile(times, 50)}, {"p90", percentile(times, 90)},
          {"p95", percentile(times, 95)}, {"p99", percentile(times, 99)}};
}
double middle_of(std::vector<double> times) {
  std::ranges::sort(times);
  return percentile(times, 50);
}

std::int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

std::int64_t most(const std::vector<std::int64_t>& numbers) { return std::ranges::max(numbers); }

std::unique_ptr<LanguageModel> loaded(const BenchLlmArguments& a, const Options& options) {
  require_use(a.weights.empty() || a.weights == "int8" || a.weights == "int4",
              "[bench llm] --weights is ", a.weights, "; int8 and int4 can be chosen");
  ModelOptions wanted{.max_positions = most(a.prompts) + a.new_tokens,
                      .dtype = a.dtypes.of_parameters("bench llm"),
                      .cache_dtype = a.dtypes.of_cache("bench llm"),
                      .device = options.device};
  std::unique_ptr<LanguageModel> model;
  if (std::filesystem::exists(a.model))
    model = load_model(a.model, wanted);
  else
    model = random_model(a.model, 1, wanted);
  require_use(model != nullptr, "[bench llm] ", a.model,
              " is no folder, no GGUF file and no name of a model with random weights");
  if (a.weights == "int8") model->quantize({});
  if (a.weights == "int4")
    model->quantize({.format = WeightFormat::int4, .group_size = packed_block});
  return model;
}

std::vector<TokenId> prompt_ids(std::int64_t count, const LanguageModel& model) {
  std::vector<TokenId> ids;
  for (std::int64_t i = 0; i < count; ++i)
    ids.push_back(static_cast<TokenId>(i * 7919 % model.vocabulary()));
  return ids;
}

void add_updates(const Module& module, std::int64_t rank, std::map<std::string, Tensor>& tensors) {
  auto drawn = [&](const Shape& shape) {
    Tensor tensor = Tensor::empty(shape, f32);
    fill_normal(tensor, 0, 0.02, RandomStream(1, tensors.size()));
    return tensor;
  };
  if (const auto* layer = dynamic_cast<const Linear*>(&module)) {
    const std::string stem = "base_model.model." + module.path();
    tensors[stem + ".lora_A.weight"] = drawn({rank, layer->in()});
    tensors[stem + ".lora_B.weight"] = drawn({layer->out(), rank});
  }
  for (const Module* part : module.parts()) add_updates(*part, rank, tensors);
}

// The cost of adapters: prompts and steps of a model whose texts have one each of a bank, in turns
// with the same model without.
class AdapterCost {
 public:
  AdapterCost(const BenchLlmArguments& a, const Options& options) : a_(a), options_(options) {}

  nlohmann::json run() {
    model_ = loaded(a_, options_);
    Side plain = side();
    Adapters& bank = model_->adapters({.adapters = 1, .ranks = a_.adapter_rank});
    add_random(bank);
    Side adapted = side();
    nlohmann::json rows = nlohmann::json::array();
    for (const std::int64_t prompt : a_.prompts) {
      const auto ids = prompt_ids(prompt, *model_);
      std::vector<double> ratios;
      for (int round = -1; round < a_.rounds; ++round) {
        const double with = read(adapted, ids), without = read(plain, ids);
        if (round >= 0) ratios.push_back(with / without);
      }
      rows.push_back({{"prompt_tokens", prompt}, {"prefill_ratio", middle_of(ratios)}});
      for (std::size_t i = 0; i < a_.batches.size(); ++i) {
        std::vector<double> of_steps;
        for (std::int64_t at = 0; at < a_.new_tokens; ++at) {
          const double with = step(*adapted.batches[i], prompt + at);
          of_steps.push_back(with / step(*plain.batches[i], prompt + at));
        }
        rows.push_back(
            {{"batch", a_.batches[i]}, {"position", prompt}, {"step_ratio", middle_of(of_steps)}});
      }
    }
    return {{"adapter_rank", a_.adapter_rank}, {"rows", rows}};
  }

 private:
  struct Side {
    std::unique_ptr<PromptReader> reader;
    std::vector<std::unique_ptr<DecodingBatch>> batches;
  };

  Side side() const {
    Side made{std::make_unique<PromptReader>(*model_, model_->vocabulary(), options_), {}};
    if (model_->has_adapters()) made.reader->choose("random");
    for (const std::int64_t prompt : a_.prompts) made.reader->compile_for(prompt);
    made.reader->read(prompt_ids(1, *model_), false);
    for (const std::int64_t size : a_.batches) {
      made.batches.push_back(std::make_unique<DecodingBatch>(*model_, size, options_));
      made.batches.back()->warm_up();
      for (std::int64_t place = 0; place < size; ++place)
        made.batches.back()->put(place, made.reader->state(), 1);
    }
    return made;
  }
  void add_random(Adapters& bank) const {
    const std::filesystem::path folder =
        std::filesystem::temp_directory_path() / concat("tilewright-adapter-", ::getpid());
    std::filesystem::create_directories(folder);
    std::map<std::string, Tensor> tensors;
    add_updates(*model_, a_.adapter_rank, tensors);
    save_safetensors(folder / "adapter_model.safetensors", tensors);
    std::ofstream(folder / "adapter_config.json")
        << R"({"peft_type": "LORA", "r": )" << a_.adapter_rank << R"(, "lora_alpha": 16})";
    bank.add("random", folder);
    std::filesystem::remove_all(folder);
  }
  static double read(Side& side, const std::vector<TokenId>& ids) {
    Stopwatch watch;
    side.reader->read(ids, false);
    return watch.seconds();
  }
  double step(DecodingBatch& batch, std::int64_t position) const {
    for (std::int64_t place = 0; place < batch.size(); ++place)
      batch.set(place, static_cast<TokenId>((place + position) % model_->vocabulary()), position);
    Stopwatch watch;
    batch.run();
    batch.logits(0, 1);
    return watch.seconds();
  }
  const BenchLlmArguments& a_;
  const Options& options_;
  std::unique_ptr<LanguageModel> model_;
};

class LlmBench {
 public:
  LlmBench(const BenchLlmArguments& a, const Options& options)
      : a_(a), options_(options), before_(pool_statistics().live_bytes) {}

  nlohmann::json run() {
    Stopwatch loading;
    model_ = loaded(a_, options_);
    const double load_s = loading.seconds();
    note("load");
    if (a_.cache_rows > 0) pages_ = model_->new_pages(a_.cache_rows);
    PromptReader reader(*model_, model_->vocabulary(), options_, pages_);
    nlohmann::json rows = nlohmann::json::array();
    double compile_s = 0;
    for (const std::int64_t prompt : a_.prompts) {
      compile_s += reader.compile_for(prompt);
      std::vector<double> times;
      for (int round = 0; round < a_.rounds; ++round) times.push_back(read(reader, prompt));
      note("prefill");
      for (const std::int64_t size : a_.batches)
        rows.push_back(decoded(reader, prompt, size, middle_of(times), compile_s));
    }
    return {{"bench", "llm"},
            {"command", "tilewright bench llm --json"},
            {"model", std::filesystem::path(a_.model).filename().string()},
            {"device", options_.device.is_cuda() ? options_.device.text() : cpu_model()},
            {"date", date_today()},
            {"mode", name_of(options_.mode)},
            {"dtype", a_.dtypes.parameters},
            {"cache_dtype", a_.dtypes.cache.empty() ? a_.dtypes.parameters : a_.dtypes.cache},
            {"weights", a_.weights.empty() ? "as stored" : a_.weights},
            {"threads", thread_count()},
            {"rounds", a_.rounds},
            {"load_s", load_s},
            {"compile_s", compile_s},
            {"weight_bytes", weight_bytes_},
            {"cache", cache(reader.state())},
            {"memory", memory_},
            {"peak_memory_bytes", peak_memory_bytes()},
            {"rows", rows}};
  }

 private:
  double read(PromptReader& reader, std::int64_t prompt) const {
    const std::vector<TokenId> ids = prompt_ids(prompt, *model_);
    Stopwatch watch;
    reader.read(ids, false);
    return watch.seconds();
  }

  nlohmann::json cache(const DecodingState& text) const {
    if (pages_ == nullptr) return {{"bytes_a_text", text.size_bytes()}};
    return {{"rows", a_.cache_rows},
            {"bytes", pages_->pages() * pages_->bytes_of_page()},
            {"most_bytes_used", most_pages_ * pages_->bytes_of_page()}};
  }

  nlohmann::json decoded(PromptReader& reader, std::int64_t prompt, std::int64_t size,
                         double prefill_s, double& compile_s) {
    DecodingBatch batch(*model_, size, options_, pages_);
    compile_s += batch.warm_up();
    read(reader, prompt);
    std::vector<double> steps, rounds;
    for (int round = 0; round < a_.rounds; ++round) {
      for (std::int64_t place = 0; place < size; ++place) {
        if (pages_ != nullptr && place > 0) read(reader, prompt);  // into pages that none shares
        batch.put(place, reader.state(), prompt);
      }
      Stopwatch all;
      for (std::int64_t i = 1; i < a_.new_tokens; ++i) {
        for (std::int64_t place = 0; place < size; ++place)
          batch.set(place, static_cast<TokenId>((place + i) % model_->vocabulary()),
                    prompt + i - 1);
        Stopwatch step;
        batch.run();
        batch.logits(0, 1);
        steps.push_back(step.seconds());
      }
      rounds.push_back(all.seconds());
      if (pages_ != nullptr)
        most_pages_ = std::max(most_pages_, pages_->pages() - pages_->free_pages());
    }
    note("decode");
    const double decode_s = middle_of(rounds);
    return {{"prompt_tokens", prompt},
            {"batch", size},
            {"prefill_s", prefill_s},
            {"prefill_tokens_per_s", static_cast<double>(prompt) / prefill_s},
            {"decode_s", decode_s},
            {"decode_tokens_per_s", static_cast<double>(size * (a_.new_tokens - 1)) / decode_s},
            {"per_token_s", as_json(std::move(steps))}};
  }

  // The most that a phase has held.
  void note(const std::string& phase) {
    const std::int64_t tensors = pool_statistics().live_bytes - before_;
    if (phase == "load") weight_bytes_ = tensors;
    nlohmann::json& seen = memory_[phase];
    if (seen.is_null()) seen = nlohmann::json::object();
    auto raise = [&](const char* name, std::int64_t bytes) {
      seen[name] = std::max<std::int64_t>(seen.value(name, std::int64_t{0}), bytes);
    };
    raise("tensor_bytes", tensors);
    raise("resident_bytes", resident_bytes());
  }

  const BenchLlmArguments& a_;
  const Options& options_;
  std::int64_t before_, weight_bytes_ = 0;
  std::unique_ptr<LanguageModel> model_;
  std::shared_ptr<PagePool> pages_;  // null: each text has memory for the longest
  std::int64_t most_pages_ = 0;      // that were in use
  nlohmann::json memory_;
};

std::string mib(const nlohmann::json& bytes) {
  return fmt::format("{:.1f} MiB", bytes.get<double>() / (1 << 20));
}

void print_table(const nlohmann::json& report) {
  Table table(
      {"prompt", "batch", "prefill", "tokens/s", "decode tokens/s", "step p50", "p90", "p99"});
  for (const auto& row : report["rows"]) {
    auto time = [&](const nlohmann::json& s) { return duration_text(s.get<double>()); };
    table.add({std::to_string(row["prompt_tokens"].get<std::int64_t>()),
               std::to_string(row["batch"].get<std::int64_t>()), time(row["prefill_s"]),
               fmt::format("{:.1f}", row["prefill_tokens_per_s"].get<double>()),
               fmt::format("{:.1f}", row["decode_tokens_per_s"].get<double>()),
               time(row["per_token_s"]["p50"]), time(row["per_token_s"]["p90"]),
               time(row["per_token_s"]["p99"])});
  }
  fmt::print("{}\n", table.text());
  const auto& cache = report["cache"];
  fmt::print("loaded in {}, compiled in {}; weights {}, {}\n", duration_text(report["load_s"]),
             duration_text(report["compile_s"]), mib(report["weight_bytes"]),
             cache.contains("rows")
                 ? fmt::format("cache of all texts {}, of which {} were used", mib(cache["bytes"]),
                               mib(cache["most_bytes_used"]))
                 : "cache of a text " + mib(cache["bytes_a_text"]));
  for (const auto& [phase, held] : report["memory"].items())
    fmt::print("  {}: tensors {}, process {}\n", phase, mib(held["tensor_bytes"]),
               mib(held["resident_bytes"]));
  fmt::print("  peak of the process {}\n", mib(report["peak_memory_bytes"]));
}

void bench_llm(const BenchLlmArguments& a) {
  Options options = a.run.compile_options();
  require_use(a.adapter_rank == 0 || a.cache_rows == 0,
              "[bench llm] what an adapter costs is measured without pages: --adapter-rank and "
              "--cache-rows do not go together");
  if (a.adapter_rank > 0) {
    fmt::print("{}\n", AdapterCost(a, options).run().dump(2));
    return;
  }
  const nlohmann::json report = LlmBench(a, options).run();
  if (a.json)
    fmt::print("{}\n", report.dump(2));
  else
    print_table(report);
}

}  // namespace

void add_bench_llm(CLI::App& command) {
  auto a = std::make_shared<BenchLlmArguments>();
  command
      .add_option("MODEL", a->model,
                  "folder of a model, .gguf file, or name of one with random weights (llama3_2_1b)")
      ->required();
  a->dtypes.add_to(command);
  command
      .add_option("--cache-rows", a->cache_rows,
                  "keep keys and values in pages, for so many tokens of all texts together "
                  "(default: each text has memory for the longest)")
      ->check(above_zero());
  command.add_option("--weights", a->weights, "int8 or int4: quantised when loaded");
  command.add_option("--prompt-tokens", a->prompts, "of prompts, several lengths one by one")
      ->check(above_zero())
      ->capture_default_str();
  command.add_option("--batch", a->batches, "texts that are decoded together, one by one")
      ->check(above_zero())
      ->capture_default_str();
  command.add_option("--new-tokens", a->new_tokens, "of each text")
      ->check(CLI::Range(std::int64_t{2}, std::int64_t{1} << 20))
      ->capture_default_str();
  command.add_option("--rounds", a->rounds, "medians are shown")
      ->check(above_zero())
      ->capture_default_str();
  command
      .add_option("--adapter-rank", a->adapter_rank,
                  "instead: what an adapter of this rank of a bank costs each text, as JSON")
      ->check(above_zero());
  command.add_flag("--json", a->json, "print JSON");
  a->run.add_to(command);
  command.callback([a] { bench_llm(*a); });
}

}  // namespace tilewright::tools
