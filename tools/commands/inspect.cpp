// `tilewright inspect`: the inputs, outputs and operators of a program that PyTorch has exported,
// or of an ONNX model.
#include <fmt/format.h>

#include <vector>

#include "models/files/reader.h"
#include "tools/console/command.h"
#include "tools/console/table.h"
#include "tools/console/terminal_text.h"
#include "tools/programs/model_programs.h"

namespace tilewright::tools {
namespace {

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

struct Look {
  std::string model;
  std::vector<std::string> constants;
  bool json = false;
};

void inspect(const Look& a) {
  require_file("inspect", a.model, what_models_are);
  const ProgramSummary summary = summary_of(a.model, constants_of(a.model, a.constants));
  if (a.json) {
    fmt::print("{}\n", as_json(summary).dump(2));
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
  command.add_option("MODEL", a->model, what_models_are)->required();
  command.add_option("--constant", a->constants, what_constants_are);
  command.add_flag("--json", a->json, "print JSON");
  command.callback([a] { inspect(*a); });
}

}  // namespace tilewright::tools
