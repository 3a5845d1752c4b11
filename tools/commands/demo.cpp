// `tilewright demo`: what the compiler does, on models that need nothing from outside.
#include <fmt/format.h>

#include <filesystem>

#include "models/decoder/decoder.h"
#include "models/decoder/language_model.h"
#include "models/decoder/load_model.h"
#include "models/generate/generate.h"
#include "runtime/cpu/parallel.h"
#include "tools/console/command.h"
#include "tools/console/table.h"
#include "tools/measure/measure.h"
#include "tools/programs/trained_model.h"
#include "tools/programs/tutorial_model.h"

namespace tilewright::tools {
namespace {

struct Way {
  const char* name;
  Options options;
};
// Made where they are used: options begin with the device that a setting names.
std::vector<Way> ways() {
  return {{"eager", {.backend = Backend::eager}},
          {"default", {.mode = Mode::default_}},
          {"reduce-overhead", {.mode = Mode::reduce_overhead}},
          {"max-autotune", {.mode = Mode::max_autotune}}};
}

// First call and steady latency of `step` compiled in each way.
template <typename Step>
void show(const std::string& title, const Step& make) {
  fmt::print("{}\n\n", title);
  std::vector<double> first;
  std::vector<std::function<void()>> actions;
  std::vector<Way> all = ways();
  for (const Way& way : all) {
    auto step = make(way.options);
    double start = now_s();
    step();
    first.push_back(now_s() - start);
    actions.push_back(step);
  }
  auto steady = interleaved_medians(actions);
  Table table({"", "first call", "steady", "speed-up"});
  for (std::size_t i = 0; i < all.size(); ++i)
    table.add({all[i].name, duration_text(first[i]), duration_text(steady[i]),
               ratio_text(steady[0] / steady[i])});
  fmt::print("{}\n", table.text());
}

void tutorial() {
  auto model = std::make_shared<TutorialModel>(64);
  Tensor x = tutorial_input();
  show("Regional compilation: 64 equal layers, Linear(10, 10) and friends, input 10x10",
       [&](Options options) -> std::function<void()> {
         Compiled fast = compile(*model, options);
         return [model, fast, x] { fast(x); };
       });
  Compiled fast = compile(*model, {.mode = Mode::reduce_overhead});
  fast(x);
  PlanReport report = fast.report().front();
  std::int64_t most = 0;
  for (const RegionReport& region : report.regions) most = std::max(most, region.instances);
  fmt::print(
      "{} graph nodes became {} launches of {} distinct kernels; one kernel serves {} layers.\n\n",
      report.nodes, report.launches, report.regions.size(), most);
}

void small_llama() {
  DecoderConfig config = decoder_config("stories260k");
  std::shared_ptr<Decoder> model = random_decoder(config, 1);
  Tensor ids = Tensor::from(std::vector<std::int64_t>{1}, {1, 1});
  Tensor position = Tensor::from(std::vector<std::int64_t>{100}, {1});
  show(fmt::format("A small Llama with random weights ({} layers, width {}): one decode step",
                   config.layers, config.hidden),
       [&](Options options) -> std::function<void()> {
         std::shared_ptr<DecodingState> state = model->new_state();
         Compiled fast =
             compile([model, state](const Tensor& i,
                                    const Tensor& p) { return model->decode_last(i, p, *state); },
                     options);
         return [fast, ids, position] { fast(ids, position); };
       });
}

struct DemoArguments {
  int threads = 0;    // 0: all
  std::string model;  // folder; "": the one that comes with the command
};

void story(const DemoArguments& a) {
  std::filesystem::path folder = a.model;
  if (folder.empty()) folder = trained_model("demo");
  auto model = load_model(folder);
  fmt::print("A story by {}, in reduce-overhead mode:\n\n  Once upon a time",
             std::filesystem::absolute(folder / ".").parent_path().filename().string());
  TextGenerator generator(*model, Tokenizer::open(folder / "tokenizer.json"),
                          {.mode = Mode::reduce_overhead});
  GenerateOptions options;
  options.max_new_tokens = 200;
  options.on_text = [](std::string_view text) {
    for (char c : text) fmt::print("{}", c == '\n' ? std::string("\n  ") : std::string(1, c));
  };
  Generation g = generator.generate("Once upon a time", options);
  fmt::print("\n\n{} tokens at {:.0f} tokens/s, compiled in {}.\n", g.ids.size(),
             g.decode_tokens_per_s(), duration_text(g.compile_s));
}

}  // namespace

void add_demo(CLI::App& command) {
  auto a = std::make_shared<DemoArguments>();
  add_threads_option(command, a->threads);
  command.add_option("--model", a->model,
                     "folder of a model that tells a story: config.json, model.safetensors, "
                     "tokenizer.json; not given: the one that comes with the command");
  command.callback([a] {
    if (!a->model.empty())
      require_file("demo", (std::filesystem::path(a->model) / "config.json").string(),
                   "the folder of a model by --model");
    if (a->threads > 0) set_thread_count(a->threads);
    fmt::print("{} with {} threads\n\n", cpu_model(), thread_count());
    tutorial();
    small_llama();
    story(*a);
  });
}

}  // namespace tilewright::tools
