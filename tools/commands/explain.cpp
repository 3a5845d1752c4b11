// `tilewright explain`: shows how a model is compiled.
#include <fmt/format.h>

#include <filesystem>

#include "models/decoder/decoder_config.h"
#include "models/decoder/language_model.h"
#include "models/decoder/load_model.h"
#include "tools/console/command.h"
#include "tools/console/table.h"
#include "tools/programs/tutorial_model.h"

namespace tilewright::tools {
namespace {

constexpr std::size_t most_layers = 10'000;  // which take some seconds

struct ExplainArguments {
  std::string model = "tutorial";
  std::size_t layers = 64;
  std::int64_t rows = 1;
  std::optional<std::int64_t> positions;  // of the cache; the model's
  bool json = false, dump = false, follow_links = false;
  RunOptions run;
};

// Calls the model once, so that there is something to report.
Compiled compiled_tutorial(const ExplainArguments& a, std::unique_ptr<Module>& owner) {
  auto model = std::make_unique<TutorialModel>(a.layers);
  Compiled fast = compile(*model, a.run.compile_options());
  fast(tutorial_input());
  owner = std::move(model);
  return fast;
}

Compiled compiled_model(const ExplainArguments& a, std::unique_ptr<Module>& owner) {
  std::unique_ptr<LanguageModel> model = random_model(a.model, 1);
  if (model == nullptr && !std::filesystem::is_directory(a.model)) {
    require_use(!a.model.ends_with(".pt2") && !a.model.ends_with(".onnx"),
                "[explain] how a program is compiled depends on its inputs: tilewright run ",
                a.model, " --inputs FILE.safetensors --explain");
    std::vector<std::string> known = {"tutorial"};
    for (std::string_view name : decoder_config_names()) known.emplace_back(name);
    throw Misuse(concat("[explain] there is no model \"", a.model, "\", nor a folder of that name",
                        suggestion(a.model, known), "; known are ", listed(known)));
  }
  if (model == nullptr)
    model = load_model(a.model, {.max_positions = a.positions, .links_may_leave = a.follow_links});
  require_use(a.rows >= 1 && a.rows <= model->max_positions(), "[explain] --rows is ", a.rows,
              "; the model takes 1 to ", model->max_positions());
  std::shared_ptr<DecodingState> state = model->new_state();
  Compiled fast = compile(
      [m = model.get(), state](const Tensor& ids, const Tensor& position) {
        return m->decode_last(ids, position, *state);
      },
      a.run.compile_options());
  fast(Tensor::from(std::vector<std::int64_t>(static_cast<std::size_t>(a.rows), 1), {1, a.rows}),
       Tensor::from(std::vector<std::int64_t>{0}, {1}));
  owner = std::move(model);
  return fast;
}

nlohmann::json as_json(const PlanReport& plan) {
  nlohmann::json regions = nlohmann::json::array();
  for (const RegionReport& r : plan.regions)
    regions.push_back({{"kernel", r.kernel},
                       {"kind", r.kind},
                       {"instances", r.instances},
                       {"launches", r.launches},
                       {"bytes", r.bytes},
                       {"compile_seconds", r.compile_seconds},
                       {"run_seconds", r.run_seconds},
                       {"ops", r.ops},
                       {"user_ops", r.user_ops},
                       {"key", r.key}});
  return {{"signature", plan.signature},
          {"launches", plan.launches},
          {"nodes", plan.nodes},
          {"arena_bytes", plan.arena_bytes},
          {"capture_seconds", plan.capture_seconds},
          {"lower_seconds", plan.lower_seconds},
          {"compile_seconds", plan.compile_seconds},
          {"run_seconds", plan.run_seconds},
          {"timed_calls", plan.timed_calls},
          {"captured_tensors", plan.captured_tensors},
          {"graph_break", plan.graph_break},
          {"sharing_break", plan.sharing_break},
          {"segment", plan.segment},
          {"tuning", plan.tuning},
          {"regions", regions}};
}

void explain(const ExplainArguments& a) {
  std::unique_ptr<Module> owner;
  Compiled fast = a.model == "tutorial" ? compiled_tutorial(a, owner) : compiled_model(a, owner);
  if (a.json) {
    nlohmann::json plans = nlohmann::json::array();
    for (const PlanReport& plan : fast.report()) plans.push_back(as_json(plan));
    fmt::print("{}\n", plans.dump(2));
    return;
  }
  fmt::print("{}", fast.explain());
  if (a.dump) fmt::print("\n{}", fast.dump());
}

}  // namespace

void add_explain(CLI::App& command) {
  auto a = std::make_shared<ExplainArguments>();
  command
      .add_option("MODEL", a->model,
                  "\"tutorial\" (the 64-layer model), a size with random weights (tiny, "
                  "stories260k, gpt2, ...), or a Hugging Face folder")
      ->capture_default_str();
  command.add_option("--layers", a->layers, "layers of the tutorial model")
      ->check(CLI::Range(std::size_t{1}, most_layers))
      ->capture_default_str();
  command.add_option("--rows", a->rows, "tokens in one call of the model (1: a decode step)")
      ->capture_default_str();
  command
      .add_option("--positions", a->positions,
                  "of a folder: tokens that the cache has room for (default: the model's)")
      ->check(above_zero());
  command.add_flag("--follow-links", a->follow_links,
                   "of a folder: also where they lead out of it");
  command.add_flag("--dump", a->dump,
                   "print the graph, its tasks and regions, and the tile programs too");
  command.add_flag("--json", a->json, "print JSON");
  a->run.add_to(command);
  command.callback([a] { explain(*a); });
}

}  // namespace tilewright::tools
