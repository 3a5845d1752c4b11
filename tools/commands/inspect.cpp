// `tilewright inspect`: the inputs, outputs and operators of a program that PyTorch has exported,
// or of an ONNX model; the sizes and weights of a Hugging Face folder; the contents of a package.
#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <vector>

#include "graph/compile/packages/package.h"
#include "models/decoder/decoder_families.h"
#include "models/files/reader.h"
#include "models/weights/weights.h"
#include "tools/console/command.h"
#include "tools/console/table.h"
#include "tools/console/terminal_text.h"
#include "tools/programs/model_programs.h"

namespace tilewright::tools {
namespace {

constexpr const char* what_can_be_inspected =
    "a program that torch.export.save has written (.pt2), an ONNX model (.onnx), the folder of a "
    "Hugging Face model, or a package of `tilewright package` (.twp)";

nlohmann::json as_json(const ProgramSummary& summary) {
  nlohmann::json inputs = nlohmann::json::array(), operators = nlohmann::json::array();
  for (const ProgramInput& input : summary.inputs)
    inputs.push_back({{"name", input.name},
                      {"dtype", name_of(input.dtype)},
                      {"shape", std::vector<std::int64_t>(input.shape)},
                      {"sizes", sizes_text(input)},
                      {"is_integer", input.integer.has_value()}});
  for (const ProgramOperator& op : summary.operators)
    operators.push_back({{"name", op.name},
                         {"count", op.count},
                         {"is_supported", op.is_known},
                         {"source", op.source}});
  return {{"inputs", inputs},
          {"outputs", summary.outputs},
          {"operators", operators},
          {"nodes", summary.nodes},
          {"parameters", summary.parameters},
          {"parameter_bytes", summary.parameter_bytes},
          {"producer", summary.producer}};
}

// Names are those of a file, which may be no UTF-8.
std::string text_of(const nlohmann::json& record) {
  return record.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

struct Look {
  std::string model;
  std::vector<std::string> constants;
  bool json = false, follow_links = false, steps = false, verify = false;
};

// The weights of a folder as they are stored.
struct StoredWeights {
  std::int64_t tensors = 0, elements = 0, bytes = 0;
  std::map<std::string, std::int64_t> elements_of;  // by the name of the dtype
};
StoredWeights stored_weights(const Weights& weights) {
  StoredWeights stored;
  for (const std::string& name : weights.names()) {
    const DType dtype = weights.dtype(name);
    const std::int64_t count = element_count(weights.shape(name));
    ++stored.tensors;
    stored.elements += count;
    stored.bytes += count * size_bytes(dtype);
    stored.elements_of[std::string(name_of(dtype))] += count;
  }
  return stored;
}

nlohmann::json as_json(const DecoderConfig& config, const StoredWeights& stored) {
  return {{"family", config.family},
          {"format", "safetensors"},
          {"parameters", config.parameter_count()},
          {"stored_tensors", stored.tensors},
          {"stored_elements", stored.elements},
          {"stored_bytes", stored.bytes},
          {"dtypes", stored.elements_of},
          {"vocabulary", config.vocabulary},
          {"context", config.max_positions},
          {"layers", config.layers},
          {"hidden", config.hidden},
          {"intermediate", config.intermediate},
          {"heads", config.heads},
          {"kv_heads", config.kv_heads},
          {"head_size", config.head_size}};
}

void inspect_folder(const Look& a) {
  require_use(a.constants.empty(), "[inspect] ", a.model,
              " is a folder; --constant is for the inputs of a program, in a file");
  const DecoderConfig config = read_decoder_config(a.model, {.links_may_leave = a.follow_links});
  const StoredWeights stored =
      stored_weights(Weights::open(a.model, {.links_may_leave = a.follow_links}));
  if (a.json) {
    fmt::print("{}\n", text_of(as_json(config, stored)));
    return;
  }
  std::vector<std::string> dtypes;
  for (const auto& [name, count] : stored.elements_of) dtypes.push_back(name);
  fmt::print("family {}: {} parameters\n", config.family, config.parameter_count());
  fmt::print("weights: {} tensors, {} of {}, safetensors\n", stored.tensors,
             bytes_text(static_cast<double>(stored.bytes)), listed(dtypes));
  fmt::print("vocabulary {}, context {}\n", config.vocabulary, config.max_positions);
  fmt::print("layers {}, hidden {}, intermediate {}, heads {} of {}, key and value heads {}\n",
             config.layers, config.hidden, config.intermediate, config.heads, config.head_size,
             config.kv_heads);
}

nlohmann::json as_json(const std::vector<PackageTensor>& tensors) {
  nlohmann::json list = nlohmann::json::array();
  for (const PackageTensor& tensor : tensors)
    list.push_back({{"name", tensor.name},
                    {"dtype", name_of(tensor.dtype)},
                    {"shape", std::vector<std::int64_t>(tensor.shape)},
                    {"is_written", tensor.is_written}});
  return list;
}

void inspect_package(const Look& a) {
  require_use(a.constants.empty(), "[inspect] ", a.model,
              " is a package; --constant is for the inputs of a program");
  const Package package = load_package(a.model, {.verified = a.verify});
  if (!a.json) {
    fmt::print("{}", package.text(a.steps));
    return;
  }
  nlohmann::json functions = nlohmann::json::array();
  for (const PackageSignature& signature : package.signatures())
    functions.push_back(
        {{"inputs", as_json(signature.inputs)}, {"outputs", as_json(signature.outputs)}});
  fmt::print("{}\n", text_of({{"instruction_sets", package.instruction_sets()},
                              {"instruction_set", package.instruction_set()},
                              {"functions", functions}}));
}

void inspect(const Look& a) {
  require_file("inspect", a.model, what_can_be_inspected);
  if (is_package(a.model)) return inspect_package(a);
  require_use(!a.verify && !a.steps, "[inspect] ", a.model,
              " is no package; --verify and --steps are for packages");
  if (std::filesystem::is_directory(a.model)) return inspect_folder(a);
  const ProgramSummary summary = summary_of(a.model, constants_of(a.model, a.constants));
  if (a.json) {
    fmt::print("{}\n", text_of(as_json(summary)));
    return;
  }
  auto shown = [](std::string_view text) { return concat(json::excerpt(text)); };
  fmt::print("exported by {}: {} nodes, {} parameters, {}\n", shown(summary.producer),
             summary.nodes, summary.parameters,
             bytes_text(static_cast<double>(summary.parameter_bytes)));
  for (const ProgramInput& input : summary.inputs)
    fmt::print("input {}: {} [{}]{}\n", shown(input.name), name_of(input.dtype),
               shown(sizes_text(input)), shown(integer_text(input)));
  for (const std::string& output : summary.outputs) fmt::print("output {}\n", shown(output));
  Table table({"operator", "count", "supported", "first at"});
  std::int64_t missing = 0;
  for (const ProgramOperator& op : summary.operators) {
    missing += !op.is_known;
    table.add({shown(op.name),
               {std::to_string(op.count), static_cast<double>(op.count)},
               op.is_known ? "yes" : "no",
               shown(op.source)});
  }
  fmt::print("\n{}", table.text());
  if (missing > 0)
    fmt::print("{} of {} operators are missing\n", missing, summary.operators.size());
}

}  // namespace

void add_inspect(CLI::App& command) {
  auto a = std::make_shared<Look>();
  command.add_option("MODEL", a->model, what_can_be_inspected)->required();
  command.add_option("--constant", a->constants, what_constants_are);
  command.add_flag("--follow-links", a->follow_links,
                   "of a folder: also where they lead out of it (and not to the Hugging Face "
                   "cache's own files)");
  command.add_flag("--json", a->json, "print JSON");
  command.add_flag("--steps", a->steps, "of a package: also each launch, with its arguments");
  command.add_flag("--verify", a->verify,
                   "of a package: also compare the hashes of its weights, which reads all of them");
  command.callback([a] { inspect(*a); });
}

}  // namespace tilewright::tools
