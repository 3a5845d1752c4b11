#include "models/onnx/onnx_module.h"

#include <algorithm>
#include <deque>
#include <filesystem>

#include "graph/compile/sizes/size_marks.h"
#include "models/files/reader.h"
#include "models/onnx/control/pruning.h"
#include "models/onnx/control/running.h"
#include "models/onnx/file/model.h"
#include "models/onnx/operators/table.h"
#include "models/onnx/program/training.h"
#include "models/programs/constants.h"
#include "models/programs/given_parameters.h"
#include "models/programs/program_nodes.h"
#include "models/programs/signature.h"
#include "runtime/base/error.h"

namespace tilewright {

using json::excerpt;
using onnx::Initializer;
using onnx::Known;
using onnx::no_value;
using onnx::Node;
using onnx::Program;
using onnx::Value;
using onnx::ValueId;

namespace {

std::vector<ProgramOperator> operators_of(const Program& program) {
  programs::OperatorList operators;
  onnx::for_each_node(program.graph, [&](const Node& node) {
    operators.add(node.op, onnx::find_operator(node.op, node.opset) != nullptr, node.name);
  });
  return operators.take();
}

// The values that the node's bodies read and return, their own and those of the graphs around.
template <typename Reads>
void for_each_read_in_bodies(const Node& node, const Reads& reads) {
  for (const onnx::Attribute& attribute : node.attributes) {
    auto* body = std::get_if<onnx::Subgraph>(&attribute.value);
    if (body == nullptr) continue;
    for (const Node& each : (*body)->nodes) {
      for (ValueId id : each.inputs)
        if (id != no_value) reads(id);
      for_each_read_in_bodies(each, reads);
    }
    for (const onnx::Output& output : (*body)->outputs) reads(output.value);
  }
}

programs::Lifetimes lifetimes_of(const Program& program) {
  std::vector<ValueId> kept;
  for (const onnx::Output& output : program.graph.outputs) kept.push_back(output.value);
  return {program.values, program.graph.nodes.size(), kept,
          [&](std::size_t at, const auto& gives, const auto& reads) {
            const Node& node = program.graph.nodes[at];
            for (ValueId id : node.outputs)
              if (id != no_value) gives(id);
            for (ValueId id : node.inputs)
              if (id != no_value) reads(id);
            for_each_read_in_bodies(node, reads);
          }};
}

// Which values say by their elements what sizes are, although they are floats: how many times as
// long a Resize makes axes, and which part of them it takes.
std::vector<bool> factors_of(const Program& program) {
  std::vector<bool> are_factors(program.values);
  onnx::for_each_node(program.graph, [&](const Node& node) {
    if (node.op != "Resize" && node.op != "Upsample") return;
    for (std::size_t i = 1; i < node.inputs.size(); ++i)
      if (node.inputs[i] != no_value) are_factors[static_cast<std::size_t>(node.inputs[i])] = true;
  });
  return are_factors;
}

// The inputs that the application holds constant become initializers.
void hold_constants(Program& program, const programs::Constants& constants) {
  programs::Constants of_inputs;
  for (const auto& [name, tensor] : constants) {
    const auto found = std::ranges::find_if(
        program.defaults, [&](const onnx::DefaultInput& each) { return each.input.name == name; });
    if (found == program.defaults.end()) {
      of_inputs.emplace(name, tensor);
      continue;
    }
    programs::require_can_be(found->input, tensor, "load_onnx", program.file);
    const auto place = std::ranges::find(program.initializers, found->value, &Initializer::value);
    *place = {"", found->value, tensor.clone(), true};
  }
  for (auto& [place, tensor] :
       programs::hold_constant(program.signature, of_inputs, "load_onnx", program.file)) {
    const auto input = program.graph.inputs.begin() + static_cast<std::ptrdiff_t>(place);
    program.initializers.push_back({"", *input, tensor, true});
    program.graph.inputs.erase(input);
  }
}

Program program_of(const std::filesystem::path& path, const OnnxOptions& options) {
  Program program = onnx::read_program(path, options.reading);
  hold_constants(program, options.constants);
  onnx::prune_branches(program);
  return program;
}

// Scales of weights that onnxruntime's dynamic quantisation multiplies with those of activations,
// and the zero points of these weights. They differ from layer to layer: as numbers each layer
// would be a program of its own.
std::vector<bool> weight_steps_of(const Program& program) {
  std::vector<bool> of_activations(program.values), of_weights(program.values);
  onnx::for_each_node(program.graph, [&](const Node& node) {
    if (node.op == "DynamicQuantizeLinear" && node.outputs.size() > 1 &&
        node.outputs[1] != no_value)
      of_activations[static_cast<std::size_t>(node.outputs[1])] = true;
  });
  onnx::for_each_node(program.graph, [&](const Node& node) {
    constexpr std::size_t zero_input = 3;
    if ((node.op == "MatMulInteger" || node.op == "ConvInteger") &&
        node.inputs.size() > zero_input && node.inputs[zero_input] != no_value)
      of_weights[static_cast<std::size_t>(node.inputs[zero_input])] = true;
    if (node.op != "Mul" || node.inputs.size() != 2) return;
    for (std::size_t i = 0; i < 2; ++i)
      if (of_activations[static_cast<std::size_t>(node.inputs[1 - i])])
        of_weights[static_cast<std::size_t>(node.inputs[i])] = true;
  });
  return of_weights;
}

std::int64_t nodes_in(const Program& program) {
  std::int64_t count = 0;
  onnx::for_each_node(program.graph, [&](const Node&) { ++count; });
  return count;
}

}  // namespace

struct OnnxModule::State {
  Program program;
  programs::Lifetimes lifetimes;
  std::deque<Tensor> tensors;                       // of the initializers
  std::vector<std::shared_ptr<const Known>> known;  // likewise, of those that are constants
  programs::OwnParameters parameters;
  std::vector<ProgramInput> inputs;
  std::vector<std::string> outputs, defaults;
  std::vector<ProgramOperator> operators;
  std::string trains;  // the first operator that computes as in training
};

OnnxModule::OnnxModule(std::unique_ptr<State> state) : state_(std::move(state)) {}
OnnxModule::~OnnxModule() = default;

const std::vector<ProgramInput>& OnnxModule::inputs() const { return state_->inputs; }
const std::vector<std::string>& OnnxModule::outputs() const { return state_->outputs; }
const std::vector<ProgramOperator>& OnnxModule::operators() const { return state_->operators; }
const std::vector<std::string>& OnnxModule::defaults() const { return state_->defaults; }
std::int64_t OnnxModule::opset() const { return state_->program.opset; }
const std::string& OnnxModule::file() const { return state_->program.file; }
std::string OnnxModule::training_operator() const { return state_->trains; }

std::vector<Tensor> OnnxModule::forward(const std::vector<Tensor>& inputs) const {
  return forward_with({}, inputs);
}

std::vector<Tensor> OnnxModule::forward_with(const std::map<std::string, Tensor>& parameters,
                                             const std::vector<Tensor>& inputs) const {
  const Program& program = state_->program;
  programs::check_parameters("onnx", state_->parameters, parameters);
  programs::check_inputs(program.signature, inputs);
  std::vector<Value> values(program.values);
  onnx::Execution execution{program, values, state_->lifetimes.used()};
  for (std::size_t i = 0; i < inputs.size(); ++i)
    values[static_cast<std::size_t>(program.graph.inputs[i])] = inputs[i];
  for (std::size_t i = 0; i < program.initializers.size(); ++i) {
    const Initializer& own = program.initializers[i];
    values[static_cast<std::size_t>(own.value)] =
        Value(programs::chosen(parameters, own.name, state_->tensors[i]), state_->known[i]);
  }
  for (std::size_t i = 0; i < program.graph.nodes.size(); ++i) {
    onnx::compute(program.graph.nodes[i], execution);
    for (ValueId id : state_->lifetimes.dead_after(i))
      values[static_cast<std::size_t>(id)] = Value();
  }
  std::vector<Tensor> results;
  for (const onnx::Output& output : program.graph.outputs) {
    const Value& value = values[static_cast<std::size_t>(output.value)];
    require(value.defined(), "[onnx] output \"", excerpt(output.name), "\" was not computed");
    require(value.is_tensor(), "[onnx] output \"", excerpt(output.name), "\" is ",
            value.is_absent() ? "an optional value that is absent" : "a sequence",
            "; outputs are tensors: let the model take it apart (SequenceAt) or join it "
            "(ConcatFromSequence)");
    program.require_as_declared(output.value, value);  // of an input or an initializer
    results.push_back(value.tensor());
  }
  return results;
}

void OnnxModule::mark_dynamic_sizes(const std::vector<Tensor>& inputs) const {
  programs::check_inputs(state_->program.signature, inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    for (const DynamicAxis& axis : state_->inputs[i].dynamic) mark_dynamic(inputs[i], axis.axis);
}

std::unique_ptr<OnnxModule> load_onnx(const FilePath& path, const OnnxOptions& options) {
  auto state = std::make_unique<OnnxModule::State>();
  state->program = program_of(path, options);
  const Program& program = state->program;
  state->operators = operators_of(program);
  programs::require_known(state->operators, "load_onnx", program.file,
                          concat(" in operator set ", program.opset), {"node \"", "\""});
  state->lifetimes = lifetimes_of(program);
  state->trains = onnx::training_operator(program);
  state->inputs = programs::described_inputs(program.signature);
  for (const onnx::Output& output : program.graph.outputs) state->outputs.push_back(output.name);
  for (const onnx::DefaultInput& each : program.defaults)
    state->defaults.push_back(each.input.name);
  std::unique_ptr<OnnxModule> module(new OnnxModule(std::move(state)));
  const std::vector<bool> are_factors = factors_of(module->state_->program),
                          are_steps = weight_steps_of(module->state_->program),
                          have_gradients = onnx::differentiable_values(module->state_->program);
  for (Initializer& initializer : module->state_->program.initializers) {
    Tensor& tensor = module->state_->tensors.emplace_back(std::move(initializer.tensor));
    const auto id = static_cast<std::size_t>(initializer.value);
    const bool is_constant =
        onnx::are_numbers(tensor) ||
        ((are_factors[id] || initializer.is_held) && tensor.count() <= onnx::most_known &&
         onnx::can_be_known(tensor.dtype()));
    auto& known = module->state_->known.emplace_back();
    if (is_constant) known = std::make_shared<const Known>(onnx::known_of(tensor));
    // Zero points of 0 are the same for all layers.
    if (known && are_steps[id] && (is_floating(tensor.dtype()) || !known->is_zero())) known = {};
    if (known || initializer.name.empty()) {
      module->register_buffer(tensor);
      continue;
    }
    if (is_floating(tensor.dtype()) && !have_gradients[id]) {
      module->register_buffer(initializer.name, tensor);
      continue;
    }
    module->register_parameter(initializer.name, tensor);
    module->state_->parameters.emplace(initializer.name, &tensor);
  }
  return module;
}

ProgramSummary inspect_onnx(const FilePath& path, const OnnxOptions& options) {
  Program program = program_of(path, options);
  ProgramSummary summary{programs::described_inputs(program.signature),
                         {},
                         operators_of(program),
                         nodes_in(program),
                         0,
                         0,
                         program.producer};
  for (const onnx::Output& output : program.graph.outputs) summary.outputs.push_back(output.name);
  for (const Initializer& initializer : program.initializers) {
    if (initializer.is_held) continue;
    summary.parameters += initializer.tensor.count();
    summary.parameter_bytes += initializer.tensor.count() * size_bytes(initializer.tensor.dtype());
  }
  return summary;
}

}  // namespace tilewright
